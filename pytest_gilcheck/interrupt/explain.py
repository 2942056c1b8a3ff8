"""Describes the culprit: what kept a signal from being handled, or the process from exiting."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from ..core.interpreter import GIL, build
from ..core.origin import foreign, ours
from ..core.signal_names import signal_name
from ..core.steps import WAITING
from .ccalls import CCall
from .claim import InterruptClaim
from .culprit import Clause, Frame, call_text, expression, own_frame, slow_part, statement, stop, threads
from .trial import SignalOutcome, Trial


def culprit_of(trial: Trial, calls: Sequence[CCall] = (), main: int | None = None) -> str:
    """Describe the line, call or thread to blame for the outcome of a trial.

    Args:
        calls: the C calls that were running when the signal was not handled, or the workload did not end.
        main: native id of the main thread in the run that recorded these calls.
    """
    match trial.outcome:
        case SignalOutcome.DEAF | SignalOutcome.LATE:
            return _deaf(trial, calls, main)
        case SignalOutcome.UNWINDING if calls:
            return _gil_keeper(threads(trial.stacks), [call for call in calls if call.thread != main])
        case SignalOutcome.SWALLOWED | SignalOutcome.UNWINDING:
            return _caught(trial)
        case SignalOutcome.LOST:
            return _waiting(trial)
        case SignalOutcome.LINGERS | SignalOutcome.LEFT_BEHIND:
            return trial.detail + _thread_place(trial)
        case SignalOutcome.BLOCKED | SignalOutcome.IGNORED | SignalOutcome.REPLACED | SignalOutcome.CRASHED:
            stack = threads(trial.stacks)
            return trial.detail + (f"; it was at {own_frame(stack[0])}" if stack and stack[0] else _at(trial))
        case _:
            return trial.detail


def reason(trial: Trial, culprit: str, claim: InterruptClaim) -> str:
    """One line that says why the claim is refuted, with figures."""
    name = signal_name(trial.number)
    limit, in_time = f"limit: within={claim.within:g} s", f"within {claim.exits_within:g} s (exits_within)"
    match trial.outcome:
        case SignalOutcome.DEAF:
            return f"deaf: {name} was not handled for {trial.detail} s ({limit}), because of {culprit}"
        case SignalOutcome.LATE:
            return f"late: {name} was handled after {trial.delivery:.2g} s ({limit}), because of {culprit}"
        case SignalOutcome.LOST:
            seconds = f"{trial.delivery or 0:.2g} s later"
            return f"lost: {name} was not handled until a second one was sent, {seconds}, because of {culprit}"
        case SignalOutcome.BLOCKED | SignalOutcome.IGNORED | SignalOutcome.REPLACED:
            return f"{trial.outcome}: {name} is not handled: {culprit}"
        case SignalOutcome.SWALLOWED:
            continued = "to its own end" if trial.left_by else f"for {claim.exits_within:g} s (exits_within)"
            return f"swallowed: {name} was handled, and the workload continued {continued}: {culprit}"
        case SignalOutcome.UNWINDING:
            return f"stuck in cleanup: {name} was handled, and the workload did not end {in_time}: {culprit}"
        case SignalOutcome.LINGERS:
            return f"lingers: {name} ended the workload, and the process did not exit {in_time}: it waits for {culprit}"
        case SignalOutcome.LEFT_BEHIND:
            return f"left behind: {name} ended the process, but these still run: {culprit}"
        case _:
            return f"{trial.outcome}: {culprit}"


def shows_who_caught(examined: Trial) -> bool:
    """Whether this trial's instrument reported where the exception was caught, or that the interpreter discarded it."""
    return bool(_caught_notes(examined)) or _discarded(examined) is not None


def refined(trial: Trial, examined: Trial) -> Trial:
    """The trial with the notes of an examined one: swallowed if code caught the interrupt, otherwise stuck in cleanup."""
    trial = replace(trial, notes=examined.notes)
    return replace(
        trial, outcome=SignalOutcome.SWALLOWED if _was_swallowed(trial, _stopping_clause(trial)) else SignalOutcome.UNWINDING
    )


def _was_swallowed(trial: Trial, clause: Clause | None) -> bool:
    if clause is None:  # no code caught it: a handler of the workload's returned, or the interpreter discarded the exception
        return bool(trial.handler) or _discarded(trial) is not None
    return clause.kind == "except"


def _caught_notes(trial: Trial) -> list[tuple[Any, ...]]:
    return [note for note in trial.notes if note[0] == "caught" and not ours(note[1])]


def _discarded(trial: Trial) -> str | None:
    return next((note[1] for note in trial.notes if note[0] == "discarded"), None)


def _stopping_clause(trial: Trial) -> Clause | None:
    """The clause that stopped the exception.

    The examined run shows it; where it lost the trace, the line that the workload is at does, if that belongs to a ``with`` or
    is in a ``finally``. An ``except`` does not show in this way.
    """
    stack = (threads(trial.stacks) or [[]])[0]
    caught = _caught_notes(trial)
    traced = stop(*caught[-1][1:4]) if caught else None
    where = own_frame(stack)
    seen = None if where is None else stop(where.file, where.function, [where.line])
    if seen is None or seen.kind == "except":
        return traced
    if traced is not None and (traced.kind == "except" or any(frame.file == traced.where.file for frame in stack)):
        return traced
    return seen


def _deaf(trial: Trial, calls: Sequence[CCall], main: int | None) -> str:
    stack = threads(trial.stacks)
    running = next((call for call in calls if call.thread == main), None)
    checks = running is not None and running.name.rpartition(".")[2] in WAITING  # with the GIL it would have handled the signal
    if trial.dozed and build() == GIL and len(stack) > 1 and (trial.others_busy or checks):
        return _gil_keeper(stack, [call for call in calls if call.thread != main])
    inner = stack[0][0] if stack and stack[0] else None
    own = own_frame(stack[0]) if stack else None
    if running is not None and inner is not None:
        return f"{call_text(inner, running.name)} at {_path(inner, own)}, a C call that did not check for signals"
    if inner is not None and (part := slow_part(inner)):
        return f"`{part}` at {_path(inner, own)}, which runs in C and did not check for signals"
    if inner is not None:
        return f"`{statement(inner)}` at {_path(inner, own)}"
    if trial.place:
        file, line, function, *rest = trial.place
        part = expression(file, line, *rest)
        where = Frame(file, line, function)
        return f"`{part or where.source}` at {where}, or what ran in C just before"
    return "the main thread, at an unknown place"


def _gil_keeper(stack: list[list[Frame]], calls: list[CCall]) -> str:
    others = [thread for thread in stack[1:] if thread]
    waiting = f" (the main thread waited for the GIL at {own_frame(stack[0])})" if stack and stack[0] else ""
    if calls and others:
        oldest = min(calls, key=lambda call: call.since)
        for thread in others:
            text = call_text(thread[0], oldest.name)
            if not text.endswith("()") or len(others) == 1:
                return f"{text} at {_path(thread[0], own_frame(thread))} in another thread, a C call that keeps the GIL{waiting}"
    if len(others) == 1:
        where = own_frame(others[0])
        return f"another thread, which keeps the GIL at {where}{waiting}"
    return f"{len(others) or 'other'} threads, which keep the GIL{waiting}"


def _caught(trial: Trial) -> str:
    clause = _stopping_clause(trial)
    stack = threads(trial.stacks)
    now = own_frame(stack[0]) if stack else None
    at = "" if now is None else f"; it is now at {now}"
    if clause is not None and clause.kind == "except":
        return f"`{clause.where.source}` at {clause.where}{at}"
    if clause is not None:
        kept = f", because of {trial.detail}" if trial.detail else ""
        return f"the `{clause.kind}` at {clause.where} (`{clause.where.source}`) does not end{kept}{at}"
    if (function := _discarded(trial)) is not None:
        return f"the interpreter, which discards exceptions in calls of its own: it called {function}, a finalizer or a hook{at}"
    if trial.handler:
        return f"the handler set at {trial.handler} returned without ending the workload{at}"
    return f"code that could not be found{at}"


def _waiting(trial: Trial) -> str:
    return f"the wait{_at(trial)}; wait with a timeout, in a loop, to avoid this"


def _at(trial: Trial) -> str:
    if not trial.place:
        return ""
    return f" at {Frame(*trial.place[:3])}"


def _thread_place(trial: Trial) -> str:
    """Where another thread is in the user's code; empty if none is."""
    frames = [own_frame(thread) for thread in threads(trial.stacks)[1:] if thread]
    where = next((frame for frame in frames if frame is not None and not foreign(frame.file)), None)
    return f", at {where}" if where is not None else ""


def _path(inner: Frame, own: Frame | None) -> str:
    return str(inner) if own is None or own == inner else f"{inner}, called from {own}"
