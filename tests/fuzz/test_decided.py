"""The pair of accesses that a failure is decided by."""

import re
import sys

import pytest

from pytest_gilcheck.engine.bytecode.visible import Access
from pytest_gilcheck.fuzz.explaining.pairs import turned_round
from pytest_gilcheck.fuzz.explaining.recorder import RecordedStep
from pytest_gilcheck.fuzz.explaining.rows import SourceRow

from . import decided
from .programs import counted


def pair_of(*threads, setup, invariant=None):
    result = counted(*threads, setup=setup, invariant=invariant, schedules=300)
    assert result.verdict == "violated", result.reason
    found = re.search(r"decided by  (T\d .*) at .*:\d+ \(.*\)\n *before (T\d .*) at .*:\d+ \(", result.story)
    return None if found is None else found.groups()


def test_a_read_by_a_method_is_named_and_not_the_nearest_two_writes():
    pair = pair_of(decided.hit, decided.hit, setup=decided.Hits, invariant=lambda s: s.hits == {"a": 2})
    assert [each.split(" ", 1)[1] for each in pair] == ["calls s.hits.get('a', 0)", "writes s.hits['a'] = 1"]


def test_the_check_is_named_that_saw_the_old_value_and_not_a_later_read_of_the_same_name():
    pair = pair_of(decided.make_once, decided.make_once, setup=decided.Lazy, invariant=lambda s: s.made == 1)
    assert [each.split(" ", 1)[1] for each in pair] == ["reads s.client = None", "writes s.client = <Client>"]


def test_the_counter_of_a_test_does_not_decide_because_an_update_of_it_that_is_lost_hides_the_failure():
    assert pair_of(decided.load, decided.load, setup=decided.Cached, invariant=lambda s: s.calls == 1) is None


@pytest.mark.parametrize("threads", [(decided.publish, decided.use), (decided.use, decided.publish)])
def test_of_what_is_published_too_early_the_value_that_is_not_yet_there_is_named(threads):
    pair = pair_of(*threads, setup=decided.Published)
    assert {each.split(" ", 1)[1] for each in pair} == {"reads s.value = None", "writes s.value = 1"}


def test_many_uses_of_one_object_hide_no_other_name_of_it():
    pair = pair_of(decided.prepare_once, decided.prepare_once, setup=decided.Prepared, invariant=lambda s: s.made == 1)
    assert [each.split(" ", 1)[1] for each in pair] == ["reads s.value = None", "writes s.value = 1"]


def test_the_story_says_neither_how_an_exception_leaves_a_lock_nor_how_a_generator_ends():
    threads = (decided.fail_locked, decided.count_each)
    story = counted(*threads, setup=decided.Prepared, invariant=lambda s: s.count == 4, schedules=300).story
    assert "acquires a lock" in story
    assert "takes the next of (" in story
    assert re.search(r"(tests|writes) s\.lock|(reads|writes) \(", story) is None, story


def test_what_a_line_does_again_and_again_is_told_once_and_of_very_much_the_first_and_the_last():
    polls = SourceRow(0, 1, "", [*["reads s.ready = False"] * 40, "reads s.ready = True"], "", 1)
    assert polls.note == "reads s.ready = False (40 times); reads s.ready = True"
    counts = [f"writes s.count = {number}" for number in range(40)]
    assert SourceRow(0, 1, "", counts, "", 1).note == "; ".join([*counts[:6], "...", *counts[-2:]])


@pytest.mark.parametrize("threads", [(decided.count_up, decided.see_both), (decided.see_both, decided.count_up)])
def test_the_story_says_of_each_preemption_that_the_thread_is_preempted(threads):
    result = counted(*threads, setup=decided.Counting, schedules=300)
    assert result.verdict == "violated", result.reason
    assert result.story.count("is preempted") == result.preemptions > 1


def step(thread, kind, line, value, holder=1):
    where = holder, ".client"
    changes = {where: kind == "write"}
    return RecordedStep(0, thread, Access(kind, ".client", line), "lazy.py", line, "get", "client", where, value, changes)


def test_two_reads_are_no_conflict_and_a_read_and_a_write_of_another_thread_are_one():
    read, write = step(0, "read", 3, "A"), step(1, "write", 7, "B")
    assert read.conflict(step(1, "read", 7, "A")) is None
    assert read.conflict(write) == write.conflict(read) == (1, ".client")
    assert read.conflict(step(1, "write", 7, "B", holder=2)) is None, "of another object"
    assert read.conflict(step(0, "write", 7, "B")) is None, "of the same thread"


def test_of_two_reads_that_come_too_early_the_one_that_sees_another_value_later_is_named():
    def step(thread, kind, line, value):
        changes = {(1, ".client"): kind == "write"}
        return RecordedStep(
            0, thread, Access(kind, ".client", line), "lazy.py", line, "get", "client", (1, ".client"), value, changes
        )

    check, store, again = ("read", 15), ("write", 17), ("read", 18)
    failing = [step(0, *check, "None"), step(1, *check, "None"), step(1, *store, "A"), step(1, *again, "A"), step(0, *store, "B")]
    passing = [step(0, *check, "None"), step(0, *store, "A"), step(1, *check, "A"), step(1, *again, "A")]
    assert turned_round(failing, passing)[0][:2] == (1, 4)


def test_what_a_line_does_with_another_object_in_the_run_that_passes_is_not_in_the_opposite_order():
    failing = [step(0, "write", 3, "B", holder=2), step(1, "read", 7, "B", holder=2)]
    assert turned_round(failing, [step(1, "read", 7, "A", holder=1), step(0, "write", 3, "B", holder=2)]) == []
    assert turned_round(failing, [step(1, "read", 7, "A", holder=2), step(0, "write", 3, "B", holder=2)]) != []


@pytest.mark.skipif(
    sys.version_info < (3, 12), reason="the jump of an if statement has the text of several lines, so it is not told"
)
def test_the_test_of_a_container_is_told_as_one_and_no_longer_as_a_read():
    result = counted(decided.take_one, decided.take_one, setup=decided.Queued, schedules=300)
    result.assert_violated()
    assert "tests s.waiting" in result.story


def test_the_test_of_what_a_call_has_returned_is_no_second_call_and_a_del_is_no_write():
    result = counted(decided.drop, decided.drop, setup=decided.Queued, schedules=300)
    result.assert_violated()
    assert "reads s.is_there()" not in result.story
    assert "deletes s.table['a']" in result.story


LOADED_ONCE, READ_TWICE, ASKED_TWICE = lambda s: s.loads == 1, lambda s: s.reads == 2, lambda s: s.asked == 2


@pytest.mark.parametrize(
    ("thread", "setup", "invariant", "last", "never"),
    [
        (decided.load_missing, decided.Loading, LOADED_ONCE, "writes self.loads = 2", "= label"),
        (decided.read_twice, decided.Counted, READ_TWICE, "writes self.reads = 1", "self.reads = 2"),
        (decided.ask, decided.Computing, ASKED_TWICE, "writes s.asked = 1", "s.asked = 2"),
    ],
)
def test_no_code_of_the_program_runs_to_tell_its_story(thread, setup, invariant, last, never):
    result = counted(thread, thread, setup=setup, invariant=invariant, schedules=300)
    assert (result.verdict, result.preemptions) == ("violated", 1), result.reason
    assert "is preempted" in result.story
    assert last in result.story
    assert never not in result.story
