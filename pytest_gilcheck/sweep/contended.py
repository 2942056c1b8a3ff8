"""What the clients of a test contend for, by a recorded run: each thing with the places at which they touch it, and how.

A thing has no name that a later process, or another test, would know. So it is known by its uses: the lines from which several
clients touch it, at least one of them to change it. Two things with the same uses may be different ones, so nothing is claimed of a
test whose things another test has (`Met`); but the places say where a race would be, and that one test was searched there.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from typing import Any, NamedTuple

from ..core.source import code_position
from ..engine.bytecode.touch import ALL
from ..engine.running.record import Deed
from ..engine.touched.trace import Trace
from .harmless import Harmless
from .swept import SweepOutcome, Swept

_MANY = 2  # things with the same uses: more are not told apart
_ENOUGH = 3  # tests that were searched and that no schedule has broken, before another one that meets the same is not searched


class Use(NamedTuple):
    """One place at which clients touch a thing, and what they do to it."""

    file: str
    line: int
    deed: int


Thing = frozenset[Use]


class _Touch(NamedTuple):
    point: int
    owner: int
    part: Any
    deed: Deed


def contended(trace: Trace) -> dict[int, list[int]]:
    """By the number of each object that a client changes and another one touches, the points at which they do."""
    touched: dict[int, list[_Touch]] = {}
    for point, parts in trace.parts.items():
        for holder, part, deed in parts:
            touched.setdefault(holder, []).append(_Touch(point, trace.owners[point], part, deed))
    found = {holder: sorted(_contending(each)) for holder, each in touched.items() if len({touch.owner for touch in each}) > 1}
    return {holder: points for holder, points in found.items() if points}


def _contending(touches: Sequence[_Touch]) -> set[int]:
    """The points of an object's touches that conflict with one of another client."""
    whole = [touch for touch in touches if touch.part == ALL]
    by_part: dict[Any, list[_Touch]] = {}
    for touch in touches:
        if touch.part != ALL:
            by_part.setdefault(touch.part, []).append(touch)
    groups = [[*each, *whole] for each in by_part.values()] or [whole]
    return {point for group in groups for point in _conflicting(group)}


def _conflicting(group: Sequence[_Touch]) -> Iterator[int]:
    owners = {touch.owner for touch in group}
    changing = {touch.owner for touch in group if touch.deed is not Deed.READ}
    for touch in group:
        against = changing if touch.deed is Deed.READ else owners
        if against - {touch.owner}:
            yield touch.point


def things_of(trace: Trace, harmless: Harmless) -> tuple[list[Thing], str]:
    """What clients contend for, without what is harmless; and what has no place, in words."""
    alive = trace.objects.alive()
    things, unplaced = [], ""
    for number, points in contended(trace).items():
        uses = [(trace.spots.get(point), _changes(trace, number, point)) for point in points]
        if harmless.is_one(alive.get(number), uses):
            continue
        if any(spot is None for spot, _ in uses):
            unplaced = "a thread that goes on after a wait"
        things.append(frozenset(_uses(trace, number, points)))
    return things, unplaced


def _changes(trace: Trace, number: int, point: int) -> bool:
    return any(deed is not Deed.READ for holder, _, deed in trace.parts[point] if holder == number)


def _uses(trace: Trace, number: int, points: Iterable[int]) -> Iterator[Use]:
    for point in points:
        if (spot := trace.spots.get(point)) is not None:
            deeds = {deed for holder, _, deed in trace.parts[point] if holder == number}
            line = code_position(*spot).line or spot[0].co_firstlineno
            yield from (Use(spot[0].co_filename, line, int(deed)) for deed in deeds)


class Instead(NamedTuple):
    """What becomes of a test that is not searched itself.

    Attributes:
        reason: why, in words.
        like: the test that was searched and meets the same; empty if that was not decided.
    """

    outcome: SweepOutcome
    reason: str
    like: str = ""


class Met:
    """What the tests that were searched contend for."""

    def __init__(self) -> None:
        self._searched: list[tuple[Swept, Sequence[Thing]]] = []

    def add(self, test: Swept, things: Sequence[Thing]) -> None:
        """A test was searched. Without things, or without places that break it, it says nothing of others."""
        self._searched = [each for each in self._searched if each[0].test != test.test]  # it had less time then
        if things and test.outcome in _SEARCHED and (test.failed is None or test.failed.cause):
            self._searched.append((test, things))

    def instead(self, things: Sequence[Thing]) -> Instead | None:
        """What becomes of a test whose clients contend for these; None if it has to be searched itself.

        It is one test that meets all: a race may need two things. One that a schedule broke was searched up to that failure, so it
        counts if the other test meets what broke it. Of the others there have to be several: each sees with its own asserts.
        """
        if not things:
            return None
        places = {(use.file, use.line) for thing in things for use in thing}
        meeting = [test for test, others in self._searched if _covers(others, things)]
        for test in meeting:
            if test.failed is not None and places.issuperset(test.failed.cause):
                return _met(test, "a schedule breaks that test")
        held = [test for test in meeting if test.outcome is SweepOutcome.HOLDS]
        if len(held) >= _ENOUGH:
            return _met(held[0], "no schedule breaks that test")
        unbroken = [test for test in meeting if test.failed is None]
        if len(unbroken) < _ENOUGH:
            return None
        undecided = next(test for test in unbroken if test.outcome is not SweepOutcome.HOLDS)
        return Instead(
            SweepOutcome.CUT_SHORT, f"not searched: {_MEETS.format(undecided.test)}, and a search of that did not decide"
        )


_SEARCHED = (SweepOutcome.HOLDS, SweepOutcome.BROKEN, SweepOutcome.CUT_SHORT, SweepOutcome.NOT_REPEATABLE)
_MEETS = "its clients meet only what those of {} meet, at the same lines"


def _met(test: Swept, how: str) -> Instead:
    return Instead(SweepOutcome.MET, f"{_MEETS.format(test.test)}, and {how}", test.test)


def _covers(those: Sequence[Thing], these: Sequence[Thing]) -> bool:
    """Whether each of these things has one of its own among those, with at least its uses."""
    left = _counted(those)
    for thing, count in sorted(_counted(these).items(), key=lambda each: -len(each[0])):
        for _ in range(count):
            one = min((other for other in left if left[other] and thing <= other), key=len, default=None)
            if one is None:
                return False
            left[one] -= 1
    return True


def _counted(things: Sequence[Thing]) -> Counter[Thing]:
    return Counter({thing: min(count, _MANY) for thing, count in Counter(things).items()})


def packed_things(things: Sequence[Thing]) -> list[list[Use]]:
    """As JSON can carry them."""
    return [sorted(thing) for thing in things]


def unpacked_things(packed: Sequence[Sequence[Sequence[Any]]]) -> list[Thing]:
    return [frozenset(Use(*use) for use in thing) for thing in packed]
