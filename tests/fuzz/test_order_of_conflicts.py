"""Which schedules come first where there is no time for all, and that each is run without a record before it is recorded."""

import array
import sysconfig
import threading
from pathlib import Path

import pytest

from pytest_gilcheck.fuzz.conflicts.focus import Focus
from pytest_gilcheck.fuzz.schedule import Choice, Schedule

from .programs import FEW, Counter, add, add_locked, reduced

NAMES = [f"field_{number}" for number in range(60)]


def compiled(text, file):
    """What a text defines that is said to be in this file."""
    names = {}
    exec(compile(text, str(file), "exec"), names)
    return names


def many_harmless_races(folder):
    """A function whose threads race for many attributes, each at an instruction of its own."""
    lines = "\n".join(f"    state.{name} = 1; state.{name}" for name in NAMES)
    return compiled(f"def many(state):\n{lines}\n", Path(folder) / "of_others" / "__init__.py")["many"]


class Busy(Counter):
    def __init__(self):
        super().__init__()
        for name in NAMES:
            setattr(self, name, 0)


@pytest.mark.parametrize(("add_one", "broken"), [(add, True), (add_locked, False)])
def test_a_race_in_the_users_code_is_tried_before_those_in_a_library(add_one, broken):
    many = many_harmless_races(sysconfig.get_path("purelib"))

    def thread(state):
        many(state)
        add_one(state)

    with reduced(thread, thread, setup=Busy) as reduction:
        assert (reduction.failure is not None) is broken
    assert reduction.runs <= FEW


def test_of_a_loop_each_pair_of_instructions_is_tried_once_before_any_is_tried_twice():
    def thread(state):
        for _ in range(30):
            for name in NAMES[:2]:
                setattr(state, name, getattr(state, name))
            state.field_3 = state.field_4
        state.value += 1
        for _ in range(40):  # so it is used as often as the others
            assert state.value

    with reduced(thread, thread, setup=Busy, most=20) as reduction:
        assert reduction.failure is not None


def test_what_works_on_an_object_of_c_that_both_threads_use_is_tried_before_other_steps_that_are_not_known(tmp_path):
    unknown = "\n".join("    next(map(int, '1'))" for _ in range(60))
    text = f"def thread(numbers):\n{unknown}\n    numbers[0] += 1\n"
    thread = compiled(text, tmp_path / "mine.py")["thread"]
    with reduced(thread, thread, setup=lambda: array.array("i", [0]), invariant=lambda numbers: numbers[0] == 2) as reduction:
        assert reduction.failure is not None
    assert reduction.runs <= FEW


def starts_two(body):
    def thread(state):
        threads = [threading.Thread(target=body, args=(state,)) for _ in range(2)]
        for each in threads:
            each.start()
        for each in threads:
            each.join()

    return thread


@pytest.mark.parametrize(("body", "broken"), [(add, True), (add_locked, False)])
def test_what_was_preempted_goes_on_only_when_the_threads_that_are_started_later_have_ended(body, broken):
    with reduced(starts_two(body), most=100) as reduction:
        assert (reduction.failure is not None) is broken
        if broken:
            assert reduction.records == 1
            assert reduction.failure.schedule.preemptions == 1


TEMPLATE = "def render(mine, state):\n    for each in range(5):\n        mine.append(each)\n    state.order.append(len(mine))\n"


class Rendered:
    def __init__(self):
        self.value, self.order = 0, []


def render(state):
    """As a template engine does: the code is made anew in each run."""
    compiled(TEMPLATE, Path(__file__))["render"]([], state)
    for _ in range(20):
        list(map(int, "12"))
    seen = state.value
    state.value = seen + 1


def test_steps_of_code_that_each_run_makes_anew_are_not_left_out_so_a_schedule_leads_where_it_should():
    with reduced(render, render, setup=Rendered, most=1, focusing=True) as reduction:
        focus, explorer = reduction.focus, reduction.explorer
        assert focus is not None
        explorer.hide(focus.hidden)
        tried = 0
        for point in sorted(focus.anchors):
            schedule = Schedule((Choice(point, 1),))
            run, _ = explorer.follow(focus.without(schedule))
            if run.choices:
                assert focus.led(run, schedule), (point, run.anchors)
                tried += 1
        assert tried > 10
        first = min(focus.anchors)
        other = Schedule((Choice(max(focus.anchors), 1),))
        run, _ = explorer.follow(focus.without(Schedule((Choice(first, 1),))))
        assert not focus.led(run, other)


@pytest.mark.parametrize(("add_one", "broken"), [(add, True), (add_locked, False)])
def test_a_schedule_that_leads_elsewhere_where_steps_are_left_out_is_run_with_every_step(monkeypatch, add_one, broken):
    monkeypatch.setattr(Focus, "without", lambda self, schedule: Schedule())
    with reduced(add_one, add_one, focusing=True) as reduction:
        assert (reduction.failure is not None) is broken
        assert reduction.focused == 0
