"""Without a GIL, some calls in C are several steps: a search takes them apart, or claims nothing if threads meet in them."""

import bisect
import collections
import heapq
import itertools
import json
import re
import sysconfig
import threading

import pytest

from pytest_gilcheck import Kind
from pytest_gilcheck.engine.bytecode import torn

from ..slow import one_in
from .in_several_steps import LOSING, ONE_STEP, SEVERAL_STEPS, WITHOUT_A_ROW, Handler, Lists, Rows, Shared, is_some_sum, see
from .programs import SETTLED, counted, under_the_lock

FREE_THREADED = bool(sysconfig.get_config_var("Py_GIL_DISABLED"))


def checked(thread):
    return counted(thread, thread, setup=Shared, schedules=300)


@pytest.mark.parametrize("name", one_in(3 if FREE_THREADED else 12, SEVERAL_STEPS))
def test_nothing_is_claimed_of_a_call_in_which_two_threads_may_be_unless_it_was_searched_in_steps(name):
    thread = SEVERAL_STEPS[name]
    result = checked(thread)
    if name in WITHOUT_A_ROW and not FREE_THREADED:
        result.assert_holds()
        return
    if result.verdict == "violated":
        assert "simulated: this call is several steps without a GIL" in result.reason
        assert result.kind == Kind.GIL_MASKED
        return
    assert "without a GIL" in result.reason
    assert "takes several steps in C" in result.reason or "the steps in C of" in result.reason
    assert result.verdict == "inconclusive" or "without a GIL simulated" in result.reason
    lines = {line for _, _, line in thread.__code__.co_lines() if line is not None}
    assert int(re.search(rf"{re.escape(thread.__code__.co_filename)}:(\d+)", result.reason)[1]) in lines


@pytest.mark.parametrize("name", one_in(3, ["heappush", "Counter.update", "zip", "sum beside an append", "BytesIO", "bytearray"]))
def test_a_lock_around_such_calls_makes_them_one_step(name):
    result = checked(under_the_lock(SEVERAL_STEPS[name]))
    assert result.bound in SETTLED, result.reason
    assert "without a GIL" not in result.reason


@pytest.mark.slow
@pytest.mark.parametrize("name", LOSING)
def test_what_breaks_in_the_middle_of_such_a_call_is_masked_by_the_gil_and_replays(name):
    threads, invariant = LOSING[name]
    result = counted(*threads, setup=Shared, invariant=invariant, schedules=100)
    assert (result.verdict, result.kind) == ("violated", Kind.GIL_MASKED), str(result)
    assert "simulated: this call is several steps without a GIL" in result.reason
    assert result.replays[0] == result.replays[1]
    again = counted(*threads, setup=Shared, invariant=invariant, replay=result.token)
    assert (again.verdict, again.kind) == ("violated", Kind.GIL_MASKED)


@pytest.mark.parametrize("name", one_in(3, LOSING))
def test_and_holds_behind_a_lock_and_for_a_build_with_a_gil(name):
    threads, invariant = LOSING[name]
    locked = counted(*map(under_the_lock, threads), setup=Shared, invariant=invariant, schedules=300)
    assert locked.bound in SETTLED
    assert "without a GIL" not in locked.reason
    counted(*threads, setup=Shared, invariant=invariant, schedules=100, mode="gil").assert_holds()


def test_a_call_that_was_searched_in_each_of_its_steps_may_hold_and_that_is_said():
    result = counted(*LOSING["sum beside a store"][0], setup=Shared, invariant=is_some_sum, schedules=300)
    result.assert_holds()
    assert result.bound in SETTLED
    assert "with the steps in C of sum(s.rows)" in result.reason


@pytest.mark.parametrize("name", one_in(4, ONE_STEP))
def test_what_holds_the_lock_of_a_container_all_the_time_is_one_step_on_every_build(name):
    assert checked(ONE_STEP[name]).bound in SETTLED


def test_an_object_that_code_under_test_calls_is_neither_asked_nor_several_steps():
    checked(lambda s: (see(s, s.handle(s.rows)), s.rows.append(3))).assert_holds()
    assert torn.of_call(Handler(), []) == torn.Doer()


def test_threads_that_each_start_a_thread_do_not_meet_by_what_these_lead_to_such_as_standard_error():
    def starts(s):
        started = threading.Thread(target=see, args=(s, s.rows))
        started.start()
        started.join()

    checked(starts).assert_holds()


ROWS, TABLE, QUEUE, RECENT = [1], {1: 1}, collections.deque([1]), collections.OrderedDict(a=1)
OWN_ROWS, OWN_TABLE = Rows([1]), Lists(list)


@pytest.mark.parametrize(
    ("callee", "arguments", "holder", "several"),
    [
        (sum, [ROWS], ROWS, True),
        (sorted, [ROWS], ROWS, False),
        (tuple, [TABLE], TABLE, True),
        (list, [TABLE], TABLE, False),
        (list, [TABLE.values()], TABLE, False),
        (tuple, [TABLE.values()], TABLE, True),
        (list, [zip(ROWS)], ROWS, True),
        (zip, [ROWS], ROWS, False),
        (next, [iter(ROWS)], ROWS, False),
        (list, [RECENT], RECENT, True),
        (len, [ROWS], ROWS, False),
        (list.index, [ROWS, 1], ROWS, True),
        (ROWS.count, [1], ROWS, True),
        (TABLE.copy, [], TABLE, False),
        (RECENT.copy, [], RECENT, True),
        (TABLE.get, [1], TABLE, False),
        (repr, [QUEUE], QUEUE, True),
        (str, [QUEUE], QUEUE, True),
        (repr, [ROWS], ROWS, False),
        (json.dumps, [TABLE], TABLE, True),
        (", ".join, [TABLE], TABLE, True),
        (collections.deque().extend, [ROWS], ROWS, True),
        (bisect.bisect_left, [ROWS, 1], ROWS, FREE_THREADED),
        (itertools.product, [TABLE], TABLE, True),
        (any, [frozenset()], frozenset(), False),
        (sorted, [OWN_ROWS], OWN_ROWS, FREE_THREADED),
        (OWN_ROWS.index, [1], OWN_ROWS, True),
        (OWN_ROWS.copy, [], OWN_ROWS, False),
        (len, [OWN_ROWS], OWN_ROWS, False),
        (list, [OWN_TABLE], OWN_TABLE, True),
        (dict, [OWN_TABLE], OWN_TABLE, False),
    ],
)
def test_what_goes_through_a_container_is_one_step_only_if_trials_say_so(callee, arguments, holder, several):
    assert torn.reads_in_parts(torn.of_call(callee, arguments), holder) is several


@pytest.mark.parametrize(
    ("name", "sign", "holder", "several"),
    [
        ("BINARY_OP", "*", QUEUE, True),
        ("BINARY_OP", "*", ROWS, False),
        ("BINARY_OP", "^", {1}, FREE_THREADED),
        ("BINARY_OP", "[]", ROWS, False),
        ("COMPARE_OP", "==", QUEUE, True),
        ("COMPARE_OP", "!=", TABLE, False),
        ("COMPARE_OP", "<", ROWS, FREE_THREADED),
        ("CONTAINS_OP", "", ROWS, True),
        ("CONTAINS_OP", "", {1}, False),
        ("FORMAT_SIMPLE", "", QUEUE, True),
        ("UNPACK_SEQUENCE", "", ROWS, FREE_THREADED),
        ("DICT_MERGE", "", RECENT, True),
        ("DICT_MERGE", "", TABLE, False),
        ("FOR_ITER", "", ROWS, False),
        ("GET_ITER", "", TABLE, False),
    ],
)
def test_so_is_an_instruction(name, sign, holder, several):
    assert torn.reads_in_parts(torn.of_instruction(name, sign), holder) is several


@pytest.mark.parametrize(
    ("callee", "holder", "several"),
    [
        (heapq.heappop, ROWS, True),
        (ROWS.sort, ROWS, True),
        (ROWS.append, ROWS, False),
        (RECENT.pop, RECENT, True),
        (next, iter(ROWS), True),
        (next, itertools.count(), False),
    ],
)
def test_a_change_is_several_steps_where_the_object_has_no_lock_or_is_empty_meanwhile(callee, holder, several):
    assert torn.changes_in_parts(torn.of_call(callee, [holder]), holder) is several


@pytest.mark.parametrize("unpacked", [False, True], ids=["by place", "unpacked"])
def test_a_state_in_a_tuple_is_no_part_of_what_its_parts_are_taken_for(unpacked):
    """Each thread takes the lock out of the state, which does not come in the middle of `next`."""

    def by_place(s):
        with s[1]:
            s[2].append(next(s[0]))

    def by_name(s):
        ahead, lock, got = s
        with lock:
            got.append(next(ahead))

    def bare(s):
        s[2].append(next(s[0]))

    def setup():
        return iter([1, 2, 3]), threading.Lock(), []

    thread = by_name if unpacked else by_place
    result = counted(thread, thread, setup=setup, invariant=lambda s: sorted(s[2]) == [1, 2], schedules=300)
    assert result.verdict == "holds", result.reason
    result = counted(bare, bare, setup=setup, schedules=300)
    assert result.verdict == "inconclusive"
    assert "next(s[0])" in result.reason
