"""What of the things that a step touches C reads or changes in several steps, where there is no GIL (`torn`)."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

from ...core.classes import is_a
from ...core.own_builtins import OWN
from . import pure, torn
from .touch import ALL, Touch

__builtins__ = OWN  # of the functions below


def by_instruction(found: list[Touch], name: str, sign: str, operands: Sequence[Any]) -> list[Touch]:
    """What an instruction touches, with what it does in parts.

    Args:
        sign: of an operator: ``"+="``.
        operands: of an operator or a comparison.
    """
    found = with_torn(found, torn.of_instruction(name, sign))
    return _in_turn(_in_bulk(found, sign, operands[1:]) if operands else found, operands)


def by_call(found: list[Touch], callee: Any, arguments: Iterable[Any]) -> list[Touch]:
    """What a call touches, likewise."""
    if type(callee) in torn.IN_C or pure.reads_its_arguments(callee):
        doer = torn.of_call(callee, arguments)
        found = _in_bulk(with_torn(found, doer), callee.__name__, doer.arguments)
    return _in_turn(found)


def with_torn(found: list[Touch], doer: torn.Doer) -> list[Touch]:
    """What somebody touches, with what is several steps for the sake of the object."""
    changed = {id(each.holder) for each in found if each.changes}

    def is_torn(each: Touch) -> bool:
        if each.torn or each.inner:
            return each.torn
        if each.changes:
            return torn.changes_in_parts(doer, each.holder)
        return each.part is ALL and id(each.holder) not in changed and torn.reads_in_parts(doer, each.holder)

    return [each._replace(torn=is_torn(each)) for each in found]


def _in_turn(found: list[Touch], operands: Iterable[Any] = ()) -> list[Touch]:
    """What reads several things, and does not change them, reads one after the other. Classes hardly change.

    Args:
        operands: of an operator in C, which are read together, as far as each is read in one step.
    """
    together = set(map(id, operands))
    changed = {id(each.holder) for each in found if each.changes}
    reads = [each for each in found if not (id(each.holder) in changed or each.inner or is_a(each.holder, type))]
    parts = {(0 if id(each.holder) in together else id(each.holder), _identity(each.part)) for each in reads}
    if len(parts) < 2:
        return found
    return [each._replace(torn=True) if any(each is read for read in reads) else each for each in found]


def _in_bulk(found: list[Touch], doer: str, sources: Iterable[Any]) -> list[Touch]:
    """What changes several elements changes one after the other for whoever reads the size or an element."""
    given = tuple(sources)
    return [
        each._replace(torn=True) if each.changes and each.part is ALL and torn.changes_many(doer, each.holder, given) else each
        for each in found
    ]


def _identity(part: Any) -> str | int:
    return part if type(part) is str else id(part)
