"""The culprit in words: what kept a signal from being seen, or the process from ending."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from signal import Signals
from typing import Any

from ..core.interpreter import GIL, build
from ..core.origin import foreign, ours
from ..core.steps import WAITING
from .ccalls import CCall
from .claim import InterruptClaim
from .culprit import Frame, Stop, call_text, expression, own_frame, slow_part, statement, stop, threads
from .shot import Shot, Trouble


def culprit(shot: Shot, calls: Sequence[CCall] = (), main: int | None = None) -> str:
    """Who is to blame for this shot's trouble.

    Args:
        calls: the C calls that were running when a signal was not seen.
        main: the native id of the main thread they belong to.
    """
    match shot.trouble:
        case Trouble.DEAF | Trouble.LATE:
            return _deaf(shot, calls, main)
        case Trouble.UNWINDING if calls:
            return _gil_keeper(threads(shot.stacks), [call for call in calls if call.thread != main])
        case Trouble.SWALLOWED | Trouble.UNWINDING:
            return _caught(shot)
        case Trouble.LOST:
            return _waiting(shot)
        case Trouble.LINGERS | Trouble.LEFT_BEHIND:
            return shot.words + _thread_place(shot)
        case Trouble.BLOCKED | Trouble.IGNORED | Trouble.REPLACED | Trouble.CRASHED:
            stack = threads(shot.stacks)
            return shot.words + (f"; it was at {own_frame(stack[0])}" if stack and stack[0] else _at(shot))
        case _:
            return shot.words


def reason(shot: Shot, blamed: str, claim: InterruptClaim) -> str:
    """Why the claim is refuted, in one line with its figures."""
    name = Signals(shot.number).name
    match shot.trouble:
        case Trouble.DEAF:
            return f"deaf: {name} was not seen for {shot.words} s by {blamed}; asked for at most {claim.within:g} s"
        case Trouble.LATE:
            return f"late: {name} was seen after {shot.delivery:.2g} s, for {blamed}; asked for at most {claim.within:g} s"
        case Trouble.LOST:
            return f"lost: {name} was not seen in {(shot.delivery or 0):.2g} s, and then only because of a second one, by {blamed}"
        case Trouble.BLOCKED | Trouble.IGNORED | Trouble.REPLACED:
            return f"{shot.trouble}: {name} is not seen: {blamed}"
        case Trouble.SWALLOWED:
            went_on = "to its own end" if shot.how else f"for {claim.exits_within:g} s"
            return f"swallowed: {name} was seen, and the workload went on {went_on}: {blamed}"
        case Trouble.UNWINDING:
            return f"stuck in cleanup: {name} was seen, and the workload was not left within {claim.exits_within:g} s: {blamed}"
        case Trouble.LINGERS:
            return f"lingers: {name} ended the workload, and {claim.exits_within:g} s later the process is kept by {blamed}"
        case Trouble.LEFT_BEHIND:
            return f"left behind: {name} ended the process, which left running: {blamed}"
        case _:
            return f"{shot.trouble}: {blamed}"


def told_who_caught(examined: Shot) -> bool:
    """Whether an examined shot saw the exception being stopped in the workload, or thrown away by the interpreter."""
    return bool(_caught_notes(examined)) or _discarded(examined) is not None


def refined(shot: Shot, examined: Shot) -> Shot:
    """The shot with what an examined one tells of who caught the interrupt; stuck in cleanup if nobody did."""
    shot = replace(shot, notes=examined.notes)
    return replace(shot, trouble=Trouble.SWALLOWED if _ends_here(shot, _stop(shot)) else Trouble.UNWINDING)


def _ends_here(shot: Shot, clause: Stop | None) -> bool:
    if clause is None:  # nobody stopped it: a handler that returned, if it is not Python's own; or the interpreter did
        return bool(shot.handler) or _discarded(shot) is not None
    return clause.kind == "except"


def _caught_notes(shot: Shot) -> list[tuple[Any, ...]]:
    return [note for note in shot.notes if note[0] == "caught" and not ours(note[1])]


def _discarded(shot: Shot) -> str | None:
    return next((note[1] for note in shot.notes if note[0] == "discarded"), None)


def _stop(shot: Shot) -> Stop | None:
    """Which clause stopped the exception: by the examined run, or, where that lost it on the way, by the line that the workload is
    at, if that is of a ``with`` or in a ``finally``. An ``except`` cannot be told like that."""
    stack = (threads(shot.stacks) or [[]])[0]
    caught = _caught_notes(shot)
    told = stop(*caught[-1][1:4]) if caught else None
    where = own_frame(stack)
    seen = None if where is None else stop(where.file, where.function, [where.line])
    if seen is None or seen.kind == "except":
        return told
    if told is not None and (told.kind == "except" or any(frame.file == told.where.file for frame in stack)):
        return told
    return seen


def _deaf(shot: Shot, calls: Sequence[CCall], main: int | None) -> str:
    stack = threads(shot.stacks)
    running = next((call for call in calls if call.thread == main), None)
    looks = running is not None and running.name.rpartition(".")[2] in WAITING  # it would have seen the signal, given the GIL
    if shot.dozed and build() == GIL and len(stack) > 1 and (shot.others_busy or looks):
        return _gil_keeper(stack, [call for call in calls if call.thread != main])
    inner = stack[0][0] if stack and stack[0] else None
    own = own_frame(stack[0]) if stack else None
    if running is not None and inner is not None:
        return f"{call_text(inner, running.name)} at {_path(inner, own)}, a C call that did not look for signals"
    if inner is not None and (part := slow_part(inner)):
        return f"`{part}` at {_path(inner, own)}, which runs in C and did not look for signals"
    if inner is not None:
        return f"`{statement(inner)}` at {_path(inner, own)}"
    if shot.place:
        file, line, function, *rest = shot.place
        part = expression(file, line, *rest)
        where = Frame(file, line, function)
        return f"`{part or where.source}` at {where}, or what ran in C just before"
    return "the main thread, wherever it was"


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
    return f"{len(others) or 'other'} threads that keep the GIL from it{waiting}"


def _caught(shot: Shot) -> str:
    clause = _stop(shot)
    stack = threads(shot.stacks)
    now = own_frame(stack[0]) if stack else None
    at = "" if now is None else f"; it is now at {now}"
    if clause is not None and clause.kind == "except":
        return f"`{clause.where.source}` at {clause.where}{at}"
    if clause is not None:
        kept = f", for {shot.words}" if shot.words else ""
        return f"the `{clause.kind}` at {clause.where} (`{clause.where.source}`) does not end{kept}{at}"
    if (function := _discarded(shot)) is not None:
        return f"the interpreter, which discards what is raised in a call of its own ({function}, for a finalizer or a hook){at}"
    if shot.handler:
        return f"the handler set at {shot.handler} returned, and nothing ended{at}"
    return f"whatever caught it{at}"


def _waiting(shot: Shot) -> str:
    return f"the wait{_at(shot)}; a wait with a timeout, in a loop, is immune"


def _at(shot: Shot) -> str:
    if not shot.place:
        return ""
    return f" at {Frame(*shot.place[:3])}"


def _thread_place(shot: Shot) -> str:
    """Where the other threads are: the first that is in code of the user's."""
    frames = [own_frame(thread) for thread in threads(shot.stacks)[1:] if thread]
    where = next((frame for frame in frames if frame is not None and not foreign(frame.file)), None)
    return f", at {where}" if where is not None else ""


def _path(inner: Frame, own: Frame | None) -> str:
    return str(inner) if own is None or own == inner else f"{inner}, called from {own}"
