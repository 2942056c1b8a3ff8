import os
import signal
import subprocess
import sys
import time

import pytest

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
        pytest.raises(MachineLockTimeout, match="another timing check held the machine lock"),
        machine_lock(0.2, lambda: waited.append(1)),
    ):
        pass
    assert waited == [1]


def test_the_lock_is_released_when_its_holder_dies(holder):
    holder.send_signal(signal.SIGKILL)
    holder.wait()
    with machine_lock(10):
        pass


def test_a_free_lock_is_taken_without_a_wait(lock):
    start = time.monotonic()
    with machine_lock(60, lambda: pytest.fail("no other process holds the lock")):
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


def test_a_lock_file_that_cannot_be_opened_is_an_error_that_names_the_setting(monkeypatch, tmp_path):
    monkeypatch.setenv("GILCHECK_LOCK", str(tmp_path))
    with pytest.raises(MachineLockTimeout, match="set GILCHECK_LOCK to another path"), machine_lock(1):
        pass
