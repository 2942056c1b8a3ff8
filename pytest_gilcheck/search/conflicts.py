"""Runs what a `Reduction` proposes in this process, until nothing is left, one fails, or the caller has enough."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ..engine.touched.summarised import alike, doubt_of_threads
from .explorer import Explorer, Failure
from .here import Here
from .reduction import Reduction


class Conflicts(Reduction):
    """The search by conflicts, which can be stopped and continued.

    Args:
        of: see `Reduction`.

    Attributes:
        failure: the first failure.
    """

    def __init__(self, explorer: Explorer, gil: bool = False, **of: Any) -> None:
        program = explorer.program
        doubt = doubt_of_threads(program, explorer.engine.takes_part)
        super().__init__(alike(program), gil, doubt, take_apart=explorer.events.names.take_apart, **of)
        self.explorer = explorer
        self.failure: Failure | None = None
        self._here = Here(explorer)

    def search(self, stop: Callable[[], bool]) -> None:
        """Run schedules until none is left, one fails, or ``stop``, which is asked after each, returns True."""
        while self.failure is None and (proposed := self.propose()) is not None:
            summary = self._here.run(proposed.how, proposed.want)
            self.failure = self._here.failure
            self.saw(proposed, summary)
            gave_up = summary.touched is not None and summary.touched.gave_up
            if not proposed.again and (stop() or gave_up):  # the next record would take as long
                return
