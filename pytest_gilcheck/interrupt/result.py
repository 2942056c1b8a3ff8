"""What an interrupt check returns: named figures, and the same as a report."""

from __future__ import annotations

import statistics
from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass
from signal import Signals
from typing import Any

from ..core.interpreter import Interpreter
from ..core.verdict import Judged
from .claim import InterruptClaim
from .shot import Shot, Trouble


@dataclass(frozen=True)
class Spread:
    """Least, median and most of some times, in seconds, and how many they are."""

    min: float
    median: float
    max: float
    n: int

    @classmethod
    def of(cls, values: Iterable[float | None]) -> Spread | None:
        """The spread of those that happened; None if none did."""
        known = [value for value in values if value is not None]
        return cls(min(known), statistics.median(known), max(known), len(known)) if known else None

    def __str__(self) -> str:
        return f"{_ms(self.min)} / {_ms(self.median)} / {_ms(self.max)} ms (min / median / max of {self.n})"


@dataclass(frozen=True, kw_only=True)
class InterruptResult(Judged):
    """The outcome of one interrupt check. Times are seconds; what was not measured is None.

    Attributes:
        workload: its name.
        trouble: what was wrong, if anything; ``str(trouble)`` is one of deaf, late, lost, blocked, ignored, replaced,
            swallowed, stuck in cleanup, lingers, left behind, crashed, ended, missed, busy.
        culprit: the line, call or thread to blame, in words; empty if all is well.
        stacks: every thread's stack while the trouble lasted.
        delivery: from the signal to the first line of its Python handler.
        unwinding: from there until the workload was left.
        exit: from there until the process was gone.
        idle: delivery to a process that only sleeps, in the same run: the resolution of the figures above.
        shots: every signal that was sent, as it went.
        lasted: seconds the workload takes when left alone; None if longer than `over`.
        over: seconds over which the moments were spread.
        seed: of the moments.
    """

    workload: str
    claim: InterruptClaim
    interpreter: Interpreter
    trouble: Trouble | None = None
    culprit: str = ""
    stacks: str = ""
    shots: tuple[Shot, ...] = ()
    idle: Spread | None = None
    lasted: float | None = None
    over: float = 0.0
    seed: int = 0
    seconds: float = 0.0

    @property
    def delivery(self) -> Spread | None:
        return Spread.of(shot.delivery for shot in self.shots)

    @property
    def unwinding(self) -> Spread | None:
        return Spread.of(shot.unwinding for shot in self.shots)

    @property
    def exit(self) -> Spread | None:
        return Spread.of(shot.exit for shot in self.shots)

    def figures(self) -> dict[str, Any]:
        """Every figure by name, as numbers, strings and lists: the evidence record's."""
        spreads = {name: getattr(self, name) for name in ("delivery", "unwinding", "exit", "idle")}
        times = {
            f"{name}_{part}": getattr(spread, part, None) for name, spread in spreads.items() for part in ("min", "median", "max")
        }
        return times | {
            "signals": len([shot for shot in self.shots if shot.sent]),
            "trouble": None if self.trouble is None else str(self.trouble),
            "culprit": self.culprit or None,
            "lasted": self.lasted,
            "over": self.over,
            "seed": self.seed,
            "seconds": self.seconds,
        }

    def details(self) -> dict[str, Any]:
        """Every signal as it went, and the stacks while the trouble lasted."""
        return {
            "stacks": self.stacks or None,
            "shots": [
                {
                    "signal": Signals(shot.number).name,
                    "moment": shot.moment,
                    "delivery": shot.delivery,
                    "unwinding": shot.unwinding,
                    "exit": shot.exit,
                    "trouble": None if shot.trouble is None else str(shot.trouble),
                }
                for shot in self.shots
            ],
        }

    def headline(self) -> str:
        return f"{self.workload}: {super().headline()}"

    def __str__(self) -> str:
        lasts = f"longer than {self.over:g} s" if self.lasted is None else f"{self.lasted:.3g} s"
        rows = [
            ("interpreter", str(self.interpreter)),
            ("claim", str(self.claim)),
            ("delivery", _or_none(self.delivery)),
            ("unwinding", _or_none(self.unwinding)),
            ("exit", _or_none(self.exit)),
            ("idle", f"{self.idle}: delivery to a process that only sleeps" if self.idle else "not measured"),
            ("signals", f"{self._outcomes()}; the workload alone takes {lasts}; seed {self.seed}"),
        ]
        lines = [self.headline()]
        lines += [f"  {name:11}  {text}" for name, text in rows]
        if self.stacks:
            lines += ["  stacks at that moment:", *(f"    {line}" for line in self.stacks.splitlines())]
        return "\n".join(lines)

    def _outcomes(self) -> str:
        counted = Counter("well" if shot.trouble is None else str(shot.trouble) for shot in self.shots)
        return ", ".join(f"{number} {word}" for word, number in counted.most_common()) or "none sent"


def _ms(seconds: float) -> str:
    return f"{seconds * 1e3:.3g}"


def _or_none(spread: Spread | None) -> str:
    return "none" if spread is None else str(spread)
