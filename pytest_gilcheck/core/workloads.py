"""Workloads: callables and coroutine functions without arguments.

Subinterpreters import this module. So it must not import a module that cannot be imported there, such as ``faulthandler``.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable
from typing import Any

from .own_builtins import OWN

__builtins__ = OWN  # of the functions below

Workload = Callable[[], Any]


def is_async(work: Workload) -> bool:
    """Whether the workload is a coroutine function, or an object whose ``__call__`` is one."""
    return inspect.iscoroutinefunction(work) or inspect.iscoroutinefunction(getattr(work, "__call__", None))  # noqa: B004


def name_of(work: Workload) -> str:
    """Return the name of the workload for a report."""
    return getattr(work, "__qualname__", None) or repr(work)


def call_once(work: Workload) -> object:
    """Call the workload once, as without a check; ``asyncio.run`` runs a coroutine function."""
    if is_async(work):
        import asyncio

        return asyncio.run(work())
    return work()
