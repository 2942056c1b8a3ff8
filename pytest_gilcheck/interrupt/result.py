"""What an interrupt check returns: its figures by name, and a report as text."""

from __future__ import annotations

import statistics
from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

from ..core.codes import code_of
from ..core.interpreter import Interpreter
from ..core.signal_names import signal_name
from ..core.verdict import Judged, Verdict
from .claim import InterruptClaim
from .trial import UNDECIDED, SignalOutcome, Trial


@dataclass(frozen=True)
class TimeSpread:
    """Minimum, median and maximum of some times, in seconds, and their number."""

    min: float
    median: float
    max: float
    n: int

    @classmethod
    def of(cls, values: Iterable[float | None]) -> TimeSpread | None:
        """The spread of the values that are not None; None if there are none."""
        known = [value for value in values if value is not None]
        return cls(min(known), statistics.median(known), max(known), len(known)) if known else None

    def __str__(self) -> str:
        return f"{_ms(self.min)} / {_ms(self.median)} / {_ms(self.max)} ms (min / median / max of {self.n})"

    @property
    def longest(self) -> str:
        """The maximum with its unit, as in a sentence."""
        return f"{self.max:.3g} s" if self.max >= 1 else f"{_ms(self.max)} ms"


@dataclass(frozen=True, kw_only=True)
class InterruptResult(Judged):
    """The outcome of one interrupt check. Times are seconds; what was not measured is None.

    Attributes:
        workload: name of the workload.
        claim: what was checked.
        outcome: what went wrong; None if nothing did. ``str(outcome)`` is one of deaf, late, lost, blocked, ignored, replaced,
            swallowed, stuck in cleanup, lingers, left behind, crashed, ended, missed, busy, unreported.
        culprit: description of the line, call or thread to blame; empty if nothing went wrong.
        stacks: the stacks of all threads at that time.
        delivery: from the signal to the first line of its Python handler; here and below, without the trials that decide nothing.
        unwinding: from there to the end of the workload.
        exit: from there to the exit of the process.
        idle: delivery to a process that only sleeps, in the same check: the resolution of the figures above.
        trials: every signal that was sent, and what became of it.
        lasted: duration of the workload without a signal; None if longer than ``over``.
        over: seconds over which the moments were spread.
        seed: seed of the moments.
        seconds: duration of the check.
    """

    workload: str
    claim: InterruptClaim
    interpreter: Interpreter
    outcome: SignalOutcome | None = None
    culprit: str = ""
    stacks: str = ""
    trials: tuple[Trial, ...] = ()
    idle: TimeSpread | None = None
    lasted: float | None = None
    over: float = 0.0
    seed: int = 0
    seconds: float = 0.0

    @property
    def decisive(self) -> tuple[Trial, ...]:
        """The trials on which the verdict rests: the good ones of a claim that holds, else all but those that decide nothing."""
        holds = Verdict.HOLDS is self.conclusion
        return tuple(t for t in self.trials if t.outcome is None or not (holds or t.outcome in UNDECIDED))

    @property
    def delivery(self) -> TimeSpread | None:
        return TimeSpread.of(trial.delivery for trial in self.decisive)

    @property
    def unwinding(self) -> TimeSpread | None:
        return TimeSpread.of(trial.unwinding for trial in self.decisive)

    @property
    def exit(self) -> TimeSpread | None:
        return TimeSpread.of(trial.exit for trial in self.decisive)

    def finding(self) -> str:
        """The code of the outcome."""
        return code_of("interrupt", self.outcome) if self.outcome is not None else ""

    def figures(self) -> dict[str, Any]:
        """Every figure by name, as numbers, strings and lists, for the evidence record."""
        spreads = {name: getattr(self, name) for name in ("delivery", "unwinding", "exit", "idle")}
        times = {
            f"{name}_{part}": getattr(spread, part, None) for name, spread in spreads.items() for part in ("min", "median", "max")
        }
        return times | {
            "signals": len([trial for trial in self.trials if trial.sent]),
            "signal_outcome": None if self.outcome is None else str(self.outcome),
            "unhandled": max((t.unhandled for t in self.trials if t.unhandled is not None), default=None),
            "culprit": self.culprit or None,
            "lasted": self.lasted,
            "over": self.over,
            "seed": self.seed,
            "seconds": self.seconds,
        }

    def details(self) -> dict[str, Any]:
        """Every signal and what became of it, and the stacks, for the evidence record."""
        return {
            "stacks": self.stacks or None,
            "trials": [
                {
                    "signal": signal_name(trial.number),
                    "moment": trial.moment,
                    "delivery": trial.delivery,
                    "unwinding": trial.unwinding,
                    "exit": trial.exit,
                    "outcome": None if trial.outcome is None else str(trial.outcome),
                }
                for trial in self.trials
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
            ("signals", f"{self._outcomes()}; without a signal the workload takes {lasts}; seed {self.seed}"),
        ]
        lines = [self.headline()]
        lines += [f"  {name:11}  {text}" for name, text in rows]
        if self.stacks:
            lines += ["  stacks at that time:", *(f"    {line}" for line in self.stacks.splitlines())]
        return "\n".join(lines)

    def _outcomes(self) -> str:
        counted = Counter("good" if trial.outcome is None else str(trial.outcome) for trial in self.trials)
        return ", ".join(f"{number} {outcome}" for outcome, number in counted.most_common()) or "none sent"


def _ms(seconds: float) -> str:
    return f"{seconds * 1e3:.0f}" if seconds >= 1 else f"{seconds * 1e3:.3g}"


def _or_none(spread: TimeSpread | None) -> str:
    return "none" if spread is None else str(spread)
