"""The GIL-held fraction h: how much of the time a workload keeps the GIL from everyone else, and which lines do.

A probe thread sleeps for about a millisecond, over and over, and measures how late it runs again: that lateness, less the time
the kernel denied it a core, is time somebody held the GIL. With w the waits and p the sleeps, and q the share of samples that
had to wait,

    h = (sum w + q * sum p) / (sum w + sum p)

The waits are held time by construction; the sleeps are estimated by the share of random arrivals that found the GIL taken.
By Amdahl's law with the GIL as the serial part, no number of threads gives more than 1/h, on any machine: h needs no spare
core, refutes a claim of speedup, and never proves one (other locks are invisible to it).

What does not work: counting the samples that waited (a half-idle holder reads 0.16: the probe arrives right after it let go);
the wait share alone (a full holder reads 0.80: the sleeps count as free); a periodic sleep (it locks step with the workload).
The probe asks for the GIL and so forces switches: never run it beside timed laps.
"""

from __future__ import annotations

import random
import statistics
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass

from .clocks import run_queue_wait_ns
from .holders import Holders, Holding
from .interpreter import GIL, build
from .team import Team

PERIOD = 0.001  # seconds; each sleep is 0.5 to 1.5 of it
WAITED = 0.0003  # seconds of lateness from which a sample counts as one that found the GIL taken
_IDLE_SAMPLES = 30
_IDLE_TAKEN = 0.2  # share of late samples at rest above which somebody else holds the GIL and h says nothing of the workload
_IDLE_LATE = 0.001  # seconds of lateness that no timer has at rest
_BUSY = 0.3  # of a core, that this process uses at rest if it is itself what holds the GIL


@dataclass(frozen=True)
class Held:
    """How much of the workload's time the GIL was held.

    Attributes:
        fraction: h, 0 to 1.
        samples: how many times the probe asked.
        longest: seconds of the longest wait: about the switch interval for bytecode, above it for a C call that holds on.
        holders: lines that held it, ``"file:line (function)"`` to the share of the waited time; empty when nothing was held.
        unusable: why h says nothing here; None if it does.
        holdings: the same places with every wait; our own loop among them, which is no line of the workload.
    """

    fraction: float
    samples: int
    longest: float
    holders: dict[str, float]
    unusable: str | None = None
    holdings: tuple[Holding, ...] = ()

    @property
    def most_speedup(self) -> float:
        """1/h, which no number of threads can exceed."""
        return 1 / self.fraction if self.fraction > 0 else float("inf")

    @property
    def holder(self) -> str | None:
        """The line that held the GIL longest."""
        return max(self.holders, key=self.holders.__getitem__, default=None)


def held_fraction(call: Callable[[], object], *, seconds: float, limit: float, threads: int = 1) -> Held | None:
    """Run ``call`` over and over in one thread, or in more, for about ``seconds``, and probe beside it.

    Returns:
        None on a free-threaded build: there is no GIL to hold.

    Raises:
        TeamHung, BaseExceptionGroup: as `Team.lap`.
    """
    if build() != GIL:
        return None
    floor = _GilSampler(0.0, None)
    cpu, start = time.process_time(), time.perf_counter()
    floor.sample(_IDLE_SAMPLES)
    busy = (time.process_time() - cpu) / (time.perf_counter() - start)
    base = statistics.quantiles(floor.waits, n=20)[-1]
    if sum(wait > _IDLE_LATE for wait in floor.waits) > _IDLE_TAKEN * len(floor.waits):
        reason = "another thread of this process holds the GIL"
        if busy < _BUSY:
            reason = "the machine is too busy: threads run late that nothing but it can hold up"
        return Held(0.0, len(floor.waits), max(floor.waits), {}, reason)
    if not floor.corrected and base > _IDLE_LATE:
        return Held(0.0, len(floor.waits), max(floor.waits), {}, "the machine is too busy to tell the GIL from a missing core")

    def worked() -> None:
        end = time.perf_counter() + seconds
        while time.perf_counter() < end:
            call()

    holders = Holders()
    with Team(threads, "gilcheck-held") as team:
        probe = _GilSampler(base, holders)
        probe.start()
        try:
            team.lap([worked] * threads, limit=limit, label="measuring how long the GIL is held")
        finally:
            probe.stop()
    longest = max(probe.waits, default=0.0)
    return Held(probe.fraction(), len(probe.waits), longest, holders.shares(), holdings=holders.holdings())


class _GilSampler:
    """Knocks: sleeps, and measures how late it got to run."""

    def __init__(self, base: float, holders: Holders | None) -> None:
        self.waits: list[float] = []
        self.sleeps: list[float] = []
        self.corrected = run_queue_wait_ns() is not None
        self._base, self._holders = base, holders
        self._ended = threading.Event()
        self._thread = threading.Thread(target=self._run, name="gilcheck-probe", daemon=True)

    def start(self) -> None:
        self._thread.start()

    def stop(self) -> None:
        self._ended.set()
        self._thread.join()

    def _run(self) -> None:
        while not self._ended.is_set():
            self.sample(1)

    def sample(self, times: int) -> None:
        for _ in range(times):
            sleep = PERIOD * random.uniform(0.5, 1.5)
            if self._holders is not None:
                self._holders.before()
            denied_before, start = run_queue_wait_ns(), time.perf_counter()
            time.sleep(sleep)
            late = time.perf_counter() - start - sleep
            spot = self._holders.spot() if self._holders is not None and late > WAITED else None
            denied_after = run_queue_wait_ns()
            denied = 0 if denied_before is None or denied_after is None else denied_after - denied_before
            wait = max(0.0, late - denied / 1e9 - self._base)
            self.waits.append(wait)
            self.sleeps.append(sleep)
            if self._holders is not None and spot is not None and wait > WAITED:
                self._holders.charge(spot, wait)

    def fraction(self) -> float:
        waited, slept = sum(self.waits), sum(self.sleeps)
        if not self.waits:
            return 0.0
        found_taken = sum(wait > WAITED for wait in self.waits) / len(self.waits)
        return (waited + found_taken * slept) / (waited + slept)
