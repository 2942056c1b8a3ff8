"""What runs in the threads of a drawn program: one operation after another, and what each returned.

This is code of the package, so nothing of it is a step: the schedule switches inside the operations alone. Where a sequential order
is run, there is one more point, between two operations of a thread (`BETWEEN`).
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ..engine.bytecode.visible import Access
from ..engine.running.stuck import SetupStuck
from ..engine.running.task import Abort, Uncontrolled
from . import copies
from .bundles import Bundles, NothingYet, put, resolved
from .operations import DrawnOperation

BETWEEN = Access("call", "the next operation", 0)
PENDING, LEFT_OUT = ("pending",), ("left out",)  # the second where there was no earlier result to take
RETURNED, RAISED, WEAK = "returned", "raised", "weak"


class Event:
    """One operation of a run.

    Attributes:
        operation: which.
        called, returned: when, by a counter of the run; `returned` is None for one that has not.
        outcome: what it returned or raised, copied.
    """

    __slots__ = ("called", "operation", "outcome", "returned")

    def __init__(self, operation: DrawnOperation, called: int) -> None:
        self.operation, self.called = operation, called
        self.returned: int | None = None
        self.outcome: tuple[Any, ...] = PENDING


class Run:
    """The state of one run: the object, and what each thread has seen of it.

    Attributes:
        target: the object.
        before: the outcomes of the operations before the threads.
        threads: the events of each thread.
        timed: whether times in outcomes are not compared.
        bundles: the results that those have left, and the threads when they have ended.
        asks: whether preconditions are asked: in sequential orders.
        unmet: whether one was not met.
    """

    __slots__ = ("asks", "before", "bundles", "stamp", "target", "threads", "timed", "unmet")

    def __init__(self, target: Any, threads: int, *, timed: bool = False, asks: bool = False) -> None:
        self.target, self.stamp, self.timed, self.asks, self.unmet = target, 0, timed, asks, False
        self.bundles: Bundles = {}
        self.before: list[Any] = []
        self.threads: list[list[Event]] = [[] for _ in range(threads)]

    def copied(self, value: Any) -> Any:
        """A copy of what an operation has returned."""
        return copies.copied(value, self.target)

    def waiting(self) -> list[int]:
        """The threads whose last operation has not returned."""
        return [index for index, events in enumerate(self.threads) if events and events[-1].returned is None]


def perform(run: Run, operation: DrawnOperation, bundles: Bundles) -> tuple[Any, ...]:
    """Do one operation; returns what it returned or raised, copied.

    Args:
        bundles: the earlier results that it may take, to which its own are added.
    """
    kind, target = operation.kind, run.target
    if run.asks and not all(precondition(target) for precondition in kind.preconditions):
        run.unmet = True
    try:
        arguments = [copies.fresh(resolved(each, bundles)) for each in operation.arguments]
        named = {name: copies.fresh(resolved(each, bundles)) for name, each in operation.named}
    except NothingYet:
        return LEFT_OUT
    try:
        if kind.call is not None:
            value = kind.call(target, *arguments, **named)
        elif kind.is_property:
            value = getattr(target, kind.name)
        else:
            value = getattr(target, kind.name)(*arguments, **named)
        if kind.targets:
            put(value, kind.targets, bundles)
        if kind.weak:
            return (WEAK,)
        return (RETURNED, run.copied(copies.used_up(value, target)))
    except (Abort, SetupStuck, Uncontrolled):  # of the engine, which ends this run
        raise
    except BaseException as error:
        return (RAISED, copies.copied(error, target))


def do_each(run: Run, index: int, operations: tuple[DrawnOperation, ...], between: Callable[[], None] | None) -> None:
    """Do the operations of one thread.

    Args:
        between: called between two of them; None in a run whose policy may switch anywhere.
    """
    events = run.threads[index]
    bundles = {name: list(values) for name, values in run.bundles.items()}
    for place, operation in enumerate(operations):
        if place and between is not None:
            between()
        run.stamp += 1
        event = Event(operation, run.stamp)
        events.append(event)
        event.outcome = perform(run, operation, bundles)
        run.stamp += 1
        event.returned = run.stamp
    for name, values in bundles.items():
        run.bundles.setdefault(name, []).extend(each for each in values if not any(each is other for other in run.bundles[name]))
