"""The instruction at which a frame is."""

from __future__ import annotations

import opcode
from collections.abc import Callable
from types import FrameType
from typing import Any, NamedTuple

from ..stack import operands_of
from ..touch import Touches, UnderTest

_OPERATORS = [sign for _, sign in vars(opcode)["_nb_ops"]]


class At(NamedTuple):
    """The instruction at which a frame is.

    Args:
        name, argument, value: ``opname``, ``arg`` and ``argval`` of it.
        under_test: the predicate for files whose code makes steps of its own.
    """

    frame: FrameType
    name: str
    argument: int
    value: Any
    under_test: UnderTest

    @property
    def sign(self) -> str:
        """That of an operator: ``"+="``."""
        if self.name == "BINARY_OP":
            return str(_OPERATORS[self.argument])
        return str(self.value).removeprefix("bool(").removesuffix(")") if self.name == "COMPARE_OP" else ""

    def top(self, count: int) -> tuple[Any, ...] | None:
        return operands_of(self.frame, count)


Rule = Callable[[At], Touches]
