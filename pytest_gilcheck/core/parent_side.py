"""The parent's side of a guarded child process: waits for its answer or its end, and leaves nothing of it running."""

from __future__ import annotations

import os
import select
import signal
from dataclasses import dataclass
from enum import StrEnum
from types import FrameType
from typing import IO

from .child_protocol import Inbox
from .clocks import monotonic
from .exit_status import describe_exit, not_of_the_workload
from .last_status import LastStatus
from .lifecycle import Lifecycle
from .signal_names import signal_name
from .stack_dumps import DUMP_GRACE, StackDumps
from .stop_request import is_plain

_EXIT_GRACE = 2.0  # seconds that a child gets to exit after its answer
_POLL = 0.05
_POLL_WITHOUT_PIDFD = 0.002  # seconds
_LONGEST_POLL = 86_400.0  # seconds; the system counts milliseconds, up to 25 days


class Ending(StrEnum):
    """How a child process ended."""

    ANSWERED = "answered"
    EXITED = "exited"  # without an answer
    KILLED = "killed"  # by a signal
    UNKNOWN = "unknown"  # it is gone without an answer, and its exit status is lost
    HUNG = "hung"  # past its deadline, and ended by us
    STOPPED = "stopped"  # by a signal, for instance because it read from the terminal, and ended by us


@dataclass(frozen=True)
class Outcome:
    """How a child process ended.

    Attributes:
        ending: in which way.
        payload: its answer; empty unless answered.
        status: its exit status, or the number of the signal that killed or stopped it; 0 if neither is known.
        trace: the stacks that ``faulthandler`` wrote in it; may be empty.
        seconds: how long it ran.
    """

    ending: Ending
    payload: bytes
    status: int
    trace: str
    seconds: float

    @property
    def signed_status(self) -> int | None:
        """Its exit status, or minus the number of the signal that ended it; None if it is unknown."""
        match self.ending:
            case Ending.KILLED:
                return -self.status
            case Ending.UNKNOWN:
                return None
        return self.status

    def __str__(self) -> str:
        return f"{self.headline}\n{self.stacks}" if self.stacks else self.headline

    @property
    def stacks(self) -> str:
        """Its stacks, if they say something about its end."""
        return "" if self.ending in (Ending.ANSWERED, Ending.STOPPED) else self.trace

    @property
    def headline(self) -> str:
        """How it ended, in one line."""
        match self.ending:
            case Ending.ANSWERED:
                return "the process answered"
            case Ending.EXITED if why := not_of_the_workload(self.status):
                return f"the process {why}"
            case Ending.EXITED:
                return f"the process {describe_exit(self.status)} before its end (os._exit?), after {self.seconds:.1f} s"
            case Ending.KILLED | Ending.UNKNOWN:
                return f"the process {describe_exit(self.signed_status)} after {self.seconds:.1f} s"
            case Ending.HUNG:
                return f"the process did not end within its time limit and was killed after {self.seconds:.1f} s"
            case Ending.STOPPED:
                wants = "it reads from the terminal, which a child process cannot (breakpoint()?)"
                return f"the process was stopped by {signal_name(self.status)}: {wants}"


class ParentSide:
    """Made by `child.fork`; `wait`, `finish` or `end` must be called once, or `wait_for_note` until it returns an outcome.

    Args:
        life: the child process.
        pipe: descriptor to read the child's messages from.
        stacks: file that the child writes its stacks to.
        limit: seconds until the deadline, unless the child sets another.
        ended: in which a process that takes over is told how the child has ended.

    Attributes:
        interrupted: whether Ctrl-C was passed on to the child, which ends by itself then.
    """

    def __init__(self, life: Lifecycle, pipe: int, stacks: IO[bytes], limit: float, ended: LastStatus) -> None:
        self._life, self._pipe, self._stacks, self._ended = life, pipe, StackDumps(stacks), ended
        self._start = monotonic()
        self._inbox = Inbox(limit)
        self.interrupted = self._passes_on = False
        self._poll = select.poll()  # made once: little must happen right after a signal, because the child may need this core
        for descriptor in (pipe, life.pidfd):
            if descriptor is not None:
                self._poll.register(descriptor, select.POLLIN)

    @property
    def pid(self) -> int:
        return self._life.pid

    @property
    def gone_at(self) -> int | None:
        """When the exit of the child was noticed, by ``time.monotonic_ns``; None while it runs."""
        return self._life.gone_at

    @property
    def status(self) -> int | None:
        """Its exit status, or minus the number of the signal that killed it; None while it runs, and if unknown."""
        return self._life.status

    @property
    def stopped(self) -> bool:
        """Whether a signal has stopped the child, now or before, as one that reads from the terminal in the background."""
        if self.gone_at is None and self._life.gone():
            self._receive_all()
        return self.gone_at is None and self._life.stopped != 0

    def receive_notes(self, seconds: float) -> list[bytes]:
        """Wait for notes; returns as soon as there is one, the child is gone (see ``gone_at``) or the time is over."""
        until = monotonic() + seconds
        pidfd = self._life.pidfd
        while not self._inbox.notes and self.gone_at is None:
            left = max(0.0, until - monotonic())
            events = dict(self._poll.poll(min(left, _LONGEST_POLL if pidfd is not None else _POLL_WITHOUT_PIDFD) * 1e3))
            if self._pipe in events and not self._receive():
                self._poll.unregister(self._pipe)  # the child closed it, and still runs
            if (pidfd is None or pidfd in events) and self._life.gone():
                self._receive_all()
            if not left:
                break
        return self.notes()

    def notes(self) -> list[bytes]:
        """The notes that were received and not yet returned; also after `wait`."""
        notes, self._inbox.notes = self._inbox.notes, []
        return notes

    def stacks(self, seconds: float = DUMP_GRACE) -> str:
        """The stacks of all threads of the child now; after ``seconds`` whatever it has written by then."""
        return self._stacks.request(self.pid, lambda: self.gone_at, seconds)

    def end(self) -> str:
        """Kill the child and its process group; returns the stacks that it wrote."""
        self._pass_interrupts_on(False)
        self._life.end()
        os.close(self._pipe)
        trace = self._stacks.text()
        self._stacks.close()
        self._ended.close()
        return trace

    def wait(self) -> Outcome:
        """Wait for the answer or the end of the child, and kill it at its deadline. Its process group is killed in any case."""
        try:
            ending = self._watch()
        except BaseException:
            self.end()
            raise
        return self._outcome(ending)

    def wait_for_note(self) -> bytes | Outcome:
        """Wait for the next note; the outcome, as from `wait`, if the child answers or ends first."""
        while not self._inbox.notes:
            try:
                ending = self._watch(for_note=True)
            except BaseException:
                self.end()
                raise
            if not self._inbox.notes:
                return self._outcome(ending)
        return self._inbox.notes.pop(0)

    def hung(self) -> Outcome:
        """End a child that hangs or is stopped; its stacks are in the outcome."""
        if self.stopped:
            return self._outcome(Ending.STOPPED)
        self.stacks()
        return self._outcome(Ending.HUNG)

    def finish(self) -> Outcome:
        """The outcome of a child that is gone; kills what is left of its process group."""
        return self._outcome(None)

    def _outcome(self, ending: Ending | None) -> Outcome:
        status = self._life.status
        trace, seconds = self.end(), monotonic() - self._start
        if self._inbox.answer is not None:
            ending = Ending.ANSWERED
        elif ending is None:
            ending = Ending.UNKNOWN if status is None else Ending.KILLED if status < 0 else Ending.EXITED
        number = self._life.stopped if ending is Ending.STOPPED else 0 if ending is Ending.HUNG else abs(status or 0)
        return Outcome(ending, self._inbox.answer or b"", number, trace, seconds)

    def _watch(self, for_note: bool = False) -> Ending | None:
        """Wait for the child, or only for a note; returns how it ended if its exit status does not say so."""
        pipe = select.poll()
        pipe.register(self._pipe, select.POLLIN)
        open_ = True
        while True:
            if open_ and pipe.poll(_POLL * 1e3):
                open_ = self._receive()
            if for_note and self._inbox.notes:
                return None
            if self._inbox.answer is not None:
                self._life.wait(_EXIT_GRACE)
                return Ending.ANSWERED
            if self._life.wait(0 if open_ else _POLL):
                self._receive_all()
                if self._inbox.answer is None and self._inbox.standby is not None:
                    self._ended.tell(self._life.status)
                    self._life.continue_as(self._inbox.standby)
                    self._inbox.standby = None
                    continue
                return None
            if self._life.stopped:
                return Ending.STOPPED
            if self._inbox.late:
                self.stacks()
                return Ending.HUNG

    def _receive_all(self) -> None:
        while self._receive():
            pass

    def _receive(self) -> bool:
        """Take what has arrived; returns False if there was nothing, or the pipe is closed."""
        os.set_blocking(self._pipe, False)
        try:
            data = os.read(self._pipe, 1 << 20)
        except BlockingIOError:
            return False
        self._inbox.take(data)
        if self._inbox.listens != self._passes_on:
            self._pass_interrupts_on(self._inbox.listens)
        return bool(data)

    def _pass_interrupts_on(self, on: bool) -> None:
        """Let the next Ctrl-C be for the child; a second one is an interrupt here, as ever."""
        if on and is_plain():
            signal.signal(signal.SIGINT, self._pass_on)
        elif self._passes_on and signal.getsignal(signal.SIGINT) == self._pass_on:
            signal.signal(signal.SIGINT, signal.default_int_handler)
        self._passes_on = on

    def _pass_on(self, number: int, frame: FrameType | None) -> None:
        signal.signal(signal.SIGINT, signal.default_int_handler)
        self.interrupted = True
        if self.gone_at is None:
            os.kill(self.pid, signal.SIGINT)
