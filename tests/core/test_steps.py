"""Visible steps: the same on every run, and an exception raised at one comes out of that very line."""

import contextlib
import cProfile
import sys
import threading

import pytest

from pytest_gilcheck.core.fork_safety import can_fork
from pytest_gilcheck.core.steps import VISIBLE, Steps
from pytest_gilcheck.engine.bytecode.instructions import INSTRUCTIONS

from .forked_call import call

pytestmark = pytest.mark.skipif(can_fork() is not None, reason=f"{can_fork()}")


class Counter:
    def __init__(self):
        self.value = 0

    def add(self, n):
        for _ in range(n):
            self.value += 1

    def look(self):
        return len(str(self.value))


def in_child(function):
    """Stepping removes other tools, so it belongs into a child."""
    outcome, value = call(function, limit=60)
    assert str(outcome.ending) == "answered", outcome
    return value


def steps_of(work):
    def run():
        seen = []
        with Steps(lambda step: seen.append((step.line, step.kind, step.reachable))):
            work()
        return seen

    return in_child(run)


def test_every_attribute_that_is_stored_is_a_step_and_none_of_them_is_reachable():
    counter = Counter()
    seen = steps_of(lambda: counter.add(3))
    stores = [step for step in seen if step[1] == "before STORE_ATTR"]
    assert len(stores) == 3
    assert not any(reachable for _, _, reachable in stores)


def test_function_entry_loops_and_calls_are_where_signals_land():
    counter = Counter()

    def work():
        counter.add(2)
        counter.look()

    kinds = {kind for _, kind, reachable in steps_of(work) if reachable}
    assert kinds == {"at function entry", "in a loop", "after a call"}


def test_two_runs_have_the_same_steps():
    counter = Counter()
    assert steps_of(lambda: counter.add(5)) == steps_of(lambda: counter.add(5))


def test_functions_made_during_the_run_are_stepped_through_too():
    def work():
        def inner():
            Counter().look()

        inner()

    lines = {line for line, _, _ in steps_of(work)}
    assert Counter.look.__code__.co_firstlineno + 1 in lines
    assert work.__code__.co_firstlineno + 2 in lines


def test_other_threads_are_not_stepped():
    def work():
        thread = threading.Thread(target=Counter().add, args=(50,))
        thread.start()
        thread.join()

    assert len(steps_of(work)) < 40


def test_an_exception_raised_at_a_step_comes_out_of_that_line():
    counter = Counter()

    def run():
        def at(step):
            if step.kind == "before STORE_ATTR" and counter.value == 2:
                raise KeyError(step.place)

        with pytest.raises(KeyError) as caught, Steps(at):
            counter.add(5)
        return counter.value, caught.value.args[0], caught.traceback[-2].lineno + 1, caught.traceback[-1].name

    value, place, _, _ = in_child(run)
    assert value == 2
    assert f"{__file__}:{Counter.add.__code__.co_firstlineno + 2} (Counter.add)" == place


def test_nothing_is_left_watching():
    counter = Counter()

    def run():
        seen = []
        with Steps(seen.append):
            counter.look()
        before = len(seen)
        counter.look()
        return before, len(seen)

    before, after = in_child(run)
    assert before == after > 0


@pytest.mark.skipif(sys.version_info < (3, 12), reason="before, nobody reports what is called")
def test_the_return_of_a_python_function_is_no_place_for_signals_and_that_of_c_code_is():
    def called():
        return 1

    def work():
        called()
        len("")
        sorted([2, 1], key=lambda number: number)

    def steps():
        found = []
        with Steps(found.append):
            work()
        return [step.reachable for step in found if step.kind == "after a call" and step.code is work.__code__]

    assert in_child(steps) == [False, True, True]


def _profiled(work):
    with cProfile.Profile():
        work()


def _traced(work):
    sys.settrace(lambda *_: None)
    work()
    sys.settrace(None)


def _with_profile_function(work):
    sys.setprofile(lambda *_: None)
    work()
    sys.setprofile(None)


def _with_a_tool(work):
    sys.monitoring.use_tool_id(0, "another")
    sys.monitoring.set_events(0, sys.monitoring.events.PY_START)
    work()


def _with_the_calls_of_a_tool(work):
    sys.monitoring.use_tool_id(0, "another")
    sys.monitoring.set_events(0, sys.monitoring.events.CALL)
    work()


def _with_a_tool_for_one_function(work):
    sys.monitoring.use_tool_id(0, "another")
    sys.monitoring.set_local_events(0, Counter.add.__code__, sys.monitoring.events.INSTRUCTION)
    work()


def _with_our_callback(work):
    for tool in range(6):
        if sys.monitoring.get_tool(tool) is not None:
            sys.monitoring.register_callback(tool, sys.monitoring.events.INSTRUCTION, None)
    work()


def _traced_for_a_while(work):
    before = sys.gettrace()
    sys.settrace(lambda *_: None)
    work()
    sys.settrace(before)


def _without_our_tool(work):
    for tool in range(6):
        if sys.monitoring.get_tool(tool) is not None:
            sys.monitoring.free_tool_id(tool)
    work()


def _lost(work):
    """Whether a run says that its events were taken."""
    stepped = Steps(lambda step: None)
    with stepped:
        work()
    return stepped.lost


FROM_3_12 = pytest.mark.skipif(
    sys.version_info < (3, 12), reason="there is no sys.monitoring, and a profiler takes no trace function"
)


@pytest.mark.parametrize(
    "taking",
    [
        _traced,
        _traced_for_a_while,
        *(
            pytest.param(taking, marks=FROM_3_12)
            for taking in (
                _profiled,
                _with_profile_function,
                _with_a_tool,
                _with_the_calls_of_a_tool,
                _with_a_tool_for_one_function,
                _with_our_callback,
                _without_our_tool,
            )
        ),
    ],
)
def test_a_run_whose_events_were_taken_says_so(taking):
    counter = Counter()
    assert in_child(lambda: _lost(lambda: taking(lambda: counter.add(3))))


def test_a_run_that_keeps_its_events_says_nothing_of_that_also_where_it_raises():
    counter = Counter()

    def raising():
        counter.add(3)
        raise LookupError

    def run():
        threading.settrace(lambda *_: None)  # of the process, before the run: its threads do not begin with it
        threading.setprofile(lambda *_: None)

        def work():
            thread = threading.Thread(target=counter.look)
            thread.start()
            thread.join()
            counter.add(3)

        stepped = Steps(lambda step: None)
        with contextlib.suppress(LookupError), stepped:
            raising()
        return _lost(work) if sys.version_info >= (3, 12) else False, stepped.lost

    assert in_child(run) == (False, False)


def _with_the_lines_of_a_tool(work):
    monitoring = sys.monitoring
    monitoring.use_tool_id(0, "another")
    monitoring.set_local_events(0, Counter.add.__code__, monitoring.events.LINE)
    work()
    monitoring.set_local_events(0, Counter.add.__code__, 0)


def _with_the_trace_function_of_the_run(work):
    sys.settrace(sys.gettrace())
    work()


@pytest.mark.parametrize("keeping", [_with_the_trace_function_of_the_run, pytest.param(_with_the_lines_of_a_tool, marks=FROM_3_12)])
def test_a_tool_that_takes_nothing_loses_nothing(keeping):
    counter = Counter()

    def run():
        functions = [
            sys.settrace,
            *(getattr(vars(sys).get("monitoring"), name, None) for name in ("set_local_events", "set_events")),
        ]
        lost = _lost(lambda: keeping(lambda: counter.add(3)))
        after = [sys.settrace, *(getattr(vars(sys).get("monitoring"), name, None) for name in ("set_local_events", "set_events"))]
        return lost, functions == after

    assert in_child(run) == (False, True)


# Steps of a schedule that are none of these: values alone, a frame that begins or ends, patterns, async code, and a module's own.
OF_SCHEDULES_ALONE = """
    BUILD_MAP BUILD_SET MAP_ADD SET_ADD BUILD_TEMPLATE BUILD_INTERPOLATION
    CONVERT_VALUE FORMAT_SIMPLE FORMAT_VALUE FORMAT_WITH_SPEC TO_BOOL UNARY_INVERT UNARY_NEGATIVE UNARY_NOT UNARY_POSITIVE
    JUMP_IF_FALSE_OR_POP JUMP_IF_TRUE_OR_POP POP_JUMP_IF_FALSE POP_JUMP_IF_TRUE
    POP_JUMP_BACKWARD_IF_FALSE POP_JUMP_BACKWARD_IF_TRUE POP_JUMP_FORWARD_IF_FALSE POP_JUMP_FORWARD_IF_TRUE
    GET_LEN MATCH_CLASS MATCH_KEYS MATCH_MAPPING MATCH_SEQUENCE IMPORT_FROM IMPORT_STAR
    RETURN_CONST RETURN_VALUE YIELD_VALUE SEND END_SEND GET_YIELD_FROM_ITER
    RAISE_VARARGS RERAISE CHECK_EG_MATCH PREP_RERAISE_STAR CLEANUP_THROW WITH_EXCEPT_START
    ASYNC_GEN_WRAP BEFORE_ASYNC_WITH END_ASYNC_FOR GET_AITER GET_ANEXT GET_AWAITABLE
    CALL_INTRINSIC_1 CALL_INTRINSIC_2 EXIT_INIT_CHECK INTERPRETER_EXIT ENTER_EXECUTOR TRACE_RECORD RESERVED
    ANNOTATIONS_PLACEHOLDER DELETE_NAME LOAD_BUILD_CLASS LOAD_CLASSDEREF LOAD_FROM_DICT_OR_DEREF LOAD_FROM_DICT_OR_GLOBALS
    LOAD_LOCALS PRINT_EXPR SETUP_ANNOTATIONS
"""


def test_a_step_of_schedules_is_one_at_which_an_exception_is_raised_or_is_listed_here():
    steps = {name for name, row in INSTRUCTIONS.items() if row.unless != "always"}
    assert steps >= VISIBLE
    new = steps - VISIBLE - set(OF_SCHEDULES_ALONE.split())
    assert not new, f"of {', '.join(sorted(new))}: an entry of core/steps.VISIBLE, or of the list above"
