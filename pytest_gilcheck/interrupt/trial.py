"""What became of one signal that was sent to a workload."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from typing import Any

from .claim import InterruptClaim

CHILD = "child process"  # in the detail of a trial, before the name of one
_CLEARLY = 3.0  # times `within`: one signal that is so late is proof enough


class SignalOutcome(StrEnum):
    """What went wrong with one signal."""

    DEAF = "deaf"  # the main thread did not check for signals
    LATE = "late"  # it checked too late
    LOST = "lost"  # it slept on, until a second signal came
    BLOCKED = "blocked"  # it blocks the signal
    IGNORED = "ignored"  # the process ignores the signal
    REPLACED = "replaced"  # the handler is no longer Python's
    SWALLOWED = "swallowed"  # the handler ran, and the workload continued
    UNWINDING = "stuck in cleanup"  # the handler ran, and a `with` or `finally` did not end
    LINGERS = "lingers"  # the workload ended, and the process did not
    LEFT_BEHIND = "left behind"  # processes that it started outlive it
    CRASHED = "crashed"
    ENDED = "ended"  # the process exited by itself before the signal, in the middle of the workload
    MISSED = "missed"  # the workload had ended before the signal
    BUSY = "busy"  # the machine denied the process a core
    UNREPORTED = "unreported"  # the process exited too late and without a report, or its exit status is unknown


UNDECIDED = frozenset({SignalOutcome.MISSED, SignalOutcome.BUSY, SignalOutcome.ENDED, SignalOutcome.UNREPORTED})


@dataclass(frozen=True)
class Trial:
    """One signal, and what became of it. Times are ``time.monotonic_ns``; None is what did not happen.

    Attributes:
        number, moment, pid: the signal, seconds after the beginning of the workload, and the process.
        sent, entered, left, gone: when the signal was sent, its Python handler was entered, the workload ended, and the process
            exited.
        left_by: how the workload ended: ``"KeyboardInterrupt"``, ``"returned"``, ...; empty if it did not.
        place: what the handler interrupted: file, line, function, last line and columns; may be empty.
        handler: where the code under test set the handler, ``"file:line"``; empty for the initial handler.
        status: exit status, or minus the number of the signal that killed the process; None if it did not exit, or unknown.
        denied: seconds in which its threads were denied a core, until the handler was entered or the trial was given up.
        outcome: None if all went well.
        detail: what is known about the outcome, as text.
        disposition: what the process did with a signal that was not handled in time: "blocked", "caught", or "".
        lingering: idents of the threads that the process waits for before it exits.
        stacks: the stacks of all threads at that time.
        dozed: whether the main thread used next to no CPU and woke again and again: it waited for the GIL, or slept briefly in C.
        others_busy: whether its other threads used their cores.
        awaits: where coroutines of the user's were suspended at that time, each as (file, line, function).
        notes: what the instrument reported.
        unhandled: seconds for which the signal was not handled, when the trial was given up; None if it was handled.
        restarts: whether the system restarts its calls after this signal (``signal.siginterrupt``), as its handler found.
        slept: whether the main thread is known to have slept without a break while the signal was not handled.
        woken: whether two of this signal had no effect, and the next one after which calls are not restarted woke the main thread.
    """

    number: int
    moment: float
    pid: int = 0
    sent: int = 0
    entered: int | None = None
    left: int | None = None
    gone: int | None = None
    left_by: str = ""
    place: tuple[Any, ...] = ()
    handler: str = ""
    status: int | None = None
    denied: float = 0.0
    outcome: SignalOutcome | None = None
    detail: str = ""
    disposition: str = ""
    lingering: tuple[int, ...] = ()
    stacks: str = ""
    dozed: bool = False
    others_busy: bool = False
    awaits: tuple[tuple[str, int, str], ...] = ()
    notes: tuple[tuple[Any, ...], ...] = ()
    unhandled: float | None = None
    restarts: bool = False
    slept: bool = False
    woken: bool = False

    @property
    def delivery(self) -> float | None:
        """Seconds from the signal to the first line of its handler, or to the exit if the default action killed the process."""
        seen = self.gone if self.entered is None and self.status == -self.number else self.entered
        return None if seen is None else max(0, seen - self.sent) / 1e9

    @property
    def unwinding(self) -> float | None:
        """Seconds from the first line of the handler to the end of the workload."""
        return None if self.entered is None or self.left is None else (self.left - self.entered) / 1e9

    @property
    def exit(self) -> float | None:
        """Seconds to the exit of the process: from the end of the workload, else from the handler, else from the signal."""
        return None if self.gone is None else max(0, self.gone - (self.left or self.entered or self.sent)) / 1e9

    @property
    def lateness(self) -> float | None:
        """Seconds of delivery, less those in which the machine denied the process a core."""
        return None if self.delivery is None else max(0.0, self.delivery - self.denied)


def clearly_late(trial: Trial, claim: InterruptClaim) -> bool:
    """Whether the lateness of this trial alone refutes the claim."""
    return (trial.lateness or 0.0) > _CLEARLY * claim.within
