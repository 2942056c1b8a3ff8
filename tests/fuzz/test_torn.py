"""Where there is no GIL, some calls in C are several steps: a search, which sees one, claims nothing if threads meet in them."""

import bisect
import collections
import heapq
import itertools
import json
import re
import sysconfig

import pytest

from pytest_gilcheck.fuzz.steps import torn

from ..slow import one_in
from .in_several_steps import ONE_STEP, SEVERAL_STEPS, Handler, Lists, Rows, Shared, see
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
    lines = {line for _, _, line in thread.__code__.co_lines() if line is not None}
    assert int(re.search(rf"{re.escape(thread.__code__.co_filename)}:(\d+)", result.reason)[1]) in lines


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


def test_an_object_that_code_under_test_calls_is_neither_asked_nor_several_steps():
    checked(lambda s: (see(s, s.handle(s.rows)), s.rows.append(3))).assert_holds()
    assert torn.of_call(Handler(), []) == torn.Doer()


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
        (bisect.bisect_left, [ROWS, 1], ROWS, True),
        (itertools.product, [TABLE], TABLE, True),
        (any, [frozenset()], frozenset(), False),
        (sorted, [OWN_ROWS], OWN_ROWS, True),
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
        ("BINARY_OP", "^", {1}, True),
        ("BINARY_OP", "[]", ROWS, False),
        ("COMPARE_OP", "==", QUEUE, True),
        ("COMPARE_OP", "!=", TABLE, False),
        ("COMPARE_OP", "<", ROWS, True),
        ("CONTAINS_OP", "", ROWS, True),
        ("CONTAINS_OP", "", {1}, False),
        ("FORMAT_SIMPLE", "", QUEUE, True),
        ("UNPACK_SEQUENCE", "", ROWS, True),
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
