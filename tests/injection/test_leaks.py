"""Leaks are found through what the workload can reach, and are named by the path to them."""

import asyncio
import functools
import logging
import os
import subprocess
import threading
import time

import pytest

from pytest_gilcheck.injection import leaks
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


def test_no_code_of_the_objects_runs_while_locks_are_looked_for():
    class Proxy:
        __slots__ = ("empty", "kept")

        def __init__(self):
            object.__setattr__(self, "kept", threading.Lock())

        def __getattribute__(self, name):
            raise RuntimeError(name)

        __class__ = property(lambda self: 1 / 0)

    class Items(dict):
        def items(self):
            raise RuntimeError("items")

    class Values(list):
        def __iter__(self):
            raise RuntimeError("values")

    class Key:
        def __repr__(self):
            raise RuntimeError("key")

    class Dynamic:
        def __init__(self):
            self.own = threading.Lock()

        def __getattr__(self, name):
            raise RuntimeError(name)

    proxy, items, values, dynamic = Proxy(), Items({Key(): threading.Lock()}), Values([threading.Lock()]), Dynamic()
    assert {"proxy.kept", "items[<Key>]", "values[0]", "dynamic.own"} <= names(lambda: (proxy, items, values, dynamic))


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


def test_a_lock_that_the_workload_made_and_left_held_is_a_leak():
    kept = []

    def work():
        return kept

    before = ResourceBaseline.now(work)
    kept.append(threading.Lock())
    assert before.leaks(work) == []
    kept[0].acquire()
    assert before.leaks(work) == ["lock kept[0] held"]


def test_a_thread_that_ends_within_the_grace_period_is_no_leak(monkeypatch):
    monkeypatch.setattr(leaks, "_GRACE", 60.0)
    before = ResourceBaseline.now(int)
    thread = threading.Thread(target=time.sleep, args=(0.1,))
    thread.start()
    assert before.leaks(int) == []
    assert thread not in threading.enumerate()  # `is_alive` may be true a moment longer on a free-threaded build


@pytest.mark.skipif(not os.path.isdir("/proc/self/task"), reason="no /proc here")
def test_a_child_process_that_has_ended_is_no_leak_although_nobody_waited_for_it():
    before = ResourceBaseline.now(int)
    with subprocess.Popen(["cat"], stdin=subprocess.PIPE, close_fds=True) as process:
        assert any(f"child process cat (pid {process.pid}) alive" == leak for leak in before.leaks(int))
        process.stdin.close()
        os.waitid(os.P_PID, process.pid, os.WEXITED | os.WNOWAIT)
        assert before.leaks(int) == []


@pytest.mark.parametrize("held", [True, False])
def test_a_lock_of_a_module_of_the_users_that_the_workload_imports_is_found_and_one_of_an_installed_package_is_not(
    pytester, monkeypatch, held
):
    pytester.makepyfile(bank_of_locks="import threading\nlock = threading.Lock()\nclass Desk:\n    lock = threading.Lock()\n")
    monkeypatch.syspath_prepend(pytester.path)
    bank = __import__("bank_of_locks")

    def work():
        return bank, pytest

    assert {"bank_of_locks.lock", "bank_of_locks.Desk.lock"} <= names(work)
    assert not any("pytest." in name for name in names(work))
    before = ResourceBaseline.now(work)
    if held:
        bank.lock.acquire()
    assert before.leaks(work) == (["lock bank_of_locks.lock held"] if held else [])


def test_a_semaphore_of_asyncio_and_the_lock_of_a_log_handler_are_found():
    semaphore, handler = asyncio.Semaphore(2), logging.NullHandler()
    other = logging.StreamHandler()

    def work():
        return semaphore, handler, other

    before = ResourceBaseline.now(work)
    asyncio.run(semaphore.acquire())
    other.acquire()
    assert sorted(before.leaks(work)) == ["lock other.lock held", "semaphore semaphore not released"]
    other.release()


def test_a_thread_that_is_about_to_end_is_not_left_behind_and_one_that_waits_is(monkeypatch):
    stop, later = threading.Event(), threading.Event()
    ending, waiting = (threading.Thread(target=event.wait, daemon=True) for event in (stop, later))
    ending.start()
    waiting.start()
    assert leaks._stays_alive(waiting)
    later.set()
    waiting.join()
    monkeypatch.setattr(leaks, "sleep", lambda seconds: (stop.set(), ending.join()))
    assert not leaks._stays_alive(ending)
