"""Starting the child that is to be interrupted: a fork, or a new interpreter where this process cannot fork."""

from __future__ import annotations

import os
from typing import Protocol

from ..core.child import ParentSide, can_fork, fork
from .job import Job
from .spawned import Spawned, unpicklable
from .target import Instrument, Target

_UNTIL_TOLD = 1e9  # seconds: the parent's own clock ends a shot


class Process(Protocol):
    """A started target, as its parent sees it; see `core.child.ParentSide`."""

    gone_at: int | None
    status: int | None

    @property
    def pid(self) -> int: ...
    def hear(self, seconds: float) -> list[bytes]: ...
    def stacks(self) -> str: ...
    def end(self) -> str: ...


class Start(Job):
    """Starts children for one job, again and again."""

    def impossible(self) -> str | None:
        """Why no child can run this workload, in words; None if one can."""
        if (no_fork := can_fork()) is None or (no_handover := unpicklable(self)) is None:
            return None
        return f"{no_fork}, and {no_handover}"

    def __call__(self, instrument: Instrument | None = None) -> Process:
        """Start one.

        Args:
            instrument: for a run that is made to find a cause.
        """
        if can_fork() is not None:
            return Spawned(self, instrument)
        side = fork(_UNTIL_TOLD)
        if isinstance(side, ParentSide):
            return side
        try:
            Target(side.tell, self.signals, instrument).run(self.work, self.setup)
        finally:  # a signal that lands in our own lines: never go on in the parent's code
            os._exit(1)
