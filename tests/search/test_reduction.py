"""Which schedules a reduction proposes after runs that are written down, and what it says of them: nothing runs here."""

import pickle
from dataclasses import replace

import pytest

from pytest_gilcheck.engine.bytecode.visible import Access
from pytest_gilcheck.engine.schedule import Choice, Schedule
from pytest_gilcheck.engine.summary import Focusing, Torn
from pytest_gilcheck.search.focus import focus_of
from pytest_gilcheck.search.reduction import Reduction

from .written import COUNTER, LIST, ONE_LOCK, OTHER_LOCK, acquires, reads, releases, run, writes

EMPTY = Schedule()
LOST_UPDATE = [(0, reads(COUNTER)), (0, writes(COUNTER)), (1, reads(COUNTER)), (1, writes(COUNTER))]
TURNED = [LOST_UPDATE[0], *LOST_UPDATE[2:], LOST_UPDATE[1]]


def locked(one, other):
    return [
        *((0, each) for each in (acquires(one), reads(COUNTER), writes(COUNTER), releases(one))),
        *((1, each) for each in (acquires(other), reads(COUNTER), writes(COUNTER), releases(other))),
    ]


def examined(*transitions, alike=(0, 1), gil=False, **of):
    """A reduction that has seen one run, with no preemption."""
    reduction = Reduction(alike, gil)
    assert reduction.propose().schedule == EMPTY
    reduction.examine(EMPTY, run(*transitions, **of))
    return reduction


def waiting(reduction):
    return {item.schedule.choices for item in reduction.frontier.waiting}


def preempt(point, thread=1):
    return (Choice(point, thread),)


def test_a_race_is_turned_round_right_before_its_first_transition():
    reduction = examined(*LOST_UPDATE)
    assert waiting(reduction) == {preempt(2)}
    assert {item.schedule.choices for item in reduction.frontier.hints} == {preempt(1), preempt(2)}
    reduction.examine(Schedule(preempt(2)), run(*TURNED, schedule=Schedule(preempt(2))))
    assert preempt(1) in waiting(reduction), "the run that turned it round shows the next race"


def test_a_pair_that_a_lock_keeps_in_order_is_not_turned_only_who_has_the_lock_first():
    assert waiting(examined(*locked(ONE_LOCK, ONE_LOCK))) == {preempt(1)}
    assert waiting(examined(*locked(ONE_LOCK, OTHER_LOCK))) == {preempt(3)}


def test_threads_that_share_nothing_leave_nothing_to_try():
    reduction = examined((0, writes(COUNTER)), (1, writes(LIST)))
    assert reduction.finished
    assert not reduction.doubt


@pytest.mark.parametrize(("alike", "beginners"), [((0, 0, 0), {1}), ((0, 1, 2), {1, 2})])
def test_of_threads_that_do_the_same_and_have_touched_nothing_one_is_tried(alike, beginners):
    writing = [(thread, writes(COUNTER)) for thread in range(3)]
    reduction = examined(*writing, alike=alike)
    assert {choice.thread for (choice,) in waiting(reduction) if choice.point == 1} <= beginners
    if beginners == {1}:
        assert (Choice(1, 2),) not in waiting(reduction)


def test_what_one_thread_reads_before_it_counts_as_its_touch():
    """The second thread comes before the first transition since which the first one has touched nothing."""
    reduction = examined((0,), (0, writes(COUNTER)), (1, writes(COUNTER)))
    assert waiting(reduction) == {preempt(1)}
    reduction = examined((0, reads(LIST)), (0, writes(COUNTER)), (1, writes(COUNTER)))
    assert waiting(reduction) == {preempt(2)}


def test_with_a_gil_threads_are_switched_only_where_that_can():
    reduction = Reduction((0, 1), gil=True)
    reduction.propose()
    reduction.examine(EMPTY, replace(run(*LOST_UPDATE), reachable={2}))
    assert waiting(reduction) == {preempt(2)}
    reduction = Reduction((0, 1), gil=True)
    reduction.propose()
    reduction.examine(EMPTY, replace(run(*LOST_UPDATE), reachable={1}))
    assert waiting(reduction) == {preempt(1)}


def test_a_run_that_has_said_no_more_than_another_leads_to_no_further_schedule():
    reduction = examined(*LOST_UPDATE)
    before = waiting(reduction)
    reduction.examine(EMPTY, run(*LOST_UPDATE))
    assert waiting(reduction) == before


@pytest.mark.parametrize(
    ("of", "doubt"),
    [
        ({"touched": {"found_again": True}}, "what one run changes, the next one finds"),
        ({"doubt": "time plays a part"}, "time plays a part"),
        ({"schedule": Schedule(preempt(9))}, ""),
        ({}, ""),
    ],
)
def test_a_doubt_of_a_run_is_one_of_the_search(of, doubt):
    reduction = Reduction((0, 1))
    reduction.propose()
    summary = run(*LOST_UPDATE)
    touched = replace(summary.touched, **of.pop("touched", {}))
    reduction.examine(EMPTY, replace(summary, touched=touched, **of))
    assert reduction.doubt == doubt


def test_a_schedule_that_was_not_followed_is_a_doubt():
    reduction = examined(*LOST_UPDATE)
    reduction.examine(Schedule(preempt(2)), run(*LOST_UPDATE))
    assert reduction.doubt == "a schedule could not be followed"


def drained(reduction, *transitions):
    """What is proposed until nothing is left, if each run does the same in its own order."""
    seen = []
    while (proposed := reduction.propose()) is not None:
        seen.append(proposed)
        threads = sorted({thread for thread, *_ in transitions}, key=lambda thread: thread != begins(proposed))
        steps = [each for thread in threads for each in transitions if each[0] == thread]
        schedule = proposed.schedule or Schedule(preempt(1))
        reduction.saw(proposed, run(*steps, schedule=schedule))
    return seen


def begins(proposed):
    choices = proposed.schedule.choices if proposed.schedule is not None else preempt(1)
    return choices[0].thread if choices and choices[0].point == 1 else 0


def test_threads_that_share_nothing_are_independent_after_the_opposite_order_has_said_the_same():
    reduction = Reduction((0, 1))
    order, recorded = drained(reduction, (0, writes(COUNTER)), (1, writes(LIST)))[1:]
    assert order.how == (1, 0)
    assert recorded.want.touched
    assert reduction.independent
    assert (reduction.runs, reduction.records) == (1, 2)


def test_threads_that_share_something_are_not_independent():
    reduction = Reduction((0, 1))
    drained(reduction, (0, writes(COUNTER)), (1, writes(COUNTER)))
    assert reduction.finished
    assert not reduction.independent


def test_without_time_for_records_a_schedule_is_run_first_and_recorded_afterwards():
    reduction = Reduction((0, 1), fits=lambda runs, seconds: False)
    first = reduction.propose()
    assert first.want.touched
    reduction.saw(first, run(*LOST_UPDATE))
    plain = reduction.propose()
    assert (plain.schedule.choices, plain.want.touched) == (preempt(2), False)
    reduction.saw(plain, replace(run(*TURNED), touched=None))
    again = reduction.propose()
    assert (again.schedule, again.want.touched) == (plain.schedule, True)
    reduction.saw(again, run(*TURNED, schedule=Schedule(preempt(2))))
    assert (reduction.runs, reduction.records) == (2, 2)


TORN = {1: Torn("update at mine.py:1", frozenset({COUNTER}), "in C update+2")}


@pytest.mark.parametrize("parts", [True, False])
def test_a_call_in_c_that_another_step_may_come_into_is_taken_apart_or_told(parts):
    asked = []
    reduction = Reduction((0, 1), take_apart=lambda call: asked.append(call) or parts)
    reduction.examine(EMPTY, run((0, writes(COUNTER)), (1, writes(COUNTER)), torn=TORN, told={2: "n += 1 at mine.py:9"}))
    assert asked == ["in C update+2"]
    assert ("n += 1 at mine.py:9 may come in the middle of it" in reduction.torn) is not parts
    assert bool(reduction.doubt) is not parts


def test_a_call_in_c_beside_which_nobody_touches_the_same_is_left():
    reduction = examined((0, writes(COUNTER)), (1, writes(LIST)), torn=TORN)
    assert not reduction.torn


STEP, OTHER = Access("read", ".n", 1), Access("read", ".own", 2)


@pytest.mark.parametrize(("guessed", "hidden"), [(set(), {1: OTHER}), ({1}, {})])
def test_a_focus_hides_what_one_thread_alone_touches_and_no_guess(guessed, hidden):
    touched = replace(run((0, writes(LIST)), (0, writes(COUNTER)), (1, writes(COUNTER))).touched, guessed=guessed)
    of_point = {1: 1, 2: 2, 3: 2}
    focusing = Focusing({1: OTHER, 2: STEP}, of_point, {1, 2}, anchors={1: "own", 2: "n"})
    focus = focus_of(touched, focusing)
    assert focus.hidden == hidden
    assert focus.points == 3 - len(hidden)
    if hidden:
        assert focus.without(Schedule(preempt(2))) == Schedule(preempt(1))


def test_a_summary_says_the_same_after_it_was_pickled():
    summary = run(*locked(ONE_LOCK, ONE_LOCK))
    again = pickle.loads(pickle.dumps(summary))
    assert again == summary
    one, other = Reduction((0, 1)), Reduction((0, 1))
    one.examine(EMPTY, summary)
    other.examine(EMPTY, again)
    assert waiting(one) == waiting(other)
