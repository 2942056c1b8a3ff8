"""Programs that draw random numbers or depend on the order of a set: what can be repeated is, and the rest is sampled."""

import contextlib
import os
import random
import secrets
import string
import tempfile
import threading
import uuid
from concurrent.futures import Future, as_completed
from pathlib import Path

import pytest

from pytest_gilcheck.core.classes import name_of_callable
from pytest_gilcheck.engine.running import repeatable
from pytest_gilcheck.engine.schedule import Token

from ..slow import one_in
from .programs import Counter, add, add_locked, counted, is_two

SCHEDULES = 100


class Node:
    def __init__(self, name):
        self.name = name


class Slotted:
    __slots__ = ("name",)

    def __init__(self, name):
        self.name = name


class OtherCounter(Counter):
    def __init__(self):
        super().__init__()
        self.other = 0
        self.nodes = {Node(name) for name in "abcdefgh"}


def count(counter, number):
    """Take another path, by chance."""
    if number % 2:
        counter.other = number
    else:
        counter.other += 1


def by_random(counter):
    count(counter, random.randrange(10**6))


def by_generator(counter):
    count(counter, random.Random().randrange(10**6))


def by_urandom(counter):
    count(counter, os.urandom(1)[0])


def by_uuid(counter):
    count(counter, uuid.uuid4().int)


def by_time_based_uuid(counter):
    count(counter, uuid.uuid1().int >> 64)


def by_secrets(counter):
    count(counter, secrets.randbelow(1000))


def by_shuffle(counter):
    items = list(range(6))
    random.shuffle(items)
    count(counter, items[0])


def by_order_of_set(counter):
    for node in {Node(name) for name in "abcdefgh"}:
        count(counter, ord(node.name))


def by_order_of_shared_set(counter):
    count(counter, ord(next(iter(counter.nodes)).name))


def by_order_of_slotted(counter):
    for node in {Slotted(name) for name in "abcdefgh"}:
        count(counter, ord(node.name))


def by_hash(counter):
    count(counter, hash(Node("a")) >> 4)


def by_local_class(counter):
    class Local:
        pass

    count(counter, hash(Local()) >> 4)


def by_futures(counter):
    futures = [Future() for _ in range(4)]
    for number, future in enumerate(futures):
        future.set_result(number)
    for future in as_completed(futures):
        count(counter, future.result())


DRAWS = (
    by_random, by_generator, by_urandom, by_uuid, by_time_based_uuid, by_secrets, by_shuffle, by_order_of_set,
    by_order_of_shared_set, by_order_of_slotted, by_hash, by_local_class, by_futures,
)  # fmt: skip


@pytest.mark.slow
@pytest.mark.parametrize("draw", one_in(20, DRAWS), ids=lambda draw: draw.__name__)
def test_what_chance_decides_is_the_same_in_each_run_so_a_bug_replays_and_its_fixed_twin_holds(draw):
    def buggy(counter):
        draw(counter)
        add(counter)

    def fixed(counter):
        draw(counter)
        add_locked(counter)

    found = counted(buggy, buggy, setup=OtherCounter, invariant=is_two, schedules=6 * SCHEDULES)
    found.assert_violated()
    assert found.replays == (10, 10), str(found)
    counted(fixed, fixed, setup=OtherCounter, invariant=is_two, schedules=SCHEDULES).assert_holds()


class Slots:
    """As many slots that two threads of this name take two different ones in the first draw."""

    def __init__(self, name):
        generator = random.Random(repeatable.seed_of(name, 0))
        first = [generator.random(), generator.random()]
        self.slots = [0] * next(size for size in range(3, 20) if int(first[0] * size) != int(first[1] * size))
        self.lock = threading.Lock()

    def draw(self):
        return int(random.random() * len(self.slots))


@pytest.mark.slow
def test_a_failure_that_needs_another_draw_is_found_and_its_token_has_the_draw():
    def buggy(slots):
        slots.slots[slots.draw()] += 1

    def fixed(slots):
        slot = slots.draw()
        with slots.lock:
            slots.slots[slot] += 1

    def right(slots):
        return sum(slots.slots) == 2

    def setup():
        return Slots(name_of_callable(buggy))

    found = counted(buggy, buggy, setup=setup, invariant=right, schedules=800)
    found.assert_violated()
    assert Token.read(found.token).draw > 0
    counted(buggy, buggy, setup=setup, invariant=right, replay=found.token).assert_violated()
    result = counted(fixed, fixed, setup=setup, invariant=right, schedules=60)
    result.assert_holds()
    assert "other draw" in result.reason


@pytest.mark.slow
def test_the_order_of_a_set_of_locks_is_the_same_in_each_run_of_a_draw():
    def setup():
        counter = OtherCounter()
        counter.locks = {threading.Lock() for _ in range(8)}
        next(iter(counter.locks)).acquire()
        return counter

    def buggy(counter):
        for lock in counter.locks:
            if lock.acquire(blocking=False):
                counter.other += 1
        add(counter)

    found = counted(buggy, buggy, setup=setup, invariant=is_two, schedules=200)
    found.assert_violated()
    assert found.replays == (10, 10), str(found)


def test_numpy_draws_the_same_in_each_run_and_goes_on_where_it_was():
    numpy = pytest.importorskip("numpy")

    def thread(counter):
        count(counter, int(numpy.random.default_rng().integers(1000)))
        count(counter, int(numpy.random.random() * 1000))
        add(counter)

    numpy.random.seed(3)
    expected = list(numpy.random.random(2))
    numpy.random.seed(3)
    first = numpy.random.random()
    found = counted(thread, thread, setup=OtherCounter, invariant=is_two, schedules=200)
    found.assert_violated()
    assert found.replays == (10, 10), str(found)
    assert [first, numpy.random.random()] == expected


ENTROPY = Path("/dev/urandom")  # a source of chance that nothing controls


def by_true_chance(counter):
    with ENTROPY.open("rb", buffering=0) as source:
        number = source.read(1)[0]
    count(counter, number)


@pytest.mark.skipif(not ENTROPY.exists(), reason="no source of chance that nothing controls")
@pytest.mark.slow
def test_a_program_that_does_not_do_the_same_twice_is_sampled_all_the_same():
    def buggy(counter):
        for _ in range(8):
            by_true_chance(counter)
        add(counter)

    def fixed(counter):
        for _ in range(8):
            by_true_chance(counter)
        add_locked(counter)

    found = counted(buggy, buggy, setup=OtherCounter, invariant=is_two, schedules=600)
    found.assert_violated()
    assert "the same schedule gave different steps" in found.reason
    assert " of 40 runs of its schedule failed" in found.reason
    assert not found.token
    result = counted(fixed, fixed, setup=OtherCounter, invariant=is_two, schedules=60)
    assert result.verdict == "inconclusive"
    assert "the same schedule gave different steps" in result.reason


@pytest.mark.skipif(not ENTROPY.exists(), reason="no source of chance that nothing controls")
def test_what_fails_by_chance_without_any_concurrency_is_not_called_a_race():
    def thread(counter):
        for _ in range(8):
            by_true_chance(counter)
        if counter.other % 3 == 0:
            raise LookupError("by chance")

    result = None
    for _ in range(5):  # one time in 80, each thread of every sequential order raises it by chance, and then so does the check
        with contextlib.suppress(LookupError):
            result = counted(thread, thread, setup=OtherCounter, schedules=100)
            break
    assert result is not None
    assert result.verdict == "inconclusive", str(result)


@pytest.mark.skipif(not ENTROPY.exists(), reason="no source of chance that nothing controls")
@pytest.mark.slow
def test_what_fails_too_rarely_to_be_told_from_chance_is_not_called_a_race():
    def thread(counter):
        for _ in range(8):
            by_true_chance(counter)
        if counter.other % 32 == 0:
            raise LookupError("by chance")

    for seed in range(3):
        result = counted(thread, thread, setup=OtherCounter, schedules=100, seed=seed)
        assert result.verdict == "inconclusive", str(result)


def test_an_object_from_before_the_check_is_found_in_its_set_again():
    kept = {BEFORE}

    def thread(counter):
        assert BEFORE in kept
        kept.add(BEFORE)
        add_locked(counter)

    counted(thread, thread, setup=OtherCounter, invariant=is_two, schedules=30).assert_holds()
    assert BEFORE in kept
    assert "__hash__" not in vars(Node)
    assert "__hash__" not in vars(threading.Thread)


BEFORE = Node("before")


def test_the_random_numbers_of_the_test_itself_go_on_where_they_were():
    random.seed(5)
    expected = [random.random(), random.random()]
    random.seed(5)
    first = random.random()
    counted(by_random, add_locked, setup=OtherCounter, schedules=5)
    assert [first, random.random()] == expected


@pytest.mark.parametrize("in_setup", one_in(2, [True, False]))
def test_temporary_names_are_new_in_each_process_so_none_is_tried_twice(in_setup, tmp_path, monkeypatch):
    tried = []
    mkdir = os.mkdir

    def noted(path, mode):
        tried.append(path)
        mkdir(path, mode)

    monkeypatch.setattr(os, "mkdir", noted)

    def make(state=None):
        tempfile.mkdtemp(dir=tmp_path)

    nothing = [].copy
    threads = [lambda state: nothing()] * 2 if in_setup else [make, make]
    for _ in range(2):
        monkeypatch.setattr(tempfile, "_name_sequence", None)  # as it is in a new process
        result = counted(*threads, setup=make if in_setup else list, schedules=30)
        assert result.verdict == "holds", result.reason
    assert len(tried) == len(set(tried)) == len(os.listdir(tmp_path)) >= 60


def _by_uuid():
    return uuid.uuid4().hex


def _by_secrets():
    return secrets.token_urlsafe(8)


def _by_choices():
    return "".join(random.choices(string.ascii_lowercase, k=12))


@pytest.mark.slow
@pytest.mark.parametrize("name", one_in(3, [_by_uuid, _by_choices, _by_secrets]), ids=lambda name: name.__name__)
@pytest.mark.parametrize("where", one_in(2, ["setup", "thread"]))
def test_a_program_that_leaves_what_it_names_by_random_numbers_is_checked_all_the_same(name, where, tmp_path):
    def make():
        (tmp_path / name()).mkdir()

    def setup():
        if where == "setup":
            make()
        return Counter()

    def buggy(counter):
        if where == "thread":
            make()
        add(counter)

    def fixed(counter):
        if where == "thread":
            make()
        add_locked(counter)

    found = counted(buggy, buggy, setup=setup, invariant=is_two, schedules=6 * SCHEDULES)
    assert (found.verdict, found.symptom) == ("violated", "invariant"), found.reason
    assert found.replays == (10, 10)
    counted(buggy, buggy, setup=setup, invariant=is_two, replay=found.token).assert_violated()
    counted(fixed, fixed, setup=setup, invariant=is_two, schedules=SCHEDULES).assert_holds()


def test_what_an_earlier_process_has_left_by_a_random_name_does_not_fail_the_first_run(tmp_path):
    def make(counter):
        (tmp_path / uuid.uuid4().hex).mkdir()
        add_locked(counter)

    drawn = random.Random(repeatable.seed_of(name_of_callable(make), 0))
    left = [uuid.UUID(bytes=drawn.randbytes(16), version=4) for _ in range(2)]
    for each in left:
        (tmp_path / each.hex).mkdir()
    counted(make, make, setup=Counter, invariant=is_two, schedules=SCHEDULES).assert_holds()


def test_a_program_that_raises_whatever_it_names_fails_with_what_it_raised():
    def setup():
        raise LookupError(uuid.uuid4().hex)

    with pytest.raises(LookupError):
        counted(add, add, setup=setup, invariant=is_two, schedules=SCHEDULES)


def test_setup_that_works_only_once_is_not_repeatable():
    made = []

    def setup():
        made.append(uuid.uuid4())
        if len(made) > 1:
            raise LookupError("made before")
        return Counter()

    result = counted(add, add, setup=setup, invariant=is_two, schedules=SCHEDULES)
    assert result.verdict == "inconclusive"
    assert result.why == "not repeatable"
    assert result.told.startswith("it fails when it runs again")
