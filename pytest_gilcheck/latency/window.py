"""Windows of time in which all probes measure together, and the base of the probes: a thread for each window."""

from __future__ import annotations

import threading
from dataclasses import dataclass
from typing import ClassVar

from .lateness import Wait

_EXIT = 0.2  # seconds that a cancelled probe has to end


@dataclass(frozen=True)
class Window:
    """From begin to end, by ``time.perf_counter``; judged if the waits are beside the workload and count for the verdict."""

    begin: float
    end: float
    judged: bool


class ProbeHung(Exception):
    """A probe did not return from its window in time."""


class Probe:
    """Measures its own lateness in a thread.

    Each window has a new thread, which starts before the workload does. To start a thread beside a workload that holds the GIL
    takes as long as the longest stall.
    """

    name: ClassVar[str]

    def __init__(self) -> None:
        self._thread: threading.Thread | None = None
        self._waits: list[Wait] = []
        self._error: BaseException | None = None
        self._cancelled = False

    def start(self, window: Window) -> None:
        """Start to measure; returns at once."""
        self._waits, self._error = [], None
        self._thread = threading.Thread(target=self._run, args=(window,), name=f"gilcheck-{self.name}", daemon=True)
        self._thread.start()

    def waits(self, limit: float) -> list[Wait]:
        """Wait for the end of the window and return the waits.

        Raises:
            ProbeHung: the probe took more than ``limit`` seconds.
        """
        assert self._thread is not None, "start() was called"
        self._thread.join(limit)
        if self._thread.is_alive():
            raise ProbeHung(f"the {self.name} thread did not end its window within {limit:g} s")
        if self._error is not None:
            raise self._error
        return self._waits

    def close(self) -> None:
        """Cancel the current window."""
        self._cancelled = True
        if self._thread is not None:
            self._thread.join(_EXIT)

    def _run(self, window: Window) -> None:
        try:
            self._waits = self._probe(window)
        except BaseException as error:  # raised in the thread that calls `waits`
            self._error = error

    def _probe(self, window: Window) -> list[Wait]:
        raise NotImplementedError
