"""Turns the pairs of a failing run round, one after the other, until one is found that decides.

The runs are counterfactual: a pair decides if the program passes with it turned round, and with nothing else that may matter. What
does not matter: another pair of the same part of the same object, and one that a run had turned round which still failed, if
neither of its accesses tells its thread anything. Those are tried first that are turned round alone; of these, those of which
the first access learns what the second one makes untrue, those of a thread whose exception is the failure, those in code under test
before those in the test's own, and those after which the first thread goes on to touch the same.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Container, Sequence
from contextlib import nullcontext
from types import FrameType

from ...engine.bytecode.visible import Access
from ...engine.outcome import Failure
from ...engine.running.policy import Policy
from ...engine.running.record import ScheduleRun
from ...engine.running.task import Task
from ...engine.touched.trace import Trace
from ...search.explorer import Explorer
from ...search.ledger import MOST_MOVED, MOST_ORDERED, MOST_PAIRS, MOST_TURNED, NEAREST_USES
from ...search.minimise import Segments
from ...search.segments import Segment
from ...search.strategy import observed
from .pairs import Pair, conflicting, turned_round
from .recorder import Location, RecordedStep, Recorder
from .turning import Turned, Turning


class Trials:
    """Such runs of one program.

    Args:
        failure: that of the failing run.
        steps: of the same run.
        trace: of the same run.
        over: whether no time is left for more runs.

    Attributes:
        passed: what was turned round in each run that passes: the pair that was asked for, and all.
    """

    def __init__(
        self, explorer: Explorer, failure: Failure, steps: Sequence[RecordedStep], trace: Trace, over: Callable[[], bool]
    ) -> None:
        self._explorer, self._steps, self._over = explorer, steps, over
        self._trace = trace
        self._fails = {index for index, _, error in failure.run.errors if error is failure.error}
        self._asked: set[Pair] = set()
        self._failed: set[Pair] = set()
        self._doubtful: set[Pair] = set()  # were turned round as well where it passes, and may not matter: the next runs show it
        self.passed: list[tuple[Turned, list[Pair]]] = []

    def deciding(self) -> tuple[Pair, tuple[Pair, ...]] | None:
        """The pair that decides, and what else was turned round with it; None if none was found."""
        steps = self._steps
        pairs = [] if self._over() else _candidates(steps)
        if not pairs:
            return None
        turning = Turning(self._trace, steps, pairs)
        if not turning.known or self._explorer.once(Segments(turning.segments))[1] is None:
            return None  # more decides than the order of the steps
        acted_on = _acted_on(steps, pairs)
        left = deque(sorted(map(turning.turned, pairs), key=lambda each: self._order(each, acted_on)))
        runs, orders = 0, 1 + MOST_ORDERED // len(steps)
        while left and runs < MOST_TURNED and orders > 0 and not self._over():
            turned = left.popleft()
            if turned.pair in self._asked:
                continue
            self._asked.add(turned.pair)
            orders -= 1
            segments, more_switches = turning.segments_of(turned)
            if more_switches and turned.pair not in self._doubtful:
                continue  # it may hide the failure, by another race
            runs += 1
            self._try(turned, segments, more_switches)
            if (found := self._found()) is not None:
                return found
            left.extendleft(turning.turned(pair) for pair in sorted(self._doubtful - self._asked))
        return None

    def _order(self, turned: Turned, acted_on: Container[Pair]) -> tuple[int, ...]:
        pair, steps = turned.pair, self._steps
        elsewhere = sum(not each.same_place(pair) for each in turned.others)
        learns, own = rank(steps, pair)
        of_failing = self._fails.isdisjoint((steps[pair.first].thread, steps[pair.second].thread))
        near = len(turned.others), pair.second - pair.first
        return turned.unknown, elsewhere, learns, of_failing, own, pair not in acted_on, *near

    def _try(self, turned: Turned, segments: Sequence[Segment], more_switches: bool) -> None:
        steps, _, broken = watched(self._explorer, Segments(segments))
        pairs = turned_round(self._steps, steps)
        if broken is not None:
            self._failed.update(pairs)
        elif turned.pair in pairs and not more_switches:
            self.passed.append((turned, pairs))
            self._doubtful.update(each for each in pairs if not (self._harmless(each, turned.pair) or self._learns(each)))

    def _found(self) -> tuple[Pair, tuple[Pair, ...]] | None:
        for turned, pairs in self.passed:
            others = tuple(each for each in pairs if each != turned.pair)
            if self._told(turned) and all(self._harmless(each, turned.pair) for each in others) and not self._fewer(pairs):
                return turned.pair, others
        return None

    def _told(self, turned: Turned) -> bool:
        """Whether it is the pair, and nothing unknown, that decides; a read that is made stale is taken for that."""
        return not turned.unknown or rank(self._steps, turned.pair)[0] == 0

    def _fewer(self, pairs: Sequence[Pair]) -> bool:
        """Whether one of these pairs was enough, with fewer others."""
        return any(turned.pair in pairs and len(fewer) < len(pairs) for turned, fewer in self.passed)

    def _harmless(self, other: Pair, pair: Pair) -> bool:
        return other.same_place(pair) or self.of_no_effect(other)

    def of_no_effect(self, pair: Pair) -> bool:
        """Whether a run still failed that had this pair turned round, and neither access tells its thread anything."""
        return pair in self._failed and not self._learns(pair)

    def _learns(self, pair: Pair) -> bool:
        return self._steps[pair.first].learns or self._steps[pair.second].learns


def _candidates(steps: Sequence[RecordedStep]) -> list[Pair]:
    """The pairs to try. Of each access and what it conflicts with in one thread, the nearest pair and the farthest one: of a loop
    that is between, that is before all of it, or after. Of very many, the nearest of each thing that is touched.
    """
    ends: dict[tuple[int, int, Location], list[Pair]] = {}
    for pair in conflicting(steps, NEAREST_USES):
        of_first = ends.setdefault((pair.first, steps[pair.second].thread, pair.where), [])
        of_first[1:] = [pair]
    places: dict[Location, list[Pair]] = {}
    for pair in sorted((pair for pairs in ends.values() for pair in pairs), key=lambda pair: pair.second - pair.first):
        places.setdefault(pair.where, []).append(pair)
    in_turn = sorted((number, pair) for pairs in places.values() for number, pair in enumerate(pairs))
    return [pair for _, pair in in_turn[: min(MOST_PAIRS, 1 + MOST_MOVED // len(steps))]]


def _acted_on(steps: Sequence[RecordedStep], pairs: Sequence[Pair]) -> set[Pair]:
    """The pairs after which the first thread touches the same again: it goes on with what the second one has made untrue."""
    later = {(pair.first, steps[pair.second].thread, pair.where[0]) for pair in pairs}
    return {pair for pair in pairs if (pair.second, steps[pair.first].thread, pair.where[0]) in later}


def rank(steps: Sequence[RecordedStep], pair: Pair) -> tuple[int, int]:
    """By what pairs are sorted: those first that make stale what the first thread has read; then those of which it learns what its
    call does; then all others. Of each, those in code under test come before the test's own."""
    first, second = steps[pair.first], steps[pair.second]
    learns = 0 if not first.changes(pair.where) else 1 if first.learns else 2
    return learns, first.own + second.own


def watched(
    explorer: Explorer, policy: Policy, trace: Trace | None = None
) -> tuple[list[RecordedStep], ScheduleRun, Failure | None]:
    """The steps of a run, the run, and how it fails.

    Args:
        trace: what records the run as well.
    """
    recorder = Recorder(explorer.engine.takes_part)

    def both(task: Task, point: int, access: Access, frame: FrameType) -> None:
        recorder(task, point, access, frame)
        if trace is not None:
            trace(task, point, access, frame)

    with trace or nullcontext(), observed(explorer.engine, both):
        run, failure = explorer.once(policy, recording=trace is not None)
    recorder.settle()
    return recorder.steps, run, failure
