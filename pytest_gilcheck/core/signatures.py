"""What a function can be called with, as far as it says."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from typing import Any

_VARIABLE = (inspect.Parameter.VAR_POSITIONAL, inspect.Parameter.VAR_KEYWORD)  # ``*arguments``, which may be none


def is_of_kind(function: object, *kinds: Callable[[Any], bool]) -> bool:
    """Whether one of these predicates of `inspect` says so of a function; False of an object that lets nobody look."""
    try:
        return any(kind(function) for kind in kinds)
    except Exception:  # of its own __getattr__
        return False


def takes(function: Any, arguments: tuple[object, ...]) -> bool:
    """Whether a function can be called with these arguments; True if it does not say."""
    signature = _signature(function)
    try:
        if signature is not None:
            signature.bind(*arguments)
    except TypeError:
        return False
    return True


def needed_argument(function: Any) -> str:
    """The name of the first argument without which a function cannot be called; empty if there is none, or it does not say."""
    signature = _signature(function)
    parameters = () if signature is None else signature.parameters.values()
    return next((each.name for each in parameters if each.default is each.empty and each.kind not in _VARIABLE), "")


def _signature(function: Any) -> inspect.Signature | None:
    try:
        # Of what is called, and not of what it wraps: a decorator may give more arguments than it takes.
        return inspect.signature(function, follow_wrapped=False)
    except Exception:  # it does not say, or is of a class that lets nobody look
        return None
