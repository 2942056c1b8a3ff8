"""A workload as something that can be repeated: callables and coroutine functions alike."""

from __future__ import annotations

import asyncio
import inspect
import itertools
from collections.abc import Callable
from typing import Any

Workload = Callable[[], Any]


def is_async(work: Workload) -> bool:
    """Whether calling it gives something to be awaited."""
    return inspect.iscoroutinefunction(work) or inspect.iscoroutinefunction(getattr(work, "__call__", None))  # noqa: B004


def name_of(work: Workload) -> str:
    """What to call the workload in a report."""
    return getattr(work, "__qualname__", None) or repr(work)


def repeated(work: Workload, times: int) -> Callable[[], None]:
    """A call that runs ``work`` so many times; a coroutine function gets one event loop for all of them."""
    if not is_async(work):

        def run() -> None:
            for _ in itertools.repeat(None, times):
                work()

        return run

    async def awaited() -> None:
        for _ in itertools.repeat(None, times):
            await work()

    return lambda: asyncio.run(awaited())
