"""What a workload is: something to call without arguments, or a coroutine function.

Subinterpreters import this module: it may import nothing that refuses to load there, as ``faulthandler`` does.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable
from typing import Any

Workload = Callable[[], Any]


def is_async(work: Workload) -> bool:
    """Whether calling it gives something to be awaited."""
    return inspect.iscoroutinefunction(work) or inspect.iscoroutinefunction(getattr(work, "__call__", None))  # noqa: B004


def name_of(work: Workload) -> str:
    """What to call the workload in a report."""
    return getattr(work, "__qualname__", None) or repr(work)


def call_once(work: Workload) -> object:
    """Call the workload once, as without a check; a coroutine function is run to its end by ``asyncio.run``."""
    if is_async(work):
        import asyncio

        return asyncio.run(work())
    return work()
