"""The script of the probed interpreter, called without a connection."""

import subprocess
import sys
import time

import pytest

from pytest_gilcheck.probe import experiments
from pytest_gilcheck.probe.rows import PLACES
from pytest_gilcheck.probe.session import SCRIPT

from .interpreters import found


@pytest.mark.parametrize(
    "name",
    [
        "ours",
        "2.7.18",
        "3.6.15",
        "3.7.16",
        "3.8.18",
        "3.9.18",
        "3.10.13",
        "3.12.1",
        "pypy3",
        pytest.param("jython", marks=pytest.mark.slow),
    ],
)
def test_every_python_can_compile_the_script(name):
    if name not in found():
        pytest.skip(f"there is no {name} here")
    code = "import sys; compile(open(sys.argv[1]).read(), 'script', 'exec')"
    done = subprocess.run([found()[name], "-c", code, str(SCRIPT)], capture_output=True, text=True, cwd="/")
    assert done.returncode == 0, done.stderr


def test_the_script_imports_the_standard_library_alone():
    code = f"import sys; sys.path[:0] = [{str(SCRIPT.parent)!r}]; import experiments; print(*sorted(sys.modules))"
    done = subprocess.run([sys.executable, "-I", "-S", "-c", code], capture_output=True, text=True, check=True)
    tops = {name.partition(".")[0] for name in done.stdout.split()} - {"__main__", "experiments"}
    assert tops <= sys.stdlib_module_names


def test_both_sides_know_the_same_places_and_workloads():
    assert experiments.PLACES.keys() == PLACES.keys()
    assert experiments.WORK.keys() == {"count", "json", "sha256", "sleep"}


@pytest.mark.parametrize("first", [True, False])
def test_two_sleeps_take_twice_as_long_in_sequence(first):
    took = experiments.pair({"work": "sleep", "n": 1, "sequence_first": first})
    assert took["sequence"] >= 2 * experiments.SLEEP
    assert took["threads"] >= experiments.SLEEP
    assert took["threads"] < took["sequence"]


def test_a_workload_that_fails_in_a_thread_is_an_error_and_no_time():
    answer = experiments.execute({"do": "pair", "work": "sleep", "n": None, "sequence_first": True})
    assert "TypeError" in answer["error"]
    assert "KeyError" in experiments.execute({"do": "nothing of the kind"})["error"]


def test_threads_and_coroutines_that_wait_are_released():
    for what in ("threads", "coroutines"):
        begun = time.perf_counter()
        made = experiments.execute({"do": what, "number": 3})["seconds"]
        assert experiments.HELD
        released = experiments.execute({"do": "release"})["seconds"]
        assert 0 < made + released <= time.perf_counter() - begun
        assert made > 0
        assert released > 0
        assert not experiments.HELD


def test_without_asyncio_a_coroutine_is_a_generator():
    assert experiments.generators(3)["kind"] == "generator"
    assert "seconds" in experiments.release({})
