"""Where a workload starts processes, for a description of one that outlives it or keeps it from its end.

A process does not tell who started it. So in a run made for this, the interpreter's audit events tell of each start.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from types import FrameType
from typing import Any

from ..core.origin import foreign, ours
from ..core.own_builtins import OWN
from ..core.system import getframe
from .target import Instrument

__builtins__ = OWN  # of the functions below

_STARTS = frozenset({"os.fork", "os.forkpty", "os.posix_spawn", "os.spawn", "subprocess.Popen"})
_addaudithook = sys.addaudithook  # the workload may replace it


class Births(Instrument):
    """Sends ``("born", file, line, function)`` for each start of a process, with the innermost line of the user's."""

    portable = True

    def begin(self, send_note: Callable[..., None]) -> None:
        told: set[tuple[str, int]] = set()

        def audit(event: str, arguments: tuple[Any, ...]) -> None:
            if event not in _STARTS:
                return
            try:
                where = _own_frame(getframe(1))
                if where is not None and (key := (where.f_code.co_filename, where.f_lineno or 0)) not in told:
                    told.add(key)
                    send_note("born", *key, where.f_code.co_qualname)
            except Exception:  # an error here would keep the workload from what it is about to do
                pass

        _addaudithook(audit)


def _own_frame(frame: FrameType | None) -> FrameType | None:
    """The innermost frame in the user's code; None without one."""
    while frame is not None and (foreign(frame.f_code.co_filename) or ours(frame.f_code.co_filename)):
        frame = frame.f_back
    return frame
