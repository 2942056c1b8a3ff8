"""What an interrupted workload leaves over: found where it can be reached, by a name that says where."""

import functools
import threading

import pytest

from pytest_gilcheck.interrupt.left_over import Baseline, locks

MODULE_LOCK = threading.Lock()


class Store:
    shared = threading.Lock()

    def __init__(self):
        self.own = threading.RLock()
        self.changed = threading.Condition()
        self.shards = {"a": [threading.Lock()]}

    def work(self):
        return MODULE_LOCK


class Slotted:
    __slots__ = ("lock",)

    def __init__(self):
        self.lock = threading.Lock()


def names(work):
    return {name for name, _ in locks(work)}


def test_locks_of_the_object_its_class_its_containers_and_its_module_are_found_by_name():
    found = names(Store().work)
    assert {"self.own", "self.changed._lock", "self.shards['a'][0]", "MODULE_LOCK"} <= found
    assert any(name.endswith("shared") for name in found)


def test_locks_in_closures_and_slots_are_found():
    lock, slotted = threading.Lock(), Slotted()
    assert {"lock", "slotted.lock"} <= names(lambda: (lock, slotted))


def test_a_partial_leads_to_its_function_and_arguments():
    assert {"argument 1.own", "MODULE_LOCK"} <= names(functools.partial(Store.work, Store()))


@pytest.mark.parametrize("make", [threading.Lock, threading.RLock])
def test_a_lock_that_is_held_now_and_was_not_before_is_left_over(make):
    lock = make()

    def work():
        return lock

    before = Baseline.now(work)
    assert before.left(work) == []
    lock.acquire()
    assert before.left(work) == ["lock lock held"]
    assert Baseline.now(work).left(work) == []
    lock.release()


def test_a_thread_that_ends_soon_is_no_leftover_and_one_that_stays_is():
    stop = threading.Event()
    before = Baseline.now(int)
    thread = threading.Thread(target=stop.wait, name="stays")
    thread.start()
    assert before.left(int) == ["thread 'stays' alive"]
    stop.set()
    assert before.left(int) == []
    thread.join()


def test_a_file_that_stays_open_is_left_over(tmp_path):
    before = Baseline.now(int)
    with open(tmp_path / "file", "w") as file:
        assert [str(tmp_path / "file") in words for words in before.left(int)] == [True]
        assert not file.closed
    assert before.left(int) == []
