"""A thread that intends to run at t0 + k * period, and how late it does.

It is a thread of the stalled process and stalled with it: what it sees of a stall, it sees afterwards, from the time it was to
run. On a build with a GIL it also charges what held the GIL to the place where that let go, which only a thread that waits for
the GIL itself can know.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Iterable

from ..core.held import WAITED
from ..core.holders import Holders
from .lateness import Wait
from .window import Probe, Window
from .witness import Witness

PERIOD = 0.002  # seconds: 300 beats, the fewest that show a p99, in 0.6 s; the workload loses less than 1% to it


class Heartbeat(Probe):
    """Beats through one window after another, in a thread of its own for each.

    Args:
        workers: kernel thread ids of the workload's threads.
        holders: charged with the waits in windows beside the workload that are judged; None without a GIL.
        long: seconds of lateness from which a wait is looked into.
    """

    name = "heartbeat"

    def __init__(self, workers: Iterable[int], long: float, holders: Holders | None = None) -> None:
        super().__init__()
        self._workers, self._long, self._holders = list(workers), long, holders

    def _probe(self, window: Window) -> list[Wait]:
        holders = self._holders if window.judged else None
        witness = Witness(self._workers, self._long)
        waits = []
        intended = window.begin
        while intended < window.end and not self._cancelled:
            if holders is not None:
                holders.before()
            time.sleep(max(0.0, intended - time.perf_counter()))
            ran = time.perf_counter()
            long = ran - intended > max(WAITED, self._long)
            spot = holders.spot() if holders is not None and long else None  # before anything lets go of the GIL
            wait = Wait(intended, ran, PERIOD, witness.unexplained(ran - intended))
            if holders is not None and spot is not None and (held := wait.late if wait.blamed is None else wait.blamed) > WAITED:
                holders.charge(spot, held)
            waits.append(wait)
            intended += PERIOD * wait.moments
        witness.close()
        return waits


def native_ids(idents: Iterable[int]) -> list[int]:
    """The kernel's ids of these threads, where it has such."""
    wanted = set(idents)
    return [t.native_id for t in threading.enumerate() if t.ident in wanted and t.native_id is not None]
