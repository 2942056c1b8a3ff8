"""Leaks are found through what the workload can reach, and are named by the path to them."""

import functools
import threading

import pytest

from pytest_gilcheck.injection.leaks import ResourceBaseline, locks

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
def test_a_lock_held_now_but_not_at_the_baseline_is_a_leak(make):
    lock = make()

    def work():
        return lock

    before = ResourceBaseline.now(work)
    assert before.leaks(work) == []
    lock.acquire()
    assert before.leaks(work) == ["lock lock held"]
    assert ResourceBaseline.now(work).leaks(work) == []
    lock.release()


def test_a_thread_that_ends_soon_is_no_leak_and_one_that_stays_alive_is():
    stop = threading.Event()
    before = ResourceBaseline.now(int)
    thread = threading.Thread(target=stop.wait, name="stays")
    thread.start()
    assert before.leaks(int) == ["thread 'stays' alive"]
    stop.set()
    assert before.leaks(int) == []
    thread.join()


def test_a_file_that_stays_open_is_a_leak(tmp_path):
    before = ResourceBaseline.now(int)
    with open(tmp_path / "file", "w") as file:
        assert [str(tmp_path / "file") in leak for leak in before.leaks(int)] == [True]
        assert not file.closed
    assert before.leaks(int) == []
