"""What a step may touch of which that is not known: it is in conflict with two steps of another thread, which are interrupted."""

import collections

import pytest

from pytest_gilcheck.core.build_flags import FREE_THREADED_BUILD
from pytest_gilcheck.engine.bytecode.supposed import led_to
from pytest_gilcheck.engine.bytecode.touch import ALL
from pytest_gilcheck.engine.touched.dictionaries import Dictionaries
from pytest_gilcheck.engine.touched.objects import Objects

from ..slow import only
from . import supposed as programs
from . import supposed_names
from .programs import counted, reduced


def judged(setup, threads, right, *, locked):
    made = [programs.beside_loops(each, locked=locked) for each in threads]
    return counted(*made, setup=setup, invariant=lambda s: s.seen[0] in right, schedules=40)


@pytest.mark.parametrize("name", only(("format_map",), programs.READ_IN_ONE_STEP))
def test_two_stores_are_interrupted_where_another_thread_reads_both_in_one_step(name):
    store, read, right = programs.READ_IN_ONE_STEP[name]
    found = judged(programs.State, [read, store], right, locked=False)
    assert found.verdict == "violated", str(found)
    fixed = judged(programs.State, [read, store], right, locked=True)
    assert fixed.verdict != "violated", str(fixed)


@pytest.mark.slow
@pytest.mark.parametrize("name", programs.CHANGED_IN_ONE_STEP)
def test_two_reads_are_interrupted_where_another_thread_changes_names_through_their_dictionary(name):
    read, change = programs.CHANGED_IN_ONE_STEP[name]
    right = (0, 0), (1, 1)
    found = judged(supposed_names.make, [read, change], right, locked=False)
    assert found.verdict == "violated", str(found)
    fixed = judged(supposed_names.make, [read, change], right, locked=True)
    assert fixed.verdict != "violated", str(fixed)


def add_by_name(s):
    s.seen.append(s.by_name["a"] + s.by_name["b"])


@pytest.mark.skipif(FREE_THREADED_BUILD, reason="a step does something at least there, and a pass depends on its conflicts")
def test_no_pass_depends_on_a_conflict_that_is_supposed_and_each_does_on_one_that_is_known():
    store, read, _ = programs.READ_IN_ONE_STEP["format_map"]
    for reads, known in ((read, False), (add_by_name, True)):
        with reduced(reads, store, setup=programs.State, invariant=None, most=1) as reduction:
            turned = [item.rank.likely for item in reduction.frontier.waiting]
        assert turned
        assert any(turned) is known


class Thing:
    def __init__(self, inner):
        self.inner = inner


def test_it_leads_through_containers_instances_and_iterators():
    inner = {"a": 1}
    thing = Thing([inner])
    counts = collections.Counter(a=1)
    found = [each.holder for each in led_to([map(counts.get, "a"), (thing,)])]
    for each in (inner, thing, counts):
        assert any(each is one for one in found), each


def test_a_few_objects_are_enough():
    assert len(led_to([[Thing(None) for _ in range(1000)]])) <= 25


@pytest.mark.skipif(FREE_THREADED_BUILD, reason="reference counts are shared out among threads there")
def test_what_is_made_for_the_step_alone_is_left_out():
    shared = [1]
    found = led_to([[{"rows": shared}]])
    assert [each.holder for each in found] == [shared], found


def test_an_attribute_and_the_element_of_its_name_are_one_thing():
    numbers = Dictionaries(Objects())
    thing = Thing(1)
    attribute = numbers.number(thing, "inner")
    assert numbers.number(thing.__dict__, ("inner",)) == attribute
    assert numbers.number(thing.__dict__, ALL) == (attribute[0], ALL)
    assert numbers.number({}, ("inner",)) != attribute


def test_a_dictionary_that_was_used_before_its_object_has_one_number():
    numbers = Dictionaries(Objects())
    thing = Thing(1)
    element = numbers.number(thing.__dict__, ("inner",))
    assert numbers.number(thing, "inner") == element
    old = thing.__dict__
    thing.__dict__ = {"inner": 2}
    assert numbers.number(thing, "inner")[0] == numbers.number(thing.__dict__, ALL)[0]
    assert numbers.number(old, ALL)[0] != numbers.number(Thing(3), "inner")[0]


def test_names_of_a_module_are_elements_of_its_dictionary():
    numbers = Dictionaries(Objects())
    assert numbers.number(globals(), "Thing") == numbers.number(globals(), ("Thing",))
