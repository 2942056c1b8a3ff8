"""Whether any sequential order explains what a run has shown.

An outcome is what each operation returned or raised, and what was seen of the object in the end. A run is explained by a sequential
order of the same operations that gives the same outcome, and in which none comes before one that had returned when it was called.

A run that is stuck is explained only if each operation that waits also waits in a sequential order in which the others have
returned the same (Burckhardt and others, "Line-Up", PLDI 2010). What does not work: to let an operation that waits go on later in a
sequential order. Then a queue that asks with ``if`` whether it has to wait, in place of ``while``, is explained.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from itertools import pairwise
from typing import Any, NamedTuple

from .copies import numbered, without_times
from .worker import LEFT_OUT, RAISED, Event, Run

Outcome = tuple[Any, ...]
Place = tuple[int, int]  # of an operation: its thread, and which of that
Order = tuple[Place, ...]


class OrderRule(StrEnum):
    """Which orders may explain a run."""

    LINEARIZABLE = "linearizable"
    SEQUENTIAL = "sequential"


class Why(StrEnum):
    """What is wrong with a run that nothing explains."""

    RESULTS = "not atomic"
    EXCEPTION = "exception"
    STUCK = "stuck"
    REAL_TIME = "real-time order"
    MODEL = "model"


class Parts(NamedTuple):
    """The parts of an outcome.

    Attributes:
        before, after: of the operations before the threads and after them.
        threads: of those of each thread.
        final: what was seen of the object in the end.
    """

    before: Outcome
    threads: tuple[Outcome, ...]
    after: Outcome = ()
    final: Any = None


@dataclass
class Allowed:
    """What the sequential orders of a program give.

    Attributes:
        orders: the orders by what they give.
        stuck: what has returned, and the thread that waits after that.
        errors: the types of what threads raised that operations had started.
        runs: the number of orders that were run.
    """

    orders: dict[Outcome, list[Order]] = field(default_factory=dict)
    stuck: set[tuple[Outcome, int]] = field(default_factory=set)
    errors: set[str] = field(default_factory=set)
    runs: int = 0

    def add(self, outcome: Outcome, order: Order) -> None:
        orders = self.orders.setdefault(outcome, [])
        if order not in orders:
            orders.append(order)

    def made(self) -> set[Place]:
        """The operations of threads that were done in some order: one that had no earlier result to take is left out."""
        found = {(index, len(done[index])) for done, index in self.stuck}
        for threads in (*(Parts(*outcome).threads for outcome in self.orders), *(done for done, _ in self.stuck)):
            found |= {(i, place) for i, each in enumerate(threads) for place, result in enumerate(each) if result != LEFT_OUT}
        return found

    def same_as(self, other: Allowed) -> bool:
        """Whether both have the same outcomes, and wait after the same."""
        return self.orders.keys() == other.orders.keys() and self.stuck == other.stuck


def seen(run: Run, after: Sequence[Any] = (), final: Any = None) -> Outcome:
    """The outcome of a run whose threads have ended, in the form in which it is compared: as `Parts`."""
    parts = Parts(
        tuple(run.before), tuple(tuple([event.outcome for event in events]) for events in run.threads), tuple(after), final
    )
    return tuple(numbered(tuple(parts), {}))


def completed(run: Run) -> Outcome:
    """What the operations of each thread have returned so far; those that wait are left out."""
    done = tuple(tuple([event.outcome for event in events if event.returned is not None]) for events in run.threads)
    comparable: Outcome = numbered(done, {})
    return tuple(without_times(comparable)) if run.timed else comparable


def order_of(run: Run) -> Order:
    """The order in which operations returned."""
    places = [(event.returned, (thread, place)) for thread, place, event in _events(run) if event.returned is not None]
    return tuple(place for _, place in sorted(places))


def _events(run: Run) -> Iterable[tuple[int, int, Event]]:
    for thread, events in enumerate(run.threads):
        for place, event in enumerate(events):
            yield thread, place, event


def came_before(run: Run) -> list[tuple[Place, Place]]:
    """The pairs of operations of different threads of which the first had returned when the second was called."""
    return [
        ((one, first), (other, second))
        for one, first, a in _events(run)
        for other, second, b in _events(run)
        if one != other and a.returned is not None and a.returned < b.called
    ]


def one_after_the_other(run: Run) -> bool:
    """Whether no two operations of a run overlapped: it is a sequential order itself."""
    spans = sorted((event.called, event.returned or 0) for _, _, event in _events(run))
    return all(returned < called for (_, returned), (called, _) in pairwise(spans))


def unexplained(allowed: Allowed, outcome: Outcome, before: Sequence[tuple[Place, Place]], rule: str) -> Why | None:
    """Why no order explains this outcome; None if one does.

    Args:
        before: what had returned when something else was called (`came_before`).
        rule: one of `OrderRule`.
    """
    orders = allowed.orders.get(outcome)
    if orders is None:
        return Why.EXCEPTION if _raises_more(outcome, allowed.orders) else Why.RESULTS
    if rule == OrderRule.SEQUENTIAL or any(_keeps(order, before) for order in orders):
        return None
    return Why.REAL_TIME


def _keeps(order: Order, before: Sequence[tuple[Place, Place]]) -> bool:
    at = {place: index for index, place in enumerate(order)}
    return all(at.get(first, 0) <= at.get(second, 0) for first, second in before)


def _raises_more(outcome: Outcome, allowed: Iterable[Outcome]) -> bool:
    """Whether an operation raised what it raises in no order."""
    known = {place for each in allowed for place in _raised(each)}
    return any(place not in known for place in _raised(outcome))


def _raised(outcome: Outcome) -> Iterable[tuple[str, int, str]]:
    _, threads, after, *_ = outcome
    for index, results in enumerate((*threads, after)):
        for result in results:
            if result[0] == RAISED:
                error = result[1]
                yield RAISED, index, error[0] if type(error) is tuple else str(error)


def unexplained_wait(allowed: Allowed, run: Run) -> int | None:
    """The first thread of a stuck run that waits where it waits in no order; None if there is none."""
    done = completed(run)
    waiting = run.waiting()
    if not waiting:
        return 0  # of threads that the operations have started
    return next((index for index in waiting if (done, index) not in allowed.stuck), None)
