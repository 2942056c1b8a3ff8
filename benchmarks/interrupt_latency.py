"""How fast is Ctrl-C seen, how well can we tell, and how many steps are injected in a second?

Three tables, as markdown: the delivery of a signal to an idle main thread, by us and by a plain ``os.kill`` loop in the same run
(exits with 1 if ours is more than twice as slow); delivery to main threads that are blocked or busy, with and without CPU-bound
threads beside them; and the rate of injected exceptions.

    python benchmarks/interrupt_latency.py --signals 20
"""

from __future__ import annotations

import argparse
import itertools
import os
import queue
import random
import re
import signal
import statistics
import struct
import sys
import threading
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor

from pytest_gilcheck import gilcheck
from pytest_gilcheck.interrupt.claim import InterruptClaim
from pytest_gilcheck.interrupt.delivery import deliver
from pytest_gilcheck.interrupt.starting import Starter

MOST_RATIO = 2.0
PATIENT = InterruptClaim(3.0, 5.0, (signal.SIGINT,))


def plain(times: int) -> list[float]:
    """A child that sleeps, a handler that stamps, and ``os.kill``: milliseconds."""
    reading, writing = os.pipe()
    if (child := os.fork()) == 0:
        signal.signal(signal.SIGUSR1, lambda number, frame: os.write(writing, struct.pack("q", time.monotonic_ns())))
        os.write(writing, struct.pack("q", 0))
        while True:
            time.sleep(60)
    os.read(reading, 8)
    latencies = []
    for _ in range(times):
        time.sleep(0.01)
        sent = time.monotonic_ns()
        os.kill(child, signal.SIGUSR1)
        latencies.append((struct.unpack("q", os.read(reading, 8))[0] - sent) / 1e6)
    os.kill(child, signal.SIGKILL)
    os.waitpid(child, 0)
    os.close(reading)
    os.close(writing)
    return latencies


def ours(work: Callable[[], object], times: int) -> list[float]:
    """The same by trials of the check: milliseconds of those that were handled."""
    starter = Starter(work, None, (signal.SIGINT,))
    trials = [deliver(starter, signal.SIGINT, random.uniform(0.01, 0.06), PATIENT, 10.0) for _ in range(times)]
    return [trial.delivery * 1e3 for trial in trials if trial.delivery is not None]


def spin() -> None:
    while True:
        pass


def beside(threads: int, work: Callable[[], object]) -> Callable[[], object]:
    def both() -> None:
        for _ in range(threads):
            threading.Thread(target=spin, daemon=True).start()
        work()

    return both


def asleep() -> None:
    time.sleep(60)


def locked() -> None:
    lock = threading.Lock()
    lock.acquire()
    lock.acquire()


def joins() -> None:
    thread = threading.Thread(target=spin, daemon=True)
    thread.start()
    thread.join()


def awaits_future() -> None:
    executor = ThreadPoolExecutor(2)
    futures = [executor.submit(spin) for _ in range(2)]
    futures[0].result()


WAITS = {
    "time.sleep": asleep,
    "time.sleep + 1 CPU thread": beside(1, asleep),
    "time.sleep + 4 CPU threads": beside(4, asleep),
    "Python loop": spin,
    "Python loop + 1 CPU thread": beside(1, spin),
    "Python loop + 4 CPU threads": beside(4, spin),
    "Lock.acquire()": locked,
    "Lock.acquire() + 1 CPU thread": beside(1, locked),
    "Event.wait()": lambda: threading.Event().wait(),
    "Queue.get()": lambda: queue.Queue().get(),
    "Thread.join() of a CPU thread": joins,
    "future.result(), 2 CPU workers": awaits_future,
    "re.match, backtracking": lambda: re.match(r"(a+)+$", "a" * 40 + "b"),
    "sum(range(2 * 10**7)), over and over": lambda: [sum(range(2 * 10**7)) for _ in itertools.count()],
    "-1 in itertools.repeat(0, 10**8), once": lambda: -1 in itertools.repeat(0, 10**8),
}


class Ledger:
    """Something to inject into."""

    def __init__(self) -> None:
        self.total, self.entries = 0, []

    def add(self, amount: int) -> None:
        after = self.total + amount
        self.entries.append(amount)
        self.total = after


def row(values: list[float]) -> str:
    ordered = sorted(values)
    return f"{statistics.median(ordered):.2f} / {ordered[int(0.9 * len(ordered))]:.2f} / {ordered[-1]:.2f}" if ordered else "-"


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--signals", type=int, default=20, help="signals for each row (default: 20)")
    given = parser.parse_args()
    print(f"{gilcheck.interpreter}\n")
    rounds = [(plain(given.signals), ours(asleep, given.signals)) for _ in range(3)]
    ratios = [statistics.median(mine) / statistics.median(theirs) for theirs, mine in rounds]
    print("| idle main thread | ms, median / p90 / max |\n| --- | --- |")
    print(f"| a plain os.kill loop | {row([value for theirs, _ in rounds for value in theirs])} |")
    print(f"| trials of the check | {row([value for _, mine in rounds for value in mine])} |")
    print(f"\nratio of the medians, by round: {', '.join(f'{ratio:.2f}x' for ratio in ratios)}\n", flush=True)
    print("| the main thread is in | ms, median / p90 / max | not seen in 3 s |\n| --- | --- | --- |")
    for name, work in WAITS.items():
        seen = ours(work, given.signals)
        print(f"| {name} | {row(seen)} | {given.signals - len(seen)} of {given.signals} |", flush=True)
    ledger = Ledger()
    result = gilcheck.interrupt(lambda: [ledger.add(n) for n in range(10)], inject="every-step", budget=120)
    print(f"\n{result.tried} steps injected of {result.steps}: {result.rate:.0f} steps/s, one fork for each")
    return 1 if statistics.median(ratios) > MOST_RATIO else 0


if __name__ == "__main__":
    sys.exit(main())
