"""What is kept of one run: the choices that were made, what became of the threads, and what a search branches at."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from enum import IntEnum
from types import CodeType, FrameType
from typing import Any, Protocol

from ...core.source import code_position
from ..bytecode.apart import ApartCall
from ..bytecode.visible import Access
from ..schedule import Choice, Schedule
from .places import Sleep
from .task import Task

Place = tuple[CodeType, int]  # and the offset of an instruction: its line is found out only for who asks
Observer = Callable[[Task, int, Access, FrameType], None]
HANGS = "hangs"  # why a run is stuck (`ScheduleRun.stuck`) whose threads do not rest


class Deed(IntEnum):
    """What a thread does to something that others touch too."""

    READ = 0
    WRITE = 1
    ACQUIRE = 2  # a lock, however long that takes
    RELEASE = 3
    WAIT = 4  # for a lock that another thread holds
    TRY = 5  # to acquire a lock without a wait, or to see whether it is free


class LifeRecorder(Protocol):
    """What is told of the beginnings and ends of threads, in what is explored of a run and before it."""

    def starts(self, task: Task, function: Any) -> None:
        """The running thread starts this one, which calls that function."""

    def ends(self, task: Task) -> None:
        """The running thread makes no more steps."""

    def asks_to_join(self, thread: Any) -> None:
        """The running thread is about to wait for the end of this one, which fails if it has not been started."""

    def joins(self, task: Task, by: Task) -> None:
        """The running thread has waited for the end of this one, for as long as it took."""


class RunRecorder(Protocol):
    """What is told what the threads of a run do beside their visible steps."""

    @property
    def lives(self) -> LifeRecorder:
        """What is told of their beginnings and ends."""

    def goes_on(self, task: Task) -> None:
        """A thread begins, or goes on after a wait."""

    def forced(self, point: int) -> None:
        """At this point the running thread could not continue."""

    def lock(self, lock: Any, deed: Deed) -> None:
        """The running thread does this to a lock."""

    def passed(self, access: Access, code: CodeType, offset: int) -> None:
        """A thread makes a call that is no step: of a function whose code makes its own, or that touches nothing. Or it begins a
        function, which is a step only where C has called it."""

    def apart(self, call: ApartCall, covered: Sequence[object]) -> None:
        """The call in C that a thread is about to make is taken apart. What it does to these objects has a switch at each step."""

    def inside(self, call: ApartCall) -> None:
        """A thread goes on in the middle of it."""

    def unknown(self, what: str) -> None:
        """The running thread does what nobody records."""

    def ended(self, run: ScheduleRun) -> None:
        """The threads of the run have ended; its invariant is still to come."""


@dataclass(frozen=True)
class BlockedThread:
    """A thread that waits when no thread of the run is runnable.

    Attributes:
        thread: its name.
        waits_for: what it waits for, as text.
        at: ``"file:line (function)"`` in the code under test.
        spot: the same as file and line; an empty file if it is not known.
        holder: the name of the thread that holds what it waits for; empty if none does.
        taken: where the holder acquired it.
        made: where it was created.
    """

    thread: str
    waits_for: str
    at: str
    holder: str = ""
    taken: str = ""
    made: str = ""
    spot: tuple[str, int] = ("", 0)


class ScheduleRun:
    """The outcome of one run. Not a dataclass: one is made for every schedule, and most attributes keep their defaults.

    Attributes:
        points: the number of points.
        errors: (index, name, exception) of every exception that escaped from a thread.
        raised_beneath: indices of the program's own threads which these are, or which have started them.
        stuck: ``"deadlock"``, ``"never ends"``, ``"livelock"`` or ``"hangs"``; empty if the run ended.
        blocked: the threads that waited when the run got stuck.
        explained: whether an oracle has said that they may wait so for ever: then the run has ended, and not failed.
        yields: the number of times that a polling thread had to let another thread run, or time pass.
        wasted: the number of steps in which threads polled.
        uncontrolled: what happened outside of control, one line for each event.
        unreported: where it went on without reports of its steps, because it took too long with them; empty if it did not.
        refused: the operation of the program that cannot be explored at all; empty if there was none.
        choices: (choice, step before which it was made, its code and offset, whether no build with a GIL can switch there).
        spans: if recorded: (first point, owner, other runnable threads), each valid until the next one begins.
        forks: if recorded: (point, runnable threads, chosen thread, threads that a delay would make runnable) at each point where
            the owner could not continue.
        readings: if recorded: the points at which code under test read a clock.
        delays: (point, nanoseconds) of each delay.
        cut_short: each sleep after which a thread went on by a delay, before others that could.
        reachable: if measured: the points at which a build with a GIL can switch.
        lengths: if measured: the number of visible steps of each task, by index.
        left: non-daemon threads that still waited when the program's own threads had ended, and have not ended since.
        early: whether the teardown begins while background threads can still run, so the invariant is not asked.
        early_offered: whether a policy was asked for that.
        waited: whether real time has passed because its threads make no progress.
        alone: how often time has passed for such threads alone.
        alone_until: until when it may.
    """

    points = yields = wasted = alone = alone_until = 0
    delays: tuple[tuple[int, int], ...] = ()
    cut_short: tuple[Sleep, ...] = ()
    errors: Sequence[tuple[int, str, BaseException]] = ()
    raised_beneath: frozenset[int] = frozenset()
    early = early_offered = waited = explained = False
    stuck = ""
    blocked: tuple[BlockedThread, ...] = ()
    uncontrolled: Sequence[str] = ()
    unreported = ""
    refused = ""
    left: tuple[BlockedThread, ...] = ()

    def __init__(self, recording: bool = False, measuring: bool = False) -> None:
        self.choices: list[tuple[Choice, Access, Place | None, bool]] = []
        if recording:
            self.spans: list[tuple[int, int, tuple[int, ...]]] = []
            self.forks: list[tuple[int, tuple[int, ...], int, tuple[int, ...]]] = []
            self.readings: list[int] = []
        if measuring:
            self.reachable: set[int] = set()
            self.lengths: dict[int, int] = {}

    @property
    def schedule(self) -> Schedule:
        """The choices of this run, as a schedule that can be followed again."""
        return Schedule(tuple(choice for choice, _, _, _ in self.choices))

    @property
    def broken_off(self) -> bool:
        """Whether it ended in its middle: its threads came neither to their ends nor to waits that may last for ever."""
        return bool(self.stuck) and not self.explained

    @property
    def masked(self) -> bool:
        """Whether a build with a GIL cannot follow this schedule."""
        return any(masked for _, _, _, masked in self.choices)

    @property
    def anchors(self) -> list[str]:
        """The place of each choice, ``"function+line kind name"``, with the line relative to the function."""
        return [anchor_of(access, place) for _, access, place, _ in self.choices]


def anchor_of(access: Access, place: Place | None) -> str:
    """The place of a choice, as in `ScheduleRun.anchors`."""
    if place is None:
        return f" {access.kind} {access.name}"
    code, offset = place
    return anchor(access, code, code_position(code, offset).line or 0)


def anchor(access: Access, code: CodeType, line: int) -> str:
    """Likewise, where the line is known."""
    return f"{code.co_qualname}+{line - code.co_firstlineno} {access.kind} {access.name}"
