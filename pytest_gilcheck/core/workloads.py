"""Workloads: callables without arguments, or coroutine functions.

Subinterpreters import this module. So it must not import a module that cannot be imported there, such as ``faulthandler``.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable
from typing import Any

Workload = Callable[[], Any]


def is_async(work: Workload) -> bool:
    """Whether a call of the workload returns an awaitable."""
    return inspect.iscoroutinefunction(work) or inspect.iscoroutinefunction(getattr(work, "__call__", None))  # noqa: B004


def name_of(work: Workload) -> str:
    """The name of the workload in a report."""
    return getattr(work, "__qualname__", None) or repr(work)


def call_once(work: Workload) -> object:
    """Call the workload once, as without a check; a coroutine function is run to its end by ``asyncio.run``."""
    if is_async(work):
        import asyncio

        return asyncio.run(work())
    return work()
