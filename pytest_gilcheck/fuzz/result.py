"""What a fuzz check found out."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from typing import Any

from ..core.interpreter import Interpreter
from ..core.verdict import Judged
from .explaining.rows import SourceRow, SwitchRow


class Kind(StrEnum):
    """Where a failure shows."""

    BREAKS_TODAY = "BREAKS-TODAY"  # at points where a build with a GIL can switch
    GIL_MASKED = "GIL-MASKED"  # only where it cannot: free-threading uncovers it
    C_LEVEL = "C-LEVEL"  # only when threads really run at once


@dataclass(frozen=True)
class LockSensitivity:
    """One lock of the code under test, made to do nothing.

    Attributes:
        where: where it was made, or what it is called.
        noticed: whether the program failed without it.
        message: how, or how much was searched in vain.
    """

    where: str
    noticed: bool
    message: str

    def __str__(self) -> str:
        return f"without {self.where}: {self.message}"


@dataclass(frozen=True, kw_only=True)
class FuzzResult(Judged):
    """The outcome of a fuzz check.

    Attributes:
        workload: its name.
        kind: of the failure; None if there is none.
        symptom: what was wrong: ``"invariant"``, ``"exception"``, ``"deadlock"``, ``"never ends"``, ``"livelock"``, ``"hangs"``,
            ``"crashed"``; None if nothing was.
        token: replays the failure; empty if there is none.
        preemptions: of the minimal schedule.
        schedules: how many were run, all in all.
        steps: visible steps of a run without preemption.
        coverage: what was explored, in message.
        seed: of what was sampled.
        expected: exceptions that every sequential order raises, which are no failure, in message.
        locks: for a sensitivity check, each lock without which the search was repeated.
        replays: (how often the minimal schedule failed again, of how many replays).
        story: the minimal failing run, as lines.
        rows: the same, as what `explain.told` made of it.
        seconds: what it all took.
    """

    workload: str
    interpreter: Interpreter
    mode: str
    kind: Kind | None = None
    symptom: str | None = None
    token: str = ""
    preemptions: int | None = None
    schedules: int = 0
    steps: int = 0
    coverage: str = ""
    seed: int = 0
    expected: str = ""
    locks: tuple[LockSensitivity, ...] = ()
    replays: tuple[int, int] = (0, 0)
    story: str = ""
    rows: tuple[SourceRow | SwitchRow, ...] = ()
    seconds: float = 0.0

    def figures(self) -> dict[str, Any]:
        """Every figure by name, as numbers, strings and lists: the evidence record's."""
        names = ("mode", "symptom", "token", "preemptions", "schedules", "steps", "coverage", "seed", "expected", "seconds")
        return {name: getattr(self, name) for name in names} | {
            "kind": None if self.kind is None else str(self.kind),
            "replays": self.replays[1] or None,
            "replays_failed": self.replays[0] if self.replays[1] else None,
        }

    def details(self) -> dict[str, Any]:
        """The minimal failing run in lanes, one for each thread, and the locks that were tried."""
        threads = {number for row in self.rows for number in ([row.thread] if isinstance(row, SourceRow) else [])}
        lanes = {"threads": [f"T{number}" for number in range(max(threads, default=0) + 1)]}
        return {
            "lanes": lanes | {"steps": [row.figures() for row in self.rows]} if self.rows else None,
            "locks": [{"where": lock.where, "noticed": lock.noticed} for lock in self.locks],
            "story": self.story or None,
        }

    def headline(self) -> str:
        kind = f" {self.kind}" if self.kind else ""
        replay = f'\n  replay: gilcheck replay {self.token}   or   replay="{self.token}"' if self.token else ""
        return f"{self.workload}: {self.verdict}{kind}: {self.reason}{replay}"

    def __str__(self) -> str:
        ran = f"{self.coverage or 'nothing'}; {self.schedules:,} runs in {self.seconds:.2g} s; seed {self.seed}"
        lines = [self.headline(), *([self.story] if self.story else []), f"  explored    {ran}"]
        if self.replays[1]:
            lines.append(f"  replayed    {self.replays[0]} of {self.replays[1]}")
        if self.expected:
            lines.append(f"  expected    {self.expected}")
        lines += [f"  sensitivity {lock}" for lock in self.locks]
        return "\n".join(lines)
