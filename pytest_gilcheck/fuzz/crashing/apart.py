"""A failing schedule each run of which needs a process of its own: replayed, minimised and classified there."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any

from ...core.verdict import Verdict
from ...engine.running.policy import Planned, Policy, SequentialOrder
from ...engine.running.record import ScheduleRun
from ...engine.schedule import Schedule, checksum, preemptions
from ...search.explorer import Explorer, Symptom
from ...search.limits import limited
from ...search.minimise import observed
from ...search.orders import orders_of
from ...search.search import Search
from ..explaining.recorder import RecordedStep, Recorder
from ..result import FuzzResult, Kind
from .examination import CLASSIFYING, REPLAYS, Examination
from .smaller import smaller


@dataclass(frozen=True)
class Seen:
    """A run that failed in a process of its own."""

    symptom: Symptom
    message: str
    schedule: Schedule
    masked: bool
    anchors: tuple[int, ...]
    points: int
    steps: tuple[RecordedStep, ...] = ()


class ApartExamination(Examination):
    """Replays, minimises and classifies such a schedule."""

    _again = "failed"
    _why_apart = "it leaves behind what it breaks, so each replay had a process of its own"
    _first = False  # whether the schedule is one of a process's first run

    def result(self, schedule: Schedule, *, broken: bool) -> FuzzResult | None:
        """The result for this schedule.

        Args:
            broken: whether every order fails in the process in which it failed.

        Returns:
            None if the schedule fails in no process of its own, although that is so; or if every order fails there as well, because
            each run uses something up.
        """
        seen = self._fails([Planned(schedule)])
        if seen is None:
            return None if broken else self._only_once(schedule)
        if not self._first and all(self._fails([SequentialOrder(order)]) for order in orders_of(len(self._program.threads))):
            return None
        if self._plan.replay is None:
            seen = self._smaller(seen)
        seen, kind = self._classified(seen)
        replays = 1 if self._deadline.left() <= 0 else REPLAYS
        again = 1 + sum(self._fails([Planned(seen.schedule)]) is not None for _ in range(replays - 1))
        besides = f"; {self._why_apart}"
        return self._described(seen, seen.points, list(seen.steps), kind, (again, replays), besides=besides, first=self._first)

    def _only_once(self, schedule: Schedule) -> FuzzResult:
        what = (
            f"a run with {preemptions(schedule.preemptions)} failed, and no other run of its schedule, here or in another process"
        )
        why = "the outcome also depends on something other than the schedule"
        return replace(self._template, conclusion=Verdict.INCONCLUSIVE, reason=f"not repeatable: {what}: {why}")

    def _answer(self, job: Callable[[Explorer], Any]) -> Any:
        """The answer of a job in a process of its own; None if it has none."""
        tried = self._attempt(lambda explorer, _: job(explorer))
        self._done_with(tried)
        return tried.answer

    def _fails(self, policies: Sequence[Policy], symptom: Symptom | None = None) -> Seen | None:
        """The first run of these that fails, in a process of its own."""

        def job(explorer: Explorer) -> Seen | None:
            for policy in policies:
                _, seen = recorded(explorer, policy)
                if seen is not None:
                    return None if symptom not in (None, seen.symptom) else seen
            return None

        found: Seen | None = self._answer(job)
        if found is not None:
            self._program.output.keep()
        return found

    def _smaller(self, seen: Seen) -> Seen:
        """With as few preemptions as are found to do."""
        if seen.schedule.preemptions <= 1:
            return seen
        over = self._minimising()

        def tries(policies: Sequence[Policy]) -> Schedule | None:
            other = self._fails(policies, seen.symptom)
            return None if other is None or other.masked > seen.masked else other.schedule

        best = smaller(seen.schedule, [step.thread for step in seen.steps], tries, over)
        if best == seen.schedule:
            return seen
        return self._fails([Planned(best)], seen.symptom) or seen  # a candidate before it may have left something as well

    def _classified(self, seen: Seen) -> tuple[Seen, Kind | None]:
        """In a form that a build with a GIL can show, if there is one; and its kind, None if that was not decided."""
        if not seen.masked:
            return seen, Kind.BREAKS_TODAY
        if self._plan.replay is not None:
            return seen, Kind.GIL_MASKED
        self._progress("does it break today?")
        schedule, too_few = self._fails_with_a_gil(self._deadline.share(CLASSIFYING))
        if schedule is not None and (today := self._fails([Planned(schedule)])) is not None and not today.masked:
            return self._smaller(today), Kind.BREAKS_TODAY
        if too_few:
            self._kind_not_decided()
            return seen, None
        return seen, Kind.GIL_MASKED

    def _fails_with_a_gil(self, until: float) -> tuple[Schedule | None, bool]:
        """A schedule of a build with a GIL that fails; or none, and whether too few were run to claim anything."""
        plan = self._plan

        def job(explorer: Explorer) -> tuple[Schedule | None, bool]:
            search = Search(explorer, plan.preemptions, limited(until, plan.own_schedules), plan.seed, gil=True)
            outcome = search.run(explorer.measured())
            return None if outcome.failure is None else outcome.failure.schedule, outcome.too_few

        return self._answer(job) or (None, True)


def recorded(explorer: Explorer, policy: Policy) -> tuple[ScheduleRun, Seen | None]:
    """Run the program once, with a record of its steps; and how it failed, if it did."""
    recorder = Recorder(explorer.engine.takes_part)
    explorer.program.output.drop()
    with observed(explorer.engine, recorder):
        run, failure = explorer.once(policy)
    if failure is None:
        return run, None
    failed = failure.run
    anchors = tuple(checksum(anchor) for anchor in failed.anchors)
    steps = tuple(recorder.steps)
    return run, Seen(failure.symptom, failure.message, failed.schedule, failed.masked, anchors, failed.points, steps)
