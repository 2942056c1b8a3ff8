"""A thread that intends to run at t0 + k * period, and measures how late it runs.

It stalls together with its process, so it measures a stall afterwards, from the intended time. On a build with a GIL it also
charges each wait to the place where the holder released the GIL. Only a thread that itself waits for the GIL can see that place.
"""

from __future__ import annotations

import math
import threading
from collections.abc import Iterable

from ..core.clocks import time
from ..core.gil_holders import Holders
from ..core.held_fraction import WAITED
from .lateness import Wait
from .run_queue_clock import RunQueueClock
from .window import Probe, Window

PERIOD = 0.002  # seconds; 300 beats, the fewest that show a p99, take 0.6 s, and cost the workload less than 1%


class Heartbeat(Probe):
    """Beats through one window after another, in a thread of its own for each.

    Args:
        workers: kernel thread ids of the workload's threads.
        holders: records what held the GIL in judged windows; None without a GIL.
        long: seconds of lateness from which the run-queue time of a wait is read.
    """

    name = "heartbeat"

    def __init__(self, workers: Iterable[int], long: float, holders: Holders | None = None) -> None:
        super().__init__()
        self._workers, self._long, self._holders = list(workers), long, holders

    def _probe(self, window: Window) -> list[Wait]:
        holders = self._holders if window.judged else None
        queue_clock = RunQueueClock(self._workers, self._long)
        waits = []
        intended = window.begin
        while intended < window.end and not self._cancelled:
            if holders is not None:
                holders.before()
            time.sleep(max(0.0, intended - time.perf_counter()))
            ran = time.perf_counter()
            long = ran - intended > max(WAITED, self._long)
            spot = holders.spot() if holders is not None and long else None  # before anything releases the GIL
            wait = Wait(intended, ran, PERIOD, queue_clock.unattributed(ran - intended))
            if (
                holders is not None
                and spot is not None
                and (held := wait.late if wait.attributed is None else wait.attributed) > WAITED
            ):
                holders.charge(spot, held)
            waits.append(wait)
            # To read the counters releases the GIL, and at times another thread keeps it then for its turn: 1 to 5 of 100 readings
            # beside a C call. Nobody but this probe reads them, so the moments until the reading is over are not intended.
            own = time.perf_counter() - intended
            intended += PERIOD * max(wait.moments, math.ceil(own / PERIOD))
        queue_clock.close()
        return waits


def native_ids(idents: Iterable[int]) -> list[int]:
    """The kernel's thread ids of these threads, where it has any."""
    wanted = set(idents)
    return [t.native_id for t in threading.enumerate() if t.ident in wanted and t.native_id is not None]
