"""Repeats a workload, a callable or a coroutine function.

Subinterpreters import this module. So it must not import a module that cannot be imported there, such as ``faulthandler``.
"""

from __future__ import annotations

import asyncio
import itertools
from collections.abc import Callable

from ..core.clocks import time
from ..core.workloads import Workload, is_async

Latencies = list[float]  # seconds of each call


def repeated(work: Workload, times: int) -> Callable[[], None]:
    """A callable that calls ``work`` ``times`` times; a coroutine function is awaited in one event loop for all calls."""
    if not is_async(work):

        def run() -> None:
            for _ in itertools.repeat(None, times):
                work()

        return run

    async def awaited() -> None:
        for _ in itertools.repeat(None, times):
            await work()

    return lambda: asyncio.run(awaited())


def timed_calls(work: Workload, calls: int) -> Latencies:
    """Call ``work`` ``calls`` times and return the seconds that each call took."""
    if is_async(work):
        return asyncio.run(timed_awaits(work, calls))
    latencies = []
    for _ in range(calls):
        start = time.perf_counter()
        work()
        latencies.append(time.perf_counter() - start)
    return latencies


async def timed_awaits(work: Workload, calls: int) -> Latencies:
    """`timed_calls` for a coroutine function, inside a running event loop."""
    latencies = []
    for _ in range(calls):
        start = time.perf_counter()
        await work()
        latencies.append(time.perf_counter() - start)
    return latencies
