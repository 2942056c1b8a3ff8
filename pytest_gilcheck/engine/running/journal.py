"""The choices of the current run, in memory that survives the process: what a crash leaves of its schedule.

The engine notes each choice before the thread that was chosen goes on. As in a schedule, what the default
rule decides is not noted.
"""

from __future__ import annotations

import mmap
from collections.abc import Iterable
from enum import IntEnum

from ..schedule import Choice, Schedule

_MOST = 1 << 16  # choices of a run; one with more cannot be followed again
_MOST_LEARNT = 1 << 10
_MOST_TEXT = 1 << 24  # bytes of an error or a result; what is not written takes no memory
_STAGE, _RUN, _CHOICES, _LEARNT, _DRAW, _SEQUENTIAL, _NARROW, _UNREPORTED, _TEXT, _HEAD = range(10)
_FORCED, _MASKED, _THREAD_BITS = 1, 2, 21


class Stage(IntEnum):
    """What a run does."""

    IDLE = 0  # there is none
    SETUP = 1
    THREADS = 2
    AFTER = 3  # invariant and teardown
    LEFT = 4  # none any more: the schedule that is noted broke the program, and has left its process in another state
    ONCE = 5  # none any more: the first run found what no later one does, and the result is noted
    FOUND = 6  # likewise, and another process has searched the first run: its result is noted


class Journal:
    """Written by a process that searches, and read by another one after it died.

    Attributes:
        keeps_anchors: whether the place of each choice is kept as well, which takes time.
    """

    def __init__(self, keeps_anchors: bool = False) -> None:
        self.keeps_anchors = keeps_anchors
        cells = 8 * (_HEAD + _MOST_LEARNT + 2 * _MOST)
        self._memory = mmap.mmap(-1, cells + _MOST_TEXT)
        self._cells = memoryview(self._memory)[:cells].cast("Q")
        self._next = 0

    def close(self) -> None:
        self._cells.release()
        self._memory.close()

    def begin(self, stage: Stage) -> None:
        """A run reaches this stage."""
        cells = self._cells
        cells[_STAGE], cells[_UNREPORTED] = stage, False
        if stage is Stage.SETUP:
            cells[_RUN] += 1
            cells[_CHOICES] = self._next = 0

    def go_on_unreported(self) -> None:
        """The threads of the run go on without reports of their steps, and have more time."""
        self._cells[_UNREPORTED] = True

    def choice(self, choice: Choice, masked: bool, anchor: int = 0) -> None:
        """A run makes this choice next."""
        number, cells = self._next, self._cells
        self._next = number + 1
        if number < _MOST:
            at = _HEAD + _MOST_LEARNT + 2 * number
            cells[at] = (choice.point << _THREAD_BITS | choice.thread) << 2 | masked * _MASKED | choice.forced
            cells[at + 1] = anchor
        cells[_CHOICES] = number + 1

    def learn(self, learnt: Iterable[int]) -> None:
        """What the search has learnt about the program's names, which the steps of a run depend on."""
        facts = list(learnt)[:_MOST_LEARNT]
        for index, fact in enumerate(facts):
            self._cells[_HEAD + index] = fact
        self._cells[_LEARNT] = len(facts)

    def set_sequential(self, sequential: bool) -> None:
        """Whether the next run is a sequential order of the threads."""
        self._cells[_SEQUENTIAL] = sequential

    def set_narrow(self, narrow: bool) -> None:
        """Whether some steps are hidden in the runs from here on, and are no points of their schedules."""
        self._cells[_NARROW] = narrow

    def set_draw(self, draw: int) -> None:
        """Which draw of chance the runs from here on get."""
        self._cells[_DRAW] = draw

    def leave(self, choices: Iterable[tuple[Choice, bool]], error: bytes) -> None:
        """The schedule of a run that has left its process in another state: its choices, each with whether it is masked.

        Args:
            error: with which every sequential order fails in that state, packed; empty if none does.
        """
        self._cells[_CHOICES] = self._next = 0
        for choice, masked in choices:
            self.choice(choice, masked)
        error = error if len(error) <= _MOST_TEXT else b"?"
        self._memory[len(self._memory) - _MOST_TEXT : len(self._memory) - _MOST_TEXT + len(error)] = error
        self._cells[_NARROW], self._cells[_TEXT] = False, len(error)
        self._cells[_STAGE] = Stage.LEFT

    def keep(self, result: bytes, stage: Stage = Stage.ONCE) -> bool:
        """The result of a search that says nothing of the first run, or (`Stage.FOUND`) of one of that; returns whether it fits."""
        fits = len(result) <= _MOST_TEXT
        first = len(self._memory) - _MOST_TEXT
        self._cells[_TEXT] = len(result) if fits else 0
        if fits:
            self._memory[first : first + len(result)] = result
        self._cells[_STAGE] = stage
        return fits

    # Read afterwards.

    @property
    def stage(self) -> Stage:
        return Stage(self._cells[_STAGE])

    @property
    def run(self) -> int:
        """The number of runs that have begun."""
        return int(self._cells[_RUN])

    @property
    def sequential(self) -> bool:
        return bool(self._cells[_SEQUENTIAL])

    @property
    def unreported(self) -> bool:
        return bool(self._cells[_UNREPORTED])

    @property
    def narrow(self) -> bool:
        return bool(self._cells[_NARROW])

    @property
    def text(self) -> bytes:
        """What `leave` or `keep` has noted: the error, packed, or the result."""
        first = len(self._memory) - _MOST_TEXT
        return self._memory[first : first + self._cells[_TEXT]]

    @property
    def draw(self) -> int:
        return int(self._cells[_DRAW])

    @property
    def complete(self) -> bool:
        """Whether all choices of the run are known."""
        return int(self._cells[_CHOICES]) <= _MOST

    @property
    def learnt(self) -> tuple[int, ...]:
        return tuple(self._cells[_HEAD : _HEAD + self._cells[_LEARNT]])

    @property
    def masked(self) -> bool:
        """Whether a build with a GIL cannot follow this schedule."""
        return any(self._cells[at] & _MASKED for at in self._used())

    @property
    def schedule(self) -> Schedule:
        choices = []
        for at in self._used():
            packed = self._cells[at]
            rest = packed >> 2
            choices.append(Choice(rest >> _THREAD_BITS, rest & (1 << _THREAD_BITS) - 1, bool(packed & _FORCED)))
        return Schedule(tuple(choices))

    @property
    def anchors(self) -> tuple[int, ...]:
        """A checksum of the place of each choice, if they are kept."""
        return tuple(self._cells[at + 1] for at in self._used())

    def _used(self) -> range:
        first = _HEAD + _MOST_LEARNT
        return range(first, first + 2 * min(_MOST, self._cells[_CHOICES]), 2)
