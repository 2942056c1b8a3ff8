"""The result of a campaign."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from ..core.codes import code_of
from ..core.interpreter import Interpreter
from ..core.verdict import Judged, Verdict

GIL_MASKED, C_LEVEL = "GIL-MASKED", "C-LEVEL"
IN_C = "in C, where no schedule switches"


@dataclass(frozen=True, kw_only=True)
class LinearizableResult(Judged):
    """Whether sequential orders explain what was seen of a class.

    Attributes:
        workload: the class.
        interpreter: what it ran on.
        cause: of a failure: ``"not atomic"``, ``"exception"``, ``"stuck"``, ``"real-time order"``, ``"model"`` or ``"crashed"``; of
            an undecided campaign ``"hidden state"``, or empty.
        kind: ``"BREAKS-TODAY"`` or ``"GIL-MASKED"``, or ``"C-LEVEL"`` if real threads alone show it; None without a failure, or if
            it was not decided.
        program: the smallest program that fails, in one line.
        token: replays its schedule.
        preemptions: of that.
        programs: that were searched.
        schedules, orders: that were run.
        runs: with real threads.
        hits: of these, how many of the smallest program failed.
        settled: programs of which no conflict that was seen is left untried.
        pairs, overlapped: of operations: that may overlap, and that did.
        left_out: members of the class that are no operations, with the reason.
        seed: of what was drawn.
        replays: (how many replays of the schedule failed, how many there were).
        outcome: the run and the sequential orders, as text.
        story: the schedule, as text.
        rows: the same, as rows.
        pasted: a test of this program and schedule.
        notes: what else there is to say, a line each.
        seconds: how long it all took.
    """

    workload: str
    interpreter: Interpreter
    cause: str = ""
    kind: str | None = None
    program: str = ""
    token: str = ""
    preemptions: int | None = None
    programs: int = 0
    schedules: int = 0
    orders: int = 0
    runs: int = 0
    hits: int = 0
    settled: int = 0
    pairs: int = 0
    overlapped: int = 0
    left_out: tuple[tuple[str, str], ...] = ()
    seed: int = 0
    replays: tuple[int, int] = (0, 0)
    outcome: str = ""
    story: str = ""
    rows: Sequence[Any] = ()
    pasted: str = ""
    notes: tuple[str, ...] = ()
    seconds: float = 0.0

    def finding(self) -> str:
        """The code of the cause; one that the GIL masks has its own."""
        if self.cause == "hidden state":
            return code_of("linearizable", "hidden state")
        if self.conclusion is not Verdict.VIOLATED:
            return ""
        if self.kind == C_LEVEL:
            return code_of("stress", "crashed" if self.cause == "crashed" else C_LEVEL)
        if self.kind == GIL_MASKED and self.cause in ("not atomic", "exception"):
            return code_of("linearizable", GIL_MASKED)
        return code_of("linearizable", self.cause or "not atomic")

    def figures(self) -> dict[str, Any]:
        """Every figure by name, for the evidence record."""
        names = (
            "cause", "kind", "program", "token", "preemptions", "programs", "schedules", "orders", "runs", "hits", "settled",
            "pairs", "overlapped", "seed", "seconds",
        )  # fmt: skip
        return {name: getattr(self, name) for name in names}

    def details(self) -> dict[str, Any]:
        """The failing run with a lane for each thread, and as text, for the evidence record."""
        steps = [row.figures() for row in self.rows]
        threads = max([0, *(step["thread"] for step in steps if "thread" in step)]) + 1
        lanes = {"threads": [f"T{number}" for number in range(threads)], "steps": steps}
        return {
            "lanes": lanes if steps else None,
            "outcome": self.outcome or None,
            "story": self.story or None,
            "pasted": self.pasted or None,
            "left_out": [{"name": name, "why": why} for name, why in self.left_out],
        }

    @property
    def coverage(self) -> str:
        """What was searched, in one line."""
        pairs = f"{self.overlapped} of {self.pairs} pairs of operations overlapped"
        what = f"{self.runs:,} runs with real threads" if self.runs else f"{self.schedules:,} schedules"
        return f"{self.programs:,} programs, {what}; {pairs}"

    def headline(self) -> str:
        kind = f" {self.kind}" if self.kind else ""
        replay = f"\n  replay: gilcheck replay {self.token}" if self.token else ""
        shown = f"\n{self.outcome}" if self.outcome else ""
        return f"{self.workload}: {self.conclusion}{kind}: {self.reason}{shown}{replay}"

    def __str__(self) -> str:
        lines = [self.headline(), *([self.story] if self.story else [])]
        lines.append(
            f"  {'ran     ' if self.runs else 'searched'}    {self.coverage}; in {_seconds(self.seconds)}; seed {self.seed}"
        )
        if self.replays[1]:
            lines.append(f"  replayed    {self.replays[0]} of {self.replays[1]}")
        lines += [f"  not called  {line}" for line in _not_called(self.left_out)]
        lines += [f"  note        {note}" for note in self.notes]
        if self.pasted:
            lines += ["  as a test of its own:", "", *(f"    {line}" for line in self.pasted.splitlines())]
        return "\n".join(lines)


def _seconds(seconds: float) -> str:
    return f"{seconds:.0f} s" if seconds >= 100 else f"{seconds:.2g} s"


def _not_called(left_out: Sequence[tuple[str, str]]) -> list[str]:
    """The members that are no operations, a line each, with the reason; those in C in one line."""
    in_c = [(name, why) for name, why in left_out if why.startswith(IN_C)]
    lines = [f"{', '.join(name for name, _ in in_c)}: {in_c[0][1]}"] if in_c else []
    return [*lines, *(f"{name}: {why}" for name, why in left_out if not why.startswith(IN_C))]
