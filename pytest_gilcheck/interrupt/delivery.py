"""One trial: starts the workload, sends it a signal at its moment, and watches from outside what becomes of it.

All clocks are those of the sender or of the kernel. What keeps a trial from blaming the workload wrongly:

- A busy machine can deny a process its core: time in which its threads were ready and had none is not the workload's.
- A thread that waits in the kernel, where nothing can interrupt it, may wait for a thread of the kernel that has no core either. On
  a machine without an idle core that decides nothing.
- A request for stacks is a signal itself, and would wake a main thread that missed the first one. So a main thread that sleeps
  is only watched, until a second signal has shown whether the first was lost.
- A moment counts the time that the process could use: a signal to one that is denied a core waits until it has had as much. One
  that had no core for most of the time in spite of that was not yet where it should have been: what the signal found there
  decides nothing, unless it refutes the claim.
- The request for stacks, the second signal and the probe come only after the trial has failed its claim.
"""

from __future__ import annotations

import signal
from dataclasses import replace
from typing import Any

from ..core import reaper
from ..core.clocks import time
from ..core.exit_status import describe_exit, is_crash, not_of_the_workload
from . import process_snapshot
from .claim import InterruptClaim
from .culprit import threads
from .process_snapshot import ProcessSnapshot
from .sending import probe, send
from .starting import Starter
from .survivors import Survivors, adoption, children, kill_adopted, survivors
from .target import Instrument
from .target_log import TargetLog
from .trial import CHILD, UNDECIDED, SignalOutcome, Trial, clearly_late

_KILL = getattr(signal, "SIGKILL", 9)
_PATIENCE = 3.0  # times `within`, and at least
_MOST_PATIENCE = 5.0  # seconds more, on a busy machine, until the process has used `within` of CPU time
_TIMES_DENIED = 3.0  # times `exits_within`, at most, until the process has had that without the time in which it had no core
_SHORT = 0.002  # seconds
_WITHOUT_EFFECT = frozenset(  # numbers of the signals whose default action is none
    getattr(signal, name) for name in ("SIGCHLD", "SIGCONT", "SIGURG", "SIGWINCH") if hasattr(signal, name)
)
_MAY_BE_OURS = ("RecursionError", "MemoryError")  # raised at the call of a handler, before any line of it
BLOCKED, CAUGHT = "blocked", "caught"  # dispositions of a signal
_LOOK = 0.1  # seconds between two looks at a process on a busy machine
_LEAST_PATIENCE = 0.6  # seconds, until a second signal follows one that was not seen
_MOST_DELAY = 3.0  # seconds that a signal is delayed at most, until the process has had the time up to its moment
_LEAST_HAD = 0.5  # of that time: with less of it, the workload was not yet where the signal was to find it
_SECOND_CHANCE = 0.3  # seconds for that one
_HEAP = 5.0  # seconds for a look at each object of a process whose main thread answers
_WHILE_IMPORTING = "the signal came while {module} was being imported, which is another question; import it in setup"
_TICK = 0.02  # seconds: the resolution of CPU times, of two threads
_SURVIVORS_GRACE = 1.0  # seconds that processes which the target started get to exit after it


def deliver(
    starter: Starter,
    number: signal.Signals,
    moment: float,
    claim: InterruptClaim,
    limit: float,
    instrument: Instrument | None = None,
) -> Trial:
    """Send one signal to a new target.

    Args:
        moment: seconds after the workload began.
        limit: seconds that the setup of the workload may take.
        instrument: for a trial that is made to find a cause.
    """
    reaper.start()  # before the adoption: the reaper loses its parent, and must not become our child
    with adoption():
        return _delivered(starter, number, moment, claim, limit, instrument)


def _delivered(
    starter: Starter, number: signal.Signals, moment: float, claim: InterruptClaim, limit: float, instrument: Instrument | None
) -> Trial:
    process = starter.start(instrument)
    log = TargetLog(process)
    trial = Trial(number, moment, pid=process.pid)
    alive = Survivors()
    try:
        if not log.wait(limit, lambda log: log.began or log.left) or log.began is None:
            trial = replace(trial, outcome=SignalOutcome.MISSED, detail="the workload did not begin")
        else:
            had, denied = _wait_for_moment(log, moment)
            if log.left is not None or log.gone:
                trial = replace(trial, **_over_before(log))
            else:
                trial = _watched(log, trial, claim, instrument or Instrument())
                if trial.outcome is None and had < _LEAST_HAD * moment:
                    trial = replace(trial, outcome=SignalOutcome.BUSY, denied=denied)
    finally:
        if log.gone:
            grace = claim.exits_within - (time.monotonic_ns() - (trial.entered or trial.sent)) / 1e9
            alive = survivors(process.pid, max(_SURVIVORS_GRACE, grace) if trial.sent else 0.0)
        stacks = process.end()
        kill_adopted(process.pid)
    trial = _with_handler(trial, log)
    if is_crash(trial.status) and trial.status != -number:
        detail = f"the process {describe_exit(trial.status)} after the signal"
        trial = replace(trial, outcome=SignalOutcome.CRASHED, detail=detail, stacks=stacks)
    elif trial.status == -_KILL and trial.outcome is None and ("ends itself", _KILL) not in log.others:
        detail = f"the process {describe_exit(trial.status)}: by another process, or by the system, which is out of memory"
        trial = replace(trial, outcome=SignalOutcome.UNREPORTED, detail=detail)
    elif trial.outcome is None and (why := not_of_the_workload(trial.status)):
        trial = replace(trial, outcome=SignalOutcome.UNREPORTED, detail=f"the process {why}")
    if trial.outcome is not None and trial.outcome not in UNDECIDED and (module := _imported(log, trial)):
        trial = replace(trial, outcome=SignalOutcome.UNREPORTED, detail=_WHILE_IMPORTING.format(module=module))
    if alive.names and trial.outcome is None:
        outcome = SignalOutcome.BUSY if alive.denied else SignalOutcome.LEFT_BEHIND
        trial = replace(trial, outcome=outcome, detail=", ".join(alive.names))
    return replace(trial, notes=tuple(log.others))


def _wait_for_moment(log: TargetLog, moment: float) -> tuple[float, float]:
    """Wait until the target has had ``moment`` seconds in which it was not denied a core, or ends.

    The kernel counts the time that a thread waits for a core only when that wait is over. So a signal is not sent in the middle
    of one: it would come to a process that may have done nothing yet.

    Returns:
        The seconds that it had, and those in which it was denied a core.
    """
    pid = log.process.pid
    at_start, began = process_snapshot.take(pid), time.monotonic()
    until = began + moment + _MOST_DELAY
    while True:
        log.wait(began + moment - time.monotonic(), lambda log: log.left or log.gone)
        waits = process_snapshot.waits_for_core(pid)  # before the snapshot: it counts no wait that is not over
        denied = _denied(at_start, process_snapshot.take(pid), 0.0)
        had = time.monotonic() - began - denied
        if (had >= moment and not waits) or log.left is not None or log.gone or time.monotonic() > until:
            return 0.0 if waits else had, denied
        log.wait(max(moment - had, _SHORT), lambda log: log.left or log.gone)


def _watched(log: TargetLog, trial: Trial, claim: InterruptClaim, instrument: Instrument) -> Trial:
    """Send the signal to the running workload, and watch until the process exits or the claim is refuted."""
    process, number = log.process, trial.number
    before = process_snapshot.take(process.pid)
    sent = send(process.pid, number)
    log.wait(claim.within, lambda log: log.entered or log.gone)  # nothing in between: the target may be waiting for this core
    trial = replace(trial, sent=sent)
    if not log.entered and not log.gone:
        instrument.stuck()
        trial = _not_handled(log, trial, claim, before)
    if log.entered and trial.entered is None:
        trial = _with_handler(trial, log)
        if (trial.delivery or 0) > claim.within and trial.outcome is None:
            denied = _denied(before, process_snapshot.take(process.pid), trial.denied)
            trial = replace(trial, denied=denied, outcome=SignalOutcome.LATE)
            trial = trial if (trial.lateness or 0) > claim.within else replace(trial, outcome=SignalOutcome.BUSY)
    to_leave = trial.outcome in (None, SignalOutcome.LATE, SignalOutcome.LOST) or (
        trial.outcome is SignalOutcome.BUSY and log.entered
    )
    if to_leave and not log.gone:
        late = trial.outcome is SignalOutcome.LATE and clearly_late(trial, claim)
        stacks = trial.stacks
        trial = _leaving(log, trial, claim)
        if trial.outcome is SignalOutcome.SWALLOWED:
            instrument.stuck()
            if late:  # that is proved, and the rest may follow from it (a large list that is freed on the way out, say)
                trial = replace(trial, outcome=SignalOutcome.LATE, stacks=stacks)
    if log.left is not None:
        trial = replace(trial, left=log.left[0], left_by=log.left[1])
    trial = replace(trial, gone=process.gone_at, status=process.status)
    if trial.gone is None or trial.outcome is not None:
        return trial
    if trial.status is None:
        return replace(trial, outcome=SignalOutcome.UNREPORTED, detail=f"the process {describe_exit(None)}: it may have crashed")
    return trial if trial.entered is not None else _without_report(trial, claim)


def _without_report(trial: Trial, claim: InterruptClaim) -> Trial:
    """The process has exited, and no handler reported: the signal's default action killed it, or C code handled the signal."""
    assert trial.gone is not None, "the process has exited"
    after = (trial.gone - trial.sent) / 1e9
    if trial.left_by in _MAY_BE_OURS:
        detail = f"the workload ended with {trial.left_by}, which the handler of the signal may have met where there was no room"
        return replace(trial, outcome=SignalOutcome.UNREPORTED, detail=detail)
    if after <= claim.within:
        return trial
    if trial.status == -trial.number and trial.disposition != CAUGHT:
        # The system ends a process as soon as it has a core, and what a process that is gone was denied is in no figure: only that
        # it slept, with the signal blocked, is its own doing.
        own = trial.disposition == BLOCKED and trial.slept
        return replace(trial, outcome=SignalOutcome.LATE if own else SignalOutcome.BUSY)
    detail = f"the process exited {after:.2g} s after the signal, and no handler reported when it was entered"
    return replace(trial, outcome=SignalOutcome.UNREPORTED, detail=detail)


def _not_handled(log: TargetLog, trial: Trial, claim: InterruptClaim, before: ProcessSnapshot | None) -> Trial:
    """The handler was not entered in time: find out why, without waking a main thread that may only have missed the signal."""
    process, number = log.process, trial.number
    first = process_snapshot.take(process.pid)
    stacks = ""
    if first is not None and first.running:  # it computes, so a request for stacks does not wake it
        stacks = process.stacks()
    patience = max(_LEAST_PATIENCE, _PATIENCE * claim.within) - claim.within
    log.wait(_LOOK, lambda log: log.entered or log.gone)
    second = process_snapshot.take(process.pid)
    trial = replace(trial, slept=_slept(first, second), disposition=_disposition(number, first, second))
    log.wait(patience - _LOOK, lambda log: log.entered or log.gone)
    until = time.monotonic() + _MOST_PATIENCE
    while not (log.entered or log.gone) and time.monotonic() < until:  # CPU time without a handler is proof on any machine
        if not _starved(before, process_snapshot.take(process.pid), claim.within):
            break
        log.wait(_LOOK, lambda log: log.entered or log.gone)
    trial = replace(trial, stacks=stacks)
    if log.entered or log.gone:
        return trial
    now = process_snapshot.take(process.pid)
    if now is not None and now.stopped:
        return replace(trial, outcome=SignalOutcome.UNREPORTED, detail=f"the process {process_snapshot.WAS_STOPPED}")
    if now is not None and number in now.blocked:
        if number not in now.pending:
            return trial  # sigwait has taken it: the end of the process will show what comes of it
        detail = "the main thread blocks it (pthread_sigmask)"
        return replace(trial, outcome=SignalOutcome.BLOCKED, detail=detail, stacks=process.stacks())
    if now is not None and number in now.ignored | (_WITHOUT_EFFECT - now.caught):
        by_default = "no handler is set for it, and by default it has no effect (SIG_DFL)"
        detail = "the process ignores it (SIG_IGN)" if number in now.ignored else by_default
        return replace(trial, outcome=SignalOutcome.IGNORED, detail=detail, stacks=process.stacks())
    slept = _slept(first, now)
    watched = first is not None and now is not None
    dozed, others_busy = not slept and _idled(first, now, patience), _worked(first, now, patience)
    trial = replace(trial, denied=_denied(before, now, 0.0), dozed=dozed, others_busy=others_busy, slept=slept)
    if slept or not watched:
        send(process.pid, number)
        if log.wait(_SECOND_CHANCE, lambda log: log.entered or log.gone) and log.entered:
            detail = "the main thread slept on until a second signal was sent"
            return replace(_with_handler(trial, log), outcome=SignalOutcome.LOST, detail=detail)
        if not log.gone:
            stacks = process.stacks()  # the system restarts its calls after this request
            trial = replace(trial, stacks=stacks)
        if log.wait(0, lambda log: log.entered or log.gone):
            return trial
    probe(process.pid)
    log.wait(_SECOND_CHANCE, lambda log: log.probed or log.entered or log.gone)
    unseen = (time.monotonic_ns() - trial.sent) / 1e9
    late = unseen - trial.denied > claim.within
    if log.entered:  # after the probe, which interrupts system calls
        woken = replace(_with_handler(trial, log), outcome=SignalOutcome.DEAF, detail=f"{unseen:.2g}", unhandled=unseen, woken=True)
        return woken if slept and late and woken.restarts else trial
    if log.probed:
        detail = "; ".join(log.probed[2]) or "the main thread checks for signals, but runs no handler of this one"
        return replace(trial, outcome=SignalOutcome.REPLACED, detail=detail, place=log.probed[1])
    if log.gone:
        return trial
    last = process_snapshot.take(process.pid)
    busy = not late or _starved(before, last, claim.within) or process.pid in _held(before, last)
    outcome = SignalOutcome.BUSY if busy else SignalOutcome.DEAF
    return replace(trial, outcome=outcome, detail=f"{unseen:.2g}", stacks=stacks or process.stacks(), unhandled=unseen)


def _leaving(log: TargetLog, trial: Trial, claim: InterruptClaim) -> Trial:
    """The handler was entered: wait for the exit of the process, and find out what keeps it."""
    process = log.process
    before = process_snapshot.take(process.pid)
    entered = max((trial.entered or trial.sent) / 1e9, time.monotonic() if before else 0.0)  # what was before, no snapshot shows
    log.wait(entered + claim.exits_within - time.monotonic(), lambda log: log.gone)
    if log.gone:
        return trial
    at_most = entered + _TIMES_DENIED * claim.exits_within
    has_waited = False
    while True:
        now, seconds = process_snapshot.take(process.pid), time.monotonic() - entered
        own = denied = _denied(before, now, 0.0)
        held = bool(_held(before, now)) or process_snapshot.waits_for_core(process.pid)  # which no counter has yet
        crowded = before is not None and now is not None and now.crowded_since(before)
        has_waited = has_waited or (crowded and bool(children(process.pid)))
        if has_waited:  # what its children were denied is in no figure of its own; when they have ended, it goes on
            denied = seconds
        if (seconds - denied >= claim.exits_within and not held) or time.monotonic() > at_most:
            break
        if log.wait(_LOOK, lambda log: log.gone):  # it might have been in time, had it had a core
            return replace(trial, outcome=SignalOutcome.BUSY, denied=denied)
    if now is not None and now.stopped:
        return replace(trial, outcome=SignalOutcome.UNREPORTED, detail=f"the process {process_snapshot.WAS_STOPPED}")
    slept = before is None or now is None or now.asleep_since(before)
    trial = replace(trial, dozed=not slept and _idled(before, now, seconds), others_busy=_worked(before, now, seconds))
    too_little = time.monotonic() - entered - own < claim.exits_within / 2  # it was denied a core for more than half of its time
    if held or too_little:
        return replace(trial, outcome=SignalOutcome.BUSY, denied=denied)
    kept_by = [f"{name!r}, {kind}" for name, kind, _ in (log.left[2] if log.left else [])]
    kept_by += [f"{CHILD} {child}" for child in children(process.pid)]
    handled = bool(log.entered)  # the request for stacks wakes the main thread, which would then run the handler
    stacks = process.stacks()
    if log.left is not None:
        idents = tuple(ident for _, _, ident in log.left[2])
        return replace(trial, outcome=SignalOutcome.LINGERS, detail=", ".join(kept_by), lingering=idents, stacks=stacks)
    if not handled:
        detail = "the main thread blocks it (pthread_sigmask), and sigwait or another thread took it"
        return replace(trial, outcome=SignalOutcome.BLOCKED, detail=detail, stacks=stacks)
    probe(process.pid)
    if log.wait(_SECOND_CHANCE, lambda log: log.probed or log.gone) and not log.gone:
        log.wait(_HEAP, lambda log: log.awaits is not None or log.gone)
    awaits = tuple((place[0], place[1], place[2]) for place in log.awaits or [])
    return replace(trial, outcome=SignalOutcome.SWALLOWED, detail=", ".join(kept_by), stacks=stacks, awaits=awaits)


def _with_handler(trial: Trial, log: TargetLog) -> Trial:
    """The trial with the first handler that was entered, if it does not have one yet."""
    if not log.entered or trial.entered is not None:
        return trial
    entered, place, handler, _imported, restarts = log.entered[0]
    return replace(trial, entered=entered, place=place, handler=handler, restarts=restarts)


def _imported(log: TargetLog, trial: Trial) -> str:
    """The module that the signal found being imported, or that kept it from being handled; empty if none."""
    if log.entered:
        return log.entered[0][3]
    main = (threads(trial.stacks) or [[]])[0]
    return "a module" if any(frame.file == "<frozen importlib._bootstrap>" for frame in main) else ""


def _over_before(log: TargetLog) -> dict[str, Any]:
    """What to record of a trial whose workload ended before the signal."""
    if log.left is not None:
        return {"outcome": SignalOutcome.MISSED, "detail": "the workload ended before the signal"}
    status = log.process.status
    detail = f"the process {describe_exit(status)} before the signal"
    return {"outcome": SignalOutcome.CRASHED if is_crash(status) else SignalOutcome.ENDED, "detail": detail}


def _denied(before: ProcessSnapshot | None, after: ProcessSnapshot | None, known: float) -> float:
    """Seconds between two snapshots in which the process was denied a core; ``known`` where there are no snapshots."""
    return known if before is None or after is None else after.denied_since(before)


def _held(before: ProcessSnapshot | None, now: ProcessSnapshot | None) -> frozenset[int]:
    """The threads that wait for the kernel of a machine that had no idle core between two snapshots."""
    return frozenset() if before is None or now is None else now.held_by_kernel_since(before)


def _disposition(number: int, first: ProcessSnapshot | None, second: ProcessSnapshot | None) -> str:
    """What the process does with a signal that is not handled, if two snapshots agree."""
    if first is None or second is None:
        return ""
    if number in first.blocked & second.blocked & second.pending:
        return BLOCKED
    return CAUGHT if number in first.caught & second.caught else ""


def _slept(first: ProcessSnapshot | None, now: ProcessSnapshot | None) -> bool:
    """Whether the main thread is known to have slept without a break between two snapshots."""
    return first is not None and now is not None and now.asleep_since(first)


def _idled(first: ProcessSnapshot | None, now: ProcessSnapshot | None, seconds: float) -> bool:
    """Whether the main thread used next to no CPU between two snapshots that are so many seconds apart."""
    return first is not None and now is not None and now.main_cpu - first.main_cpu < seconds / 4


def _starved(before: ProcessSnapshot | None, now: ProcessSnapshot | None, seconds: float) -> bool:
    """Whether the main thread wanted to run, and the process used fewer CPU seconds: a hypervisor can take a core unnoticed."""
    if before is None or now is None or not (before.running and now.running):
        return False
    return now.main_cpu - before.main_cpu + now.others_cpu - before.others_cpu < seconds - _TICK


def _worked(first: ProcessSnapshot | None, now: ProcessSnapshot | None, seconds: float) -> bool:
    """Whether the other threads used the CPU between two snapshots that are so many seconds apart."""
    return first is not None and now is not None and now.others_cpu - first.others_cpu > seconds / 4
