"""A stretch of time in which probes measure together, and what each probe is: a thread that fills one window at a time."""

from __future__ import annotations

import threading
from dataclasses import dataclass
from typing import ClassVar

from .lateness import Wait

_LEAVE = 0.2  # seconds a probe gets to end before its time


@dataclass(frozen=True)
class Window:
    """From begin to end on the clock ``time.perf_counter``; judged if its waits count for the verdict beside the workload."""

    begin: float
    end: float
    judged: bool


class ProbeHung(Exception):
    """A probe did not come back from its window."""


class Probe:
    """Something that measures its own lateness in a thread.

    A thread is started for each window, before the workload is: to start one beside a workload that holds the GIL takes as long
    as the longest stall.
    """

    name: ClassVar[str]

    def __init__(self) -> None:
        self._thread: threading.Thread | None = None
        self._waits: list[Wait] = []
        self._error: BaseException | None = None
        self._cancelled = False

    def start(self, window: Window) -> None:
        """Begin to measure; returns at once."""
        self._waits, self._error = [], None
        self._thread = threading.Thread(target=self._run, args=(window,), name=f"gilcheck-{self.name}", daemon=True)
        self._thread.start()

    def waits(self, limit: float) -> list[Wait]:
        """What was measured, once the window is over.

        Raises:
            ProbeHung: that took more than ``limit`` seconds.
        """
        assert self._thread is not None, "it was started"
        self._thread.join(limit)
        if self._thread.is_alive():
            raise ProbeHung(f"the {self.name} did not get to run within {limit:g} s")
        if self._error is not None:
            raise self._error
        return self._waits

    def close(self) -> None:
        """Have it end before its window does, for what it measures is of no use any more."""
        self._cancelled = True
        if self._thread is not None:
            self._thread.join(_LEAVE)

    def _run(self, window: Window) -> None:
        try:
            self._waits = self._probe(window)
        except BaseException as error:  # shown in the thread that asks for the waits
            self._error = error

    def _probe(self, window: Window) -> list[Wait]:
        raise NotImplementedError
