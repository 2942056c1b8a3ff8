"""How often is the scaling verdict wrong, how often inconclusive, and how long does it take?

Workloads whose answer is known are checked over and over, under four conditions, round robin: on a quiet machine, beside one
process that keeps a core busy, beside one that does so in bursts, and pinned to one core. Beside our verdict stand the naive
one (the first sequential and the first threaded run, against the same threshold) and the median of all paired runs of the
trial, both from the very laps that our checks timed.

    python benchmarks/verdict_quality.py --trials 100 --out quality-3.13.jsonl
    python benchmarks/verdict_quality.py --summary quality-3.13.jsonl

A false alarm is "violated" where the claim is true, a false pass is "holds" where it is false. Times are to the verdict,
without the search for the cause. Quiet trials wait up to 5 s for a quiet moment; the load by others during each trial is
recorded, and a quiet trial in which others used more than 0.25 of a core is counted as uncontrolled. Exits with 1 if false
alarms or false passes exceed 1% anywhere.
"""

from __future__ import annotations

import argparse
import collections
import contextlib
import hashlib
import json
import os
import random
import signal
import statistics
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Any

from pytest_gilcheck.checks import SCALING
from pytest_gilcheck.core.arguments import read
from pytest_gilcheck.core.interpreter import FREE_THREADED, Interpreter, build
from pytest_gilcheck.scaling.check import scaling
from pytest_gilcheck.scaling.claim import claim
from pytest_gilcheck.scaling.plan import ScalingPlan

THREADS = 2
CLAIMS = {"1.5x": {"min_speedup": 1.5}, "no slowdown": {"max_slowdown": 1.25}}
THRESHOLDS = {"1.5x": 1.5, "no slowdown": 0.8}
CONDITIONS = ("quiet", "busy", "bursty", "one core")
QUIET = 0.25  # cores used by others in a quiet trial, above which it was not quiet and counts as uncontrolled
BUFFER = bytes(1 << 20)
SHARED: dict[int, int] = {}
LOCAL = threading.local()
SPIN = threading.Lock()


def count(n: int = 100_000) -> None:
    while n:
        n -= 1


def sha256() -> None:
    hashlib.sha256(BUFFER).digest()


def dumps() -> None:
    if not hasattr(LOCAL, "data"):
        LOCAL.data = {f"k{i}": [i, i * 1.5, "x" * 10] for i in range(1000)}
    json.dumps(LOCAL.data)


def sleep() -> None:
    time.sleep(0.01)


class Mix:
    """Three quarters Python, one quarter hashing, by time alone in one thread; proportioned once, on this machine."""

    def __init__(self) -> None:
        python = min(_timed(lambda: count(20_000)) for _ in range(20)) / 20_000
        hashing = min(_timed(sha256) for _ in range(20))
        self.counts = int(3 * hashing / python)

    def __call__(self) -> None:
        count(self.counts)
        sha256()


def slower() -> None:
    """Slower in threads than in turn: on a free-threaded build all write one dict; under the GIL they spin for a lock."""
    if build() == FREE_THREADED:
        for i in range(5_000):
            SHARED[i & 255] = i
        return
    while not SPIN.acquire(blocking=False):
        pass
    try:
        sha256()
    finally:
        SPIN.release()


def _timed(call: Callable[[], None]) -> float:
    start = time.perf_counter()
    call()
    return time.perf_counter() - start


def truths() -> dict[str, dict[str, bool]]:
    """Workload to claim to whether the claim is true of this build."""
    scales = dict.fromkeys(("count", "sha256", "dumps", "mix", "sleep"), True)
    if build() != FREE_THREADED:
        scales |= dict.fromkeys(("count", "dumps", "mix"), False)
    return {name: {"1.5x": true, "no slowdown": True} for name, true in scales.items()} | {
        "slower": {"1.5x": False, "no slowdown": False}
    }


def others() -> tuple[float, float]:
    """CPU seconds used by everybody else so far, and now."""
    ticks = os.sysconf("SC_CLK_TCK")
    with open("/proc/stat") as file:
        user, nice, system, _, _, irq, softirq, *_ = map(int, file.readline().split()[1:])
    own = os.times()
    return (user + nice + system + irq + softirq) / ticks - own.user - own.system, time.monotonic()


def load_since(before: tuple[float, float]) -> float:
    """Cores used by everybody else since."""
    now = others()
    return (now[0] - before[0]) / max(1e-9, now[1] - before[1])


@contextlib.contextmanager
def condition(name: str, noises: dict[str, subprocess.Popen[bytes]]) -> Iterator[None]:
    if name == "quiet":
        for _ in range(50):
            before = others()
            time.sleep(0.1)
            if load_since(before) < 0.15:
                break
        yield
    elif name == "one core":
        allowed = os.sched_getaffinity(0)
        os.sched_setaffinity(0, {min(allowed)})
        try:
            yield
        finally:
            os.sched_setaffinity(0, allowed)
    else:
        noises[name].send_signal(signal.SIGCONT)
        time.sleep(0.05)
        try:
            yield
        finally:
            noises[name].send_signal(signal.SIGSTOP)


def make_noise(kind: str) -> None:
    """A neighbour; ends with its parent."""
    parent = os.getppid()
    while os.getppid() == parent:
        until = time.perf_counter() + (0.5 if kind == "busy" else random.uniform(0.03, 0.3))
        while time.perf_counter() < until:
            pass
        if kind == "bursty":
            time.sleep(random.uniform(0.03, 0.3))


def run(trials: int, out: str) -> None:
    works: dict[str, Callable[[], None]] = {
        "count": count, "sha256": sha256, "dumps": dumps, "mix": Mix(), "sleep": sleep, "slower": slower,
    }  # fmt: skip
    true = truths()
    noises = {
        kind: subprocess.Popen([sys.executable, __file__, "--noise", kind], start_new_session=True) for kind in ("busy", "bursty")
    }
    time.sleep(0.3)
    for noise in noises.values():
        noise.send_signal(signal.SIGSTOP)
    start = time.monotonic()
    try:
        with open(out, "a") as file:
            for trial in range(trials):
                for where in CONDITIONS:
                    for name, work in works.items():
                        with condition(where, noises):
                            before = others()
                            results = {
                                key: scaling(
                                    work,
                                    claim(read(SCALING.arguments, given, "benchmark"), threads=THREADS, build=build()),
                                    ScalingPlan(threads=THREADS, diagnosed=False),
                                    name=name,
                                )
                                for key, given in CLAIMS.items()
                            }
                            load = load_since(before)
                        entry = {
                            "python": str(Interpreter.current()), "condition": where, "workload": name, "load": load,
                            "checks": {
                                key: {
                                    "true": true[name][key], "verdict": str(r.verdict), "threshold": r.threshold,
                                    "seconds": r.seconds, "reason": r.reason, "ceiling": r.ceiling,
                                    "held": r.held and r.held.fraction, "pairs": [p.work.speedup for p in r.pairs],
                                    "ideal": [p.work.ideal for p in r.pairs],
                                }
                                for key, r in results.items()
                            },
                        }  # fmt: skip
                        file.write(json.dumps(entry) + "\n")
                        file.flush()
                spent = time.monotonic() - start
                left = spent / (trial + 1) * (trials - trial - 1)
                print(f"trial {trial + 1} of {trials}, {spent:.0f} s so far, {left:.0f} s to go", file=sys.stderr, flush=True)
    finally:
        for noise in noises.values():
            noise.kill()
            noise.wait()


@dataclass
class Cell:
    """The trials of one workload, or of several pooled: counts, and seconds to each verdict."""

    trials: int = 0
    false_alarms: int = 0
    false_passes: int = 0
    inconclusive: int = 0
    naive_wrong: int = 0
    median_wrong: int = 0
    seconds: list[float] = field(default_factory=list)

    def add(self, check: dict[str, Any], theta: float, pooled_median: float) -> None:
        true, verdict = check["true"], check["verdict"]
        self.trials += 1
        self.false_alarms += true and verdict == "violated"
        self.false_passes += not true and verdict == "holds"
        self.inconclusive += verdict == "inconclusive"
        self.naive_wrong += (check["pairs"][0] >= theta) != true
        self.median_wrong += (pooled_median >= theta) != true
        self.seconds.append(check["seconds"])

    def __str__(self) -> str:
        n, times = self.trials, sorted(self.seconds)
        return (
            f"{n:6} | {self.false_alarms:12} | {self.false_passes:12} | {self.inconclusive / n:12.0%} | "
            f"{times[n // 2]:5.2f} / {times[int(0.95 * n)]:.2f} | {self.naive_wrong / n:5.0%} | {self.median_wrong / n:6.0%}"
        )


def summarise(paths: list[str]) -> bool:
    """Print the tables, in Markdown; whether false alarms or false passes exceed 1% of any workload's trials."""
    one: dict[tuple[str, str, str, str], Cell] = collections.defaultdict(Cell)
    pooled: dict[tuple[str, str, str], Cell] = collections.defaultdict(Cell)
    total: dict[str, Cell] = collections.defaultdict(Cell)
    for path in paths:
        with open(path) as file:
            for line in file:
                entry = json.loads(line)
                pairs = [s for check in entry["checks"].values() for s in check["pairs"]]
                if not pairs:
                    continue  # too short to time, or hung: no figure of any kind
                noisy = entry["condition"] == "quiet" and entry["load"] > QUIET
                where = "uncontrolled" if noisy else entry["condition"]
                for key, check in entry["checks"].items():
                    theta = THRESHOLDS[key]
                    for cell in (
                        one[entry["python"], where, key, entry["workload"]],
                        pooled[entry["python"], where, key],
                        total[entry["python"]],
                    ):
                        cell.add(check, theta, statistics.median(pairs))
    columns = "trials | false alarms | false passes | inconclusive | s, p50 / p95 | naive | median"
    for title, cells in (("condition | claim | workload", one), ("condition | claim", pooled), ("all", total)):
        for python in total:
            print(f"\n{python}\n\n| {title} | {columns} |\n|{'---|' * (title.count('|') + 8)}")
            for key, cell in cells.items():
                if key == python or key[0] == python:
                    print(f"| {' | '.join(key[1:]) if isinstance(key, tuple) else 'all'} | {cell} |")
    print("\nnaive, median: how often a threshold on the first pair, or on the median of the trial's pairs, is wrong.")
    return any(max(cell.false_alarms, cell.false_passes) > 0.01 * cell.trials for cell in one.values())


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--trials", type=int, default=100, help="trials for each workload and condition (default 100)")
    parser.add_argument("--out", default="verdict-quality.jsonl", help="where each trial is appended, a JSON line each")
    parser.add_argument("--summary", nargs="+", metavar="FILE", help="only summarise these files")
    parser.add_argument("--noise", choices=("busy", "bursty"), help=argparse.SUPPRESS)
    given = parser.parse_args()
    if given.noise:
        make_noise(given.noise)
        return 0
    if not given.summary:
        run(given.trials, given.out)
    return int(summarise(given.summary or [given.out]))


if __name__ == "__main__":
    sys.exit(main())
