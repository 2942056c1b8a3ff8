"""What one target has reported so far."""

from __future__ import annotations

import marshal
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from ..core.clocks import time
from ..core.packing import unpacked
from .starting import Process


@dataclass
class TargetLog:
    """The notes of one target, as they arrive. Times are ``time.monotonic_ns``.

    Attributes:
        process: the target.
        began: when the workload began; None before that.
        entered: for each handler that was entered: when, what it interrupted, where the handler was set, the module that was
            being imported (empty without one), and whether the system restarts its calls after this signal.
        left: when the workload ended, how, and the [name, kind, ident] of each thread that keeps the process from exiting; None
            before that.
        error: what the workload raised by itself.
        probed: the answer to a probe: when, where the main thread was, and what has changed about the handlers; None without one.
        awaits: where coroutines wait, which comes after that; None without it.
        others: the notes of the instrument.
    """

    process: Process
    began: int | None = None
    entered: list[tuple[int, tuple[Any, ...], str, str, bool]] = field(default_factory=list)
    left: tuple[int, str, list[tuple[str, str, int]]] | None = None
    error: BaseException | None = None
    probed: tuple[int, tuple[Any, ...], list[str]] | None = None
    awaits: list[list[Any]] | None = None
    others: list[tuple[Any, ...]] = field(default_factory=list)

    @property
    def gone(self) -> bool:
        return self.process.gone_at is not None

    def wait(self, seconds: float, until: Callable[[TargetLog], object]) -> bool:
        """Read notes until the condition holds; returns False if the time was over or the process gone first."""
        end = time.monotonic() + seconds
        while not until(self):
            if self.gone or (left := end - time.monotonic()) <= 0:
                return bool(until(self))
            for note in self.process.receive_notes(left):
                self._add(*marshal.loads(note))
        return True

    def _add(self, kind: str, *values: Any) -> None:
        match kind:
            case "began":
                self.began = values[0]
            case "entered":
                self.entered.append((values[0], tuple(values[2]), values[3], values[4], values[5]))
            case "left":
                self.left = (values[0], values[1], values[2])
                self.error = unpacked(values[3]) if values[3] else None
            case "probed":
                self.probed = (values[0], tuple(values[1]), values[2])
            case "awaits":
                self.awaits = values[0]
            case _:
                self.others.append((kind, *values))
