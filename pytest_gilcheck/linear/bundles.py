"""Results of earlier operations as arguments of later ones: hypothesis' bundles, in a program of several threads.

An operation sees what those before the threads have put into a bundle, and those before it in its own thread. Which of these it
takes is drawn as a number, so the same program takes the same in every schedule and in every sequential order.
"""

from __future__ import annotations

from typing import Any, NamedTuple

from hypothesis.stateful import MultipleResults

Bundles = dict[str, list[Any]]
RESULTS = ""  # the bundle of what methods of a class have returned of which nobody gave the operations


class Earlier(NamedTuple):
    """An argument that is the result of an earlier operation, in a `program` of ``linearizable``.

    Attributes:
        number: which of the results so far, from 0, counted round.
        bundle: of a `ConcurrentMachine`; by default, what all methods have returned but None, truth values and iterators.
        consumes: whether no later operation of this thread gets it.
    """

    number: int
    bundle: str = RESULTS
    consumes: bool = False

    def __repr__(self) -> str:
        return f"{self.bundle or 'results'}[{self.number}]"

    def written(self) -> str:
        """As it is written in Python."""
        return f"Earlier({self.number}{f', {self.bundle!r}' if self.bundle else ''}{', consumes=True' if self.consumes else ''})"


class NothingYet(Exception):
    """A bundle has no value yet, so the operation is left out."""


def resolved(value: Any, bundles: Bundles) -> Any:
    """The argument that stands for an earlier result; another one as it is.

    Raises:
        NothingYet: there is none.
    """
    if type(value) is not Earlier:
        return value
    values = bundles.get(value.bundle)
    if not values:
        raise NothingYet
    index = value.number % len(values)
    return values.pop(index) if value.consumes else values[index]


def put(value: Any, targets: tuple[str, ...], bundles: Bundles) -> None:
    """Put a result into each of these bundles."""
    values = value.values if isinstance(value, MultipleResults) else (value,)
    for name in targets:
        if name == RESULTS and (value is None or isinstance(value, bool) or hasattr(type(value), "__next__")):
            continue  # no later call can be meant to take these
        bundles.setdefault(name, []).extend(values)
