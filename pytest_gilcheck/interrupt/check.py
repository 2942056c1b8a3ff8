"""One interrupt check, from the workload to the result."""

from __future__ import annotations

import random
import signal
from collections import deque
from collections.abc import Callable, Iterator
from dataclasses import replace

from ..core.clocks import time
from ..core.fork_safety import can_fork
from ..core.interpreter import Interpreter
from ..core.verdict import Verdict
from ..core.workloads import Workload, name_of
from . import judgement, leftovers
from .claim import InterruptClaim
from .culprit import trimmed
from .delivery import deliver
from .dry_run import DryRun, dry_run
from .examination import find_culprit
from .explain import reason
from .plan import InterruptPlan
from .result import InterruptResult, TimeSpread
from .starting import Starter
from .trial import UNDECIDED, SignalOutcome, Trial

_IDLE_TRIALS = 5
_IDLE_MOMENT = 0.005  # seconds
_TOO_SHORT = 0.001  # seconds: no signal can be timed to arrive in a workload that is shorter
_TRIES = 2  # times the wanted number of trials: with more that came too late, the check is inconclusive
_AT_ONCE = 0.05  # seconds: a workload that ends so soon after the signal is not suspected of having swallowed it
_OWN_END, _MUCH_LEFT = 0.9, 0.25  # parts of the duration alone: the workload got so far, although so much was left at the signal
_MOST_OF_IT = 0.6  # of what was left at the signal: a workload that took so long after it may have cut it short, or not
_UNCLEAR = "the workload returned after the signal, but no sooner than it might have without one"
_IMPORT_RUNS = 3
_LAST_MOMENT = 0.9  # of the duration in the dry run: the next run may be faster


def interrupt(
    work: Workload,
    claim: InterruptClaim,
    plan: InterruptPlan,
    *,
    name: str | None = None,
    progress: Callable[[str], None] = lambda label: None,
) -> InterruptResult:
    """Check whether ``work`` can be interrupted.

    Args:
        work: called without arguments in the main thread of a child process, once for each signal; a coroutine function is run by
            ``asyncio.run``.
        claim: the signals and the times allowed.
        plan: number and moments of the signals, and the limits.
        name: name for the report; by default the callable's own.
        progress: called before each run of the workload with a description of it.

    Raises:
        BaseException: what the workload raised in a run without a signal.
    """
    begun = time.monotonic()
    starter = Starter(work, plan.setup, tuple(int(number) for number in claim.signals))
    template = InterruptResult(
        conclusion=Verdict.INCONCLUSIVE,
        reason="",
        workload=name or name_of(work),
        claim=claim,
        interpreter=Interpreter.current(),
        over=plan.over,
        seed=plan.seed,
    )
    if (why := starter.impossible()) is not None:
        return replace(template, reason=f"no child process can run this workload: {why}")
    try:
        return _checked(starter, template, plan, begun, progress)
    finally:
        leftovers.remove(starter.token)


def _checked(
    starter: Starter, template: InterruptResult, plan: InterruptPlan, begun: float, progress: Callable[[str], None]
) -> InterruptResult:
    claim = template.claim
    progress("an idle process")
    template = replace(template, idle=_idle())
    progress("the workload alone")
    alone = dry_run(starter, plan.over, plan.timeout)
    for _ in range(_IMPORT_RUNS):  # a run that spends its time on imports has more to come
        if not alone.imports or alone.error is not None:
            break
        starter = replace(starter, imports=(*starter.imports, *alone.imports))
        progress("the workload alone, with its modules imported before")
        alone = dry_run(starter, plan.over, plan.timeout)
    template = replace(template, lasted=alone.seconds)
    if (ended := _without_trials(alone, template)) is not None:
        return replace(ended, seconds=time.monotonic() - begun)
    trials = _trials(starter, claim, plan, alone, begun, progress)
    trials = _marked_swallowed(starter, trials, claim, plan, alone, progress)
    result = _concluded(template, starter, trials, plan, alone, progress)
    return replace(result, seconds=time.monotonic() - begun)


def _idle() -> TimeSpread | None:
    """How soon an idle process handles a signal on this machine."""
    generous = InterruptClaim(1.0, 5.0, (signal.SIGINT,))
    starter = Starter(_sleep, None, (signal.SIGINT,))
    return TimeSpread.of(deliver(starter, signal.SIGINT, _IDLE_MOMENT, generous, 10.0).delivery for _ in range(_IDLE_TRIALS))


def _sleep() -> None:
    time.sleep(30)


def _without_trials(alone: DryRun, template: InterruptResult) -> InterruptResult | None:
    """The result that follows from the dry run; None if signals can be sent."""
    if alone.error is not None:
        raise alone.error
    if alone.outcome is not None:
        detail, *stacks = alone.detail.splitlines()
        if alone.outcome is SignalOutcome.CRASHED:
            text = f"crashed: {detail}, before any signal"
            return replace(
                template, conclusion=Verdict.VIOLATED, reason=text, outcome=SignalOutcome.CRASHED, stacks="\n".join(stacks)
            )
        return replace(template, reason=f"no signal could be sent: {detail}", outcome=alone.outcome)
    if alone.seconds is not None and alone.seconds < _TOO_SHORT:
        text = f"the workload is too short: it ends after {alone.seconds * 1e3:.2g} ms, before any signal; give it more to do"
        return replace(template, reason=text, outcome=SignalOutcome.MISSED)
    return None


def _trials(
    starter: Starter, claim: InterruptClaim, plan: InterruptPlan, alone: DryRun, begun: float, progress: Callable[[str], None]
) -> list[Trial]:
    """Send signals until enough have arrived in the running workload, the claim is refuted, or the budget is used up.

    A moment whose trial decides nothing is tried again before others: on a busy machine, trials of early moments must not stand
    for those of late ones.
    """
    trials: list[Trial] = []
    wanted = plan.repeats * len(claim.signals)
    moments, again = _moments(claim, plan, alone), deque[tuple[signal.Signals, float]]()
    while True:
        number, moment = again.popleft() if again and len(trials) >= wanted else next(moments)
        good = sum(trial.outcome is None for trial in trials)
        if good >= wanted or len(trials) >= _TRIES * wanted or judgement.refuting(trials, claim) is not None:
            break
        if plan.budget is not None and time.monotonic() - begun > plan.budget:
            break
        progress(f"{number.name} {good + 1} of {wanted}, {moment * 1e3:.0f} ms after the start")
        trials.append(deliver(starter, number, moment, claim, plan.timeout))
        outcome = trials[-1].outcome
        if judgement.to_be_seen_again(outcome, trials):
            trials.append(deliver(starter, number, moment, claim, plan.timeout))  # once more at the same moment
        if outcome in (SignalOutcome.BUSY, SignalOutcome.UNREPORTED):
            again.append((number, moment))
    return trials


def _marked_swallowed(
    starter: Starter,
    trials: list[Trial],
    claim: InterruptClaim,
    plan: InterruptPlan,
    alone: DryRun,
    progress: Callable[[str], None],
) -> list[Trial]:
    """The trials, with those marked as swallowed in which the workload continued to its own end.

    Such a trial looks good only because that end was near. To tell it from one that cleaned up, the duration of the workload
    without a signal must be known.
    """
    slow = [t for t in trials if t.outcome is None and t.left_by == "returned" and (t.unwinding or 0) > _AT_ONCE]
    if not slow or judgement.refuting(trials, claim) is not None:
        return trials
    natural = alone.seconds
    if natural is None:
        progress("the workload alone, to its end")
        natural = dry_run(starter, plan.over + claim.exits_within + 1, plan.timeout).seconds
    if natural is None:
        return trials

    def continued(trial: Trial) -> bool:
        took = trial.moment + ((trial.left or trial.sent) - trial.sent) / 1e9
        return took > _OWN_END * natural and natural - trial.moment > _MUCH_LEFT * natural

    def marked(trial: Trial) -> Trial:
        if trial in found:
            return replace(trial, outcome=SignalOutcome.SWALLOWED)
        if trial in slow and (trial.unwinding or 0) > _MOST_OF_IT * (natural - trial.moment):
            return replace(trial, outcome=SignalOutcome.UNREPORTED, detail=_UNCLEAR)
        return trial

    found = [trial for trial in slow if continued(trial)]
    if len(found) < min(2, len(trials)):
        found = []
    return [marked(trial) for trial in trials]


def _moments(claim: InterruptClaim, plan: InterruptPlan, alone: DryRun) -> Iterator[tuple[signal.Signals, float]]:
    """Signals and their moments without end: each round has one of each signal in each of ``repeats`` equal parts of the time."""
    span = plan.over if alone.seconds is None else min(plan.over, _LAST_MOMENT * alone.seconds)
    draw = random.Random(plan.seed)
    while True:
        moments = [
            (number, (part + draw.random()) / plan.repeats * span) for number in claim.signals for part in range(plan.repeats)
        ]
        draw.shuffle(moments)
        yield from moments


def _concluded(
    template: InterruptResult,
    starter: Starter,
    trials: list[Trial],
    plan: InterruptPlan,
    alone: DryRun,
    progress: Callable[[str], None],
) -> InterruptResult:
    """The result over all trials, with the culprit if the claim is refuted."""
    claim = template.claim
    judged = judgement.judge(trials, claim, plan.repeats * len(claim.signals))
    trial = judged.decided_by
    result = replace(template, conclusion=judged.verdict, trials=tuple(trials), reason=judged.reason)
    if judged.verdict is Verdict.HOLDS:
        end, about_end = _real_end(starter, trials, claim, plan, progress)
        if end is None:
            return replace(result, reason=_success(result, alone) + about_end)
        found, culprit = find_culprit(starter, end, claim, plan.timeout, progress)
        text = f"{reason(found, culprit, claim)}; only in a new interpreter, which ends by itself, and not in a fork"
        return replace(
            result,
            conclusion=Verdict.VIOLATED,
            reason=text,
            outcome=found.outcome,
            culprit=culprit,
            trials=(*trials, found),
            stacks=trimmed(found.stacks),
        )
    if trial is None or judged.verdict is Verdict.INCONCLUSIVE:
        return replace(result, outcome=None if trial is None else trial.outcome)
    if (
        trial.outcome in (SignalOutcome.LATE, SignalOutcome.DEAF)
        and (again := _idle()) is not None
        and again.max > claim.within / 2
    ):
        text = f"machine too busy: even an idle process handled a signal only after {again.max:.2g} s; retry on an idle machine"
        return replace(result, conclusion=Verdict.INCONCLUSIVE, reason=text, outcome=SignalOutcome.BUSY)
    found, culprit = find_culprit(starter, trial, claim, plan.timeout, progress)
    text = reason(found, culprit, claim)
    trials = [found if each is trial else each for each in trials]
    return replace(result, reason=text, outcome=found.outcome, culprit=culprit, trials=tuple(trials), stacks=trimmed(found.stacks))


def _real_end(
    starter: Starter, trials: list[Trial], claim: InterruptClaim, plan: InterruptPlan, progress: Callable[[str], None]
) -> tuple[Trial | None, str]:
    """The trial in an interpreter that ends by itself which refutes the claim, or None and what a pass must say about that end."""
    ended = [trial for trial in trials if trial.outcome is None and trial.left is not None]
    if not ended or can_fork() is not None:  # killed by the signal, or it had such an end anyway
        return None, ""
    if (spawning := starter.with_real_end()) is None:
        return None, "; without the interpreter's own end (the workload cannot be imported)"
    progress("once more, with the interpreter's own end")
    bad = None
    for _ in range(2):  # a refutation must be seen twice
        trial = deliver(spawning, signal.Signals(ended[0].number), ended[0].moment, claim, plan.timeout)
        if trial.outcome is None:
            return None, ""
        if trial.outcome in UNDECIDED:
            break
        if bad is not None:
            return trial, ""
        bad = trial
    return None, "; without the interpreter's own end (no trial in a new interpreter could be judged)"


def _success(result: InterruptResult, alone: DryRun) -> str:
    """The reason of a claim that holds, with the longest times of the good trials."""
    good = result.decisive
    names = " and ".join(number.name for number in result.claim.signals)
    part = f" in its first {result.over:g} s" if alone.seconds is None else ""
    if result.unwinding is None:  # no workload went on to its end: the signal's default action, or C code, ended the process
        after = TimeSpread.of(None if trial.gone is None else (trial.gone - trial.sent) / 1e9 for trial in good)
        handled = any(trial.entered is not None for trial in good)
        text = "" if handled or result.delivery is not None else "the signal was not handled; "
        text += f"the process exited within {_longest(after)} after the signal"
    else:
        text = (
            f"handled within {_longest(result.delivery)}, the workload left within {_longest(result.unwinding)} after that, "
            f"and the process exited within another {_longest(result.exit)}"
        )
    aside = len(result.trials) - len(good)
    if aside:
        text += f"; {aside} more {'trial decides' if aside == 1 else 'trials decide'} nothing"
    return f"{len(good)} {'trial' if len(good) == 1 else 'trials'} of {names}{part}: {text}"


def _longest(spread: TimeSpread | None) -> str:
    return "an unknown time" if spread is None else spread.longest
