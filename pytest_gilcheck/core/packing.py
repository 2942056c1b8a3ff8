"""Exceptions as text, with their traceback, so that a parent process can raise what a child process caught.

The parent gets an exception of the same class with the same arguments and attributes, so that an ``except`` of the user's catches
it. What does not work: pickle alone. It calls the class with ``args``, which may not be what the user's ``__init__`` takes; it
finds no class that a function has made, which a fork has at the same address; and it gives up for one argument such as a lock.
"""

from __future__ import annotations

import io
import pickle
import sys
import traceback
from types import TracebackType
from typing import Any

from .classes import derived_from, module_of_class, name_of_class, qualified_name_of_class
from .origin import ours
from .source import frame_place


def packed(error: BaseException) -> str:
    """The exception and its traceback, pickled, in hexadecimal digits.

    Frames of this package above the workload are left out. An argument or attribute that cannot be pickled becomes its ``repr``; an
    exception of which not even that can be, or whose class the other process does not have, a ``RuntimeError`` with its class name
    and message.
    """
    trace = error.__traceback__
    while trace is not None and ours(trace.tb_frame.f_code.co_filename):
        trace = trace.tb_next
    text = f"{name_of_class(type(error))}: {_text(error)}"
    try:
        formatted = "".join(traceback.format_exception(type(error), error, trace))
    except BaseException:  # a class, or a notes attribute, that refuses to be asked; built-in names that the workload has replaced
        formatted = _plainly(trace) + text
    return pickle.dumps((_as_itself(error) or _by_parts(error), text, formatted)).hex()


def unpacked(text: str) -> BaseException:
    """The exception that `packed` made ``text`` of, with the child's traceback as a note."""
    data, plainly, formatted = pickle.loads(bytes.fromhex(text))
    error = _loaded(data) or RuntimeError(plainly)
    error.add_note(f"raised in the child process that ran the workload:\n{formatted}")
    return error


def _plainly(trace: TracebackType | None) -> str:
    """The places of a traceback, without the source text: that is read by the standard library."""
    places = []
    while trace is not None:
        places.append(f"  {frame_place(trace.tb_frame, trace.tb_lineno)}\n")
        trace = trace.tb_next
    return "".join(places)


def _as_itself(error: BaseException) -> bytes | None:
    """The exception, if its class makes the same one of its arguments."""
    try:
        data = _dumped(error)
        again = _loaded(data)
        same = again is not None and type(again) is type(error) and repr(again.args) == repr(error.args)
        return data if same else None
    except BaseException:  # the exception's own pickling hooks may raise anything, and so may its __repr__: SystemExit, say
        return None


def _by_parts(error: BaseException) -> bytes | None:
    try:
        data = _dumped(error, by_parts=True)
        return data if _loaded(data) is not None else None
    except BaseException:  # see above
        return None


def _dumped(value: object, by_parts: bool = False) -> bytes:
    file = io.BytesIO()
    _Pickler(file, by_parts).dump(value)
    return file.getvalue()


def _loaded(data: bytes | None) -> BaseException | None:
    """The exception; None if it cannot be made here."""
    try:
        error = None if data is None else _Unpickler(io.BytesIO(data)).load()
        return error if isinstance(error, BaseException) else None
    except Exception:  # the hooks of the exception's class may raise anything
        return None


class _Pickler(pickle.Pickler):
    """Refers to classes of exceptions that no import finds by their address.

    Args:
        by_parts: whether exceptions are made anew of class, arguments and attributes, without their ``__init__``.
    """

    def __init__(self, file: io.BytesIO, by_parts: bool) -> None:
        super().__init__(file)
        self._by_parts = by_parts

    def persistent_id(self, value: Any) -> tuple[int, str] | None:
        local = isinstance(value, type) and issubclass(value, BaseException) and not _is_importable(value)
        return (id(value), qualified_name_of_class(value)) if local else None

    def reducer_override(self, value: Any) -> Any:
        if not self._by_parts or not isinstance(value, BaseException):
            return NotImplemented
        arguments = tuple(_portable(argument) for argument in value.args)
        return _made_anew, (type(value), arguments, {name: _portable(part) for name, part in vars(value).items()})


class _Unpickler(pickle.Unpickler):
    def persistent_load(self, known: tuple[int, str]) -> type[BaseException]:
        for kind in derived_from(BaseException):
            if (id(kind), qualified_name_of_class(kind)) == known:
                return kind
        raise pickle.UnpicklingError("this process has no such class")


def _made_anew(kind: type[BaseException], arguments: tuple[Any, ...], attributes: dict[str, Any]) -> BaseException:
    error = kind.__new__(kind, *arguments)
    error.args = arguments
    vars(error).update(attributes)
    return error


def _portable(value: Any) -> Any:
    """The value, or its text if it cannot be pickled."""
    try:
        _dumped(value, by_parts=True)
    except BaseException:  # see above
        return _text(value, repr)
    return value


def _text(value: object, words: Any = str) -> str:
    try:
        return f"{words(value)}"
    except BaseException:  # its own __str__ or __repr__
        return object.__repr__(value)


def _is_importable(kind: type) -> bool:
    found: Any = sys.modules.get(module_of_class(kind))
    for name in qualified_name_of_class(kind).split("."):
        found = getattr(found, name, None)
    return found is kind
