"""Operations of a class, and programs of them: what comes before the threads, what each thread does, and what comes after.

A program is one flat list of (lane, operation): lane 0 comes before the threads, lanes 1 to n are theirs, and lane n + 1 comes when
they have ended. So to move an operation out of a thread is to change one number, which is what shrinking tries first.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from itertools import combinations_with_replacement
from types import FunctionType
from typing import Any, NamedTuple

BEFORE = 0
MOST_IN_A_LANE = {2: 3, 3: 2}  # by the number of threads: 20 and 90 sequential orders
WRITTEN = {
    "__getitem__": "{x}[{0}]", "__setitem__": "{x}[{0}] = {1}", "__delitem__": "del {x}[{0}]", "__contains__": "{0} in {x}",
    "__len__": "len({x})", "__iter__": "list({x})", "__next__": "next({x})", "__bool__": "bool({x})", "__call__": "{x}({all})",
}  # fmt: skip


_ADDRESS = re.compile(r" at 0x[0-9a-fA-F]+")


def value_text(value: Any) -> str:
    """An argument as it is written in Python, without addresses: the text of a program is the same in every process."""
    if isinstance(value, (type, FunctionType)):
        return value.__qualname__
    return _ADDRESS.sub("", repr(value))


@dataclass(frozen=True, eq=False)
class OperationKind:
    """One thing that can be done with the object.

    Attributes:
        name: of the method or property, or what the user calls it.
        positional, named: the strategies of its arguments.
        call: called with the object and the arguments; None for the method or property of that name.
        is_property: whether it is read and not called.
        implemented: the functions that it runs, as far as they are known; of these, at least one should be in Python.
        alone: whether it never overlaps another operation.
        weak: whether its results are not compared; its exceptions are.
        lanes: the lanes of the threads that may do it; None for all.
        targets: the bundles that get its result.
        preconditions: called with the object in sequential orders: a program of which one is false there is none.
        always_first: whether it is called once, before everything else.
        by_user: whether `call` is the user's, and not one of ours for the method of that name.
        optional: the strategies of named arguments that some calls leave out.
    """

    name: str
    positional: tuple[Any, ...] = ()
    named: Mapping[str, Any] = field(default_factory=dict)
    call: Callable[..., Any] | None = None
    is_property: bool = False
    implemented: tuple[Callable[..., Any], ...] = ()
    alone: bool = False
    weak: bool = False
    lanes: frozenset[int] | None = None
    targets: tuple[str, ...] = ()
    preconditions: tuple[Callable[[Any], Any], ...] = ()
    always_first: bool = False
    by_user: bool = False
    optional: Mapping[str, Any] = field(default_factory=dict)

    def with_rights(self, *, alone: bool, weak: bool, lanes: frozenset[int] | None) -> OperationKind:
        """The same with who may do it, and when."""
        return replace(self, alone=alone, weak=weak, lanes=lanes)

    def may_be_in(self, lane: int, threads: int) -> bool:
        """Whether it may be in this lane of a program with so many threads."""
        if not 1 <= lane <= threads:
            return True
        return not self.alone and (self.lanes is None or lane in self.lanes)


class DrawnOperation(NamedTuple):
    """One call with its arguments."""

    kind: OperationKind
    arguments: tuple[Any, ...] = ()
    named: tuple[tuple[str, Any], ...] = ()

    def written(self, target: str) -> str:
        """The call in Python, on an object of this name; an empty name for the call alone."""
        values = [*map(value_text, self.arguments), *(f"{name}={value_text(value)}" for name, value in self.named)]
        name = self.kind.name
        if target and not self.kind.by_user and name in WRITTEN:
            return WRITTEN[name].format(*values, x=target, all=", ".join(values))
        if self.kind.by_user or not target:
            return name if self.kind.is_property else f"{name}({', '.join([*([target] if target else []), *values])})"
        return f"{target}.{name}" if self.kind.is_property else f"{target}.{name}({', '.join(values)})"

    def __str__(self) -> str:
        return self.written("")


class InLane(NamedTuple):
    """An operation in its lane."""

    lane: int
    operation: DrawnOperation


@dataclass(frozen=True, eq=False, repr=False)
class DrawnProgram:
    """One program.

    Attributes:
        init: the arguments with which the object is made.
        steps: its operations in order.
        threads: the number of its threads.
    """

    init: tuple[Any, ...] = ()
    steps: tuple[InLane, ...] = ()
    threads: int = 2

    @property
    def after(self) -> int:
        """The lane that comes when the threads have ended."""
        return self.threads + 1

    @cached_property
    def lanes(self) -> tuple[tuple[DrawnOperation, ...], ...]:
        """The operations of each lane, from `BEFORE` to `after`."""
        found: list[list[DrawnOperation]] = [[] for _ in range(self.threads + 2)]
        for lane, operation in self.steps:
            found[lane].append(operation)
        return tuple(map(tuple, found))

    @property
    def parallel(self) -> tuple[tuple[DrawnOperation, ...], ...]:
        """The operations of each thread."""
        return self.lanes[1:-1]

    @cached_property
    def text(self) -> str:
        """The program in one line, by which it is known."""
        before, *threads, after = ("; ".join(map(str, lane)) for lane in self.lanes)
        made = f"({', '.join(map(value_text, self.init))})"
        return " | ".join(filter(None, [f"{made} {before}".strip(), " || ".join(threads), after]))

    def __repr__(self) -> str:
        return self.text

    @property
    def size(self) -> tuple[int, int, int]:
        """What a smaller program has less of: operations, then those in threads, then those in the last threads."""
        lanes = [lane for lane, _ in self.steps]
        return len(lanes), sum(1 <= lane <= self.threads for lane in lanes), sum(lanes)

    def replaced(self, steps: Sequence[InLane]) -> DrawnProgram:
        """The same object with other operations."""
        return DrawnProgram(self.init, tuple(steps), self.threads)


def pairs_of(kinds: Sequence[OperationKind], threads: int) -> list[tuple[OperationKind, OperationKind]]:
    """The pairs of operations that may overlap, each once; an operation may overlap itself."""
    return [pair for pair in combinations_with_replacement(kinds, 2) if lanes_of(pair, threads) is not None]


def lanes_of(pair: tuple[OperationKind, OperationKind], threads: int) -> tuple[int, int] | None:
    """The first lanes in which these two may overlap; None if they may not."""
    one, other = pair
    lanes = range(1, threads + 1)
    found = ((a, b) for a in lanes for b in lanes if a != b and one.may_be_in(a, threads) and other.may_be_in(b, threads))
    return next(found, None)


def overlapping(drawn: DrawnProgram, made: Collection[tuple[int, int]]) -> Iterator[frozenset[OperationKind]]:
    """The pairs of operations that overlap in this program; one that overlaps itself is a set of one.

    Args:
        made: the operations that were done, each as its thread and its place there: one that had no earlier result to take was not.
    """
    threads = [[each for place, each in enumerate(lane) if (index, place) in made] for index, lane in enumerate(drawn.parallel)]
    for index, one in enumerate(threads):
        for other in threads[index + 1 :]:
            for first in one:
                for second in other:
                    yield frozenset((first.kind, second.kind))
