"""What the killed processes of a check would have removed themselves, and what they made to stay."""

import multiprocessing
import os
import shutil
import signal
import sys
import tempfile
from dataclasses import replace
from pathlib import Path

import pytest

from pytest_gilcheck import gilcheck
from pytest_gilcheck.core.clocks import time
from pytest_gilcheck.core.fork_safety import can_fork
from pytest_gilcheck.interrupt import leftovers
from pytest_gilcheck.interrupt.claim import InterruptClaim
from pytest_gilcheck.interrupt.delivery import deliver
from pytest_gilcheck.interrupt.starting import Starter

from . import importable

pytestmark = pytest.mark.skipif(can_fork() is not None, reason=f"{can_fork()}")
SEMAPHORES = Path("/dev/shm")


@pytest.fixture
def temporary(tmp_path, monkeypatch):
    """A folder for temporary files of this test alone."""
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    return tmp_path


@pytest.mark.parametrize("ends", [False, True])
def test_what_a_killed_workload_would_have_removed_is_removed_and_what_it_made_to_stay_is_left(temporary, ends):
    users = tempfile.TemporaryDirectory()

    def work():
        folder, file = tempfile.TemporaryDirectory(), tempfile.NamedTemporaryFile()  # noqa: SIM115 - the kill closes it
        lock = multiprocessing.get_context("spawn").Lock()
        Path(folder.name, "inside").mkdir()
        file.write(b"text")
        tempfile.mkdtemp(prefix="stays-")
        with tempfile.NamedTemporaryFile("w", prefix="stays-", delete=False) as names:
            names.write(lock._semlock.name)
        assert Path(file.name).exists()
        with lock:
            time.sleep(0.01 if ends else 60)

    result = gilcheck.interrupt(work, signals="SIGTERM", repeats=1, over=0.3, exits_within=5.0, judge=False)
    left, stay = {path.name for path in temporary.glob("tmp*")}, list(temporary.glob("stays-*"))
    assert Path(users.name).exists()
    users.cleanup()
    assert left == {Path(users.name).name}, result
    assert len(stay) >= 2
    semaphores = {path.read_text() for path in stay if path.is_file()}
    assert semaphores
    assert all(name.startswith("/mp-gc") for name in semaphores)
    if sys.platform == "linux":
        assert not [name for name in semaphores if (SEMAPHORES / f"sem.{name[1:]}").exists()]
        if not ends:
            assert result.outcome is None, result


@pytest.mark.slow
def test_a_new_interpreter_marks_its_names_too(temporary, monkeypatch):
    monkeypatch.setenv("TMPDIR", str(temporary))
    starter = replace(Starter(importable.sleeps_with_a_folder, None, (signal.SIGTERM,)), spawn=True)
    trial = deliver(starter, signal.SIGTERM, 0.2, InterruptClaim(2.0, 5.0, (signal.SIGTERM,)), 30.0)
    assert trial.status == -signal.SIGTERM, trial
    assert len(list(temporary.glob("tmp*"))) == 1
    leftovers.remove(starter.token)
    assert list(temporary.glob("tmp*")) == []


def test_only_what_carries_the_token_of_the_check_is_removed(temporary):
    names = ["tmpgc12ab34cd_abcdefgh", "pymp-gc12ab34cd_a_c_e_g_", "tmpgc99ab34cd_abcdefgh", "tmpabcdefgh", "gc12ab34cd_", "users"]
    for name in names:
        (temporary / name).mkdir()
        (temporary / name / "inside").touch()
    (temporary / "to_users_gc12ab34cd_abcdefgh").symlink_to(temporary / "users")
    leftovers.remove("12ab34cd")
    assert sorted(path.name for path in temporary.iterdir()) == sorted(names[2:])
    assert (temporary / "users" / "inside").exists()
    shutil.rmtree(temporary / "users")


@pytest.mark.skipif(not os.access(SEMAPHORES, os.W_OK), reason="semaphores are in no such folder here")
def test_of_the_semaphores_only_those_of_the_check_are_removed():
    ours, users = SEMAPHORES / "sem.mp-gc12ab34cd-abcdefgh", SEMAPHORES / "sem.mp-gc99ab34cd-abcdefgh"
    try:
        ours.touch()
        users.touch()
        leftovers.remove("12ab34cd")
        assert (ours.exists(), users.exists()) == (False, True)
    finally:
        ours.unlink(missing_ok=True)
        users.unlink(missing_ok=True)
