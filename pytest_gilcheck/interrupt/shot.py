"""One shot: start the workload, send it a signal at its moment, and watch from outside what becomes of it.

All clocks are the sender's or the kernel's. What keeps a shot honest:

- A busy machine can keep a process from its core: time that its threads were ready and denied one is no fault of the code.
- A dump of the stacks is a signal itself, and would wake a main thread that missed the first one. So a sleeping main thread is
  looked at from outside only, until a second signal has shown whether the first was lost.
- The stack dump, the second signal and the questions after it come only once the shot has failed its claim.
"""

from __future__ import annotations

import json
import signal
import time
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from enum import StrEnum
from typing import Any

from ..core import warden
from ..core.packing import unpacked
from . import outside
from .claim import InterruptClaim
from .sending import probe, send
from .starting import Process, Start
from .target import Instrument

_PATIENCE = 3.0  # times `within`, and at least
_LEAST_PATIENCE = 0.6  # seconds, until a signal that was not seen gets a second one after it
_SECOND_CHANCE = 0.3  # seconds for that one
_CLEARLY = 3.0  # times `within`, from which one late signal is enough
_SURVIVORS_GRACE = 1.0  # seconds that child processes get to follow it


class Trouble(StrEnum):
    """What was wrong with one shot."""

    DEAF = "deaf"  # the main thread never looked
    LATE = "late"  # it looked too late
    LOST = "lost"  # it slept on, until a second signal
    BLOCKED = "blocked"
    IGNORED = "ignored"
    REPLACED = "replaced"  # the handler is no longer Python's
    SWALLOWED = "swallowed"  # the handler ran, and the workload goes on
    UNWINDING = "stuck in cleanup"
    LINGERS = "lingers"  # the workload was left, and the process goes on
    LEFT_BEHIND = "left behind"  # processes outlive it
    CRASHED = "crashed"
    ENDED = "ended"  # by itself, before the signal, past its own last line
    MISSED = "missed"  # it was over before the signal
    BUSY = "busy"  # the machine kept it from its core
    UNTOLD = "untold"  # it ended later than the limit, and without a word: it closed our pipe, say


UNDECIDED = frozenset({Trouble.MISSED, Trouble.BUSY, Trouble.ENDED, Trouble.UNTOLD})


@dataclass(frozen=True)
class Shot:
    """What became of one signal. Times are ``monotonic_ns``; None is what did not happen.

    Attributes:
        number, moment, pid: the signal, seconds after the workload began, and the process.
        sent, entered, left, gone: the signal was sent, its Python handler entered, the workload left, the process gone.
        how: how the workload was left: ``"KeyboardInterrupt"``, ``"returned"``, ...
        place: what the handler interrupted: file, line, function, last line and columns; may be empty.
        handler: where the handler was set by the code under test, ``"file:line"``; empty for the initial one.
        status: exit status, or minus the signal that killed it.
        denied: seconds its threads were denied a core until the handler was entered, or until we gave up.
        trouble: None if all went well.
        words: what is known of the trouble.
        stacks: every thread's stack while it lasted.
        dozed: the main thread used next to no CPU meanwhile, and woke again and again: it waits for the GIL, or naps in C.
        others_busy: its other threads did use their cores.
        notes: what the instrument had to say.
    """

    number: int
    moment: float
    pid: int = 0
    sent: int = 0
    entered: int | None = None
    left: int | None = None
    gone: int | None = None
    how: str = ""
    place: tuple[Any, ...] = ()
    handler: str = ""
    status: int | None = None
    denied: float = 0.0
    trouble: Trouble | None = None
    words: str = ""
    stacks: str = ""
    dozed: bool = False
    others_busy: bool = False
    notes: tuple[tuple[Any, ...], ...] = ()

    @property
    def delivery(self) -> float | None:
        """Seconds from the signal to the first line of its handler, or to the end of a process that it killed by default."""
        seen = self.gone if self.entered is None and self.status == -self.number else self.entered
        return None if seen is None else max(0, seen - self.sent) / 1e9

    @property
    def unwinding(self) -> float | None:
        """Seconds from there to the end of the workload."""
        return None if self.entered is None or self.left is None else (self.left - self.entered) / 1e9

    @property
    def exit(self) -> float | None:
        """Seconds to the end of the process: from the end of the workload, or from the last that was seen of it."""
        return None if self.gone is None else max(0, self.gone - (self.left or self.entered or self.sent)) / 1e9

    @property
    def lateness(self) -> float | None:
        """Delivery, less what the machine is to blame for."""
        return None if self.delivery is None else max(0.0, self.delivery - self.denied)


def clearly_late(shot: Shot, claim: InterruptClaim) -> bool:
    """Whether its lateness alone refutes the claim, seen once."""
    return (shot.lateness or 0.0) > _CLEARLY * claim.within


@dataclass
class Log:
    """The notes of one target, as they come in."""

    process: Process
    began: int | None = None
    entered: list[tuple[int, tuple[Any, ...], str]] = field(default_factory=list)  # when, place, handler's origin
    left: tuple[int, str, list[list[str]]] | None = None
    error: BaseException | None = None
    probed: tuple[int, tuple[Any, ...], list[str]] | None = None
    others: list[tuple[Any, ...]] = field(default_factory=list)

    @property
    def gone(self) -> bool:
        return self.process.gone_at is not None

    def wait(self, seconds: float, until: Callable[[Log], object]) -> bool:
        """Take in notes until the condition holds; False if the seconds were over first."""
        end = time.monotonic() + seconds
        while not until(self):
            if self.gone or (left := end - time.monotonic()) <= 0:
                return bool(until(self))
            for note in self.process.hear(left):
                self._take(*json.loads(note))
        return True

    def _take(self, kind: str, *words: Any) -> None:
        match kind:
            case "began":
                self.began = words[0]
            case "entered":
                self.entered.append((words[0], tuple(words[2]), words[3]))
            case "left":
                self.left = (words[0], words[1], words[2])
                self.error = unpacked(words[3]) if words[3] else None
            case "probed":
                self.probed = (words[0], tuple(words[1]), words[2])
            case _:
                self.others.append((kind, *words))


@dataclass(frozen=True)
class Rehearsal:
    """The workload without any signal.

    Attributes:
        seconds: how long it takes; None if it was still running after the time it was given.
        error: what it raised; None if nothing.
        trouble, words: crashed or ended by itself.
    """

    seconds: float | None
    error: BaseException | None = None
    trouble: Trouble | None = None
    words: str = ""


def rehearse(start: Start, seconds: float, limit: float) -> Rehearsal:
    """Run the workload undisturbed, for as long as the moments of the signals will be spread over.

    Args:
        limit: seconds that what comes before the workload may take.
    """
    warden.start()
    with outside.adoption():
        return _rehearsed(start, seconds, limit)


def _rehearsed(start: Start, seconds: float, limit: float) -> Rehearsal:
    process = start()
    log = Log(process)
    trace = ""
    try:
        if not log.wait(limit, lambda log: log.began or log.left):
            return Rehearsal(None, trouble=Trouble.CRASHED, words=_death(process) or f"its setup did not end within {limit:g} s")
        log.wait(seconds, lambda log: log.left or log.gone)
        if log.left is not None:
            return Rehearsal((log.left[0] - (log.began or log.left[0])) / 1e9, error=log.error)
        if not log.gone:
            return Rehearsal(None)
    finally:
        trace = process.end()
    assert process.status is not None, "it is gone"
    trouble = Trouble.CRASHED if process.status < 0 else Trouble.ENDED
    return Rehearsal(None, trouble=trouble, words=_death(process) + (f"\n{trace}" if trace else ""))


def fire(
    start: Start, number: signal.Signals, moment: float, claim: InterruptClaim, limit: float, instrument: Instrument | None = None
) -> Shot:
    """One shot.

    Args:
        moment: seconds after the workload began.
        limit: seconds that what comes before the workload may take.
        instrument: for a shot that is fired to find a cause.
    """
    warden.start()  # before there is an adoption: it is nobody's child, and not to be ours
    with outside.adoption():
        return _fired(start, number, moment, claim, limit, instrument)


def _fired(
    start: Start, number: signal.Signals, moment: float, claim: InterruptClaim, limit: float, instrument: Instrument | None
) -> Shot:
    process = start(instrument)
    log = Log(process)
    shot = Shot(number, moment, pid=process.pid)
    survivors: list[str] = []
    try:
        if not log.wait(limit, lambda log: log.began or log.left) or log.began is None:
            shot = replace(shot, trouble=Trouble.MISSED, words="it did not begin")
        else:
            log.wait(log.began / 1e9 + moment - time.monotonic(), lambda log: log.left or log.gone)
            if log.left is not None or log.gone:
                shot = replace(shot, **_over_before(log))
            else:
                shot = _watched(log, shot, claim, instrument or Instrument())
    finally:
        if log.gone:
            grace = claim.exits_within - (time.monotonic_ns() - (shot.entered or shot.sent)) / 1e9
            survivors = outside.survivors(process.pid, max(_SURVIVORS_GRACE, grace) if shot.sent else 0.0)
        trace = process.end()
    if log.entered and shot.entered is None:
        entered, place, handler = log.entered[0]
        shot = replace(shot, entered=entered, place=place, handler=handler)
    if shot.status is not None and shot.status < 0 and shot.status != -number:
        shot = replace(shot, trouble=Trouble.CRASHED, words=f"{_death(process)} after the signal", stacks=trace)
    if survivors and shot.trouble is None:
        shot = replace(shot, trouble=Trouble.LEFT_BEHIND, words=", ".join(survivors))
    return replace(shot, notes=tuple(log.others))


def _watched(log: Log, shot: Shot, claim: InterruptClaim, instrument: Instrument) -> Shot:
    process, number = log.process, shot.number
    before = outside.look(process.pid)
    sent = send(process.pid, number)
    log.wait(claim.within, lambda log: log.entered or log.gone)  # at once: the child may be waiting for this very core
    shot = replace(shot, sent=sent)
    if not log.entered and not log.gone:
        instrument.stuck()
        shot = _unheard(log, shot, claim, before)
    if log.entered and shot.entered is None:
        entered, place, handler = log.entered[0]
        shot = replace(shot, entered=entered, place=place, handler=handler)
        if (shot.delivery or 0) > claim.within and shot.trouble is None:
            denied = _denied(before, outside.look(process.pid), shot.denied)
            shot = replace(shot, denied=denied, trouble=Trouble.LATE)
            shot = shot if (shot.lateness or 0) > claim.within else replace(shot, trouble=Trouble.BUSY)
    if shot.trouble in (None, Trouble.LATE, Trouble.BUSY, Trouble.LOST) and not log.gone:
        late = shot.trouble is Trouble.LATE and clearly_late(shot, claim)
        shot = _leaving(log, shot, claim)
        if shot.trouble is Trouble.SWALLOWED:
            instrument.stuck()
            if late:  # what came first is proved: the rest may come of it (a big list that is freed on the way out, say)
                shot = replace(shot, trouble=Trouble.LATE)
    if log.left is not None:
        shot = replace(shot, left=log.left[0], how=log.left[1])
    shot = replace(shot, gone=process.gone_at, status=process.status)
    if shot.gone is not None and shot.entered is None and shot.trouble is None:
        return _without_a_word(shot, claim)
    return shot


def _without_a_word(shot: Shot, claim: InterruptClaim) -> Shot:
    """The process is gone, and no handler told of itself: killed by the signal's default, or past our handler."""
    assert shot.gone is not None, "it is gone"
    after = (shot.gone - shot.sent) / 1e9
    if after <= claim.within:
        return shot
    if shot.status == -shot.number:
        return replace(shot, trouble=Trouble.LATE if (shot.lateness or 0) > claim.within else Trouble.BUSY)
    return replace(shot, trouble=Trouble.UNTOLD, words=f"its process was gone {after:.2g} s later, and no handler told of itself")


def _unheard(log: Log, shot: Shot, claim: InterruptClaim, before: outside.Look | None) -> Shot:
    """The handler was not entered in time: find out why, without waking what may only have missed the signal."""
    process, number = log.process, shot.number
    first = outside.look(process.pid)
    dumped = ""
    if first is not None and first.running:  # it computes: nothing to wake
        dumped = process.stacks()
    patience = max(_LEAST_PATIENCE, _PATIENCE * claim.within) - claim.within
    log.wait(patience, lambda log: log.entered or log.gone)
    shot = replace(shot, stacks=dumped)
    if log.entered or log.gone:
        return shot
    now = outside.look(process.pid)
    if now is not None and number in now.blocked and number not in now.pending:
        return shot  # it was taken, by sigwait: what comes of it is seen from the end
    if now is not None and number in now.blocked:
        return replace(shot, trouble=Trouble.BLOCKED, words="the main thread blocks it (pthread_sigmask)", stacks=process.stacks())
    if now is not None and number in now.ignored:
        return replace(shot, trouble=Trouble.IGNORED, words="the process ignores it (SIG_IGN)", stacks=process.stacks())
    slept = first is None or now is None or now.asleep_since(first)
    denied = _denied(before, now, 0.0)
    shot = replace(shot, denied=denied, dozed=not slept and _idled(first, now, patience), others_busy=_worked(first, now, patience))
    if slept:
        send(process.pid, number)
        if log.wait(_SECOND_CHANCE, lambda log: log.entered or log.gone) and log.entered:
            entered, place, handler = log.entered[0]
            shot = replace(shot, entered=entered, place=place, handler=handler)
            return replace(shot, trouble=Trouble.LOST, words="the main thread slept on until a second one was sent")
    probe(process.pid)
    log.wait(_SECOND_CHANCE, lambda log: log.probed or log.entered or log.gone)
    if log.probed and not log.entered:
        words = "; ".join(log.probed[2]) or "the main thread looks at signals, and no handler of this one is run"
        return replace(shot, trouble=Trouble.REPLACED, words=words, place=log.probed[1])
    if log.entered or log.gone:
        return shot
    unseen = (time.monotonic_ns() - shot.sent) / 1e9
    trouble = Trouble.DEAF if unseen - denied > claim.within else Trouble.BUSY
    return replace(shot, trouble=trouble, words=f"{unseen:.2g}", stacks=dumped or process.stacks())


def _leaving(log: Log, shot: Shot, claim: InterruptClaim) -> Shot:
    """The handler was entered: wait for the end of the process."""
    process = log.process
    entered = (shot.entered or shot.sent) / 1e9
    before = outside.look(process.pid)
    log.wait(entered + claim.exits_within - time.monotonic(), lambda log: log.gone)
    if log.gone:
        return shot
    now, seconds = outside.look(process.pid), time.monotonic() - entered
    denied = _denied(before, now, 0.0)
    slept = before is None or now is None or now.asleep_since(before)
    shot = replace(shot, dozed=not slept and _idled(before, now, seconds), others_busy=_worked(before, now, seconds))
    if time.monotonic() - entered - denied < claim.exits_within / 2:  # it had no core for more than half of its time
        return replace(shot, trouble=Trouble.BUSY, denied=denied)
    kept = [f"{name!r}, {kind}" for name, kind in (log.left[2] if log.left else [])]
    kept += [f"child process {child}" for child in outside.children(process.pid)]
    stacks = process.stacks()
    if log.left is not None:
        return replace(shot, trouble=Trouble.LINGERS, words=", ".join(kept) or "an exit handler", stacks=stacks)
    return replace(shot, trouble=Trouble.SWALLOWED, words=", ".join(kept), stacks=stacks)


def _over_before(log: Log) -> dict[str, Any]:
    if log.left is not None:
        return {"trouble": Trouble.MISSED, "words": "it was over before the signal"}
    status = log.process.status or 0
    return {"trouble": Trouble.CRASHED if status < 0 else Trouble.ENDED, "words": f"{_death(log.process)} before the signal"}


def _denied(before: outside.Look | None, after: outside.Look | None, known: float) -> float:
    return known if before is None or after is None else max(0.0, after.denied - before.denied)


def _idled(first: outside.Look | None, now: outside.Look | None, seconds: float) -> bool:
    """Whether the main thread used next to no CPU from one look to the other, for so many seconds."""
    return first is not None and now is not None and now.main_cpu - first.main_cpu < seconds / 4


def _worked(first: outside.Look | None, now: outside.Look | None, seconds: float) -> bool:
    return first is not None and now is not None and now.others_cpu - first.others_cpu > seconds / 4


def _death(process: Process) -> str:
    if process.status is None:
        return ""
    if process.status < 0:
        return f"the process was killed by {signal.Signals(-process.status).name}"
    return f"the process exited with status {process.status} by itself (os._exit?)"
