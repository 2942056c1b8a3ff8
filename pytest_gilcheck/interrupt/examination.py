"""Finds the culprit of a trial that refuted the claim, by further trials with an instrument if the trial does not show it."""

from __future__ import annotations

import signal
from collections.abc import Callable
from dataclasses import replace

from ..core.interpreter import GIL, build
from .births import Births
from .catcher import Catcher
from .ccalls import CCalls
from .claim import InterruptClaim
from .delivery import deliver
from .explain import culprit_of, refined, shows_who_caught, sleeps_in_restarted_call
from .starting import Starter
from .trial import CHILD, SignalOutcome, Trial

_EXAMINATIONS = 3  # at most, until one shows the same outcome
_SURE = ("returned", "became")  # notes that are right although the trace was lost


def find_culprit(
    starter: Starter, trial: Trial, claim: InterruptClaim, limit: float, progress: Callable[[str], None]
) -> tuple[Trial, str]:
    """The trial with what the examination added to it, and a description of the culprit.

    Args:
        limit: seconds that the setup of the workload may take.
    """
    if trial.outcome in (SignalOutcome.DEAF, SignalOutcome.LATE) and not sleeps_in_restarted_call(trial):
        progress("once more, to see in which C call")
        return _examine_c_calls(starter, trial, claim, limit)
    if trial.outcome is SignalOutcome.SWALLOWED:
        progress("once more, to see who caught it")
        return _examine_catcher(starter, trial, claim, limit)
    if trial.outcome is SignalOutcome.LEFT_BEHIND or (trial.outcome is SignalOutcome.LINGERS and CHILD in trial.detail):
        progress("once more, to see where processes are started")
        examined = deliver(starter, signal.Signals(trial.number), trial.moment, claim, limit, Births())
        trial = replace(trial, notes=(*trial.notes, *(note for note in examined.notes if note[0] == "born")))
    return trial, culprit_of(trial)


def _examine_c_calls(starter: Starter, trial: Trial, claim: InterruptClaim, limit: float) -> tuple[Trial, str]:
    seen = _with_c_calls(starter, trial, claim, limit)
    if seen is None:
        return trial, culprit_of(trial)
    calls, examined = seen
    if not trial.stacks and examined.outcome in (SignalOutcome.DEAF, SignalOutcome.LATE):  # of others, they are of a later time
        trial = replace(trial, stacks=examined.stacks, place=trial.place or examined.place)
    return trial, culprit_of(trial, calls.when_stuck() or [], examined.pid)


def _examine_catcher(starter: Starter, trial: Trial, claim: InterruptClaim, limit: float) -> tuple[Trial, str]:
    for _ in range(_EXAMINATIONS):
        examined = deliver(starter, signal.Signals(trial.number), trial.moment, claim, limit, Catcher())
        stayed = examined.entered is not None and examined.left is None  # however busy the machine was, the notes are right
        if shows_who_caught(examined) and (stayed or trial.left_by == examined.left_by == "returned"):
            break
    else:  # free-threaded builds sometimes lose the trace
        examined = replace(examined, notes=tuple(note for note in examined.notes if note[0] in _SURE))
        if trial.dozed and trial.others_busy and build() == GIL:
            seen = _with_c_calls(starter, trial, claim, limit)
            kept = [] if seen is None else seen[0].long_calls(seen[1].pid, claim.exits_within / 2)
            if seen is not None and kept:  # the workload was on its way out, and another thread kept the GIL from it
                trial = replace(trial, outcome=SignalOutcome.UNWINDING)
                return trial, culprit_of(trial, kept, seen[1].pid)
    trial = refined(trial, examined)
    return trial, culprit_of(trial)


def _with_c_calls(starter: Starter, trial: Trial, claim: InterruptClaim, limit: float) -> tuple[CCalls, Trial] | None:
    """The C calls that were running while the target was stuck, from a further trial at the same moment, and that trial.

    None if no further trial was stuck.
    """
    for _ in range(_EXAMINATIONS):
        calls = CCalls()
        examined = deliver(starter, signal.Signals(trial.number), trial.moment, claim, limit, calls)
        if calls.when_stuck() is not None:
            return calls, examined
    return None
