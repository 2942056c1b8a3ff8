"""Who held the GIL: the thread whose CPU clock advanced most during a wait for it, at the place where it let go.

How long: a wait of about the switch interval is bytecode, which yields on request; one well above it is a C call that holds on.
A frame shows where the holder *yielded*: a call into C is named exactly (the call itself looks for requests when it returns), an
operator that computes in C (``x in huge``) by the statement it is in, or by the caller's where it was the function's last.
"""

from __future__ import annotations

import dis
import sys
import threading
import time
from dataclasses import dataclass
from types import CodeType, FrameType

from .origin import standard
from .source import frame_place, innermost, place

_LOOK_EVERY = 16  # waits between two looks for threads that the workload has started


@dataclass(frozen=True)
class Place:
    """Where a thread let go of the GIL.

    Attributes:
        file, line, function: the innermost frame. The file is None for our own loop, in which the thread is when the very last
            thing that the workload did held the GIL.
        call: first and last column (bytes of UTF-8) of the call in that line, if it was at one; None if not.
        caller: ``"file:line (function)"`` of the innermost caller outside of the standard library, where the function is in it.
    """

    file: str | None
    line: int = 0
    function: str = ""
    call: tuple[int, int] | None = None
    caller: str | None = None

    def __str__(self) -> str:
        return "the end of the workload" if self.file is None else place(self.file, self.line, self.function)


@dataclass(frozen=True)
class Holding:
    """One place and the waits charged to it.

    Attributes:
        place: where the holder let go.
        share: of all the time waited.
        waits: seconds of each wait.
    """

    place: Place
    share: float
    waits: tuple[float, ...]


class Holders:
    """Charges waits for the GIL to the places where its holder let go. For one waiting thread, and a build with a GIL.

    Every Python thread is watched, those that the workload starts included. Clocks are taken while a thread is known to live:
    ``pthread_getcpuclockid`` of a thread that is gone may crash, while to read the clock of one that is gone is a plain error.
    """

    def __init__(self) -> None:
        self._waits: dict[_HolderSpot, list[float]] = {}
        self._idents: dict[int, int] = {}  # by CPU clock: a thread's ident may be another thread's afterwards, its clock is not
        self._before: dict[int, int] = {}
        self._looks = 0

    def before(self) -> None:
        """Read the clocks: to be called when a wait is about to begin."""
        if self._looks % _LOOK_EVERY == 0:
            self._idents = _cpu_clocks()
        self._looks += 1
        self._before = self._read()

    def spot(self) -> _HolderSpot | None:
        """Where the thread is that ran most since `before`: to be called at once when the wait is over, with the GIL never let go.

        A thread that was not there then has run since. ``sys._current_frames`` is safe here: this thread has the GIL, so no frame
        it looks at is running.
        """
        frames = sys._current_frames()
        self._idents = _cpu_clocks()
        me = threading.get_ident()
        ran = {clock: now - self._before.get(clock, 0) for clock, now in self._read().items() if self._idents[clock] != me}
        clock = max(ran, key=ran.__getitem__, default=None)
        if clock is None or (ident := self._idents[clock]) not in frames:
            return None
        return _spot(frames[ident])

    def charge(self, spot: _HolderSpot, wait: float) -> None:
        """Charge the seconds of a wait to where the holder was."""
        self._waits.setdefault(spot, []).append(wait)

    def holdings(self, most: int = 5) -> tuple[Holding, ...]:
        """The places, longest waited for first."""
        total = sum(sum(waits) for waits in self._waits.values())
        ranked = sorted(self._waits.items(), key=lambda item: sum(item[1]), reverse=True)
        return tuple(Holding(spot.place(), sum(waits) / total, tuple(waits)) for spot, waits in ranked[:most])

    def shares(self) -> dict[str, float]:
        """``"file:line (function)"`` to its share of the time waited, without our own loop."""
        lines: dict[str, float] = {}
        for spot, waits in self._waits.items():
            if spot.code is not None:
                line = place(spot.code.co_filename, spot.line, spot.code.co_qualname)
                lines[line] = lines.get(line, 0.0) + sum(waits)
        total = sum(lines.values())
        return {line: lines[line] / total for line in sorted(lines, key=lines.__getitem__, reverse=True)[:5]}

    def _read(self) -> dict[int, int]:
        clocks = {}
        for clock in self._idents:
            try:
                clocks[clock] = time.clock_gettime_ns(clock)
            except OSError:  # the thread is gone
                continue
        return clocks


def _cpu_clocks() -> dict[int, int]:
    """The CPU clock of each Python thread that is known to live, to its ident; empty where the platform has no such clocks."""
    if not hasattr(time, "pthread_getcpuclockid"):
        return {}
    alive = [t.ident for t in threading.enumerate() if t.ident is not None and not isinstance(t, threading._DummyThread)]
    clocks = {}
    for ident in alive:
        try:
            clocks[time.pthread_getcpuclockid(ident)] = ident
        except OSError:
            continue
    return clocks


@dataclass(frozen=True)
class _HolderSpot:
    """A `Place` before its names are looked up, which takes too long for a thread that others wait for."""

    code: CodeType | None
    instruction: int = -1
    line: int = 0
    caller: str | None = None

    def place(self) -> Place:
        if self.code is None:
            return Place(None)
        return Place(self.code.co_filename, self.line, self.code.co_qualname, self._call(self.code), self.caller)

    def _call(self, code: CodeType) -> tuple[int, int] | None:
        last = None
        for instruction in dis.get_instructions(code):
            if instruction.offset > self.instruction:
                break
            last = instruction  # or the one whose inline cache the offset is in
        if last is None or "CALL" not in last.opname or (at := last.positions) is None:
            return None
        if at.lineno != self.line or at.end_lineno != self.line or at.col_offset is None or at.end_col_offset is None:
            return None
        return at.col_offset, at.end_col_offset


def _spot(frame: FrameType) -> _HolderSpot:
    if frame.f_globals.get("__name__", "").startswith("pytest_gilcheck."):
        return _HolderSpot(None)
    caller: str | None = None
    if standard(frame.f_code.co_filename):
        outer = innermost(frame.f_back, lambda file: not standard(file))
        if outer is not None and outer.f_globals.get("__name__", "").startswith("pytest_gilcheck."):
            return _HolderSpot(None)  # an event loop of ours, say, between two steps of the workload
        if outer is not None:
            caller = frame_place(outer)
    return _HolderSpot(frame.f_code, frame.f_lasti, frame.f_lineno or 0, caller)
