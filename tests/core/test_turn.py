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
    with turn(60, lambda: pytest.fail("nobody has it")), turn(60):  # nor is one's own
        pass
    assert time.monotonic() - start < 30
