"""From a failing schedule to a result: the failure minimised, classified, replayed and explained."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from math import comb
from pickle import dumps  # bound here: the program may replace that of the module

from ..core.packing import packed
from ..core.verdict import Verdict
from ..engine.bytecode import sources
from ..engine.bytecode.visible import IN_C
from ..engine.outcome import Failure, Symptom
from ..engine.running.journal import Journal
from ..engine.running.record import ScheduleRun
from ..engine.schedule import Token, checksum, preemptions
from ..search import ledger
from ..search.explorer import Explorer
from ..search.ledger import Ledger
from ..search.outcome import Lost, SearchOutcome
from ..search.plan import FuzzPlan
from ..search.replays import Replays
from ..search.strategy import run_all
from .after_failure import classified, passing_if_sleeps_last, slept_instead, smaller, with_fewer
from .explaining.explain import explain
from .result import FuzzResult, NoClaim

LASTING = (Symptom.EXCEPTION, Symptom.INVARIANT)  # what state of the process can lead to that is not made by setup


class StateLeft(Exception):
    """A run has broken the program and left its process in another state, so that nothing more can be found out here.

    Attributes:
        failure: of that run.
        now: how every sequential order fails now; None if the same schedule passes.
        lost: what its schedule depends on, if not what is known by now.
    """

    def __init__(self, failure: Failure, now: Failure | None = None, lost: Lost | None = None) -> None:
        super().__init__(failure.message)
        self.failure, self.now, self.lost = failure, now, lost

    def note(self, journal: Journal) -> None:
        """Leave the schedule for a process in which nothing has run yet."""
        if self.lost is not None:
            journal.learn(self.lost.learnt)
            journal.set_draw(self.lost.draw)
        error = None if self.now is None else self.now.error or AssertionError(self.now.message)
        choices = ((choice, masked) for choice, _, _, masked in self.failure.run.choices)
        journal.leave(choices, b"" if error is None else packed(error).encode())


@dataclass(frozen=True)
class Left:
    """What a process leaves that came to `Unrepeatable`.

    Attributes:
        result: of its search.
        held: the result for the runs after the first, if they hold; and what the first run did alone.
        failure: of the result, packed, where it has gone to another process.
        path: a checksum of where its first run came.
        learnt: what step tables depend on (`Changing.all_learnt`).
        draw: of chance.
        setup_at_home: whether the setup has to run where the invariant does.
        ready: when its first runs had ended, by `monotonic`; 0 if they did not.
        first_seconds: what its first run took.
        changed: what the caller shares with the program, and will not see changed.
        facts: what it has read in sources.
    """

    result: FuzzResult
    held: tuple[FuzzResult, str] | None = None
    failure: str | None = None
    path: int = 0
    learnt: tuple[int, ...] = ()
    draw: int = 0
    setup_at_home: bool = False
    ready: float = 0.0
    first_seconds: float = 0.0
    changed: tuple[str, ...] = ()
    facts: Mapping[str, object] = field(default_factory=dict)


class Unrepeatable(Exception):
    """The first run of the program found what no later one does, so a search in one process says nothing of its races.

    Attributes:
        left: for a process in which nothing has run yet.
    """

    def __init__(self, left: Left) -> None:
        super().__init__(left.result.reason)
        self.left = left

    def of(self, explorer: Explorer | None, result: FuzzResult) -> Unrepeatable:
        """The same with this result, and what the search has learnt."""
        self.left = replace(self.left, result=result)
        if explorer is not None:
            self.left = replace(
                self.left,
                path=explorer.first_path,
                learnt=explorer.events.names.all_learnt(),
                draw=explorer.engine.chance.draw,
                setup_at_home=explorer.setup_at_home,
                ready=explorer.ready,
                first_seconds=explorer.first_seconds,
            )
        return self

    def note(self, journal: Journal, changed: Sequence[str] = ()) -> None:
        """Leave it all for that process.

        Args:
            changed: what the caller shares with the program, and will not see changed.
        """
        result = self.left.result
        failure = None if result.failure is None else packed(result.failure)
        left = replace(self.left, result=replace(result, failure=None), failure=failure, changed=tuple(changed))
        if not journal.keep(dumps(replace(left, facts=sources.learnt()))):
            journal.keep(dumps(replace(left, failure=None)))


def violated(
    explorer: Explorer,
    plan: FuzzPlan,
    template: FuzzResult,
    searched: SearchOutcome,
    sequential: list[ScheduleRun],
    budget: Ledger,
    unrepeatable: str = "",
) -> FuzzResult:
    """The result of a search that has found a failure.

    Args:
        unrepeatable: what the same schedule does differently the second time; empty if nothing.

    Raises:
        StateLeft: none of its replays fails, and another process can look into that.
    """
    failure = searched.failure
    assert failure is not None, "the caller has one"
    if failure.symptom is Symptom.HANGS:  # each further run would take as long
        return _hanging(plan, template, failure)
    if unrepeatable and (alone := _fails_alone(explorer, failure, ledger.RUNS_ALONE)):
        return template.without_claim(NoClaim.NOT_DETERMINISTIC, f"{unrepeatable}; and {alone}")
    passing = passing_if_sleeps_last(explorer, plan, failure, sequential, budget)  # first: it tells a fault of the test
    if not unrepeatable:
        failure = smaller(explorer, searched, failure, budget)
        failure = with_fewer(explorer, plan, failure, sequential, budget)
    failure, kind = classified(explorer, plan, failure, sequential, budget)
    explorer.progress("replaying")
    replays = Replays(failure.schedule, ledger.REPLAYS_BY_CHANCE if unrepeatable else ledger.REPLAYS, budget.over)
    run_all(explorer, replays)
    again = replays.failures
    count = sum(other is not None and other.symptom is failure.symptom for other in again)
    if not count and not unrepeatable and explorer.engine.journal is not None and searched.failure is not None:
        raise StateLeft(searched.failure)
    if unrepeatable and (chance := _may_be_chance(explorer, failure, count, len(again), budget.over)):
        return template.without_claim(NoClaim.NOT_DETERMINISTIC, f"{unrepeatable}; and {chance}")
    explanation, last = explain(explorer, failure, over=_enough_explained(explorer, failure, budget))
    failure = replace(last, run=failure.run) if last.symptom is failure.symptom else failure
    few = failure.schedule.preemptions
    reason = f"{failure.symptom}: {failure.message}; with {preemptions(few)}{_delays(failure.run)}"
    slept, sleeps = slept_instead(failure, passing)
    reason += slept
    if any(access is IN_C for _, access, _, _ in failure.run.choices):
        reason += "; simulated: this call is several steps without a GIL"
    if budget.late:
        reason += f"; cut short by budget={plan.budget:g} s (schedules={plan.schedules}): {', '.join(dict.fromkeys(budget.late))}"
    if budget.unfinished:
        why = "a report has no more runs for it" if budget.counted else "the budget was spent"
        reason += f"; {' and '.join(budget.unfinished)}: {why}"
    if unrepeatable:
        reason += f"; {count} of {len(again)} runs of its schedule failed, and it has no token: {unrepeatable}"
    elif count < len(again):
        reason += f"; only {count} of {len(again)} replays failed: the outcome also depends on something other than the schedule"
    if explorer.uncontrolled:
        reason += f"; partly uncontrolled: {explorer.uncontrolled[0]}"
    return replace(
        template,
        conclusion=Verdict.VIOLATED,
        reason=reason,
        kind=kind,
        symptom=str(failure.symptom),
        token="" if unrepeatable else _token(explorer, failure),
        preemptions=few,
        replays=(count, len(again)),
        story=explanation.text,
        rows=explanation.rows,
        places=sleeps or explanation.places,
        coverage=_until_failure(plan, searched),
    )


def _fails_alone(explorer: Explorer, failure: Failure, runs: int) -> str:
    """How often a program that does not do the same twice fails as well in sequential orders; empty if it does not."""
    failed = sum(other is not None and other.symptom is failure.symptom for other in explorer.in_sequence(runs))
    return f"it fails in {failed} of {runs} runs without any concurrency as well: {failure.message}" if failed else ""


def _may_be_chance(explorer: Explorer, failure: Failure, failed: int, runs: int, over: Callable[[], bool]) -> str:
    """Why nobody can tell whether a schedule broke a program that does not do the same twice; empty if it did.

    Runs in sequential orders are added until Fisher's exact test (one-sided) tells the two apart, or one of them fails.

    Args:
        failed: of the runs of the schedule.
        runs: of the schedule.
        over: whether no time is left.
    """
    alone = ledger.RUNS_ALONE

    def told_apart() -> bool:
        return failed > 0 and comb(runs, failed) <= ledger.CHANCE * comb(runs + alone, failed)

    while failed and not told_apart() and alone < ledger.MOST_ALONE and not over():
        if found := _fails_alone(explorer, failure, alone):
            return found
        alone *= 2
    if told_apart():
        return ""
    return (
        f"{failed} of {runs} runs of one schedule failed, and none of {alone} without any concurrency: "
        f"that may be chance ({failure.symptom}: {failure.message})"
    )


def _delays(run: ScheduleRun) -> str:
    """At which points of a run time passed although a thread could run, and how much; empty if it did not."""
    if run.early:
        return ", and a teardown that begins while threads which the program has started can still run"
    if not run.delays:
        return ""
    each = [f"{late / 1e9:.3g} s at point {point}" for point, late in run.delays]
    return f", and a delay of {' and of '.join(each)}"


def _hanging(plan: FuzzPlan, template: FuzzResult, failure: Failure) -> FuzzResult:
    reason = f"{failure.symptom}: {failure.message}, for timeout={plan.timeout:g} s"
    if failure.run.uncontrolled:
        return template.without_claim(NoClaim.UNCONTROLLED, f"{failure.run.uncontrolled[0]}; {reason}")
    return replace(template, conclusion=Verdict.VIOLATED, reason=reason, symptom=str(failure.symptom))


def _enough_explained(explorer: Explorer, failure: Failure, budget: Ledger) -> Callable[[], bool]:
    """Whether no more runs are to be made to explain it: each counts as a recorded one. The first ones are always made."""
    account, begun = budget.account(ledger.EXPLAINING, failure.run.points), explorer.runs + ledger.FIRST_TRIALS

    def enough() -> bool:
        account.ran = ledger.RECORD * max(0, explorer.runs - begun)
        return budget.over() or account.reached()

    return enough


def _token(explorer: Explorer, failure: Failure) -> str:
    run, program = failure.run, explorer.program
    anchors = tuple(checksum(anchor) for anchor in run.anchors)
    return str(
        Token(
            program.checksum,
            len(program.threads),
            failure.schedule,
            anchors,
            run.points,
            explorer.events.names.learnt(),
            explorer.engine.chance.draw,
        )
    )


def _until_failure(plan: FuzzPlan, searched: SearchOutcome) -> str:
    asked = "" if plan.schedules is None else f" (schedules={plan.schedules})"
    return f"{searched.explored:,} schedule{'s' * (searched.explored != 1)}{asked} until one failed"
