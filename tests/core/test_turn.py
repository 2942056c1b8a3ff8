import os
import signal
import subprocess
import sys
import time

import pytest

from pytest_gilcheck.core.turn import TurnTimeout, turn

HOLDER = """
import sys, time
from pytest_gilcheck.core.turn import turn
with turn(10):
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


def test_a_turn_that_another_process_has_is_waited_for_and_then_given_up(holder):
    told = []
    with pytest.raises(TurnTimeout, match="another timing check kept this machine"), turn(0.2, lambda: told.append(1)):
        pass
    assert told == [1]


def test_the_death_of_its_holder_frees_the_turn(holder):
    holder.send_signal(signal.SIGKILL)
    holder.wait()
    with turn(10):
        pass


def test_a_free_turn_is_not_waited_for(lock):
    start = time.monotonic()
    with turn(60, lambda: pytest.fail("nobody has it")):
        pass
    assert time.monotonic() - start < 30


def test_a_check_inside_a_measured_workload_is_an_error_and_not_a_wait(lock):
    with turn(60), pytest.raises(RuntimeError, match="cannot hold a check of its own"), turn(60):
        pass
    with turn(60):
        pass


def test_a_process_that_the_workload_forked_does_not_keep_the_turn(lock):
    from pytest_gilcheck.core.child import ChildSide, fork

    with turn(60):
        side = fork(limit=60)
        if isinstance(side, ChildSide):
            time.sleep(60)
    with turn(1):
        pass
    os.kill(side._pid, signal.SIGKILL)
    side.wait()


def test_a_lock_that_cannot_be_opened_says_which_and_how_to_move_it(monkeypatch, tmp_path):
    monkeypatch.setenv("GILCHECK_LOCK", str(tmp_path))
    with pytest.raises(TurnTimeout, match="GILCHECK_LOCK moves it"), turn(1):
        pass
