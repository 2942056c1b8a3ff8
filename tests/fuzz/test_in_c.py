"""It is known what calls of the standard library in C touch: searches of correct programs with them are settled."""

import pytest

from pytest_gilcheck.engine.bytecode import in_c

from ..slow import one_in
from .in_c import NOT_KNOWN, PROGRAMS, Color, Lists, Pair, fill
from .programs import SETTLED, assert_no_more_than_holds, counted, under_the_lock


@pytest.mark.parametrize("name", one_in(20, PROGRAMS))
def test_a_program_that_meets_in_c_is_found_and_its_twin_with_a_lock_is_settled(name):
    setup, *threads, invariant = PROGRAMS[name]
    result = counted(*threads, setup=setup, invariant=invariant, schedules=600)
    assert (result.verdict, result.preemptions) == ("violated", 1), result.reason
    twin = counted(*map(under_the_lock, threads), setup=setup, invariant=invariant, schedules=600)
    assert twin.bound in SETTLED


@pytest.mark.parametrize("thread", one_in(3, NOT_KNOWN), ids=lambda thread: thread.__name__)
def test_nothing_is_settled_where_c_goes_on_with_what_may_change(thread):
    assert_no_more_than_holds(counted(thread, fill, setup=Lists, schedules=60))


class Compared:
    def __lt__(self, other):
        return True


class OwnPair(Pair):
    def __new__(cls, *values):
        return super().__new__(cls, *values)


@pytest.mark.parametrize(
    ("callee", "arguments"),
    [
        (in_c.heapq.heappush, ([Compared()], 1)),
        (in_c.heapq.heappush, ([1], Compared())),
        (in_c.bisect.insort_left, ([1], 1, 0, 1, len)),
        (Color, (2,)),
        (Color, (Compared(),)),
        (OwnPair, (1, 2)),
        (Compared, ()),
    ],
)
def test_it_is_not_known_where_code_of_the_program_may_run(callee, arguments):
    assert in_c.function(callee, arguments) is None


def test_an_exception_with_a_text_of_its_own_is_none_that_its_arguments_tell():
    class Told(ValueError):
        def __str__(self):
            return "told"

    assert in_c.shown_error(ValueError(1, 2)) == (1, 2)
    assert in_c.shown_error(Told(1)) is None
    assert in_c.shown_error(OSError(1, "why")) is None
    assert in_c.shown_error([1]) is None


def test_an_instance_of_a_class_of_the_program_does_not_decide_by_its_type_alone():
    assert in_c.is_decided_by_the_type([], in_c.collections.abc.Sequence)
    assert not in_c.is_decided_by_the_type(Compared(), in_c.collections.abc.Sequence)
    assert not in_c.is_decided_by_the_type([], type("Own", (in_c.collections.abc.Sequence,), {}))
