"""The GIL-held fraction h: the share of the time in which a workload holds the GIL, and the lines that hold it.

A sampler thread sleeps for about a millisecond, repeatedly, and measures how late it runs again. That lateness, without the time
for which the sampler had no core, is time in which another thread held the GIL. With w the waits, p the sleeps, and q the share
of samples that had to wait,

    h = (sum w + q * sum p) / (sum w + sum p)

The waits are held time by construction. For the sleeps, h is estimated by the share of random arrivals that found the GIL taken. By
Amdahl's law with the GIL as the serial part, no number of threads gives more than 1/h on any machine. So h needs no spare core. It
refutes a claim of speedup and never proves one, because it does not see other locks.

A thread that has no core while it holds the GIL makes the sampler wait as well, and that is the machine's doing: a workload that
computes for ten milliseconds and sleeps for twenty holds the GIL nearly always beside busy processes. Let d be the share of time
in which the workload's threads had no core, or in which a hypervisor had taken it. If they held the GIL in all of that,

    h' = (h - d) / (1 - d)

is what an idle machine shows. This errs in favour of the workload, and is exact for one that always holds the GIL.

What does not work:

- To count the samples that waited: a holder that is idle half of the time reads 0.16, because the sampler arrives right after the
  release of the GIL.
- The share of the waits: a holder that never releases the GIL reads 0.80, because the sleeps count as free.
- A periodic sleep: it synchronises with the workload.
- To take each late sample for one that waited: a virtual machine that loses its core wakes threads late, which no counter of its
  kernel says. Who finds the GIL taken gives up the core once more to wait for it, and that the kernel counts (Linux).
- To take the time without a core off the waits: it also passes while the sampler sleeps or has no core itself, so that on a busy
  machine nothing is left of them.
- To compare with the CPU time: a C call that waits and keeps the GIL uses none.

The sampler requests the GIL and so forces switches. It must never run beside timed laps.
"""

from __future__ import annotations

import random
import statistics
import threading
from collections.abc import Callable
from dataclasses import dataclass

from .advice import RETRY
from .clocks import run_queue_wait_ns, time, voluntary_switches
from .gil_holders import Holders, Holding
from .interpreter import GIL, build
from .stat import stolen
from .team import Team

PERIOD = 0.001  # seconds; each sleep takes 0.5 to 1.5 of it
WAITED = 0.0003  # seconds of lateness from which a sample has found the GIL taken
_IDLE_SAMPLES = 30
_IDLE_TAKEN = 0.2  # share of late samples without the workload, above which h is not usable: another thread holds the GIL
_IDLE_LATE = 0.001  # seconds; without the workload, no timer is that late on an idle machine
_DOUBT = 0.3  # of h that may be the machine's doing, from which h is not usable
_BUSY = 0.3  # cores that this process uses without the workload, from which one of its own threads holds the GIL


@dataclass(frozen=True)
class Held:
    """The share of the workload's time in which it held the GIL.

    Attributes:
        fraction: h, 0 to 1.
        samples: the number of samples.
        longest: seconds of the longest wait: about the switch interval for bytecode, longer for a C call that does not release
            the GIL.
        holders: the lines that held the GIL, ``"file:line (function)"`` to the share of the waited time; empty if none did.
        unusable: why h is not usable; None if it is.
        holdings: the same places with all waits, and also the loop of this package, which is no line of the workload.
    """

    fraction: float
    samples: int
    longest: float
    holders: dict[str, float]
    unusable: str | None = None
    holdings: tuple[Holding, ...] = ()

    @property
    def most_speedup(self) -> float:
        """1/h, the upper bound of the speedup for any number of threads."""
        return 1 / self.fraction if self.fraction > 0 else float("inf")

    @property
    def holder(self) -> str | None:
        """The line that held the GIL for the longest total time."""
        return max(self.holders, key=self.holders.__getitem__, default=None)


def held_fraction(call: Callable[[], object], *, seconds: float, limit: float, threads: int = 1) -> Held | None:
    """Call ``call`` repeatedly in ``threads`` threads for about ``seconds``, and sample the GIL beside it.

    Returns:
        None on a free-threaded build, which has no GIL.

    Raises:
        TeamHung, BaseExceptionGroup: as `Team.lap`.
    """
    if build() != GIL:
        return None
    # not cached: these samples also show whether the machine is too busy now, or another thread holds the GIL now
    floor = _GilSampler(0.0, None)
    cpu, start = time.process_time(), time.perf_counter()
    floor.sample(_IDLE_SAMPLES)
    busy = (time.process_time() - cpu) / (time.perf_counter() - start)
    base = statistics.quantiles(floor.waits, n=20)[-1]
    if sum(wait > _IDLE_LATE for wait in floor.waits) > _IDLE_TAKEN * len(floor.waits):
        reason = "another thread of this process holds the GIL"
        if busy < _BUSY:
            reason = f"machine too busy: threads run late without the workload; {RETRY}"
        return Held(0.0, len(floor.waits), max(floor.waits), {}, reason)
    if not floor.corrected and base > _IDLE_LATE:
        return Held(
            0.0, len(floor.waits), max(floor.waits), {}, f"machine too busy to distinguish a held GIL from a missing core; {RETRY}"
        )

    denied: list[int] = []

    def worked() -> None:
        before = run_queue_wait_ns() or 0
        end = time.perf_counter() + seconds
        while time.perf_counter() < end:
            call()
        denied.append((run_queue_wait_ns() or 0) - before)

    holders = Holders()
    with Team(threads, "gilcheck-held") as team:
        probe = _GilSampler(base, holders)
        probe.start()
        start, stolen_before = time.perf_counter(), stolen()
        try:
            team.lap([worked] * threads, limit=limit, label="measuring how long the GIL is held")
        finally:
            probe.stop()
    lap, without_core = time.perf_counter() - start, sum(denied) / 1e9 + stolen() - stolen_before
    seen = probe.fraction()
    fraction = undisturbed(seen, without_core / lap)
    unusable = None
    if seen - fraction > _DOUBT:
        unusable = f"the workload's threads had no core for {without_core:.2g} of {lap:.2g} s while it was measured; {RETRY}"
    return Held(fraction, len(probe.waits), max(probe.waits, default=0.0), holders.shares(), unusable, holders.holdings())


def undisturbed(fraction: float, denied: float) -> float:
    """At least this h would be seen if the threads always had a core.

    Args:
        fraction: h as it was seen.
        denied: the share of the time in which the threads that may hold the GIL had no core.
    """
    return max(0.0, (fraction - denied) / (1 - denied)) if denied < 1 else 0.0


class _GilSampler:
    """Takes samples: sleeps, and measures how late it runs again.

    Args:
        base: seconds that are subtracted from each wait: the lateness without the workload.
        holders: records the place of the holder after each long wait; None to record none.
    """

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
            denied_before, given_up, start = run_queue_wait_ns(), voluntary_switches(), time.perf_counter()
            time.sleep(sleep)
            late = time.perf_counter() - start - sleep
            if given_up is not None and (voluntary_switches() or 0) - given_up <= 1:
                late = 0.0  # that was the sleep, and the GIL was free
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
