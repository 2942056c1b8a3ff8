"""Errors that are no verdict: a value that cannot be used, and a workload or setup that fails without what the check does to it."""

from __future__ import annotations

from types import FunctionType, MethodType
from typing import ClassVar

from .texts import attribute_of, name_in, text_of

_LONGEST = 1000  # characters of a value in a message: a path fits


class ErrorWithCode(Exception):
    """An error that is a finding: of a check that cannot give a result, or of how it is used.

    Attributes:
        finding: its check and its name there, as `codes.code_of` takes them.
    """

    finding: ClassVar[tuple[str, str]]


class BadValue(ErrorWithCode, ValueError):
    """An argument or setting that cannot be used; the message is one line with its name, value and source.

    Args:
        name: the argument's name as the user wrote it.
        value: the value that cannot be used.
        expected: a description of the values that are accepted.
        source: where the value came from, for example ``"marker gil_scaling"`` or ``"environment GILCHECK_BUDGET"``.
    """

    finding = ("any", "usage")

    def __init__(self, name: str, value: object, expected: str, source: str = "argument") -> None:
        self.name, self.value, self.expected, self.source = name, value, expected, source
        super().__init__(name, value, expected, source)

    def __str__(self) -> str:
        return f"{self.name}={_shown(self.value)} (from {self.source}): expected {self.expected}"


def _shown(value: object) -> str:
    """The value in one line, without the middle of a very long one."""
    text = ""
    if type(value) in (FunctionType, MethodType) and (name := name_in(value)):  # whose repr has an address in place of a module
        text = f"{attribute_of(value, '__module__')}.{name}"
    text = text or text_of(value)
    half = _LONGEST // 2
    return text if len(text) <= _LONGEST else f"{text[:half]}...{text[-half:]}"


class EndedByItself(RuntimeError):
    """The workload or its setup ended its process (a crash, ``os._exit``, an interrupt), and not because of the check."""


def as_failure(error: BaseException, of: str) -> Exception:
    """The error as one that fails a test: what ends programs, such as SystemExit, would end pytest or be taken for a signal's."""
    if isinstance(error, Exception):
        return error
    try:
        text = str(error)
    except BaseException:  # of the error's own code
        text = ""
    return EndedByItself(f"the {of} raised {type(error).__name__}{text and ': '}{text}")
