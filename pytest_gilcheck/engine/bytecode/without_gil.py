"""What of the things that a step touches C reads or changes in several steps, where there is no GIL (`torn`).

On a build with a GIL that counts as well, as far as trials have shown it (`c_operations`). Two things count on free-threaded builds
alone: what changes several elements is seen half done, and what reads several things reads one after the other.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable, Iterable, Sequence
from typing import Any

from ...core.build_flags import FREE_THREADED_BUILD
from ...core.classes import is_a
from . import torn
from .touch import ALL, Touch


def by_instruction(
    found: list[Touch], name: str, sign: str, operands: Sequence[Any], top: Callable[[int], tuple[Any, ...] | None]
) -> list[Touch]:
    """What an instruction touches, with what it does in parts.

    Args:
        sign: of an operator: ``"+="``.
        operands: of an operator or a comparison.
        top: so many operands of any instruction.
    """
    if not FREE_THREADED_BUILD and not _of_a_whole(found):
        return found
    doer = torn.of_instruction(name, sign)
    if doer.reads:
        doer = doer._replace(arguments=top(2 if name in torn.OF_TWO else 1) or ())
    found = with_torn(found, doer)
    if not FREE_THREADED_BUILD:
        return found
    return _in_turn(_in_bulk(found, sign, operands[1:]) if operands else found, operands)


def by_call(found: list[Touch], callee: Any, arguments: Iterable[Any]) -> list[Touch]:
    """What a call touches, likewise."""
    if not FREE_THREADED_BUILD and not _of_a_whole(found):
        return found
    doer = torn.of_call(callee, arguments)
    found = with_torn(found, doer)
    if FREE_THREADED_BUILD and type(callee) in torn.IN_C:
        found = _in_bulk(found, callee.__name__, doer.arguments)
    return _in_turn(found) if FREE_THREADED_BUILD else found


def _of_a_whole(found: list[Touch]) -> bool:
    """Whether a step touches all of an object, or changes an `OrderedDict`. Others are one step, and to look at each takes long."""
    for each in found:  # noqa: SIM110 # all() of a generator takes three times as long
        if each.part is ALL or (each.changes and issubclass(type(each.holder), OrderedDict)):
            return True
    return False


def with_torn(found: list[Touch], doer: torn.Doer) -> list[Touch]:
    """What somebody touches, with what is several steps for the sake of the object."""
    changed = {id(each.holder) for each in found if each.changes and not each.guess}

    def is_torn(each: Touch) -> bool:
        if each.torn or each.inner:
            return each.torn
        if each.changes and (not each.guess or torn.changes_in_parts(doer, each.holder)):
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
