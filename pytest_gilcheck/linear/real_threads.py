"""Runs a drawn program with threads that run at the same time, in a child process of its own, many times.

The child runs the sequential orders first, plainly, in its main thread: so a class in C has orders too. An order in which an
operation takes `_WAITS` seconds counts as one that waits, and then the program is left out: a real run that waits for ever there
would prove nothing. So a run that hangs is a finding, because every order comes to its end.

Real time is compared by a clock that all cores share. What does not work: the counter of `Run`, to which two threads add at once.
"""

from __future__ import annotations

import json
import mmap
import os
import signal
import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from functools import partial
from itertools import combinations
from types import FrameType
from typing import Any

from ..core.clocks import perf_counter_ns
from ..engine.program import describe_error
from ..engine.running.stuck import SetupStuck
from . import copies, oracle
from .exploring import Hidden
from .judging import Refused
from .operations import DrawnOperation, DrawnProgram, OperationKind, pairs_of
from .oracle import Allowed, Outcome, Why
from .subject import Subject
from .telling import alternatives, columns
from .worker import LEFT_OUT, RAISED, Event, Run, perform

_WAITS = 0.5  # seconds
_READY, _UNREAD, _NOTED, _PAIRS = range(4)  # indices of counts; those of the pairs of operations come last


class NoProgram(Exception):
    """An operation waits in some order, or a precondition is not met: this is no program to run for real."""


class _RealRun(Run):
    """A run whose events have real times.

    Attributes:
        unread: whether a result could not be copied, because another thread was changing it: then nothing is judged.
        kept: the results, which live as long as the run: what an export of a buffer forbids must not depend on the moment.
    """

    __slots__ = ("kept", "unread")

    stamp: Any = property(lambda self: perf_counter_ns(), lambda self, value: None)

    def __init__(self, target: Any, threads: int, *, timed: bool, asks: bool) -> None:
        super().__init__(target, threads, timed=timed, asks=asks)
        self.unread = False
        self.kept: list[Any] = []

    def copied(self, value: Any) -> Any:
        self.kept.append(value)
        try:
            return super().copied(value)
        except RuntimeError:
            self.unread = True
            return None


class RealThreads:
    """A drawn program for `engine.stress`: it is begun many times, and judged each time.

    Args:
        subject: the class.
        drawn: the program.

    Attributes:
        threads: one entry for each.
        teardown: there is none.
    """

    teardown = None

    def __init__(self, subject: Subject, drawn: DrawnProgram) -> None:
        self._subject, self._drawn = subject, drawn
        self.threads = drawn.parallel
        self._pairs = {frozenset(pair): _PAIRS + index for index, pair in enumerate(pairs_of(subject.kinds, drawn.threads))}
        self._counts = memoryview(mmap.mmap(-1, 8 * (_PAIRS + len(self._pairs)))).cast("Q")  # which the parent shares
        self._allowed: Allowed | None = None
        self._timed = False
        self._written: dict[OperationKind, set[str]] = {}

    # What the parent reads

    @property
    def ready(self) -> bool:
        """Whether the sequential orders have come to their end."""
        return bool(self._counts[_READY])

    @property
    def noted(self) -> int:
        """The runs with results that no order gives, where these are no failure."""
        return self._counts[_NOTED]

    @property
    def overlapped(self) -> set[frozenset[OperationKind]]:
        """The pairs of operations that overlapped in some run."""
        return {pair for pair, index in self._pairs.items() if self._counts[index]}

    # What the child does

    def begin(self) -> tuple[list[Callable[[], object]], Callable[[], str | None]]:
        """Make a new object.

        Raises:
            NoProgram: the first time: an order waits.
            Refused: the first time: nothing can be told of the class.
        """
        if self._allowed is None:
            self._allowed = self._orders()
            self._counts[_READY] = 1
        run = self._made(self._subject.make, asks=False)
        bundles = self._bundles(run)
        jobs: list[Callable[[], object]] = [
            partial(_do_each, run, index, lane, bundles[index]) for index, lane in enumerate(self._drawn.parallel)
        ]
        return jobs, partial(self._broken, run, bundles)

    def _made(self, make: Callable[..., Any], *, asks: bool) -> _RealRun:
        arguments = [copies.fresh(each) for each in self._drawn.init]
        run = _RealRun(make(*arguments), self._drawn.threads, timed=self._timed, asks=asks)
        run.before = [perform(run, operation, run.bundles) for operation in self._drawn.lanes[0]]
        return run

    def _bundles(self, run: Run) -> list[dict[str, list[Any]]]:
        return [{name: list(values) for name, values in run.bundles.items()} for _ in self._drawn.parallel]

    def _ended(self, run: _RealRun, bundles: Sequence[dict[str, list[Any]]], *, by_model: bool) -> Outcome:
        """The outcome of a run whose threads have ended. What they have left in bundles is taken in the order of the threads."""
        for mine in bundles:
            for name, values in mine.items():
                known = run.bundles.setdefault(name, [])
                known.extend(each for each in values if not any(each is other for other in known))
        after = [perform(run, operation, run.bundles) for operation in self._drawn.lanes[-1]]
        outcome = oracle.seen(run, after, self._final(run, by_model))
        masked: Outcome = copies.without_times(outcome) if self._timed else outcome
        return masked

    def _final(self, run: _RealRun, by_model: bool) -> Any:
        look = self._subject.final
        if look is None:
            return None if self._subject.model is not None or self._timed else copies.public_state(run.target)
        try:
            return copies.copied(copies.used_up(look(run.target)), run.target)
        except Exception as error:
            if run.asks and not by_model:
                text = f"without any concurrency, after {self._drawn.text}, {describe_error(error)}"
                raise Refused(f"what must hold in the end does not: {text}") from error
            return (RAISED, copies.copied(error))

    def _orders(self) -> Allowed:
        """What the sequential orders give, on the model if there is one.

        Raises:
            NoProgram, Refused: see `begin`.
        """
        subject, found, process, threads = self._subject, Allowed(), os.getpid(), threading.active_count()
        make = subject.make if subject.model is None else subject.model
        with _no_waiting():
            for order in _merges(tuple(map(len, self._drawn.parallel))):
                run = self._made(make, asks=True)
                outcome = self._in_order(run, order)
                if os.getpid() != process:  # an operation forked, and its child has returned here
                    os._exit(0)
                if run.unmet:
                    raise NoProgram("a precondition is not met")
                found.add(outcome, oracle.order_of(run))
                found.runs += 1
        if threading.active_count() > threads:
            raise Refused("an operation starts a thread that stays: end it in an operation, or leave that one out of ops")
        if subject.refuses is not None and (why := subject.refuses(self._written, subject.threads)):
            raise Refused(why)
        return found

    def _in_order(self, run: _RealRun, order: Sequence[int]) -> Outcome:
        lanes, bundles = [iter(lane) for lane in self._drawn.parallel], self._bundles(run)
        watched = self._subject.watched
        for index in order:
            operation = next(lanes[index])
            before = {} if watched is None else watched(run.target)
            _do(run, index, operation, bundles[index])
            if watched is not None:
                now = watched(run.target)
                changed = {name for name in now.keys() | before.keys() if now.get(name) != before.get(name)}
                self._written.setdefault(operation.kind, set()).update(changed)
        return self._ended(run, bundles, by_model=self._subject.model is not None)

    def _broken(self, run: _RealRun, bundles: Sequence[dict[str, list[Any]]]) -> str | None:
        """What is wrong with a run whose threads have ended, as JSON for `seen_in`; None if an order explains it."""
        allowed = self._allowed
        assert allowed is not None, "the orders come first"
        outcome = self._ended(run, bundles, by_model=False)
        self._count_overlapping(run)
        if run.unread:
            self._counts[_UNREAD] += 1
            return None
        why = oracle.unexplained(allowed, outcome, oracle.came_before(run), self._subject.rule)
        if why is None:
            return None
        if self._subject.only_errors and why is not Why.EXCEPTION:
            self._counts[_NOTED] += 1
            return None
        try:
            if not self._same_again(allowed):
                return None
        except NoProgram:  # the machine is so busy that an order takes too long: this run is no evidence
            return None
        except Refused as error:
            return json.dumps(["", str(error), error.cause])
        if self._subject.model is not None and oracle.one_after_the_other(run):
            why = Why.MODEL
        text = columns(self._subject, self._drawn, outcome)
        text += alternatives(self._drawn, outcome, list(allowed.orders), self._subject.model is not None)
        return json.dumps([why, "\n".join(text)])

    def _same_again(self, allowed: Allowed) -> bool:
        """Whether the orders give the same once more. If times alone differ, none are compared from here on.

        Raises:
            Refused: they do not: the class keeps state outside of its objects.
        """
        again = self._orders()
        if again.same_as(allowed):
            return True
        if not self._timed:
            self._timed = True
            self._allowed = self._orders()
            if self._orders().same_as(self._allowed):
                return False
        raise Hidden(self._drawn, allowed, again)

    def _count_overlapping(self, run: Run) -> None:
        for one, other in combinations(run.threads, 2):
            for first in one:
                for second in other:
                    index = self._pairs.get(frozenset((first.operation.kind, second.operation.kind)))
                    if LEFT_OUT in (first.outcome, second.outcome):
                        continue
                    if index is not None and first.called < (second.returned or 0) and second.called < (first.returned or 0):
                        self._counts[index] += 1


def seen_in(text: str) -> tuple[Why, str]:
    """What a run has shown, of which the child has sent this: why it fails, and its outcome beside what the orders give.

    Raises:
        Refused: nothing can be told of the class.
    """
    why, outcome, *cause = json.loads(text)
    if not why:
        refused = Refused(outcome)
        refused.cause = cause[0]
        raise refused
    return Why(why), outcome


def _do_each(run: Run, index: int, operations: Sequence[DrawnOperation], bundles: dict[str, list[Any]]) -> None:
    for operation in operations:
        _do(run, index, operation, bundles)


def _do(run: Run, index: int, operation: DrawnOperation, bundles: dict[str, list[Any]]) -> None:
    run.stamp += 1
    event = Event(operation, run.stamp)
    run.threads[index].append(event)
    event.outcome = perform(run, operation, bundles)
    run.stamp += 1
    event.returned = run.stamp


def _merges(lengths: tuple[int, ...]) -> Iterator[tuple[int, ...]]:
    """The orders of so many operations of each thread, as numbers of threads."""
    if not any(lengths):
        yield ()
    for index, left in enumerate(lengths):
        if left:
            for rest in _merges((*lengths[:index], left - 1, *lengths[index + 1 :])):
                yield (index, *rest)


@contextmanager
def _no_waiting() -> Iterator[None]:
    """End what takes too long in the main thread; again and again, if that is caught."""

    def end(number: int, frame: FrameType | None) -> None:
        raise SetupStuck

    before = signal.signal(signal.SIGALRM, end)
    signal.setitimer(signal.ITIMER_REAL, _WAITS, _WAITS)
    try:
        yield
    except SetupStuck:
        raise NoProgram("an operation waits in a sequential order") from None
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)
