"""Where there is no GIL, some calls in C are several steps: a search, which sees one, claims nothing if threads meet in them."""

import collections
import heapq
import itertools
import sysconfig

import pytest

from pytest_gilcheck.fuzz.steps import torn

from ..slow import one_in
from .in_several_steps import ONE_STEP, SEVERAL_STEPS, Shared
from .programs import counted, under_the_lock

FREE_THREADED = bool(sysconfig.get_config_var("Py_GIL_DISABLED"))


def checked(thread):
    return counted(thread, thread, setup=Shared, schedules=300)


@pytest.mark.skipif(not FREE_THREADED, reason="with a GIL each is one step")
@pytest.mark.parametrize("name", SEVERAL_STEPS)
def test_nothing_is_claimed_without_a_gil_if_two_threads_may_be_in_one_call(name):
    thread = SEVERAL_STEPS[name]
    result = checked(thread)
    assert result.verdict == "inconclusive"
    assert "without a GIL, " in result.reason
    assert "takes several steps in C" in result.reason
    assert f"{thread.__code__.co_filename}:{thread.__code__.co_firstlineno}" in result.reason


@pytest.mark.skipif(FREE_THREADED, reason="each is several steps")
@pytest.mark.parametrize("name", one_in(20, SEVERAL_STEPS))
def test_with_a_gil_such_a_call_is_one_step(name):
    checked(SEVERAL_STEPS[name]).assert_holds()


@pytest.mark.skipif(not FREE_THREADED, reason="with a GIL each is one step")
@pytest.mark.parametrize("name", one_in(3, ["heappush", "Counter.update", "zip", "sum beside an append", "BytesIO", "bytearray"]))
def test_a_lock_around_such_calls_makes_them_one_step(name):
    assert "every interleaving is equivalent" in checked(under_the_lock(SEVERAL_STEPS[name])).reason


@pytest.mark.parametrize("name", one_in(4, ONE_STEP))
def test_what_holds_the_lock_of_a_container_all_the_time_is_one_step_on_every_build(name):
    assert "every interleaving is equivalent" in checked(ONE_STEP[name]).reason


@pytest.mark.parametrize(
    ("callee", "holder", "several"),
    [
        (sum, [], True),
        (sorted, [], False),
        (tuple, {}, True),
        (list, {}, False),
        (list, collections.OrderedDict(), True),
        (len, [], False),
        (list.index, [], True),
        ([].count, [], True),
        ({}.copy, {}, False),
        (collections.OrderedDict().copy, collections.OrderedDict(), False),
        (", ".join, {}, True),
        (collections.deque().extend, [], True),
        (list, iter([]), True),
        (heapq.heappop, [], True),
        (itertools.product, {}, True),
        (any, frozenset(), False),
    ],
)
def test_the_table_of_trials_says_which_calls_are_several_steps(callee, holder, several):
    assert torn.by_call(callee, holder) is several
