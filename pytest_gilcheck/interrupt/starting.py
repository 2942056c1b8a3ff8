"""Starts the child process that is to be interrupted: a fork, or a new interpreter where this process cannot be forked."""

from __future__ import annotations

from dataclasses import replace
from typing import Protocol

from ..core import lineage
from ..core.child import ParentSide, fork
from ..core.fork_safety import can_fork
from ..core.system import FAILING
from .job import Job
from .leftovers import mark_names
from .spawned import Spawned, unpicklable
from .target import Instrument, Target

_NO_DEADLINE = 1e9  # seconds: a trial ends its target itself


class Process(Protocol):
    """A running target, as its parent sees it; see `core.parent_side.ParentSide`."""

    @property
    def gone_at(self) -> int | None: ...
    @property
    def status(self) -> int | None: ...
    @property
    def pid(self) -> int: ...
    def receive_notes(self, seconds: float) -> list[bytes]: ...
    def stacks(self) -> str: ...
    def end(self) -> str: ...


class Starter(Job):
    """Starts any number of targets for one job."""

    def impossible(self) -> str | None:
        """Why no child process can run this workload; None if one can."""
        if (no_fork := can_fork()) is None or (no_spawn := unpicklable(self)) is None:
            return None
        return f"{no_fork}, and {no_spawn}"

    def with_real_end(self) -> Starter | None:
        """A starter of targets that end as interpreters do; None if only forks can run this workload, or all do so anyway."""
        return replace(self, spawn=True) if can_fork() is None and unpicklable(self) is None else None

    def start(self, instrument: Instrument | None = None) -> Process:
        """Start a target.

        Args:
            instrument: observes the target, in a run that is made to find a cause.
        """
        if self.spawn or can_fork() is not None:
            return Spawned(self, instrument)
        side = fork(_NO_DEADLINE)
        if isinstance(side, ParentSide):
            return side
        try:
            lineage.mark()
            mark_names(self.token)
            Target(side.send_note, self.signals, instrument).run(self.work, self.setup, self.imports)
        finally:  # also when a signal arrives in our own code: this process must never return into the parent's
            for _ in FAILING:
                pass
        raise AssertionError("the process has ended")
