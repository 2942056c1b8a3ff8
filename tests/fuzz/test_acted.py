"""Of a check and an act, the pair that decides is what a thread has learnt and what has made that untrue, and no other one."""

import re
import threading

import pytest

from ..slow import one_in
from . import acted
from .programs import counted

PAIR = re.compile(r"decided by  (T\d) (.*) at .*:\d+ \((.*)\)\n *before (T\d) (.*) at .*:\d+ \((.*)\);")
SHAPES = [
    (acted.ByExceptionBehindLocks, "calls self.data.pop(key)", "writes self.data[key] = <object>"),
    (acted.ByException, "reads self.data[key]", "writes self.data[key] = <object>"),
    (acted.ByGet, "calls self.data.get(key)", "writes self.data[key] = <object>"),
    (acted.ByIn, "evaluates key in self.data", "writes self.data[key] = <object>"),
    (acted.ByGetBehindLocks, "calls self.data.get(key)", "writes self.data[key] = <object>"),
    (acted.ByNext, "takes the next of", "calls self.data.append((key, pool))"),
]


@pytest.mark.parametrize(
    ("shape", "check", "act"), one_in(3, [pytest.param(*each) for each in SHAPES]), ids=lambda each: getattr(each, "__name__", "")
)
def test_the_pair_is_what_a_thread_has_learnt_and_what_made_that_untrue(shape, check, act):
    result = counted(acted.take, acted.take, setup=shape, invariant=acted.one_pool, schedules=300)
    assert result.verdict == "violated", result.reason
    first, learnt, where, second, made_untrue, there = PAIR.search(result.story).groups()
    assert learnt.startswith(check), result.story
    assert made_untrue == act, result.story
    assert where.startswith(shape.__name__)
    assert there.startswith(shape.__name__)
    assert first != second
    if shape is not acted.ByExceptionBehindLocks:  # whose section of the lock is longer than a preemption is moved
        assert re.search(rf"-- {first} is preempted: {second} runs --", result.story), "it acts on it after that"


@pytest.mark.parametrize("shape", one_in(3, [shape for shape, *_ in SHAPES]))
def test_the_same_behind_one_lock_holds(shape):
    result = counted(acted.take_alone, acted.take_alone, setup=shape, invariant=acted.one_pool, schedules=100)
    assert result.verdict == "holds", str(result)


def test_where_no_pair_decides_alone_the_report_says_which_ones_differ_and_chooses_none():
    result = counted(acted.add_to_both, acted.add_to_both, setup=acted.Sums, invariant=acted.both_right, schedules=300)
    assert result.verdict == "violated", result.reason
    assert PAIR.search(result.story) is None
    told = result.story[result.story.index("decided by  no pair alone; a neighbouring schedule that passes has these in") :]
    pairs = re.findall(r"T\d reads sums\.(\w+) = 0 at .*\n *before T\d writes sums\.\1 = 1 at", told)
    assert sorted(pairs) == ["first", "second"], told


def test_what_nobody_learns_from_decides_nothing_beside_a_pair_that_does():
    result = counted(acted.add_to_first, acted.add_to_first, setup=acted.Sums, invariant=acted.first_right, schedules=300)
    _, learnt, _, _, made_untrue, _ = PAIR.search(result.story).groups()
    assert (learnt, made_untrue) == ("reads sums.first = 0", "writes sums.first = 1"), result.story


class BesideAThreadOfSetup(acted.Sums):
    """A thread that the setup starts does what is not known, before the first point of a run."""

    def __init__(self):
        super().__init__()
        self.over = threading.Event()
        threading.Thread(target=self.over.wait).start()


def ends_well(sums):
    sums.over.set()
    return acted.first_right(sums)


def test_beside_a_thread_that_the_setup_has_started_the_pair_is_named_as_well():
    result = counted(acted.add_to_first, acted.add_to_first, setup=BesideAThreadOfSetup, invariant=ends_well, schedules=300)
    assert result.verdict == "violated", result.reason
    assert PAIR.search(result.story)[2] == "reads sums.first = 0"
