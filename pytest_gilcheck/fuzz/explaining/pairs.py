"""Pairs of conflicting accesses in a recorded run, and which of them another run has in the opposite order."""

from __future__ import annotations

from collections import defaultdict, deque
from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple

from ...engine.bytecode.touch import ALL
from ...search.ledger import MOST_USES
from .recorder import Location, RecordedStep

# By the number of an object; then by a name in it, a thread, and whether it is changed: the steps so far, of very many the last.
_Users = defaultdict[int, defaultdict[tuple[str, int, bool], deque[int]]]


class Pair(NamedTuple):
    """Two conflicting accesses of a run, by the indexes of their steps in it, and what both touch."""

    first: int
    second: int
    where: Location

    def same_place(self, other: Pair) -> bool:
        """Whether another pair is of the same part of the same object."""
        (holder, name), (held, part) = self.where, other.where
        return holder == held and (name == part or ALL in (name, part))


def conflicting(steps: Sequence[RecordedStep]) -> Iterator[Pair]:
    """The pairs of a run, in order of their second steps."""
    users: _Users = defaultdict(lambda: defaultdict(lambda: deque(maxlen=MOST_USES)))
    for later, second in enumerate(steps):
        for earlier in sorted(_uses_before(users, second)):
            if (where := steps[earlier].conflict(second)) is not None:
                yield Pair(earlier, later, where)
        for (holder, name), changes in second.touched.items():
            users[holder][name, second.thread, changes].append(later)


def _uses_before(users: _Users, step: RecordedStep) -> set[int]:
    """The earlier steps that touch what this one does: names of which there are many uses hide no other one."""
    return {
        index
        for holder, name in step.touched
        for (part, thread, _), uses in users[holder].items()
        if thread != step.thread and (part == name or ALL in (part, name))
        for index in uses
    }


def turned_round(failing: Sequence[RecordedStep], passing: Sequence[RecordedStep]) -> list[Pair]:
    """The pairs of one run that have the opposite order in another. Those come first of which the first access reads another value
    there, and of these the nearest to each other.

    A step of one run is identified in the other by its thread, place and access, and by the number of such steps of that thread
    before it. Objects cannot identify it, because every run has a new state.
    """
    order = {name: index for index, name in enumerate(_named(passing))}
    there = [order.get(name) for name in _named(failing)]
    found: list[tuple[bool, int, Pair]] = []
    for pair in conflicting(failing):
        one, other = there[pair.first], there[pair.second]
        if one is None or other is None or one < other:
            continue
        if passing[one].conflict(passing[other]) is not None:  # else the same line of source is at work on another object
            value = failing[pair.first].value
            found.append((bool(value) and value == passing[one].value, pair.second - pair.first, pair))
    return [pair for *_, pair in sorted(found)]


def _named(steps: Sequence[RecordedStep]) -> list[tuple[Any, ...]]:
    counts: dict[tuple[Any, ...], int] = {}
    names = []
    for step in steps:
        name = (step.thread, step.file, step.line, step.access.kind, step.access.name)
        counts[name] = counts.get(name, 0) + 1
        names.append((*name, counts[name]))
    return names
