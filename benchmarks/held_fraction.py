"""Our GIL-held fraction beside gilknocker and ``py-spy --gil``: the same workloads, one tool at a time, in turn.

    python benchmarks/held_fraction.py --seconds 2

Both tools are optional, and skipped with a reason where they are not installed or cannot run (py-spy reads another process's
memory, which most containers forbid). Prints a markdown table: what each tool says, the line that our probe names with its share
of the waited time, and the speed of the workload under each tool as a share of its speed without any. Ours and py-spy's answer
"how much of the time is the GIL held", gilknocker's "how much of a thread's time goes into waiting for it": beside one thread
that never lets go, the last stays at 5 ms of wait to 1 ms of sleep.
"""

from __future__ import annotations

import argparse
import hashlib
import itertools
import json
import os
import shutil
import subprocess
import sys
import sysconfig
import tempfile
import threading
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

from pytest_gilcheck.core.held_fraction import held_fraction
from pytest_gilcheck.core.interpreter import FREE_THREADED, Interpreter
from pytest_gilcheck.core.team import Team
from pytest_gilcheck.latency.load import Load

BUFFER = bytes(1 << 20)
DATA = [{f"k{i}": [i, i * 1.5, "x" * 10] for i in range(100)} for _ in range(60)]
LIMIT = 60.0  # seconds for one call
RATE = 200  # samples a second for py-spy
_ATTACH = 1.5  # seconds py-spy gets to find its way into the process


def py() -> None:
    n = 5_000
    while n:
        n -= 1


def half_idle() -> None:
    end = time.thread_time() + 0.01
    while time.thread_time() < end:
        pass
    time.sleep(0.01)


def sha256() -> None:
    hashlib.sha256(BUFFER).digest()


def dumps() -> None:
    json.dumps(DATA)


def c_hold() -> None:
    sum(range(1_000_000))


def idle() -> None:
    time.sleep(0.05)


@dataclass(frozen=True)
class Case:
    """Threads that run together, one call each, and the held fraction that theory gives, where it gives one."""

    name: str
    works: tuple[Callable[[], None], ...]
    truth: str


CASES = (
    Case("idle", (idle,), "0"),
    Case("Python loop", (py,), "1"),
    Case("2 Python loops", (py, py), "1"),
    Case("half idle, 10 ms on and off", (half_idle,), "0.50"),
    Case("sha256 of 1 MB", (sha256,), "0"),
    Case("2 sha256", (sha256, sha256), "0"),
    Case("json.dumps", (dumps,), "1"),
    Case("C call, sum(range(1e6))", (c_hold,), "1"),
    Case("C call + Python loop", (c_hold, py), "1"),
    Case("C call + sha256", (c_hold, sha256), ""),
    Case("Python loop + sha256", (py, sha256), ""),
)


class Shared:
    """One callable that gives each thread a work, and a count, of its own."""

    def __init__(self, works: Sequence[Callable[[], None]]) -> None:
        self._works, self._next, self._own = works, itertools.count(), threading.local()
        self.calls = [0] * len(works)

    def __call__(self) -> None:
        if not hasattr(self._own, "index"):
            self._own.index = next(self._next) % len(self._works)
        self._works[self._own.index]()
        self.calls[self._own.index] += 1


def rates(case: Case, seconds: float) -> list[float]:
    """Calls a second of each thread, while nothing of ours probes."""
    shared = Shared(case.works)
    with Team(len(case.works), "bench") as team:
        start = time.perf_counter()
        Load(shared, team, LIMIT).until(start + seconds, case.name)
        took = time.perf_counter() - start
    return [calls / took for calls in shared.calls]


def ours(case: Case, seconds: float) -> tuple[float, str, list[float]]:
    shared = Shared(case.works)
    start = time.perf_counter()
    held = held_fraction(shared, seconds=seconds, limit=seconds + LIMIT, threads=len(case.works))
    took = time.perf_counter() - start
    assert held is not None, "this build has a GIL"
    named = ", ".join(f"{line.rpartition('(')[2].rstrip(')')} {share:.0%}" for line, share in list(held.holders.items())[:2])
    return held.fraction, held.unusable or named or "-", [calls / took for calls in shared.calls]


def gilknocker(case: Case, seconds: float) -> tuple[float, list[float]]:
    from gilknocker import KnockKnock  # optional; looked for before

    knocker = KnockKnock(1_000, 10_000, 10_000)  # microseconds: between knocks, of sampling, of rest
    knocker.start()
    try:
        rate = rates(case, seconds)
        return float(knocker.contention_metric), rate
    finally:
        knocker.stop()


def py_spy(case: Case, seconds: float) -> tuple[float, list[float]]:
    """Share of py-spy's samples in which some thread of ours had the GIL."""
    program = _program("py-spy")
    assert program is not None, "it was looked for"
    with tempfile.TemporaryDirectory() as folder:
        out = Path(folder) / "raw"
        command = [program, "record", "--gil", "--rate", str(RATE), "--duration", str(max(1, round(seconds))), "--format", "raw"]
        shared = Shared(case.works)
        with Team(len(case.works), "bench") as team:
            spy = subprocess.Popen(
                [*command, "--output", str(out), "--pid", str(os.getpid())],
                stdout=subprocess.DEVNULL,
                stderr=subprocess.PIPE,
                text=True,
            )
            start = time.perf_counter()
            Load(shared, team, LIMIT).until(start + seconds + _ATTACH, case.name)
            took = time.perf_counter() - start
            _, said = spy.communicate(timeout=LIMIT)
        if spy.returncode != 0 or not out.exists():
            raise OSError((said.strip().splitlines() or ["it failed"])[-1])
        samples = sum(int(line.rpartition(" ")[2]) for line in out.read_text().splitlines() if line)
    return samples / (RATE * max(1, round(seconds))), [calls / took for calls in shared.calls]


def _program(name: str) -> str | None:
    beside = Path(sysconfig.get_path("scripts")) / name
    return str(beside) if beside.exists() else shutil.which(name)


def _missing() -> dict[str, str]:
    """Why a tool cannot be used, by its name."""
    missing = {}
    try:
        import gilknocker  # noqa: F401
    except ImportError as error:
        missing["gilknocker"] = f"not installed ({error})"
    if _program("py-spy") is None:
        missing["py-spy"] = "not installed"
    return missing


def _speed(with_it: list[float], without: list[float]) -> str:
    return " + ".join(f"{a / b:.2f}" for a, b in zip(with_it, without, strict=True))


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--seconds", type=float, default=2.0, help="seconds of each workload under each tool (default 2)")
    given = parser.parse_args()
    if given.seconds <= 0:
        parser.error("--seconds must be above 0")
    interpreter = Interpreter.current()
    print(f"### {interpreter}, {given.seconds:g} s each\n")
    if interpreter.build == FREE_THREADED:
        print("no GIL, so nothing to measure: skipped")
        return 0
    missing = _missing()
    for tool, reason in missing.items():
        print(f"{tool}: skipped, {reason}\n")
    print("| workload | truth | ours | gilknocker | py-spy --gil | ours names | speed under ours | gilknocker | py-spy |")
    print("|---|---|---|---|---|---|---|---|---|")
    failed: list[str] = []
    for case in CASES:
        without = rates(case, given.seconds)
        fraction, named, under = ours(case, given.seconds)
        cells = [f"{fraction:.2f}"]
        speeds = [_speed(under, without)]
        for tool, measure in (("gilknocker", gilknocker), ("py-spy", py_spy)):
            if tool in missing:
                cells.append("-")
                speeds.append("-")
                continue
            try:
                value, rate = measure(case, given.seconds)
            except OSError as error:
                missing[tool] = str(error)
                failed.append(tool)
                cells.append("failed")
                speeds.append("-")
                continue
            cells.append(f"{value:.2f}")
            speeds.append(_speed(rate, without))
        print(f"| {case.name} | {case.truth} | {' | '.join(cells)} | {named} | {' | '.join(speeds)} |", flush=True)
    for tool in failed:
        print(f"\n{tool} failed: {missing[tool]}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
