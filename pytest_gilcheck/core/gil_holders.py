"""What held the GIL: the thread whose CPU clock advanced most during a wait for it, and the place where it released the GIL.

The frame of the holder shows where it *released* the GIL. A call into C is named exactly, because the
interpreter handles requests when the call returns. An operator that computes in C (``x in huge``) is named by its statement, or
by the caller's statement if it was the last operation of the function.
"""

from __future__ import annotations

import dis
import sys
import threading
from dataclasses import dataclass
from types import CodeType, FrameType

from .clocks import time
from .origin import standard
from .source import frame_place, innermost, place

_REFRESH_EVERY = 16  # waits between two searches for threads that the workload has started


@dataclass(frozen=True)
class HolderPlace:
    """A place where a thread released the GIL.

    Attributes:
        file, line, function: of the innermost frame. The file is None for the loop of this package: the thread is there after the
            last operation of the workload held the GIL.
        call: first and last column (bytes of UTF-8) of the call in that line; None if the thread was not at a call.
        caller: ``"file:line (function)"`` of the innermost caller outside the standard library, if the function is inside it.
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
        place: where the holder released the GIL.
        share: of the total waited time.
        waits: seconds of each wait.
    """

    place: HolderPlace
    share: float
    waits: tuple[float, ...]


class Holders:
    """Charges waits for the GIL to the places where its holder released it. For one waiting thread, on a build with a GIL.

    All Python threads are watched, also those that the workload starts. The clock of a thread is looked up only while the thread
    is known to be alive, because ``pthread_getcpuclockid`` of an ended thread may crash. To read the clock of an ended thread is
    an OSError.

    Attributes:
        ran: CPU seconds of the thread that `spot` found, since `before`.
        all_ran: those of all other threads together.
    """

    def __init__(self) -> None:
        self._waits: dict[_HolderSpot, list[float]] = {}
        self._idents: dict[int, int] = {}  # by CPU clock: the ident of an ended thread may be used again, its clock is not
        self._before: dict[int, int] = {}
        self._waits_begun = 0
        self.ran = self.all_ran = 0.0

    def before(self) -> None:
        """Read the clocks; to be called just before a wait begins."""
        if self._waits_begun % _REFRESH_EVERY == 0:
            self._idents = _cpu_clocks()
        self._waits_begun += 1
        self._before = self._read()

    def spot(self) -> _HolderSpot | None:
        """The place of the thread that ran most since `before`; None if it is unknown.

        To be called directly after the wait, before the GIL is released. A thread that has started since `before` counts as well.
        ``sys._current_frames`` is safe here: this thread holds the GIL, so no other frame is running.
        """
        frames = sys._current_frames()
        self._idents = _cpu_clocks()
        me = threading.get_ident()
        ran = {clock: now - self._before.get(clock, 0) for clock, now in self._read().items() if self._idents[clock] != me}
        clock = max(ran, key=ran.__getitem__, default=None)
        self.ran, self.all_ran = 0.0 if clock is None else ran[clock] / 1e9, sum(ran.values()) / 1e9
        if clock is None or (ident := self._idents[clock]) not in frames:
            return None
        return _spot(frames[ident])

    def charge(self, spot: _HolderSpot, wait: float) -> None:
        """Charge the seconds of a wait to the place of the holder."""
        self._waits.setdefault(spot, []).append(wait)

    def holdings(self, most: int = 5) -> tuple[Holding, ...]:
        """The places with the longest total wait, longest first."""
        total = sum(sum(waits) for waits in self._waits.values()) or 1.0
        ranked = sorted(self._waits.items(), key=lambda item: sum(item[1]), reverse=True)
        return tuple(Holding(spot.place(), sum(waits) / total, tuple(waits)) for spot, waits in ranked[:most])

    def shares(self) -> dict[str, float]:
        """``"file:line (function)"`` to its share of the waited time, without the loop of this package."""
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
            except OSError:  # the thread has ended
                continue
        return clocks


def _cpu_clocks() -> dict[int, int]:
    """CPU clock to ident, for each Python thread that is known to be alive; empty where the platform has no such clocks."""
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
    """A `HolderPlace` whose names are not looked up yet: that takes too long while the thread holds the GIL."""

    code: CodeType | None
    instruction: int = -1
    line: int = 0
    caller: str | None = None

    def place(self) -> HolderPlace:
        if self.code is None:
            return HolderPlace(None)
        return HolderPlace(self.code.co_filename, self.line, self.code.co_qualname, self._call(self.code), self.caller)

    def _call(self, code: CodeType) -> tuple[int, int] | None:
        last = None
        for instruction in dis.get_instructions(code):
            if instruction.offset > self.instruction:
                break
            last = instruction  # or the instruction whose inline cache contains the offset
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
            return _HolderSpot(None)  # for instance an event loop of this package, between two steps of the workload
        if outer is not None:
            caller = frame_place(outer)
    return _HolderSpot(frame.f_code, frame.f_lasti, frame.f_lineno or 0, caller)
