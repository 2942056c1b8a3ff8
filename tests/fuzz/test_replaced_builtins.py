"""Programs that replace built-in names in the process of the check: what is found stays found, and no error of ours is theirs."""

import builtins
import operator
import queue
from itertools import product

import pytest

from pytest_gilcheck import gilcheck
from pytest_gilcheck.core.system import HAS_FORK
from pytest_gilcheck.fuzz import check

from ..slow import one_in
from .programs import Counter, add, add_locked, counted, is_two, plan

pytestmark = [
    pytest.mark.filterwarnings("ignore:gilcheck. the program changed:RuntimeWarning"),
    pytest.mark.skipif(not HAS_FORK, reason="there is no fork here, and the names would be those of this process"),
]
NAMES = (
    "len", "isinstance", "type", "id", "hash", "getattr", "sorted", "any", "min", "max", "range", "zip", "print", "next", "iter",
    "super", "object", "str", "dict", "list", "set", "tuple", "map", "enumerate", "repr", "issubclass", "hasattr", "callable",
    "Exception", "KeyError", "property", "__import__", "__build_class__",
)  # fmt: skip
REAL = dict(vars(builtins))


def wrong(*arguments, **keywords):
    return 7


VALUES = {"None": None, "wrong": wrong}
TIMES = ("in_a_thread", "in_the_setup", "taken_back")
WHEN = pytest.mark.parametrize("when", one_in(3, TIMES))
# Each name at each time; whether it is called or only looked at does not depend on both, so the values take turns.
EACH = pytest.mark.parametrize(
    ("name", "when", "value"),
    one_in(33, [pytest.param(name, when, list(VALUES)[index % 2]) for index, (name, when) in enumerate(product(NAMES, TIMES))]),
)


def replacing(does, name, value, when):
    """The result for a program that replaces a built-in name at some time and does this in two threads."""
    names = vars(builtins)

    def setup():
        if when == "in_the_setup":
            names[name] = VALUES[value]
        return Counter()

    def thread(counter):
        if when != "in_the_setup":
            names[name] = VALUES[value]
        does(counter)
        if when == "taken_back":
            names[name] = REAL[name]

    return gilcheck.fuzz(threads=[thread, thread], setup=setup, invariant=is_two, judge=False, schedules=40, budget=20.0)


@EACH
def test_a_correct_program_is_not_violated_by_code_of_the_check_that_meets_the_name(name, value, when):
    result = replacing(add_locked, name, value, when)
    assert result.verdict in ("holds", "inconclusive"), str(result)


@EACH
def test_a_race_beside_the_name_does_not_hold(name, value, when):
    result = replacing(add, name, value, when)
    assert result.verdict in ("violated", "inconclusive"), str(result)
    assert result.verdict != "violated" or "counter.value" in result.reason, str(result)


@pytest.mark.parametrize("name", one_in(4, ["id", "type", "isinstance", "len"]))
@WHEN
def test_the_names_on_which_the_check_depends_most_cost_no_verdict(name, when):
    """The stack of a thread is read at the address that ``id`` tells."""
    assert replacing(add_locked, name, "wrong", when).verdict == "holds"
    assert replacing(add, name, "wrong", when).verdict == "violated"


def test_steps_of_a_function_in_the_place_of_a_built_in_one_are_searched():
    def adds(counter):
        counter.value += 1
        return 0

    def thread(counter):
        vars(builtins)["abs"] = adds
        abs(counter)

    result = gilcheck.fuzz(threads=[thread, thread], setup=Counter, invariant=is_two, judge=False, schedules=60)
    assert result.verdict == "violated", str(result)


def test_two_threads_that_replace_a_name_for_a_while_and_take_back_what_they_found_are_found():
    """As ``mock.patch`` does: the second may find what the first has put there."""

    def thread(counter):
        before = builtins.print
        builtins.print = wrong
        builtins.print = before

    def as_before(counter):
        return builtins.print is REAL["print"]

    def setup():
        builtins.print = REAL["print"]
        return Counter()

    result = gilcheck.fuzz(threads=[thread, thread], setup=setup, invariant=as_before, judge=False, schedules=60)
    assert result.verdict == "violated", str(result)
    assert "invariant" in result.reason


def test_what_a_run_has_put_there_the_next_runs_find():
    """An import does so, once in a process."""
    done, shown = [], []

    def thread(counter):
        with counter.lock:
            if not done:
                done.append(1)
                builtins.print = shown.append
            print(counter)  # noqa: T201 - it is another one
            assert shown.pop() is counter
            counter.value += 1

    result = counted(thread, thread, setup=Counter, invariant=is_two, schedules=40)
    assert "the first run changed 'done'" in result.reason, str(result)
    assert vars(builtins) == REAL


@pytest.mark.parametrize("name", one_in(3, ["open", "input", "print", "len", "isinstance"]))
def test_what_was_replaced_before_the_check_stays_so_for_setup_threads_invariant_and_teardown(name, monkeypatch):
    real, names = REAL[name], vars(builtins)
    fake = lambda *arguments, **keywords: real(*arguments, **keywords)  # noqa: E731

    def still():
        assert names[name] is fake

    def setup():
        still()
        return Counter()

    def thread(counter):
        still()
        add_locked(counter)

    def invariant(counter):
        still()
        return counter.value == 2

    with monkeypatch.context() as patch:
        patch.setattr(builtins, name, fake)
        made = check.program([thread, thread], setup, invariant, None, teardown=still)
        result = check.fuzz(made, plan(seed=7, budget=600.0, schedules=20))
        still()
    assert result.verdict == "holds", str(result)


def test_a_name_that_a_late_run_replaces_changes_nothing_after_it():
    runs = []

    def thread(counter):
        runs.append(1)
        if len(runs) > 50:
            builtins.isinstance = builtins.type = builtins.getattr = None
        add_locked(counter)

    result = counted(thread, thread, setup=Counter, invariant=is_two, schedules=60)
    assert len(runs) > 100
    assert result.verdict in ("holds", "inconclusive"), str(result)
    assert vars(builtins) == REAL


class Timeout:
    """A number of seconds that is none of the library's: what adds it to a time fails."""

    def __lt__(self, other):
        return False


@pytest.mark.parametrize("replaces", [True, False])
def test_an_error_of_the_library_that_ours_has_called_is_not_the_programs_beside_a_replaced_name(replaces):
    def thread(counter):
        if replaces:
            builtins.divmod = None
        with counter.lock:
            counter.value += 1
            if counter.value == 2:
                queue.SimpleQueue().get(timeout=Timeout())

    def setup():
        builtins.divmod = REAL["divmod"]
        return Counter()

    result = gilcheck.fuzz(threads=[thread, add], setup=setup, invariant=is_two, judge=False, schedules=60)
    assert result.verdict == ("inconclusive" if replaces else "violated"), str(result)
    assert ("builtins.divmod" in result.reason) is replaces
    assert ("taken back" in result.reason) is replaces


@pytest.mark.slow
def test_an_error_of_ours_between_the_runs_names_what_was_replaced_and_is_raised_otherwise(monkeypatch):
    def thread(counter):
        builtins.divmod = None
        add_locked(counter)

    monkeypatch.setattr(check, "differing_steps", operator.itemgetter(0))
    result = counted(thread, thread, setup=Counter, invariant=is_two, schedules=20)
    assert result.verdict == "inconclusive", str(result)
    assert result.why == "not explorable"
    assert result.told.startswith("the program has replaced builtins.divmod, ")
    assert vars(builtins) == REAL
    with pytest.raises(TypeError, match="not subscriptable"):
        counted(add_locked, add_locked, setup=Counter, invariant=is_two, schedules=20)


@pytest.mark.slow
def test_after_a_check_a_test_and_its_teardown_have_the_names_as_they_were_before(pytester):
    pytester.makepyfile(
        """
        import builtins, threading
        import pytest

        REAL = divmod

        def fake(*arguments):
            return "faked"

        @pytest.fixture
        def faked(monkeypatch):
            monkeypatch.setattr(builtins, "input", fake)
            yield threading.Lock()
            assert builtins.input is fake

        @pytest.mark.gil_fuzz(threads=2, schedules=20)
        def test_it(faked):
            with faked:
                builtins.divmod = None
                assert input() == "faked"

        def test_after():
            assert divmod is REAL
            assert builtins.input is not fake
        """
    )
    result = pytester.runpytest_subprocess("-p", "no:cacheprovider", "-p", "no:randomly")
    result.assert_outcomes(passed=2)
