"""What an injection check returns: its figures by name, and a report as text."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from ..core.interpreter import Interpreter
from ..core.verdict import Judged

_SHOWN = 10  # source lines in each list of the report


@dataclass(frozen=True)
class Break:
    """One step at which the injected exception breaks something.

    Attributes:
        index: of the step, in the order of the run.
        place: ``"file:line (function)"``.
        source: the text of that source line.
        kind: kind of the step: ``"after a call"``, ``"before STORE_ATTR"``, ...
        reachable: whether the exception can occur there: this interpreter checks for signals at the step, or the exception is a
            ``MemoryError``.
        broken: what was wrong afterwards.
    """

    index: int
    place: str
    source: str
    kind: str
    reachable: bool
    broken: tuple[str, ...]

    def __str__(self) -> str:
        return f"step {self.index}, {self.kind}, `{self.source}` at {self.place}: {'; '.join(self.broken)}"


@dataclass(frozen=True, kw_only=True)
class InjectionResult(Judged):
    """The outcome of an injection check.

    Attributes:
        workload: name of the workload.
        mode, exception, seed: how the check was carried out.
        steps: visible steps of one run.
        reachable: how many of these steps the exception can occur at.
        tried, reached: number of steps at which the exception was raised, and how many of those were reachable.
        next_step: the first step that was not tried because the budget ran out; None if none was left out.
        breaks: the steps at which something breaks, reachable ones first, in the order of the run.
        swallowed: number of steps at which the workload caught the exception and returned.
        rate: steps tried per second.
        seconds: duration of the check.
    """

    workload: str
    interpreter: Interpreter
    mode: str
    exception: str
    steps: int = 0
    reachable: int = 0
    tried: int = 0
    reached: int = 0
    next_step: int | None = None
    breaks: tuple[Break, ...] = ()
    swallowed: int = 0
    seed: int = 0
    rate: float = 0.0
    seconds: float = 0.0

    def figures(self) -> dict[str, Any]:
        """Every figure by name, as numbers, strings and lists, for the evidence record."""
        names = ("mode", "exception", "steps", "reachable", "tried", "reached", "next_step", "swallowed", "seed", "rate", "seconds")
        return {name: getattr(self, name) for name in names} | {"broken": str(self.breaks[0]) if self.breaks else None}

    def details(self) -> dict[str, Any]:
        """Every step at which something breaks, for the evidence record."""
        names = ("index", "place", "kind", "reachable")
        return {"breaks": [{name: getattr(entry, name) for name in names} for entry in self.breaks]}

    def headline(self) -> str:
        return f"{self.workload}: {super().headline()}"

    def __str__(self) -> str:
        rows = [
            ("interpreter", str(self.interpreter)),
            ("injected", f"{self.exception} at {self.tried} of {self.steps} steps ({self.mode}, seed {self.seed})"),
            ("reachable", f"{self.reachable} of {self.steps} steps: where {self.exception} can occur in this interpreter"),
            ("swallowed", f"at {self.swallowed} steps the workload caught the exception and returned"),
            ("rate", f"{self.rate:.0f} steps/s"),
        ]
        lines = [self.headline(), *(f"  {name:11}  {text}" for name, text in rows)]
        lines += self._listed("breaks at:", reachable=True)
        lines += self._listed(
            f"would break at these steps, where {self.exception} cannot occur in this interpreter:", reachable=False
        )
        return "\n".join(lines)

    def _listed(self, title: str, *, reachable: bool) -> list[str]:
        """The breaks of one kind, one for each source line, under a title; nothing if there are none."""
        by_line = {(entry.place, entry.broken): entry for entry in reversed(self.breaks) if entry.reachable is reachable}
        if not by_line:
            return []
        shown = sorted(by_line.values(), key=lambda entry: entry.index)
        more = [f"    and {len(shown) - _SHOWN} more lines"] if len(shown) > _SHOWN else []
        return [f"  {title}", *(f"    {entry}" for entry in shown[:_SHOWN]), *more]
