"""Our clocks run on, and tell the right date, whatever a test does to those of everybody else.

What libraries do is done here by hand, so that it is tested where they are not installed; `tests/company` has the libraries.
"""

import datetime
import os
import subprocess
import sys
import time
from pathlib import Path

import pytest

from pytest_gilcheck.core import clocks, programs
from tests.undecided import undecided

# As freezegun does it: each attribute of a loaded module that is a function of the module time is replaced, and stands still.
FREEZE = """
import sys, time

def freeze():
    now = {"time": 0.0, "time_ns": 0, "monotonic": 5.0, "monotonic_ns": 5, "perf_counter": 7.0, "perf_counter_ns": 7}
    frozen = {getattr(time, name): (lambda value=value: value) for name, value in now.items()}
    for module in list(sys.modules.values()):
        for name, value in list(vars(module).items()):
            try:
                if value in frozen:
                    setattr(module, name, frozen[value])
            except TypeError:
                continue
"""
CHECKS = """
import os, threading
if LATE:
    freeze()
import pytest_gilcheck
from pytest_gilcheck import calls
from pytest_gilcheck.core import clocks
from pytest_gilcheck.scaling import check
if not LATE:
    freeze()
assert time.monotonic() == 5.0
one = threading.Lock()

def alone():
    with one:
        clocks.sleep(0.02)

def deaf():
    while True:
        try:
            threading.Event().wait(60)
        except KeyboardInterrupt:
            pass

gilcheck = pytest_gilcheck.gilcheck
scaling = dict(threads=2, min_speedup=1.5, budget=1)
print("scales", gilcheck.scaling(lambda: clocks.sleep(0.02), **scaling).verdict)
print("does not scale", gilcheck.scaling(alone, **scaling).verdict)
interrupt = dict(repeats=1, over=0.05, within=2, exits_within=0.5)
print("hears", gilcheck.interrupt(lambda: threading.Event().wait(60), **interrupt).verdict)
print("is deaf", gilcheck.interrupt(deaf, **interrupt).verdict)
"""


def run(code, **options):
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=90, **options)
    assert done.returncode == 0, done.stderr
    return done.stdout.splitlines()


@pytest.mark.exclusive
@pytest.mark.parametrize("late", [False, True], ids=["imported before", "imported while frozen"])
@pytest.mark.slow
def test_with_every_clock_frozen_the_checks_still_end_and_tell_right_from_wrong(late):
    said = dict(line.rsplit(" ", 1) for line in run(f"{FREEZE}\nLATE = {late}\n{CHECKS}"))
    right = {"scales": "holds", "does not scale": "violated", "hears": "holds", "is deaf": "violated"}
    assert {name: verdict for name, verdict in said.items() if verdict != right[name]}.keys() <= {
        name for name, verdict in said.items() if verdict == "inconclusive"
    }, said
    assert said.keys() == right.keys()
    if "inconclusive" in said.values():
        undecided(f"this machine is too busy: {said}")


def test_no_attribute_of_a_module_of_ours_is_a_function_of_the_public_clock():
    code = """
import pkgutil, sys, time, importlib, pytest_gilcheck
skipped = ("experiments", "import_child", "prove_child", "__main__", "client")
for each in pkgutil.walk_packages(pytest_gilcheck.__path__, "pytest_gilcheck."):
    if not each.name.endswith(skipped):
        importlib.import_module(each.name)
public = {id(value) for value in vars(time).values() if type(value) is type(len)}
ours = [m for n, m in sys.modules.items() if n.startswith("pytest_gilcheck")]
assert len(ours) > 150
print([f"{m.__name__}.{n}" for m in ours for n, v in vars(m).items() if id(v) in public])
"""
    assert run(code) == ["[]"]


def test_the_public_functions_are_kept_where_freezegun_does_not_look():
    assert all(clocks.PUBLIC[name] is getattr(time, name) for name in clocks.PUBLIC)
    assert not any(value is function for value in vars(clocks).values() for function in clocks.PUBLIC.values())


def test_the_wall_clock_is_that_of_the_machine(tmp_path):
    (tmp_path / "now").touch()
    assert abs(os.stat(tmp_path / "now").st_mtime - clocks.wall_time()) < 60
    assert clocks.utc(0) == "1970-01-01T00:00:00Z"
    assert clocks.utc(-1.5) < clocks.utc(1.7) == "1970-01-01T00:00:01Z"
    moment = datetime.datetime.fromisoformat(clocks.utc())
    assert abs(moment.timestamp() - clocks.wall_time()) < 60
    assert clocks.today() in (moment.date(), moment.date() + datetime.timedelta(1))


def test_a_program_that_hangs_is_ended_although_the_clock_stands_still():
    code = f"""
import subprocess
from pytest_gilcheck.core.programs import answer
{FREEZE}
freeze()
try:
    answer([sys.executable, "-c", "import time; print(1, flush=True); time.sleep(60)"], 0.5)
except subprocess.TimeoutExpired as error:
    print("ended", error.timeout)
"""
    assert run(code) == ["ended 0.5"]


def test_the_answer_of_a_program_is_its_status_and_what_it_says(monkeypatch):
    code = "import os, sys; print(os.environ['WORD']); print('no', file=sys.stderr); sys.exit(3)"
    done = programs.answer([sys.executable, "-c", code], 60, {**os.environ, "WORD": "yes"})
    assert (done.returncode, done.stdout.split(), done.stderr.split()) == (3, [b"yes"], [b"no"])
    with pytest.raises(OSError, match="no such program"):
        programs.answer([str(Path("no such program").absolute())], 1)
