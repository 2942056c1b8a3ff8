"""Exceptions as text, with their traceback, so that a parent process can raise what a child process caught."""

from __future__ import annotations

import pickle
import traceback

from .origin import ours


def packed(error: BaseException) -> str:
    """The exception and its traceback, pickled, in hexadecimal digits.

    Frames of this package above the workload are left out. An exception that cannot be pickled becomes a ``RuntimeError`` with its
    class name and message.
    """
    trace = error.__traceback__
    while trace is not None and ours(trace.tb_frame.f_code.co_filename):
        trace = trace.tb_next
    formatted = "".join(traceback.format_exception(type(error), error, trace))
    for candidate in (error, RuntimeError(f"{type(error).__name__}: {error}")):
        try:
            data = pickle.dumps((candidate, formatted))
            pickle.loads(data)
            return data.hex()
        except Exception:  # the exception's own pickling hooks may raise anything
            continue
    raise AssertionError("a RuntimeError of a string can be pickled")


def unpacked(text: str) -> BaseException:
    """The exception that `packed` made ``text`` of, with the child's traceback as a note."""
    error, formatted = pickle.loads(bytes.fromhex(text))
    error.add_note(f"raised in the child process that ran the workload:\n{formatted}")
    return error  # type: ignore[no-any-return]
