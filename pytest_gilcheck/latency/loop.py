"""An asyncio event loop in a thread, and how late its timers run.

The loop's own clock has a resolution of its own (a millisecond in the selector, for instance), so lateness is counted on the
same clock as everything else, and a load-free window shows what the loop does by itself.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Iterable

from .lateness import Wait
from .window import Probe, Window
from .witness import Witness

PERIOD = 0.002  # seconds between two timers, above the resolution of the loop


class Loop(Probe):
    """Timers through one window after another, each window with a loop of its own."""

    name = "loop"

    def __init__(self, workers: Iterable[int], long: float) -> None:
        super().__init__()
        self._workers, self._long = list(workers), long

    def _probe(self, window: Window) -> list[Wait]:
        return asyncio.run(self._timers(window))

    async def _timers(self, window: Window) -> list[Wait]:
        loop, witness = asyncio.get_running_loop(), Witness(self._workers, self._long)
        waits: list[Wait] = []
        over = loop.create_future()

        def ring(intended: float) -> None:
            ran = time.perf_counter()
            waits.append(Wait(intended, ran, PERIOD, witness.unexplained(ran - intended)))
            upcoming = intended + PERIOD * waits[-1].moments
            if upcoming < window.end and not self._cancelled:
                loop.call_later(max(0.0, upcoming - time.perf_counter()), ring, upcoming)
            else:
                over.set_result(None)

        loop.call_later(max(0.0, window.begin - time.perf_counter()), ring, window.begin)
        await over
        witness.close()
        return waits
