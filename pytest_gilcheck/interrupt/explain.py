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
from .culprit import Clause, Frame, call_text, clause_around, expression, left_at, own_frame, statement, stop, threads, with_at
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
            return _gil_keeper(threads(trial.stacks), _may_keep_gil(calls, main))
        case SignalOutcome.SWALLOWED | SignalOutcome.UNWINDING:
            return _caught(trial)
        case SignalOutcome.LOST:
            return _waiting(trial)
        case SignalOutcome.LINGERS if not trial.detail:
            return _at_exit(trial)
        case SignalOutcome.LINGERS | SignalOutcome.LEFT_BEHIND:
            return trial.detail + _births(trial) + _thread_place(trial)
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
    return bool(_caught_notes(examined)) or _ended_in_c(examined) is not None


def refined(trial: Trial, examined: Trial) -> Trial:
    """The trial with the notes of an examined one: swallowed if code caught the interrupt, otherwise stuck in cleanup."""
    trial = replace(trial, notes=examined.notes)
    return replace(
        trial, outcome=SignalOutcome.SWALLOWED if _was_swallowed(trial, _stopping_clause(trial)) else SignalOutcome.UNWINDING
    )


def _was_swallowed(trial: Trial, clause: Clause | None) -> bool:
    if clause is None:  # no code caught it: a handler of the workload's returned, or C code ended the exception
        return bool(trial.handler) or _ended_in_c(trial) is not None
    return clause.kind == "except" or clause.swallows


def _caught_notes(trial: Trial) -> list[tuple[Any, ...]]:
    """The notes about clauses, without those that passed the exception on."""
    found: list[tuple[Any, ...]] = []
    for note in trial.notes:
        if note[0] == "caught" and not ours(note[1]):
            found.append(note)
        elif note[0] == "unwound":
            found = [caught for caught in found if caught[1:3] != note[1:3]]
    return found


def _ended_in_c(trial: Trial) -> str | None:
    """Describe the C code that ended the exception; None if it is not known to be C code."""
    cleared = next((note for note in trial.notes if note[0] == "cleared"), None)
    discarded = next((note for note in trial.notes if note[0] == "discarded"), None)
    if cleared is not None and (discarded is None or "callback" in discarded[2]):
        where = Frame(*cleared[2:5])
        return f"the C code called by `{statement(where)}` at {where}, which discards the exceptions of its callback {cleared[1]}"
    if discarded is not None:
        what = "a callback of C code" if "callback" in discarded[2] else "a finalizer or a hook"
        came = f", in which it came at {Frame(*discarded[3:6])}" if len(discarded) > 3 else ""
        return f"the interpreter, which discards exceptions in calls of its own: it called {discarded[1]}, {what}{came}"
    return None


def _converted(trial: Trial) -> str:
    """Describe the code that raised another exception in place of the interrupt, to follow a clause; empty if none did."""
    found = next((note for note in trial.notes if note[0] == "converted"), None)
    replaced: list[tuple[Any, ...]] = []
    for note in trial.notes:
        if note[0] == "replaced":
            replaced.append(note)
        elif note[0] == "restored" and replaced:
            replaced.pop()
    text = ""
    if found is not None:
        where = Frame(*found[2:5])
        text = f", after `{statement(where)}` at {where} had turned the exception of its callback {found[1]} into {found[5]}"
    if replaced:
        first, last = replaced[0], replaced[-1]  # by the clause that should have let the interrupt pass; what was caught
        where = Frame(*first[1:4])
        text += f", after `{statement(where)}` at {where} had raised {first[4]} in place of the interrupt"
        if last is not first:
            where = Frame(*last[1:4])
            text += f", and `{statement(where)}` at {where} then {last[4]}"
    return text


def _stopping_clause(trial: Trial) -> Clause | None:
    """The clause that stopped the exception.

    The examined run shows it; where it lost the trace, the line that the workload is at does, if that belongs to a ``with`` or
    is in a ``finally``. An ``except`` does not show in this way.
    """
    stack = (threads(trial.stacks) or [[]])[0]
    caught = _caught_notes(trial)
    traced = None
    if caught:
        file, function, lines, came_at = caught[-1][1:]
        traced = stop(file, function, lines) or with_at(file, function, came_at)
    if traced is not None and ("swallowed", *caught[-1][1:3]) in trial.notes:
        return replace(left_at(traced, caught[-1][3]), swallows=True)
    if not caught and _ended_in_c(trial) is not None:
        return None
    where = own_frame(stack)
    seen = None if where is None else stop(where.file, where.function, [where.line])
    if seen is None or seen.kind == "except":
        return traced or (None if trial.handler else clause_around(stack))
    if traced is not None and (traced.kind == "except" or any(frame.file == traced.where.file for frame in stack)):
        return traced
    return seen


def sleeps_in_restarted_call(trial: Trial) -> bool:
    """Whether the system is known to have restarted the call in which the main thread slept after the signal.

    A signal after which it restarts none and that woke the thread, where two of this one had not, proves it. If the call returned
    by itself, it is known only of a call that looks for signals: without a restart the first one would have ended it.
    """
    return trial.restarts and trial.slept and bool(trial.place) and (trial.woken or _waits(_call_at(trial)))


def _restarts(trial: Trial) -> str:
    name = signal_name(trial.number)
    return f"the system restarts after {name} (signal.siginterrupt({name}, False))"


def _call_at(trial: Trial) -> str:
    """The source of what the handler interrupted."""
    file, line, function, *rest = trial.place
    return expression(file, line, *rest) or Frame(file, line, function).source


def _waits(text: str) -> bool:
    """Whether this is a call that looks for signals while it waits."""
    return text.partition("(")[0].rpartition(".")[2] in WAITING


def _deaf(trial: Trial, calls: Sequence[CCall], main: int | None) -> str:
    stack = threads(trial.stacks)
    if sleeps_in_restarted_call(trial):
        where = Frame(*trial.place[:3])
        own = own_frame(stack[0]) if stack and stack[0] and stack[0][0] == where else None
        text = f"`{_call_at(trial)}` at {_path(where, own)}"
        return f"{text}, a call that {_restarts(trial)}, so that the interpreter does not look for signals"
    if trial.restarts and trial.slept:
        return f"{_not_looking(trial, stack, calls, main)}, or of a system call that {_restarts(trial)}"
    return _not_looking(trial, stack, calls, main)


def _not_looking(trial: Trial, stack: list[list[Frame]], calls: Sequence[CCall], main: int | None) -> str:
    running = next((call for call in calls if call.thread == main), None)
    checks = running is not None and running.name.rpartition(".")[2] in WAITING  # with the GIL it would have handled the signal
    if trial.dozed and build() == GIL and len(stack) > 1 and (trial.others_busy or checks):
        return _gil_keeper(stack, _may_keep_gil(calls, main))
    inner = stack[0][0] if stack and stack[0] else None
    own = own_frame(stack[0]) if stack else None
    kept = ""  # where another thread may sleep while it keeps the GIL, nothing tells which of them it was
    if trial.dozed and build() == GIL and len(stack) > 1 and (running is None or _may_keep_gil(calls, main)):
        kept = ", or because of another thread, which kept the GIL"
    if running is not None and inner is not None and (call := call_text(inner, running)):
        return f"{call} at {_path(inner, own)}, a C call that did not check for signals{kept}"
    if inner is not None:  # which part of the line it was, no stack shows
        where = inner if statement(inner) or own is None else own  # there is no source of frozen modules
        text = statement(where)
        return f"{f'`{text}` at ' if text else ''}{_path(where, own)}, which runs in C and did not check for signals{kept}"
    if trial.place:
        where = Frame(*trial.place[:3])
        text = _call_at(trial)
        if build() == GIL and _waits(text):  # it would have handled the signal at once
            kept = "another thread, which kept the GIL, or what ran in C just before"
            if trial.restarts:
                kept += f", or a system call that {_restarts(trial)}"
            return f"{kept}: the main thread was in `{text}` at {where}, which waits and checks for signals"
        return f"{f'`{text}` at ' if text else ''}{where}, or what ran in C just before"
    return "the main thread, at an unknown place"


def _may_keep_gil(calls: Sequence[CCall], main: int | None) -> list[CCall]:
    """The calls of other threads that may keep the GIL, the oldest first: those that wait have released it."""
    found = [call for call in calls if call.thread != main and call.name.rpartition(".")[2] not in WAITING]
    return sorted(found, key=lambda call: call.since)


def _gil_keeper(stack: list[list[Frame]], calls: list[CCall]) -> str:
    others = [thread for thread in stack[1:] if thread]
    waiting = f" (the main thread waited for the GIL at {own_frame(stack[0])})" if stack and stack[0] else ""
    found = dict.fromkeys(
        f"{text} at {_path(thread[0], own_frame(thread))}"
        for call in calls
        for thread in others
        if (text := call_text(thread[0], call))
    )
    if len(found) == 1:
        return f"{next(iter(found))} in another thread, a C call that keeps the GIL{waiting}"
    if found:
        return f"one of these C calls in other threads, which keeps the GIL: {' and '.join(list(found)[:3])}{waiting}"
    if len(others) == 1:
        where = own_frame(others[0])
        return f"another thread, which keeps the GIL at {where}{waiting}"
    return f"{len(others) or 'other'} threads, which keep the GIL{waiting}"


def _caught(trial: Trial) -> str:
    clause = _stopping_clause(trial)
    stack = threads(trial.stacks)
    now = own_frame(stack[0]) if stack else None
    at = "" if now is None else f"; it is now at {now}{_awaits(trial, clause)}"
    if clause is not None and clause.kind == "except":
        others = _others(stack) if foreign(clause.where.file) else ""  # a library may only wait for what does not end
        return f"`{clause.where.source}` at {clause.where}{_converted(trial)}{at}{others}"
    if clause is not None and clause.swallows:
        how = "suppresses it" if clause.kind == "with" else "discards it with a return, break or continue"
        return f"the `{clause.kind}` at {clause.where} (`{clause.where.source}`), which {how}{_converted(trial)}{at}"
    if clause is not None:
        kept = f", because of {trial.detail}" if trial.detail else ""
        return f"the `{clause.kind}` at {clause.where} (`{clause.where.source}`) does not end{kept}{_workers(stack)}{at}"
    if (ended := _ended_in_c(trial)) is not None:
        return f"{ended}{at}"
    if (program := next((note[1] for note in trial.notes if note[0] == "became"), None)) is not None:
        return f"the program {program}, which the process became (os.exec*) and which does not end"
    if trial.handler and not foreign(trial.handler):
        return f"the handler set at {trial.handler} returned without ending the workload{at}"
    if trial.handler and ("returned",) in trial.notes:
        who = f"the handler of a library, set at {trial.handler}: it returned, and nothing ended the workload"
        return f"{who}{at}{_others(stack)}"
    if trial.handler:
        return f"code that could not be found, although the handler of a library ran (set at {trial.handler}){at}{_others(stack)}"
    inner = stack[0][0] if stack and stack[0] else None
    if inner is not None and trial.place[:2] == (inner.file, inner.line):  # C code that looks for signals, and then does not return
        return f"`{statement(inner)}` at {_path(inner, now)}, in which the signal was handled and out of which no exception came"
    return f"code that could not be found{at}{_others(stack)}"


def _awaits(trial: Trial, clause: Clause | None) -> str:
    """Where up to two coroutines of the user's wait, to follow where the main thread is; empty if only at the clause."""
    places = dict.fromkeys(
        str(Frame(*place)) for place in trial.awaits if clause is None or place[:2] != (clause.where.file, clause.where.line)
    )
    return f", and waits at {' and at '.join(list(places)[:2])}" if places else ""


def _workers(stack: list[list[Frame]]) -> str:
    """Where the busy worker threads of executors are, to follow what waits for them; empty without any."""
    busy = [thread for thread in stack[1:] if len(thread) > 1 and any(f.function.endswith("_worker") for f in thread[1:])]
    places = dict.fromkeys(_task_place(thread) for thread in busy)
    return f", because of a worker thread of an executor, which is at {' and at '.join(list(places)[:2])}" if places else ""


def _task_place(thread: list[Frame]) -> str:
    """Where a worker thread of an executor is: in the user's code, or in the function of a library that it was given."""
    worker = next(number for number, frame in enumerate(thread) if number and frame.function.endswith("_worker"))
    task = [frame for frame in thread[:worker] if "concurrent" not in frame.file] or thread[:1]
    own = next((frame for frame in task if not foreign(frame.file)), None)
    return _path(task[0], task[-1]) if own is None else str(own)


def _others(stack: list[list[Frame]]) -> str:
    """Where up to two other threads are, to follow a description that does not name the code to blame."""
    places = list(dict.fromkeys(str(own_frame(thread)) for thread in stack[1:] if thread))[:2]
    return f"; {'another thread is' if len(places) == 1 else 'other threads are'} at {' and at '.join(places)}" if places else ""


_MOST_BIRTHS = 3  # places
_RUNS_NO_PYTHON = "<no Python frame>"  # of `faulthandler`, for the main thread at the interpreter's end


def _at_exit(trial: Trial) -> str:
    """What the main thread does after the workload has ended: no thread or process keeps this one."""
    stacks = threads(trial.stacks)
    if _RUNS_NO_PYTHON in trial.stacks and (others := [thread for thread in stacks if thread]):  # a daemon thread: nobody joins it
        inner = others[0][0]
        return f"`{statement(inner)}` at {_path(inner, own_frame(others[0]))} in another thread, which did not leave its C code"
    stack = (stacks or [[]])[0]
    hook = next((note[1] for note in reversed(trial.notes) if note[0] == "hook"), "")
    if hook:
        return f"sys.excepthook, which is {hook}" + (f" and is at {own_frame(stack)}" if stack else "")
    if not stack:
        return "C code, such as the freeing of memory, or an exit handler written in C"
    finalizer = next((frame for frame in stack if frame.function.rpartition(".")[2] == "__del__"), None)
    return f"the finalizer at {finalizer}" if finalizer is not None else f"an exit handler, which is at {own_frame(stack)}"


def _waiting(trial: Trial) -> str:
    restarted = f", or its system call, which {_restarts(trial)}" if trial.restarts else ""
    return f"the wait{_at(trial)}{restarted}; wait with a timeout, in a loop, to avoid this"


def _at(trial: Trial) -> str:
    if not trial.place:
        return ""
    return f" at {Frame(*trial.place[:3])}"


def _births(trial: Trial) -> str:
    """Where the workload starts processes, to follow those that are left; empty if it is not known, or says too little."""
    places = list(dict.fromkeys(str(Frame(*note[1:4])) for note in trial.notes if note[0] == "born"))
    if len(places) > _MOST_BIRTHS:
        return ""
    return f"; the workload starts processes at {' and at '.join(places)}" if places else ""


def _thread_place(trial: Trial) -> str:
    """Where a thread that the process waits for is in the user's code; empty if none is. A daemon thread keeps nothing."""
    frames = [own_frame(thread) for thread in threads(trial.stacks, trial.lingering)[1:] if thread]
    where = next((frame for frame in frames if frame is not None and not foreign(frame.file)), None)
    return f", at {where}" if where is not None else ""


def _path(inner: Frame, own: Frame | None) -> str:
    if own is None or own == inner:
        return str(inner)
    return f"{inner}, called from {f'`{text}` at ' if (text := statement(own)) else ''}{own}"
