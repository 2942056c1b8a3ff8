"""Where a workload starts processes, for a description of one that outlives it or keeps it from its end.

A process does not tell who started it. So in a run made for this, the interpreter's audit events tell of each start.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from typing import Any

from ..core.origin import of_user
from ..core.source import innermost
from ..core.system import getframe
from .target import Instrument

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
                where = innermost(getframe(1), of_user)
                if where is not None and (key := (where.f_code.co_filename, where.f_lineno or 0)) not in told:
                    told.add(key)
                    send_note("born", *key, where.f_code.co_qualname)
            except Exception:  # an error here would keep the workload from what it is about to do
                pass

        _addaudithook(audit)
