"""CPU seconds to the first failure of a class and to its report: `linearizable`, hypothesis with threads, and hegeltest.

Usage::

    python benchmarks/linear_peers.py [seconds of each] [folder in which hegeltest is installed]

    pip install --target FOLDER hegeltest==0.2.1

The two others have no sequential orders to compare with, so each class comes with a claim that its users could write down. In
hypothesis, two threads begin at a barrier. Each tool has a process of its own for each class, and looks again until it finds
something or its time is over. The seconds are of CPU, without imports; the time that is given is not.
"""

import importlib
import json
import os
import subprocess
import sys
import tempfile
import threading
from collections.abc import Callable
from pathlib import Path
from time import monotonic, process_time
from typing import Any

sys.path.insert(0, str(Path(__file__).parents[1]))
from tests.linear import classes

THREADS = 2
Claims = dict[str, tuple[dict[str, Callable[[Any], Any]], Callable[[Any, list[Any]], bool]]]
CLAIMS: Claims = {  # operations by name, and what holds when all have returned what is in the list
    "Counter": ({"add": lambda it: it.add()}, lambda it, results: it.count == len(results)),
    "Stack": ({"push": lambda it: it.push(1), "pop": lambda it: it.pop()}, lambda it, results: True),  # nothing is raised
    "Registry": ({"get": lambda it: it.get("a")}, lambda it, results: len(set(map(id, results))) <= 1),
    "Ids": ({"next_id": lambda it: it.next_id()}, lambda it, results: len(set(results)) == len(results)),
    "Handle": ({"release": lambda it: it.release()}, lambda it, results: it.closed <= 1),
    "PriorityQueue": ({"push": lambda it: it.push(1), "pop": lambda it: it.pop()}, lambda it, results: True),
}


def ours(name: str, first: Callable[[], None]) -> bool:
    """Whether `linearizable` finds it."""
    from pytest_gilcheck import gilcheck
    from pytest_gilcheck.linear import campaign

    counted = campaign.Campaign._count

    def count(self: Any, drawn: Any, result: Any) -> None:
        counted(self, drawn, result)
        if result.finding is not None:
            first()

    campaign.Campaign._count = count  # type: ignore[method-assign]
    return str(gilcheck.linearizable(getattr(classes, name), judge=False).verdict) == "violated"


def plain(name: str, first: Callable[[], None]) -> bool:
    """Whether hypothesis finds it, which draws what each of two threads does behind a barrier."""
    from hypothesis import HealthCheck, given, settings
    from hypothesis import strategies as st

    operations, claim = CLAIMS[name]
    drawn = st.lists(st.sampled_from(list(operations)), min_size=1, max_size=3)

    @settings(max_examples=200, database=None, deadline=None, suppress_health_check=list(HealthCheck))
    @given(st.lists(drawn, min_size=THREADS, max_size=THREADS))
    def holds(lanes: list[list[str]]) -> None:
        it, barrier = getattr(classes, name)(), threading.Barrier(THREADS)
        results: list[Any] = []
        errors: list[BaseException] = []

        def work(lane: list[str]) -> None:
            barrier.wait()
            try:
                results.extend([operations[each](it) for each in lane])
            except Exception as error:
                errors.append(error)

        threads = [threading.Thread(target=work, args=(lane,)) for lane in lanes]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        if errors or not claim(it, results):
            first()
            raise AssertionError(errors)

    try:
        holds()
    except BaseException:  # Flaky, too: it has failed once
        return True
    return False


def hegel(name: str, first: Callable[[], None]) -> bool:
    """Whether hegeltest finds it."""
    import hegel as tool  # type: ignore[import-not-found]

    operations, claim = CLAIMS[name]

    @tool.test  # type: ignore[untyped-decorator]
    def holds(tc: Any) -> None:
        it, results = getattr(classes, name)(), []
        machine = tool.Machine(tc)

        def rule(operation: Callable[[Any], Any]) -> Callable[[Any], None]:
            def call(tc: Any) -> None:
                try:
                    results.append(operation(it))
                except Exception:
                    first()
                    raise

            return call

        for each, operation in operations.items():
            machine.rule(each, rule(operation))

        def look(tc: Any) -> None:
            if not claim(it, results):
                first()
                raise AssertionError

        machine.invariant("claim", look)
        machine.max_concurrency(THREADS).run()

    try:
        holds()
    except BaseException:
        return True
    return False


MODULES = {
    "ours": ("pytest_gilcheck.linear.check", "pytest_gilcheck.fuzz.explaining", "hypothesis"),
    "plain": ("hypothesis",),
    "hegel": ("hegel",),
}
TOOLS = {"ours": ours, "plain": plain, "hegel": hegel}


def measured(tool: str, name: str, seconds: float) -> dict[str, float]:
    """When something first failed, and when that was reported; nothing if it was not found."""
    for module in MODULES[tool]:
        importlib.import_module(module)
    begun, end, firsts = process_time(), monotonic() + seconds, list[float]()
    while monotonic() < end:
        if TOOLS[tool](name, lambda: firsts.append(process_time() - begun)) or firsts:
            return {"first": firsts[0] if firsts else process_time() - begun, "report": process_time() - begun}
    return {}


def main(seconds: float = 20.0, folder: str = "") -> None:
    """Print a row for each class."""
    paths = [str(Path(__file__).resolve().parents[1]), *([str(Path(folder).resolve())] if folder else [])]
    tools = [each for each in TOOLS if each != "hegel" or folder]
    print(f"{'class':<14}", *(f"{each + ': first, report':>22}" for each in tools))
    for name in CLAIMS:
        cells = []
        for tool in tools:
            command = [sys.executable, str(Path(__file__).resolve()), "--one", tool, name, str(seconds)]
            environment = os.environ | {"PYTHONPATH": os.pathsep.join(paths)}
            with tempfile.TemporaryDirectory() as empty:  # no tool finds there what another run has kept
                answer = subprocess.run(command, env=environment, capture_output=True, text=True, check=False, cwd=empty)
            lines = answer.stdout.splitlines()
            found = json.loads(lines[-1]) if answer.returncode == 0 and lines else None
            cells.append("error" if found is None else f"{found['first']:.2f}, {found['report']:.2f}" if found else "not found")
        print(f"{name:<14}", *(f"{cell:>22}" for cell in cells), flush=True)


if __name__ == "__main__":
    if sys.argv[1:2] == ["--one"]:
        print(json.dumps(measured(sys.argv[2], sys.argv[3], float(sys.argv[4]))))
    else:
        main(*map(float, sys.argv[1:2]), *sys.argv[2:3])
