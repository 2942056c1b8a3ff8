"""One to ten tasks at once, computing and waiting, in every mode. PICTURES=FOLDER keeps the curves as SVG files."""

import os
import sys
from pathlib import Path
from xml.etree import ElementTree

import draw
import pytest
import tasks

TASKS = [1, 2, 4, 7, 10]


def measured(gilcheck, work, modes):
    """The highest speedup of each mode and number of tasks; the picture is drawn on the way."""
    curve = gilcheck.curve(work, threads=TASKS, modes=modes, budget=4, timeout=20)
    print(curve)
    title = f"{work.__name__} on {curve.interpreter}"
    picture = draw.svg(title, [(point.mode, point.workers, point.speedup) for point in curve.points])
    if folder := os.environ.get("PICTURES"):
        build = f"{sys.version_info[0]}.{sys.version_info[1]}-{curve.interpreter.build}"
        Path(folder, f"{work.__name__}-{build}.svg").write_text(picture)
    return {(point.mode, point.workers): point.high for point in curve.points}


def test_the_picture_has_a_line_for_each_mode():
    picture = ElementTree.fromstring(draw.svg("<title>", [("threads", 1, 1.0), ("threads", 10, 9.0), ("processes", 1, 1.0)]))
    assert len(picture.findall("{*}polyline")) == 2


# Computing: published: ten threads take as long as the sequence; processes gain as much as there are cores.
def test_computing(gilcheck):
    modes = ["sequential", "threads", "processes"] + (["interpreters"] if sys.version_info >= (3, 14) else [])
    measured(gilcheck, tasks.compute, modes)
    result = gilcheck.scaling(tasks.compute, threads=2, min_speedup=1.4)
    if gilcheck.interpreter.build == "gil":
        result.assert_violated()
    else:
        result.assert_holds()


# Waiting: ten waits take as long as one, in threads and in coroutines, on every build. Busy machines make it less.
@pytest.mark.parametrize(("work", "mode"), [(tasks.wait, "threads"), (tasks.wait_in_coroutine, "asyncio")])
def test_waiting(gilcheck, work, mode):
    speedup = measured(gilcheck, work, ["sequential", mode])[mode, 10]
    if 2 < speedup < 5:
        pytest.skip(f"inconclusive: this machine was too busy: ten waits were {speedup:.1f} times as fast as their sequence")
    assert speedup >= 5
