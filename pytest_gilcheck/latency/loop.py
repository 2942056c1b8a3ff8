"""An asyncio event loop in a thread, which measures how late its timers run.

The clock of the loop has a coarse resolution (a millisecond in the selector, for instance). So lateness is measured with
``time.perf_counter``, as in all probes, and a window without the workload shows the lateness of the loop itself.
"""

from __future__ import annotations

import asyncio
from collections.abc import Iterable

from ..core.clocks import time
from .lateness import Wait
from .run_queue_clock import RunQueueClock
from .window import Probe, Window

PERIOD = 0.002  # seconds between two timers, above the resolution of the loop


class Loop(Probe):
    """Measures the lateness of timers, in a new event loop for each window."""

    name = "loop"

    def __init__(self, workers: Iterable[int], long: float) -> None:
        super().__init__()
        self._workers, self._long = list(workers), long

    def _probe(self, window: Window) -> list[Wait]:
        with asyncio.Runner(loop_factory=_new_loop) as runner:
            return runner.run(self._timers(window))

    async def _timers(self, window: Window) -> list[Wait]:
        loop, queue_clock = asyncio.get_running_loop(), RunQueueClock(self._workers, self._long)
        waits: list[Wait] = []
        over = loop.create_future()

        def ring(intended: float) -> None:
            ran = time.perf_counter()
            waits.append(Wait(intended, ran, PERIOD, queue_clock.unattributed(ran - intended)))
            upcoming = intended + PERIOD * waits[-1].moments
            if upcoming < window.end and not self._cancelled:
                loop.call_later(max(0.0, upcoming - time.perf_counter()), ring, upcoming)
            else:
                over.set_result(None)

        loop.call_later(max(0.0, window.begin - time.perf_counter()), ring, window.begin)
        await over
        queue_clock.close()
        return waits


def _new_loop() -> asyncio.AbstractEventLoop:
    """A loop as ``asyncio.run`` makes it, by a clock that nobody can freeze: asyncio asks the module ``time`` each time."""
    loop = asyncio.new_event_loop()
    loop.time = time.monotonic  # type: ignore[method-assign]
    return loop
