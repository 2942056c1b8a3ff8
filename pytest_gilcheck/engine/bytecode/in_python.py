"""What some calls of the standard library touch whose code is in Python, and makes no steps.

Each answer is a `State`, or None where it is not known. All this holds for exactly these classes and functions, as
they were when this was imported.
"""

from __future__ import annotations

import contextlib
import logging
import os
import threading
from collections.abc import Sequence
from types import FunctionType
from typing import Any

from ...core.classes import bases_of, in_class, names_of
from .operands import immutable
from .touch import State

_ENVIRON = type(os.environ)
_ENVIRON_CODES = {name: names_of(_ENVIRON)[name].__code__ for name in ("__getitem__", "__setitem__", "__delitem__")}
_GETENV, _CURRENT_THREAD = os.getenv.__code__, threading.current_thread.__code__
_IS_ENABLED = logging.Logger.isEnabledFor.__code__
_LEVELS = {
    names_of(logging.Logger)[name].__code__: getattr(logging, name.upper())
    for name in ("debug", "info", "warning", "error", "critical")
}
_OF_THREADS = {id(names_of(threading.Thread)[name]): kept for name, kept in {"name": "_name", "daemon": "_daemonic"}.items()}
_suppress, _nullcontext = contextlib.suppress, contextlib.nullcontext
_MAKERS = {id(names_of(kind)["__init__"]) for kind in (_suppress, _nullcontext)}
_LEAVING = {names_of(kind)["__exit__"].__code__ for kind in (_suppress, _nullcontext)}


def function(callee: FunctionType, arguments: Sequence[Any]) -> State | None:
    """What a call of a function touches."""
    code = callee.__code__
    if code is _CURRENT_THREAD:
        return []  # a thread finds itself
    if code is _GETENV:
        return variable(os.environ, arguments[0], changes=False) if arguments and all(map(immutable, arguments)) else None
    if code in _LEVELS or code is _IS_ENABLED:
        return _not_logged(code, arguments)
    return [] if code in _LEAVING and _leaves(arguments) else None


def variable(environ: Any, name: Any, *, changes: bool) -> State | None:
    """What is touched by reading or changing a variable of the environment; None if this is not `os.environ`, or an odd name."""
    if type(environ) is not _ENVIRON or type(name) not in (str, bytes):
        return None
    if any(names_of(_ENVIRON)[operator].__code__ is not code for operator, code in _ENVIRON_CODES.items()):
        return None
    kept = vars(environ).get("_data")  # that of `os.environb` is the same
    return [(kept, None, changes)] if type(kept) is dict else None


def attribute_of_a_thread(found: object) -> str | None:
    """What a thread keeps in the attribute that this descriptor computes: ``"_name"``."""
    return _OF_THREADS.get(id(found))


def keeps_its_arguments(kind: type) -> bool:
    """Whether an instance of this class is made by code that only keeps the arguments."""
    return entered(kind) and id(in_class(kind, "__init__")) in _MAKERS


def entered(kind: type) -> bool:
    """Whether to enter a context manager of this class touches nothing."""
    return kind is _suppress or kind is _nullcontext


def _leaves(arguments: Sequence[Any]) -> bool:
    """Whether the end of `suppress` only asks whether an exception is of a class that was given, and no metaclass has a say."""
    manager, kind, *_ = arguments
    if type(manager) is _nullcontext or kind is None:
        return True
    caught = vars(manager).get("_exceptions")
    plain = type(caught) is tuple and all(type(each) is type for each in (*caught, kind))
    return plain and BaseExceptionGroup not in bases_of(kind)  # which is split, by code that it may have


def _not_logged(code: Any, arguments: Sequence[Any]) -> State | None:
    """What a logger touches that is asked for a level which is known to be switched off."""
    if not arguments or type(arguments[0]) is not logging.Logger:
        return None
    logger = arguments[0]
    level = _LEVELS.get(code, arguments[1] if len(arguments) > 1 else None)
    known, disabled = (vars(logger).get(name) for name in ("_cache", "disabled"))
    if type(level) is not int or type(known) is not dict or disabled:
        return None
    return [(known, None, False)] if known.get(level) is False else None
