"""What an injection check returns: its figures by name, and a report as text."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from ..core.codes import code_of
from ..core.interpreter import Interpreter
from ..core.verdict import Judged, Verdict

_NAMED = 5  # modules in a list of them
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
        origin: ``"the standard library"`` or ``"an installed package"`` if the step is in code that users rarely can change, and
            was called from the user's; otherwise empty.
        called_from: the line of the user's code that called it, with its place; empty for a step of that code.
    """

    index: int
    place: str
    source: str
    kind: str
    reachable: bool
    broken: tuple[str, ...]
    origin: str = ""
    called_from: str = ""

    def __str__(self) -> str:
        inside = f", in {self.origin}" if self.origin else ""
        inside += f", called from {self.called_from}" if self.called_from else ""
        return f"step {self.index}, {self.kind}, `{self.source}` at {self.place}{inside}: {'; '.join(self.broken)}"


@dataclass(frozen=True, kw_only=True)
class InjectionResult(Judged):
    """The outcome of an injection check.

    Attributes:
        workload: name of the workload.
        mode, exception, seed: how the check was carried out.
        steps: visible steps of one run in the code under test.
        reachable: how many of these steps the exception can occur at.
        tried, reached: number of these steps at which the exception was raised, and how many of those were reachable.
        library_steps: steps of library code at which the exception can occur: the first two visits of each for each line of the
            code under test. They are numbered after the others.
        library_tried, library_missed: at how many of those it was raised, and how many did not come by again when they were to be
            tried, because the path through a library may depend on timing.
        stepped, not_stepped: modules of libraries that the run entered: those that were stepped through, and the others.
        next_step: what ``first`` must be to go on, because the budget ran out; None if no step was left out.
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
    library_steps: int = 0
    library_tried: int = 0
    library_missed: int = 0
    stepped: tuple[str, ...] = ()
    not_stepped: tuple[str, ...] = ()
    next_step: int | None = None
    breaks: tuple[Break, ...] = ()
    swallowed: int = 0
    seed: int = 0
    rate: float = 0.0
    seconds: float = 0.0

    def finding(self) -> str:
        """Whether the code under test is unsafe, or a library that it calls."""
        reachable = [entry for entry in self.breaks if entry.reachable]
        if self.conclusion is not Verdict.VIOLATED:
            return ""
        library = bool(reachable) and all(entry.origin for entry in reachable) and self.all_own_steps_tried
        return code_of("injection", "library" if library else "unsafe")

    @property
    def all_own_steps_tried(self) -> bool:
        """Whether an exception was raised at each step of the user's own code at which it can occur."""
        return self.reached >= self.reachable

    def figures(self) -> dict[str, Any]:
        """Every figure by name, as numbers, strings and lists, for the evidence record."""
        names = (
            "mode", "exception", "steps", "reachable", "tried", "reached", "library_steps", "library_tried", "library_missed",
            "next_step", "swallowed", "seed", "rate", "seconds",
        )  # fmt: skip
        return {name: getattr(self, name) for name in names} | {
            "broken": str(self.breaks[0]) if self.breaks else None,
            "unsafe": self._unsafe(),
        }

    def _unsafe(self) -> str | None:
        """How many lines are unsafe, in words; None if none is."""
        lines = len({entry.place for entry in self.breaks if entry.reachable})
        return f"{lines} unsafe line{'s' * (lines != 1)}" if lines else None

    def details(self) -> dict[str, Any]:
        """Every step at which something breaks, for the evidence record."""
        names = ("index", "place", "kind", "reachable", "origin")
        return {
            "breaks": [{name: getattr(entry, name) for name in names} for entry in self.breaks],
            "stepped": list(self.stepped),
            "not_stepped": list(self.not_stepped),
        }

    def coverage(self) -> str:
        """What was stepped through, as one clause: part of the reason of each result that holds."""
        text = "stepped through: the code under test"
        if self.stepped:
            text += f", and {self.library_tried} steps of {_named(self.stepped)}"
        if self.library_missed:
            text += f" ({self.library_missed} more came by in only some of the runs)"
        if self.not_stepped:
            text += f"; not stepped through: {_named(self.not_stepped)} (include=... adds modules), and C code"
        return text

    def headline(self) -> str:
        return f"{self.workload}: {super().headline()}"

    def __str__(self) -> str:
        rows = [
            ("interpreter", str(self.interpreter)),
            ("injected", f"{self.exception} at {self.tried} of {self.steps} steps ({self.mode}, seed {self.seed})"),
            ("reachable", f"{self.reachable} of {self.steps} steps: where {self.exception} can occur in this interpreter"),
            ("swallowed", f"at {self.swallowed} steps the workload caught the exception and returned"),
            ("in libraries", f"{self.exception} at {self.library_tried} of {self.library_steps} steps; {self.coverage()}"),
            ("rate", f"{self.rate:.0f} steps/s"),
        ]
        lines = [self.headline(), *(f"  {name:12}  {text}" for name, text in rows)]
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


def _named(modules: Sequence[str]) -> str:
    """``"a, b and 3 more"``."""
    if len(modules) <= _NAMED + 1:
        return ", ".join(modules)
    return f"{', '.join(modules[:_NAMED])} and {len(modules) - _NAMED} more"
