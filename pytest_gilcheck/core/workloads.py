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
_CALLS = "__gilcheck_calls__"


def is_async(work: Workload) -> bool:
    """Whether the workload is a coroutine function, or an object whose ``__call__`` is one."""
    return inspect.iscoroutinefunction(work) or inspect.iscoroutinefunction(getattr(work, "__call__", None))  # noqa: B004


def calling(call: Workload, function: object) -> Workload:
    """Mark a callable of ours as one that only calls a function of the user's: `called_by` finds that."""
    setattr(call, _CALLS, function)  # functions take attributes
    return call


def called_by(work: object) -> object:
    """The function of the user's that a workload is, or that a callable of ours calls for it."""
    while (function := getattr(work, _CALLS, None)) is not None:
        work = function
    return work


def name_of(work: Workload) -> str:
    """Return the name of the workload for a report."""
    return getattr(work, "__qualname__", None) or repr(work)


def call_once(work: Workload) -> object:
    """Call the workload once, as without a check; ``asyncio.run`` runs a coroutine function."""
    if is_async(work):
        import asyncio

        return asyncio.run(work())
    return work()
