"""A failing schedule each run of which needs a process of its own: replayed, minimised and classified there."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial

from ...core.clocks import monotonic
from ...engine.outcome import Symptom
from ...engine.running.policy import Planned, Policy, SequentialOrder
from ...engine.running.record import ScheduleRun
from ...engine.schedule import Schedule, checksum, preemptions
from ...search.explorer import Explorer
from ...search.ledger import EXPLAINING, FIRST_TRIALS, limited
from ...search.orders import orders_of
from ...search.search import Search
from ...search.strategy import observed
from ..explaining.deciding import deciding, watched
from ..explaining.pairs import Pair
from ..explaining.recorder import RecordedStep, Recorder
from ..failing import LASTING
from ..result import FuzzResult, NoClaim
from .examination import Broken, Examination

_LEAST = 1.0  # seconds to find out what decides, however little of the budget is left: a race is known by that


class ApartExamination(Examination[Broken]):
    """Replays, minimises and classifies such a schedule."""

    _again = "failed"
    _besides = "; it leaves behind what it breaks, so each replay had a process of its own"

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
        return self._examined(seen)

    def _only_once(self, schedule: Schedule) -> FuzzResult:
        what = (
            f"a run with {preemptions(schedule.preemptions)} failed, and no other run of its schedule, here or in another process"
        )
        why = "the outcome also depends on something other than the schedule"
        return self._template.without_claim(NoClaim.NOT_REPEATABLE, f"{what}: {why}")

    def _fails(self, policies: Sequence[Policy], symptom: Symptom | None = None) -> Broken | None:
        """The first run of these that fails, in a process of its own."""

        def job(explorer: Explorer) -> Broken | None:
            for policy in policies:
                _, seen = recorded(explorer, policy)
                if seen is not None:
                    return None if symptom not in (None, seen.symptom) else seen
            return None

        found: Broken | None = self._forks.answer(job)
        if found is not None:
            self._program.output.keep()
        return found

    def _deciding(self, found: Broken) -> Sequence[Pair]:
        if found.hung or not found.steps or not (found.schedule.preemptions or found.symptom in LASTING):
            return ()
        self._progress("what decides, in child processes")
        until, trials = max(self._deadline.share(EXPLAINING), monotonic() + _LEAST), self._forks.made + FIRST_TRIALS

        def passing(schedule: Schedule) -> list[RecordedStep] | None:
            steps: list[RecordedStep] | None = self._forks.answer(partial(_steps_if_it_passes, schedule=schedule))
            return steps

        return deciding(found.schedule, found.steps, passing, lambda: self._forks.made >= trials and self._deadline.is_past(until))

    def _fails_with_a_gil(self, until: float) -> tuple[Schedule | None, bool]:
        plan = self._plan

        def job(explorer: Explorer) -> tuple[Schedule | None, bool]:
            search = Search(explorer, plan.preemptions, limited(until, plan.own_schedules), plan.seed, gil=True)
            outcome = search.run(explorer.measured())
            return None if outcome.failure is None else outcome.failure.schedule, outcome.too_few

        return self._forks.answer(job) or (None, True)


def _steps_if_it_passes(explorer: Explorer, schedule: Schedule) -> list[RecordedStep] | None:
    steps, _, failure = watched(explorer, schedule)
    return steps if failure is None else None


def recorded(explorer: Explorer, policy: Policy) -> tuple[ScheduleRun, Broken | None]:
    """Run the program once, with a record of its steps; and how it failed, if it did."""
    recorder = Recorder(explorer.engine.takes_part)
    explorer.program.output.drop()
    with observed(explorer.engine, recorder):
        run, failure = explorer.once(policy)
    if failure is None:
        return run, None
    failed = failure.run
    anchors = tuple(checksum(anchor) for anchor in failed.anchors)
    return run, Broken(
        symptom=failure.symptom,
        message=failure.message,
        schedule=failed.schedule,
        masked=failed.masked,
        anchors=anchors,
        points=failed.points,
        steps=tuple(recorder.steps),
    )
