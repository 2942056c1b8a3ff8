"""How often is the scaling verdict wrong, how often inconclusive, and how long does it take?

Workloads whose answer is known are checked over and over, under four conditions, round robin: on a quiet machine, beside one
process that keeps a core busy, beside one that does so in bursts, and pinned to one core. Beside our verdict stand the naive
one (the first sequential and the first threaded run, against the same threshold) and the median of all paired runs of the
trial, both from the very laps that our checks timed.

    python benchmarks/verdict_quality.py --trials 100 --out quality-3.13.jsonl
    python benchmarks/verdict_quality.py --summary quality-3.13.jsonl

A false alarm is "violated" where the claim is true, a false pass is "holds" where it is false. Times are to the verdict,
without the search for the cause. Quiet trials wait up to 5 s for a quiet moment; the load by others during each trial is
recorded. Exits with 1 if false alarms or false passes exceed 1% anywhere.
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
from dataclasses import replace

from pytest_gilcheck.core.interpreter import FREE_THREADED, Interpreter, build
from pytest_gilcheck.scaling.check import plan, scaling
from pytest_gilcheck.scaling.claim import claim

THREADS = 2
CLAIMS = {"1.5x": {"min_speedup": 1.5}, "no slowdown": {"max_slowdown": 1.25}}
CONDITIONS = ("quiet", "busy", "bursty", "one core")
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
                                    claim(**given, threads=THREADS, build=build()),
                                    replace(plan(threads=THREADS), diagnosed=False),
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


def summarise(paths: list[str]) -> bool:
    """Print the tables; whether any cell exceeds 1% wrong."""
    cells: dict[tuple[str, str, str, str], list[dict[str, object]]] = collections.defaultdict(list)
    for path in paths:
        with open(path) as file:
            for line in file:
                entry = json.loads(line)
                pooled = [s for check in entry["checks"].values() for s in check["pairs"]]
                for key, check in entry["checks"].items():
                    check |= {"median": statistics.median(pooled), "load": entry["load"]} if pooled else {}
                    cells[entry["python"], entry["condition"], key, entry["workload"]].append(check)
    print("wrong: false alarms where the claim is true, false passes where it is false. Percent of the trials.\n")
    print("condition  claim        workload  truth     n  wrong inconcl. time p50    p95  naive  median  load")
    bad = False
    totals: dict[tuple[str, str], collections.Counter[str]] = collections.defaultdict(collections.Counter)
    previous = ""
    for (python, where, key, name), checks in sorted(cells.items(), key=lambda c: (c[0][0], CONDITIONS.index(c[0][1]), c[0][2])):
        if python != previous:
            print(f"\n{python}")
            previous = python
        true = bool(checks[0]["true"])
        wrong_word = "violated" if true else "holds"
        wrong = sum(check["verdict"] == wrong_word for check in checks)
        undecided = sum(check["verdict"] == "inconclusive" for check in checks)
        # what a threshold on a point estimate says, with the same threshold as ours
        theta = 1.5 if key == "1.5x" else 0.8
        naive = sum((check["pairs"][0] >= theta) != true for check in checks if check["pairs"])  # type: ignore[index]
        paired = sum((check["median"] >= theta) != true for check in checks if check["pairs"])  # type: ignore[operator]
        times = sorted(float(check["seconds"]) for check in checks)  # type: ignore[arg-type]
        n = len(checks)
        load = statistics.median(float(check.get("load", 0)) for check in checks)  # type: ignore[arg-type]
        print(f"{where:10} {key:12} {name:9} {'true' if true else 'false':6} {n:4} {wrong / n:6.1%} {undecided / n:8.0%}"
              f" {times[n // 2]:7.2f}s {times[int(0.95 * n)]:5.2f}s {naive / n:6.0%} {paired / n:7.0%} {load:5.2f}")  # fmt: skip
        kind = "false alarms" if true else "false passes"
        totals[python, kind] += collections.Counter(trials=n, ours=wrong, undecided=undecided, naive=naive, median=paired)
        bad |= wrong / n > 0.01
    print()
    for (python, kind), c in totals.items():
        n = c["trials"]
        print(f"{python}: {kind}: ours {c['ours']}/{n} ({c['ours'] / n:.2%}), naive {c['naive']}/{n} ({c['naive'] / n:.1%}), "
              f"median {c['median']}/{n} ({c['median'] / n:.1%}); ours inconclusive {c['undecided'] / n:.0%}")  # fmt: skip
    return bad


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
