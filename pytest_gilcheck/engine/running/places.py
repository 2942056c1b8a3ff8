"""Where a thread is, for people: in the code under test, and not in what that calls."""

from __future__ import annotations

from collections.abc import Callable
from types import FrameType
from typing import NamedTuple

from ...core.origin import ours
from ...core.source import frame_place, innermost


def place(frame: FrameType | None, takes_part: Callable[[str], bool]) -> str:
    """``"file:line (function)"`` of the innermost frame in code under test (`own_frame`)."""
    return frame_place(None if frame is None else own_frame(frame, takes_part))


class Sleep(NamedTuple):
    """Where a thread sleeps: a file, a line, and ``"file:line (function)"``."""

    file: str
    line: int
    text: str

    @classmethod
    def of(cls, frame: FrameType | None, takes_part: Callable[[str], bool]) -> Sleep:
        """Of the innermost frame in code under test."""
        own = None if frame is None else own_frame(frame, takes_part)
        return cls("" if own is None else own.f_code.co_filename, 0 if own is None else own.f_lineno or 0, frame_place(own))


def own_frame(frame: FrameType, takes_part: Callable[[str], bool]) -> FrameType:
    """The innermost frame in code under test; the innermost that is not ours if there is none, as in a thread of `Event.wait`."""
    return innermost(frame, takes_part) or innermost(frame, lambda file: not ours(file)) or frame
