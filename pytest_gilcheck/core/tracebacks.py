"""What a user is shown of where an error came from: frames of their code, and none of this package between them."""

from __future__ import annotations

from types import TracebackType

from .errors import BadValue
from .origin import ours


def without_ours(error: BaseException) -> TracebackType | None:
    """The traceback of an error without the frames of this package; all of them, if the error arose in this package itself and is
    no complaint about a value of the user: then it is a defect that somebody must find."""
    frames = []
    at = error.__traceback__
    while at is not None:
        frames.append(at)
        at = at.tb_next
    if not frames or (not isinstance(error, BadValue) and ours(frames[-1].tb_frame.f_code.co_filename)):
        return error.__traceback__
    shown: TracebackType | None = None
    for each in reversed(frames):
        if not ours(each.tb_frame.f_code.co_filename):
            shown = TracebackType(shown, each.tb_frame, each.tb_lasti, each.tb_lineno)
    return shown
