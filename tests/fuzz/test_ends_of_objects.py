"""Objects end in a run that is recorded where they end in any other: weak references, ``__del__`` and generators show it."""

import gc
import sys
import threading
import weakref

import pytest

from pytest_gilcheck.core.verdict import Verdict
from pytest_gilcheck.engine.touched.objects import Objects

from .programs import SETTLED, counted


class Handle:
    def __init__(self, log):
        self.log, self.uses = log, 0

    def __del__(self):
        self.log.append("closed")


class State:
    def __init__(self):
        self.lock, self.log, self.closed, self.uses = threading.Lock(), [], 0, 0

    def rows(self):
        try:
            yield 1
        finally:
            self.closed += 1


def forgets_what_it_refers_to_weakly(state):
    handle = Handle([])
    handle.uses = 1
    reference = weakref.ref(handle)
    state.uses = handle.uses
    del handle
    assert reference() is None


def closes_by_its_finalizer(state):
    with state.lock:
        before = len(state.log)
        handle = Handle(state.log)
        handle.uses = 1
        del handle
        assert len(state.log) == before + 1


def leaves_a_generator(state):
    with state.lock:
        before = state.closed
        rows = state.rows()
        next(rows)
        del rows
        assert state.closed == before + 1


def forgets_a_list_of_them(state):
    handles = [Handle([])]
    handles.append(1)
    reference = weakref.ref(handles[0])
    state.uses = 1
    del handles
    assert reference() is None


def closes_them_by_the_end_of_a_list(state):
    with state.lock:
        before = len(state.log)
        handles = [Handle(state.log)]
        handles.append(1)
        del handles
        assert len(state.log) == before + 1


@pytest.mark.parametrize(
    "body",
    [
        forgets_what_it_refers_to_weakly,
        pytest.param(closes_by_its_finalizer, marks=pytest.mark.slow),
        leaves_a_generator,
        pytest.param(forgets_a_list_of_them, marks=pytest.mark.slow),
        pytest.param(closes_them_by_the_end_of_a_list, marks=pytest.mark.slow),
    ],
)
def test_what_a_thread_drops_ends_there(body):
    result = counted(body, body, setup=State, schedules=60)
    assert result.verdict is Verdict.HOLDS, str(result)


def counts_the_references_to_a_list(state):
    items = []
    before = sys.getrefcount(items)
    items.append(1)
    state.uses = 1
    assert sys.getrefcount(items) == before


def collects_a_cycle(state):
    with state.lock:
        items = [Handle([])]
        items.append(items)
        reference = weakref.ref(items[0])
        del items
        gc.collect()
        assert reference() is None


def counts_the_weak_references(state):
    handle = Handle([])
    handle.uses = 1
    state.uses = 1
    assert weakref.getweakrefcount(handle) == 0


@pytest.mark.slow
@pytest.mark.parametrize("body", [counts_the_references_to_a_list, collects_a_cycle, counts_the_weak_references])
def test_what_only_fails_while_it_is_recorded_is_no_failure_of_the_program(body):
    result = counted(body, body, setup=State, schedules=15)
    assert result.verdict is Verdict.HOLDS, str(result)
    assert result.bound not in SETTLED


class Keys:
    def __init__(self):
        self.known, self.bad = {}, False

    def note(self):
        items = []
        self.known[id(items)] = 1
        del items
        self.known.clear()

    def look(self):
        items = []
        if id(items) in self.known:
            self.bad = True


@pytest.mark.slow
def test_ids_of_objects_that_have_ended_spoil_a_proof():
    result = counted(Keys.note, Keys.look, setup=Keys, invariant=lambda keys: not keys.bad, schedules=60)
    assert result.bound not in SETTLED, str(result)


class Delegate:
    def __init__(self, state):
        self.state = state

    def __iter__(self):
        return self

    def __next__(self):
        return 1

    def close(self):
        self.state.uses += 1


def delegating(state):
    yield from Delegate(state)


class Delegated:
    def __init__(self):
        self.uses, self.lock = 0, threading.Lock()
        self.rows = delegating(self)
        next(self.rows)

    def drop(self):
        self.rows = None

    def add(self):
        self.uses += 1


class GuardedDelegated(Delegated):
    def drop(self):
        with self.lock:
            self.rows = None

    def add(self):
        with self.lock:
            self.uses += 1


@pytest.mark.parametrize(("kind", "verdict"), [(Delegated, Verdict.VIOLATED), (GuardedDelegated, Verdict.HOLDS)])
def test_what_the_setup_has_made_ends_in_the_thread_that_drops_it(kind, verdict):
    result = counted(kind.drop, kind.add, setup=kind, invariant=lambda state: state.uses == 2, schedules=60)
    assert result.verdict is verdict, str(result)


class Cache:
    def __init__(self):
        self.handle = Handle([])
        self.reference = weakref.ref(self.handle)
        self.lock, self.uses = threading.Lock(), 0

    def drop(self):
        self.handle = None

    def use(self):
        if self.reference() is not None:
            self.uses = self.reference().uses


class GuardedCache(Cache):
    def use(self):
        handle = self.reference()
        if handle is not None:
            self.uses = handle.uses


@pytest.mark.parametrize(("kind", "verdict"), [(Cache, Verdict.VIOLATED), (GuardedCache, Verdict.HOLDS)])
def test_what_is_referred_to_weakly_may_end_between_two_looks(kind, verdict):
    result = counted(kind.use, kind.drop, setup=kind, schedules=60)
    assert result.verdict is verdict, str(result)


def test_an_object_has_one_number_while_it_lives_and_another_one_at_its_address_has_another():
    objects, thing, items = Objects(), Handle([]), []
    first, second = objects.number(thing), objects.number(items)
    assert (objects.number(thing), objects.number(items)) == (first, second)
    assert objects.alive() == {first: thing, second: items}
    address = id(thing)
    del thing
    others = [Handle([]) for _ in range(100)]
    [other] = [each for each in others if id(each) == address] or [others[0]]
    assert objects.number(other) not in (first, second)


def kept(make, *, late=False):
    objects = Objects()
    for each in [make(), *([] for _ in range(40 if late else 0))]:
        objects.number(each)
    del each
    objects.let_go()
    assert not objects.alive()
    return objects.disturbed


def held_by_a_cycle():
    items = [Handle([])]
    items.append(items)
    return items


def referred_to():
    lock = set()
    _references.append(weakref.ref(lock))
    return [lock]


_references = []


@pytest.mark.parametrize(
    ("make", "late", "disturbed"),
    [
        (lambda: [1, "a", (2, [])], False, False),
        (lambda: [Handle([])], False, True),
        (lambda: [[{"a": Handle([])}]], False, True),
        (lambda: [(each for each in "ab")], False, True),
        (referred_to, False, False),
        (referred_to, True, True),
    ],
)
def test_what_ends_with_a_kept_object_tells_whether_the_program_may_notice(make, late, disturbed):
    assert bool(kept(make, late=late)) == disturbed


class Plain:
    pass


@pytest.mark.parametrize("referring", [None, "before", "after"])
def test_the_reference_that_numbers_an_object_is_none_of_the_program_which_may_share_it(referring):
    objects, things, references = Objects(), [Plain()], []
    if referring == "before":
        references.append(weakref.ref(things[0]))
    for each in [things[0], things, *([] for _ in range(40))]:
        objects.number(each)
    if referring == "after":
        references.append(weakref.ref(things[0]))
    del each, things
    objects.let_go()
    assert not objects.alive()
    assert bool(objects.disturbed) == bool(referring)


def test_a_kept_object_in_a_cycle_is_let_go_with_all_else():
    objects = Objects()
    objects.number(held_by_a_cycle())
    objects.let_go()
    assert len(objects.alive()) == 1  # the cycle holds it, as it would in any run
    assert not objects.disturbed
    del objects
    gc.collect()


class Released:
    """One whose end comes to the place that lets kept objects go, as that of a pool does by the steps of what it calls."""

    __slots__ = ("objects",)

    def __init__(self, objects):
        self.objects = objects

    def __del__(self):
        self.objects.let_go()


def test_what_ends_while_kept_objects_are_let_go_may_let_go_of_others():
    objects = Objects()
    for _ in range(3):
        objects.number(Released(objects))
    objects.let_go()
    assert not objects.alive()
