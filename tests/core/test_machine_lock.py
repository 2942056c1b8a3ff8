"""The machine lock excludes timing checks of other processes, and a crash or a forked process does not keep it."""

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from pytest_gilcheck.core import machine_lock as module
from pytest_gilcheck.core.machine_lock import MachineLockTimeout, machine_lock

HOLDER = """
import sys, time
from pytest_gilcheck.core.machine_lock import machine_lock
with machine_lock(10):
    print("held", flush=True)
    time.sleep(60)
"""


@pytest.fixture
def lock(tmp_path, monkeypatch):
    monkeypatch.setenv("GILCHECK_LOCK", str(tmp_path / "lock"))
    return tmp_path / "lock"


@pytest.fixture
def holder(lock):
    process = subprocess.Popen(
        [sys.executable, "-c", HOLDER], stdout=subprocess.PIPE, env=os.environ | {"GILCHECK_LOCK": str(lock)}
    )
    assert process.stdout is not None
    assert process.stdout.readline() == b"held\n"
    yield process
    process.kill()
    process.wait()
    process.stdout.close()


def test_the_wait_for_another_process_ends_at_the_timeout(holder):
    waited = []
    with (
        pytest.raises(MachineLockTimeout, match=f"process {holder.pid}. held the machine lock"),
        machine_lock(0.2, waited.append),
    ):
        pass
    assert waited == [holder.pid]


def test_the_lock_is_released_when_its_holder_dies(holder):
    holder.send_signal(signal.SIGKILL)
    holder.wait()
    with machine_lock(10):
        pass


def test_a_free_lock_is_taken_without_a_wait(lock):
    start = time.monotonic()
    with machine_lock(60, lambda pid: pytest.fail("no other process holds the lock")):
        pass
    assert time.monotonic() - start < 30


def test_a_check_inside_a_measured_workload_is_an_error_without_a_wait(lock):
    with machine_lock(60), pytest.raises(RuntimeError, match="cannot run another timing check"), machine_lock(60):
        pass
    with machine_lock(60):
        pass


def test_a_process_that_the_workload_forked_does_not_hold_the_lock(lock):
    from pytest_gilcheck.core.child import ChildSide, fork

    with machine_lock(60):
        side = fork(limit=60)
        if isinstance(side, ChildSide):
            time.sleep(60)
    with machine_lock(1):
        pass
    os.kill(side.pid, signal.SIGKILL)
    side.wait()


@pytest.mark.parametrize("content", [b"the notes of a user\n", b"x", bytes(17)], ids=["text", "short", "long"])
def test_a_file_of_something_else_is_not_overwritten(lock, content):
    lock.write_bytes(content)
    with (
        pytest.raises(MachineLockTimeout, match=r"GILCHECK_LOCK=.*/lock is no file of a machine lock"),
        machine_lock(1),
    ):
        pass
    assert lock.read_bytes() == content


def test_what_is_no_regular_file_is_no_lock(monkeypatch):
    monkeypatch.setenv("GILCHECK_LOCK", "/dev/null")
    with pytest.raises(MachineLockTimeout, match=r"GILCHECK_LOCK=/dev/null is no file of a machine lock"), machine_lock(1):
        pass


def test_an_empty_file_and_the_file_of_an_earlier_lock_are_taken(lock):
    lock.touch()
    for _ in range(2):
        with machine_lock(1):
            pass
    assert len(lock.read_bytes()) in module._SIZES[1:]


def test_a_lock_file_that_cannot_be_opened_is_an_error_that_names_the_setting(monkeypatch, tmp_path):
    monkeypatch.setenv("GILCHECK_LOCK", str(tmp_path))
    with pytest.raises(MachineLockTimeout, match="set GILCHECK_LOCK to another path"), machine_lock(1):
        pass


QUEUE = """
import os, sys
from pytest_gilcheck.core.machine_lock import machine_lock
def note(what):
    with open(os.environ["GILCHECK_LOCK"] + ".log", "a") as log:
        log.write(what)
with machine_lock(60, lambda pid: print("waits", flush=True)):
    note("takes ")
    print("has it", flush=True)
    sys.stdin.readline()
    note("leaves ")
print("over", flush=True)
"""


class Waiter:
    """A process that holds the lock until it is told to go on."""

    def __init__(self, lock, code=QUEUE):
        self.process = subprocess.Popen(
            [sys.executable, "-c", code],
            stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, env=os.environ | {"GILCHECK_LOCK": str(lock)},
        )  # fmt: skip

    def says(self):
        return self.process.stdout.readline().strip()

    def go_on(self):
        self.process.stdin.write("\n")
        self.process.stdin.flush()
        assert self.says() == "over"

    def end(self):
        self.process.kill()
        self.process.communicate()


@pytest.fixture
def queue(lock):
    """Five processes that came one after the other; the first holds the lock."""
    waiters = [Waiter(lock)]
    assert waiters[0].says() == "has it"
    for _ in range(4):
        waiters.append(Waiter(lock))
        assert waiters[-1].says() == "waits"
    yield waiters
    for waiter in waiters:
        waiter.end()


def test_who_comes_first_is_served_first(queue):
    order = []
    for turn, waiter in enumerate(queue):
        if turn:
            while (said := waiter.says()) == "waits":  # it says so for each new holder
                pass
            assert said == "has it"
        order.append(waiter)
        waiter.go_on()
    assert order == queue


def test_neither_a_holder_nor_one_who_waits_keeps_the_others_waiting_by_dying(queue):
    queue[2].end()
    queue[3].end()
    queue[0].end()
    while queue[1].says() != "has it":
        pass
    queue[1].go_on()
    while queue[4].says() != "has it":
        pass
    queue[4].go_on()


def test_nobody_overtakes_although_one_who_waited_died(queue):
    queue[1].end()
    late = Waiter(os.environ["GILCHECK_LOCK"])
    assert late.says() == "waits"
    queue[0].go_on()
    for waiter in (queue[2], queue[3], queue[4], late):
        while waiter.says() != "has it":
            pass
        waiter.go_on()
    late.end()
    assert Path(f"{os.environ['GILCHECK_LOCK']}.log").read_text() == "takes leaves " * 5, "no two had it at once"


def test_the_holder_of_a_turn_and_what_it_starts_do_not_wait(lock):
    code = "from pytest_gilcheck.core.machine_lock import machine_lock\nwith machine_lock(1): print('has it')"
    with module.turn(60):
        with machine_lock(1):
            pass
        assert subprocess.run([sys.executable, "-c", code], capture_output=True, text=True).stdout == "has it\n"
    with machine_lock(1):
        pass


def test_a_turn_excludes_others(lock):
    with_turn = Waiter(lock, QUEUE.replace("machine_lock(", "turn(").replace("import machine_lock", "import turn"))
    assert with_turn.says() == "has it"
    waiter = Waiter(lock)
    assert waiter.says() == "waits"
    with_turn.go_on()
    assert waiter.says() == "has it"
    waiter.go_on()
    for each in (with_turn, waiter):
        each.end()
