"""Programs that take away what a check stands on, or end its process: undecided or violated in clear words, and never green."""

import os
import signal
import sys

import pytest

from pytest_gilcheck import gilcheck
from pytest_gilcheck.core.system import HAS_FORK

from ..slow import one_in
from .programs import Counter, add_locked, is_two

pytestmark = pytest.mark.filterwarnings("ignore:gilcheck. the program changed:RuntimeWarning")
MONITORED = sys.version_info >= (3, 12)
KEPT = frozenset([sys.monitoring.free_tool_id]) if MONITORED else frozenset()  # in a set nothing is replaced


def ours():
    return next(tool for tool in range(6) if sys.monitoring.get_tool(tool) == "gilcheck-fuzz")


def frees(counter):
    for tool in range(6):
        if sys.monitoring.get_tool(tool):
            sys.monitoring.free_tool_id(tool)


def switches_off(counter):
    sys.monitoring.set_events(ours(), 0)


def unhears(counter):
    for event in (sys.monitoring.events.INSTRUCTION, sys.monitoring.events.CALL):
        sys.monitoring.register_callback(ours(), event, None)


def takes_room(counter):
    sys.setrecursionlimit(60)


def forgets_us(counter):
    for name in [name for name in sys.modules if name.startswith(("pytest", "_pytest"))]:
        del sys.modules[name]


def fuzz(does, setup=Counter, **arguments):
    def thread(counter):
        with counter.lock:
            does(counter)
            counter.value += 1

    return gilcheck.fuzz(threads=[thread, thread], setup=setup, invariant=is_two, judge=False, **{"schedules": 60} | arguments)


@pytest.mark.skipif(not MONITORED, reason="steps come from a trace function")
@pytest.mark.parametrize("does", [frees, switches_off, unhears], ids=lambda each: each.__name__)
def test_who_ends_the_tool_of_the_check_is_told_where_and_what_to_do(does):
    result = fuzz(does)
    assert result.verdict == "inconclusive", str(result)
    assert "sys.monitoring." in result.reason
    assert f"({does.__name__})" in result.reason
    assert "the test has begun itself" in result.reason


@pytest.mark.skipif(not MONITORED, reason="steps come from a trace function")
def test_no_claim_is_made_where_events_were_lost_by_a_function_that_is_not_replaced():
    runs = []

    def frees_late(counter):
        runs.append(1)
        if len(runs) == 40:  # in the middle of the search: no run after that would see anything
            next(iter(KEPT))(ours())

    result = fuzz(frees_late, schedules=200)
    assert result.verdict == "inconclusive", str(result)
    assert "gilcheck-fuzz" in result.reason


@pytest.mark.skipif(not MONITORED, reason="steps come from a trace function")
@pytest.mark.parametrize(("before", "verdict"), [(True, "holds"), (False, "inconclusive")])
def test_a_monitoring_tool_that_a_thread_begins_takes_steps_and_one_that_was_there_before_may_go_on(before, verdict):
    """Coverage's asks for more events whenever code starts that it does not know."""
    tool, events = sys.monitoring.OPTIMIZER_ID, sys.monitoring.events

    def begins(counter):
        if not sys.monitoring.get_tool(tool):
            sys.monitoring.use_tool_id(tool, "test")
        sys.monitoring.set_local_events(tool, add_locked.__code__, events.LINE)

    if before:
        sys.monitoring.use_tool_id(tool, "test")
    try:
        result = fuzz(begins)
    finally:
        if before:
            sys.monitoring.free_tool_id(tool)
    assert result.verdict == verdict, str(result)
    assert ("began the monitoring tool 'test'" in str(result)) is not before


@pytest.mark.parametrize("where", one_in(3, ["body", "setup", "invariant"]))
def test_a_recursion_limit_without_room_for_the_check_is_refused(where):
    before = sys.getrecursionlimit()

    def setup():
        if where == "setup":
            takes_room(None)
        return Counter()

    def invariant(counter):
        if where == "invariant":
            takes_room(None)
        return counter.value == 2

    def thread(counter):
        if where == "body":
            takes_room(counter)
        add_locked(counter)

    result = gilcheck.fuzz(threads=[thread, thread], setup=setup, invariant=invariant, judge=False, schedules=20)
    assert result.verdict == "inconclusive", str(result)
    assert "sys.setrecursionlimit(60), at " in result.reason
    assert "or more" in result.reason
    assert sys.getrecursionlimit() == before


def test_a_recursion_limit_with_room_is_none_of_our_business():
    def thread(counter):
        with counter.lock:
            sys.setrecursionlimit(2_000)
            counter.value += 1

    gilcheck.fuzz(threads=[thread, thread], setup=Counter, invariant=is_two, schedules=20).assert_holds()


@pytest.mark.skipif(MONITORED, reason="only up to 3.11 the trace function of a thread tells of its steps")
def test_a_trace_function_that_is_put_back_has_lost_steps():
    def adds(counter):
        value = counter.value
        counter.value = value + 1

    def traces(counter):
        before = sys.gettrace()
        sys.settrace(lambda *_: None)
        adds(counter)
        sys.settrace(before)

    result = gilcheck.fuzz(threads=[traces, traces], setup=Counter, invariant=is_two, judge=False, schedules=60)
    assert result.verdict == "inconclusive", str(result)
    assert "trace function" in result.reason


def close_each(first, end):
    for descriptor in range(first, end):
        try:
            os.close(descriptor)
        except OSError:
            pass


@pytest.mark.skipif(not HAS_FORK, reason="there is no fork here")
@pytest.mark.parametrize("close", one_in(2, [os.closerange, close_each]), ids=["closerange", "close"])
def test_who_closes_all_descriptors_like_a_daemon_is_told_that_some_are_not_its_own(close):
    result = fuzz(lambda counter: close(3, 256))
    assert result.verdict == "inconclusive", str(result)
    assert "test_undermined.py:" in result.reason
    assert "Close those that the test has opened" in result.reason


@pytest.mark.skipif(not HAS_FORK, reason="there is no fork here")
@pytest.mark.parametrize("name", one_in(2, ["builtins.__import__", "threading.get_ident"]))
def test_a_function_of_the_program_in_the_place_of_one_that_the_check_needs_is_named(name):
    def refuses(*arguments, **keywords):
        raise RuntimeError("not in this test")

    def replaces(counter):
        module, attribute = name.split(".")
        setattr(sys.modules[module], attribute, refuses)

    result = fuzz(replaces)
    if result.verdict == "holds" and (sys.version_info < (3, 12) or name == "builtins.__import__"):
        return  # nothing needed it: the check has imported all before
    assert result.verdict == "inconclusive", str(result)
    assert "refuses)" in result.reason
    assert "taken back" in result.reason


@pytest.mark.skipif(not HAS_FORK, reason="there is no fork here")
def test_an_error_of_the_setup_is_still_its_own():
    def fails():
        raise RuntimeError("of the setup")

    with pytest.raises(RuntimeError, match="of the setup"):
        fuzz(add_locked, setup=fails)


@pytest.mark.skipif(not MONITORED, reason="sys.monitoring is new in 3.12")
def test_behind_a_tool_that_the_program_begins_nothing_is_claimed():
    def profiles(counter):
        with counter.lock:
            monitoring = sys.monitoring
            monitoring.use_tool_id(2, "of the program")
            monitoring.set_events(2, monitoring.events.PY_START)
            counter.value += 1
            monitoring.set_events(2, 0)
            monitoring.free_tool_id(2)

    result = gilcheck.fuzz(threads=[profiles, profiles], setup=Counter, invariant=is_two, judge=False, schedules=20)
    assert result.verdict == "inconclusive", str(result)
    assert "'of the program'" in result.reason


@pytest.mark.skipif(not HAS_FORK, reason="there is no fork here")
@pytest.mark.parametrize("when", one_in(2, [1, 7]))
def test_our_modules_may_be_gone_where_a_first_run_is_handed_over(when):
    """Two of these end in a search of the first run, whose result goes to another process."""
    runs = []

    def forgets(counter):
        runs.append(1)
        if len(runs) == when:
            forgets_us(counter)

    result = fuzz(forgets, budget=1.0)
    assert result.verdict in ("holds", "inconclusive"), str(result)
    assert sys.modules["pytest_gilcheck"].gilcheck is gilcheck


@pytest.mark.skipif(not HAS_FORK, reason="there is no fork here")
@pytest.mark.parametrize(
    ("ends", "named"),
    one_in(
        2,
        [pytest.param(lambda: os.kill(os.getpid(), signal.SIGKILL), "SIGKILL"), pytest.param(lambda: os._exit(3), "status 3")],
    ),
    ids=["kill", "exit"],
)
def test_a_program_that_ends_its_process_without_concurrency_is_told_how_and_where(ends, named):
    result = fuzz(lambda counter: ends())
    assert result.verdict == "violated", str(result)
    assert named in result.reason
    assert "test_undermined.py:" in result.reason
    assert "have the test replace it" in result.reason


@pytest.mark.skipif(not HAS_FORK, reason="there is no fork here")
def test_a_process_that_was_killed_once_is_no_violation():
    runs = []

    def killed(counter):
        runs.append(1)
        if len(runs) == 7:
            os.kill(os.getpid(), signal.SIGKILL)

    result = fuzz(killed)
    assert result.verdict == "inconclusive", str(result)
    assert "SIGKILL" in result.reason
