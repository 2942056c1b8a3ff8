"""A failing schedule that leaves its process in another state, so that every later run there fails as well, or none does.

Code that stores something and takes it back at its end does so, if another thread is in between: a patched attribute, a log level,
the current folder. In the process of that run nothing more can be found out. So each run of the schedule gets a process of its own,
a fork of one in which nothing has run, like a schedule that kills its process (`crash`).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any

from ...core.fork_safety import NoFork
from ...core.verdict import Verdict
from ..deadline import Deadline
from ..explaining.recorder import RecordedStep, Recorder
from ..plan import FuzzPlan
from ..program import Program
from ..result import FuzzResult, Kind
from ..running.journal import Journal
from ..running.policy import Planned, Policy
from ..schedule import Schedule, checksum, preemptions
from ..searching.explorer import Explorer, Failure, Symptom
from ..searching.limits import limited
from ..searching.minimise import observed
from ..searching.search import Search
from .examination import CLASSIFYING, REPLAYS, Examination
from .smaller import smaller


@dataclass(frozen=True)
class _Seen:
    """A run that failed in a process of its own."""

    symptom: Symptom
    message: str
    schedule: Schedule
    masked: bool
    anchors: tuple[int, ...]
    points: int
    steps: tuple[RecordedStep, ...] = ()


def left_behind(
    program: Program, plan: FuzzPlan, template: FuzzResult, journal: Journal, deadline: Deadline, progress: Callable[[str], None]
) -> FuzzResult | None:
    """The result for a schedule that has left its process in another state (`Stage.LEFT`).

    Args:
        template: with what is the same for every result.
        journal: has the schedule.

    Returns:
        None if the schedule fails in no process of its own, and every order fails in the one that it has left.
    """
    template = replace(
        template, verdict=Verdict.VIOLATED, coverage=f"{journal.run:,} runs until one left its process in another state"
    )
    if not journal.complete:
        return None
    progress("replaying in processes of their own")
    try:
        return _LeftExamination(program, plan, template, journal, deadline, progress).result(
            journal.schedule, broken=bool(journal.error)
        )
    except NoFork:
        return None


class _LeftExamination(Examination):
    """Replays, minimises and classifies such a schedule."""

    _again = "failed"

    def result(self, schedule: Schedule, *, broken: bool) -> FuzzResult | None:
        seen = self._fails([Planned(schedule)])
        if seen is None:
            return None if broken else self._only_once(schedule)
        if self._plan.replay is None:
            seen = self._smaller(seen)
        seen, kind = self._classified(seen)
        replays = 1 if self._deadline.left() <= 0 else REPLAYS
        again = 1 + sum(self._fails([Planned(seen.schedule)]) is not None for _ in range(replays - 1))
        besides = "; it leaves behind what it breaks, so each replay had a process of its own"
        return self._described(seen, seen.points, list(seen.steps), kind, (again, replays), besides=besides)

    def _only_once(self, schedule: Schedule) -> FuzzResult:
        what = (
            f"a run with {preemptions(schedule.preemptions)} failed, and no other run of its schedule, here or in another process"
        )
        why = "the outcome also depends on something other than the schedule"
        return replace(self._template, verdict=Verdict.INCONCLUSIVE, reason=f"not repeatable: {what}: {why}")

    def _answer(self, job: Callable[[Explorer], Any]) -> Any:
        """The answer of a job in a process of its own; None if it has none."""
        tried = self._attempt(lambda explorer, _: job(explorer))
        self._done_with(tried)
        return tried.answer

    def _fails(self, policies: Sequence[Policy], symptom: Symptom | None = None) -> _Seen | None:
        """The first run of these that fails, in a process of its own."""

        def job(explorer: Explorer) -> _Seen | None:
            for policy in policies:
                recorder = Recorder(explorer.engine.takes_part)
                with observed(explorer.engine, recorder):
                    _, failure = explorer.once(policy)
                if failure is not None:
                    return None if symptom not in (None, failure.symptom) else _seen(failure, recorder.steps)
            return None

        found: _Seen | None = self._answer(job)
        return found

    def _smaller(self, seen: _Seen) -> _Seen:
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

    def _classified(self, seen: _Seen) -> tuple[_Seen, Kind | None]:
        """In a form that a build with a GIL can show, if there is one; and its kind, None if that was not decided."""
        if not seen.masked:
            return seen, Kind.BREAKS_TODAY
        if self._plan.replay is not None:
            return seen, Kind.GIL_MASKED
        self._progress("does it break today?")
        until = self._deadline.share(CLASSIFYING)
        plan = self._plan

        def job(explorer: Explorer) -> tuple[Schedule | None, bool]:
            search = Search(explorer, plan.preemptions, limited(until, plan.own_schedules), plan.seed, gil=True)
            outcome = search.run(explorer.measured())
            return None if outcome.failure is None else outcome.failure.schedule, outcome.too_few

        schedule, too_few = self._answer(job) or (None, True)
        if schedule is not None and (today := self._fails([Planned(schedule)])) is not None and not today.masked:
            return self._smaller(today), Kind.BREAKS_TODAY
        if too_few:
            self._kind_not_decided()
            return seen, None
        return seen, Kind.GIL_MASKED


def _seen(failure: Failure, steps: list[RecordedStep]) -> _Seen:
    run = failure.run
    anchors = tuple(checksum(anchor) for anchor in run.anchors)
    return _Seen(failure.symptom, failure.message, run.schedule, run.masked, anchors, run.points, tuple(steps))
