"""What a sixth hostile test found: library state that a program reaches into, ends that C brings about, steps in C."""

import pytest

from pytest_gilcheck import gilcheck

from ..slow import only
from . import ended, reached
from .programs import SETTLED, counted

REACHED_INTO = {
    "parts of a queue": (reached.State, reached.put, reached.compare_parts, reached.good),
    "a text of a class of its own": (reached.WithReport, reached.add_up, reached.move, reached.ten),
    "an attribute of a library's class": (reached.WithCurve, reached.read_twice, reached.change, reached.good),
}
COPIED_IN_SEVERAL_STEPS = {"matches in a bytearray", "parts of a bytearray"}  # without a GIL
FOUND = {
    "the moment before a lock is released": (
        reached.State, reached.say_and_release, reached.release_and_say, reached.try_if_ready, reached.good
    ),
    "a raw stream": (ended.WithRaw, ended.hold_for_a_moment, ended.hold_nothing, ended.let_go, ended.no_early_end),
    "a generator suspended in else": (
        ended.WithGenerator, ended.hold_for_a_moment, ended.hold_nothing, ended.let_go, ended.no_early_end
    ),
    "matches in a bytearray": (ended.State, ended.export, ended.copied(ended.export), ended.grow, None),
    "parts of a bytearray": (ended.State, ended.unpack, ended.copied(ended.unpack), ended.grow, None),
    "a view of memory": (ended.WithView, ended.view_add, None, ended.view_add, ended.view_is_two),
}  # fmt: skip


@pytest.mark.slow
@pytest.mark.parametrize("name", only(("parts of a queue",), REACHED_INTO))
def test_a_program_that_reaches_into_what_the_library_keeps_is_found_or_searched_on(name):
    setup, *threads, invariant = REACHED_INTO[name]
    result = counted(*threads, setup=setup, invariant=invariant, schedules=200)
    assert result.bound not in SETTLED, str(result)


@pytest.mark.slow
@pytest.mark.parametrize("name", only(("the moment before a lock is released",), FOUND))
def test_it_is_found_in_a_long_program_and_its_fixed_twin_holds(name):
    setup, buggy, fixed, other, invariant = FOUND[name]
    found = counted(buggy, other, setup=setup, invariant=invariant, schedules=60)
    assert found.verdict == "violated", str(found)
    if fixed is not None:
        twin = counted(fixed, other, setup=setup, invariant=invariant, schedules=60)
        in_several_steps = name in COPIED_IN_SEVERAL_STEPS
        assert twin.verdict == ("inconclusive" if in_several_steps else "holds"), str(twin)
        assert ("without a GIL, " in twin.reason) is in_several_steps


@pytest.mark.slow
def test_an_item_that_is_seen_in_a_simple_queue_can_be_taken():
    result = counted(reached.put_job, reached.take_if_any, setup=reached.WithSimpleQueue, schedules=200)
    assert result.verdict == "holds", str(result)


@pytest.mark.slow
def test_whether_a_thread_is_alive_depends_on_the_schedule_alone():
    add = reached.ensure_started
    found = counted(add, add, setup=reached.Worker, invariant=reached.started_once, schedules=300)
    assert found.verdict == "violated", str(found)
    assert found.replays == (10, 10), str(found)
    once = reached.ensure_started_once
    twin = counted(once, once, setup=reached.LockedWorker, invariant=reached.started_once, schedules=100)
    assert twin.verdict == "holds", str(twin)


@pytest.mark.slow
def test_a_call_of_a_mock_that_was_one_step_is_named():
    from unittest import mock

    result = gilcheck.fuzz(
        threads=[lambda each: each(1)] * 2, setup=mock.Mock, invariant=lambda each: each.call_count == 2, schedules=20
    )
    assert result.verdict == "holds"
    assert "each call of Python code in unittest was one step" in result.reason
    stepped = gilcheck.fuzz(
        threads=[lambda each: each(1)] * 2, setup=mock.Mock, invariant=lambda each: each.call_count == 2, include="unittest.mock"
    )
    stepped.assert_violated()
