"""Workloads: callables and coroutine functions without arguments.

Subinterpreters import this module. So it must not import a module that cannot be imported there, such as ``faulthandler``.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable
from types import FunctionType
from typing import Any

from .signatures import is_of_kind
from .texts import attribute_of, name_in, text_of

Workload = Callable[[], Any]
_CALLS = "__gilcheck_calls__"


def is_async(work: Workload) -> bool:
    """Whether the workload is a coroutine function, or an object whose ``__call__`` is one."""
    return any(is_of_kind(each, inspect.iscoroutinefunction) for each in (work, attribute_of(work, "__call__")))


def calling(call: Workload, function: object) -> Workload:
    """Mark a callable of ours as one that only calls a function of the user's: `called_by` finds that."""
    setattr(call, _CALLS, function)  # functions take attributes
    return call


def called_by(work: object) -> object:
    """The function of the user's that a workload is, or that a callable of ours calls for it."""
    while type(work) is FunctionType and _CALLS in vars(work):  # a proxy would give something for this name too, without an end
        work = vars(work)[_CALLS]
    return work


def name_of(work: Workload) -> str:
    """Return the name of the workload for a report."""
    return name_in(work) or text_of(work)


def call_once(work: Workload) -> object:
    """Call the workload once, as without a check; ``asyncio.run`` runs a coroutine function."""
    if is_async(work):
        import asyncio

        return asyncio.run(work())
    return work()
