"""The result of a fuzz check."""

from __future__ import annotations

from dataclasses import dataclass, replace
from enum import StrEnum
from typing import Any

from ..core.codes import code_of
from ..core.interpreter import Interpreter
from ..core.verdict import Judged, Verdict
from ..search.bound import Bound
from ..search.plan import STRESS
from .explaining.rows import SourceRow, SwitchRow


class NoClaim(StrEnum):
    """Why a check claims nothing, for code that sorts results."""

    CUT_SHORT = "cut short"  # its schedules did not fit into the time
    NOT_REPEATABLE = "not repeatable"  # each run finds what the one before has left
    NOT_DETERMINISTIC = "not deterministic"  # the same schedule does something else
    NOT_EXPLORABLE = "not explorable"  # no schedule can control it
    UNCONTROLLED = "partly uncontrolled"  # or not all of it


class Kind(StrEnum):
    """Under which conditions a failure occurs."""

    BREAKS_TODAY = "BREAKS-TODAY"  # with switches that a build with a GIL can make
    GIL_MASKED = "GIL-MASKED"  # only with switches that it cannot make: free-threading exposes it
    C_LEVEL = "C-LEVEL"  # only when threads run at the same time


@dataclass(frozen=True)
class LockSensitivity:
    """Whether the program is sensitive to one lock, which was made to do nothing.

    Attributes:
        where: where the lock was created, or the name under which it was found.
        noticed: whether the program failed without it.
        message: how it failed, or what was explored without a failure.
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
        workload: the program's name.
        interpreter: what it ran on.
        mode: of the search.
        kind: of the failure; None without a failure, or if it was not decided.
        symptom: ``"invariant"``, ``"exception"``, ``"deadlock"``, ``"never ends"``, ``"livelock"``, ``"hangs"`` or ``"crashed"``;
            None without a failure.
        token: replays the failure; empty without one.
        preemptions: of the minimal failing schedule.
        bound: how far a search that holds has gone; None for a replay, and for any other verdict.
        schedules: the number of runs in all, including sequential orders, minimising and replays.
        samples: how many of these were drawn at random.
        conflicts_left: how many conflicts were seen, and not tried in the other order, for want of time.
        steps: visible steps of a run without preemption.
        coverage: what was explored, as text.
        seed: of the samples.
        expected: the exceptions that every sequential order raises, which are no failure, as text.
        locks: for a sensitivity check, the outcome without each lock.
        replays: (how many replays of the minimal schedule failed, how many there were).
        story: the minimal failing run, as text.
        rows: the same, as rows.
        why: of a check that claims nothing; None of any other.
        told: of a check that claims nothing, what keeps it from a claim: the reason without ``why`` and without what would hold
            otherwise. Empty if that is the whole reason.
        tried: what was done after its search had claimed nothing, in words.
        late: whether the time ended before enough schedules of its first run were tried for a claim.
        places: the lines whose order decides, or where threads wait for each other, or the sleeps that stand for a wait, each as
            (file, line); empty if not known.
        failure: what the program raised when it ran again, without any concurrency; the check raises it.
        unguarded: why a program that crashes its interpreter would have ended the process that called the check; empty if only a
            child of it.
        seconds: how long it all took.
    """

    workload: str
    interpreter: Interpreter
    mode: str
    kind: Kind | None = None
    symptom: str | None = None
    token: str = ""
    preemptions: int | None = None
    bound: Bound | None = None
    schedules: int = 0
    samples: int = 0
    conflicts_left: int = 0
    steps: int = 0
    coverage: str = ""
    seed: int = 0
    expected: str = ""
    locks: tuple[LockSensitivity, ...] = ()
    replays: tuple[int, int] = (0, 0)
    story: str = ""
    rows: tuple[SourceRow | SwitchRow, ...] = ()
    why: NoClaim | None = None
    told: str = ""
    tried: str = ""
    late: bool = False
    places: tuple[tuple[str, int], ...] = ()
    failure: BaseException | None = None
    unguarded: str = ""
    seconds: float = 0.0

    def __post_init__(self) -> None:
        """Of a template, which claims nothing, results are made by `replace`: the fields of no claim go with that."""
        undecided = self.conclusion is Verdict.INCONCLUSIVE
        object.__setattr__(self, "why", (self.why or NoClaim.NOT_EXPLORABLE) if undecided else None)
        object.__setattr__(self, "told", self.told if undecided else "")

    def without_claim(self, why: NoClaim, told: str, otherwise: str = "") -> FuzzResult:
        """The same, as a result that claims nothing.

        Args:
            told: what keeps it from a claim.
            otherwise: what would hold without that.
        """
        reason = f"{why}: {told}{f'; otherwise {otherwise}' if otherwise else ''}"
        return replace(self, conclusion=Verdict.INCONCLUSIVE, why=why, told=told, reason=reason)

    def after(self, tried: str) -> FuzzResult:
        """The same, with what was done in vain after its search."""
        return replace(self, reason=f"{self.reason}; {tried}", tried=tried)

    def cause(self) -> tuple[tuple[str, int], ...]:
        """The places that cause the failure; where they are not known, the line at which a thread was preempted first."""
        before: SourceRow | SwitchRow | None = None
        for row in () if self.places else self.rows:
            if isinstance(row, SwitchRow) and row.preempts and isinstance(before, SourceRow):
                return ((before.file, before.line),)
            before = row
        return self.places

    def files(self) -> tuple[str, ...]:
        """The files that the failing run goes through."""
        return tuple(dict.fromkeys(row.file for row in self.rows if isinstance(row, SourceRow)))

    def finding(self) -> str:
        """The code of the symptom; a race that the GIL masks, and what only real parallelism shows, have codes of their own."""
        if self.failure is not None:
            return code_of("fuzz", "not repeatable")
        if any(not lock.noticed for lock in self.locks):
            return code_of("fuzz", "insensitive")
        if self.conclusion is not Verdict.VIOLATED:
            return ""
        if self.symptom == "crashed":
            return code_of("stress" if self.mode == STRESS else "fuzz", "crashed")
        if self.kind is Kind.C_LEVEL:
            return code_of("stress", Kind.C_LEVEL)
        if self.kind is Kind.GIL_MASKED and self.symptom in ("invariant", "exception"):
            return code_of("fuzz", Kind.GIL_MASKED)
        return code_of("fuzz", self.symptom or "sequential")

    def figures(self) -> dict[str, Any]:
        """Every figure by name, as numbers, strings and lists, for the evidence record."""
        names = (
            "mode",
            "symptom",
            "token",
            "preemptions",
            "schedules",
            "samples",
            "conflicts_left",
            "steps",
            "coverage",
            "seed",
            "expected",
            "seconds",
        )
        return {name: getattr(self, name) for name in names} | {
            "kind": None if self.kind is None else str(self.kind),
            "bound": None if self.bound is None else str(self.bound),
            "replays": self.replays[1] or None,
            "replays_failed": self.replays[0] if self.replays[1] else None,
        }

    def details(self) -> dict[str, Any]:
        """The minimal failing run with a lane for each thread, and the outcome without each lock, for the evidence record."""
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
        return f"{self.workload}: {self.conclusion}{kind}: {self.reason}{replay}"

    def __str__(self) -> str:
        lines = [self.headline(), *([self.story] if self.story else [])]
        if self.coverage:
            ran = f"{self.schedules:,} runs in {self.seconds:.2g} s; seed {self.seed}"
            lines.append(f"  explored    {self.coverage}; {ran}")
        if self.replays[1]:
            lines.append(f"  replayed    {self.replays[0]} of {self.replays[1]}")
        if self.expected:
            lines.append(f"  expected    {self.expected}")
        lines += [f"  sensitivity {lock}" for lock in self.locks]
        if self.unguarded:
            lines.append(f"  unguarded   a crash of the program would have ended this process: {self.unguarded}")
        return "\n".join(lines)
