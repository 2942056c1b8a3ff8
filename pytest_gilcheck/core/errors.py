"""The error for a value that cannot be used; it is raised before anything is measured."""

from __future__ import annotations


class BadValue(ValueError):
    """An argument or setting that cannot be used; the message is one line with its name, value and source.

    Args:
        name: the argument's name as the user wrote it.
        value: the value that cannot be used.
        expected: a description of the values that are accepted.
        source: where the value came from, for example ``"marker gil_scaling"`` or ``"environment GILCHECK_BUDGET"``.
    """

    def __init__(self, name: str, value: object, expected: str, source: str = "argument") -> None:
        self.name, self.value, self.expected, self.source = name, value, expected, source
        super().__init__(name, value, expected, source)

    def __str__(self) -> str:
        return f"{self.name}={self.value!r} (from {self.source}): expected {self.expected}"
