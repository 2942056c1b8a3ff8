"""Stress: the same program for real, thousands of instances a second, in guarded children.

What no simulation shows is seen here: a value torn in C, a crash, a thread that never comes back. Whatever becomes of a child is a
result: it crashes or hangs alone, and what it counted survives it.

Nothing is proved: no hit in N instances says that the chance of one is below 3/N, no more ("rule of three", at 95%). And that is
said of what the machine did: with a GIL, threads do not switch inside `v += 1`, however often that is tried.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from time import monotonic

from ...core.child import Ending
from ...core.cores import usable_cores
from ...core.errors import BadValue
from ...core.fork_safety import can_fork
from ..program import Program, describe_error
from .child import GRACE, GRACE_SHARE, SharedCount
from .guard import StressChild, run

DEFAULT_TIMEOUT = 10.0  # seconds for one instance
GIL_NOTE = (
    "stress with a GIL cannot see what the GIL masks: known bugs of that kind showed 0 times in 1.34 million instances;"
    " run it on a free-threaded build"
)
ONE_CORE_NOTE = "stress on one core cannot see what needs threads that run at once: 0 hits of a racy counter in 337,457 instances"
_OF_THREE = 3.0
_LEAST_MET = 30  # instances in which threads ran at once; with fewer, no hit says nothing


@dataclass(frozen=True)
class StressReport:
    """What stress has shown.

    Attributes:
        instances: how many were run, the one included in which a child crashed or hung.
        hits: in how many of them something was broken.
        first: what was broken in the first, in one line.
        symptom: the kind of the first: ``"invariant"``, ``"exception"``, ``"crashed"``, ``"hangs"``, or None.
        trace: of the first exception its traceback; of the first crash or hang what ``faulthandler`` wrote.
        seconds: what it took.
        children: how many processes.
        bound: without a hit, what the chance of one is below, at 95%; None with a hit.
        kinds: hits by their kind.
        notes: what the reader must know.
        met: in how many instances threads ran at the same time.
        gil: whether there was a GIL, so that it says nothing about bugs that it masks.
        undecided: why no hit says nothing here: a GIL, a single core, too few instances, an early end; empty if it says something.
    """

    instances: int
    hits: int
    first: str
    symptom: str | None
    trace: str
    seconds: float
    children: int
    bound: float | None
    kinds: tuple[tuple[str, int], ...] = ()
    notes: tuple[str, ...] = ()
    met: int = 0
    gil: bool = False
    undecided: str = ""

    @property
    def rate(self) -> float:
        """Hits in an instance."""
        return self.hits / max(1, self.instances)

    def headline(self) -> str:
        """One line with its figures."""
        ran = f"{self.instances:,} instances in {self.seconds:.1f} s"
        if self.symptom is not None:
            return f"{self.first}; {self.hits:,} of {ran} ({self.rate:.2g}), threads met in {self.met:,}"
        bound = f": p < {self.bound:.1e} (3/N, at 95%)" if self.bound and not self.undecided else ""
        return f"0 hits in {ran}, threads met in {self.met:,}{bound}"

    def __str__(self) -> str:
        lines = [f"stress: {self.headline()}"]
        if len(self.kinds) > 1:
            lines.append("  hits by kind: " + ", ".join(f"{kind} {hits:,}" for kind, hits in self.kinds))
        lines += [f"  {note}" for note in self.notes]
        lines += [f"    {line}" for line in self.trace.splitlines()]
        return "\n".join(lines)


@dataclass
class _Found:
    """What is known so far, of all children."""

    instances: int = 0
    kinds: dict[str, int] = field(default_factory=dict)
    first: str = ""
    symptom: str | None = None
    trace: str = ""
    children: int = 0
    met: int = 0
    gil: bool = False
    failure: str = ""
    at: float = 0.0  # when the first hit was seen
    seen: set[str] = field(default_factory=set)  # kinds with a trace

    @property
    def hits(self) -> int:
        return sum(self.kinds.values())

    def add(self, child: StressChild) -> None:
        counts = child.counts
        self.children += 1
        self.met += counts[SharedCount.MET]
        self.gil = self.gil or not counts[SharedCount.FREE_THREADED]
        self.instances += counts[SharedCount.FINISHED] + (child.outcome is not None)
        for kind, hits in child.kinds().items():
            if hits:
                self.kinds[kind] = self.kinds.get(kind, 0) + hits
        for told in (child.first, child.end() if child.outcome is not None else None):
            if told is None or told[0] in self.seen:
                continue
            symptom, message, trace = told
            if self.symptom is None:
                self.symptom, self.first, self.trace, self.at = symptom, message, trace, monotonic()
            else:
                self.trace += f"\n\nand later: {message}\n{trace}"
            self.seen.add(symptom)
        if child.failure is not None:
            self.failure = f"it ended early, after {self.instances:,} instances: {describe_error(child.failure)}"

    def undecided(self) -> str:
        """Why no hit would say nothing; empty if it says something."""
        if self.gil:
            return GIL_NOTE
        if usable_cores() < 2:
            return ONE_CORE_NOTE
        if self.failure:
            return "nothing was broken until it ended early"
        few = f"threads ran at once in only {self.met:,} of {self.instances:,} instances: give more budget, or a machine less busy"
        return few if self.met < _LEAST_MET else ""


def stress(
    program: Program,
    seconds: float,
    *,
    expected: Sequence[frozenset[str]] = (),
    timeout: float = DEFAULT_TIMEOUT,
    progress: Callable[[str], None] = lambda label: None,
) -> StressReport:
    """Run instances of a program for so long, or shortly beyond the first hit.

    Args:
        expected: for each thread, the names of the exceptions that every sequential order raises too. What a thread raises that
            the program starts by itself is not seen.
        timeout: seconds for one instance, after which it hangs.

    Raises:
        BaseException: what the setup raised the first time.
        BadValue: this process cannot be forked now.
    """
    if (why := can_fork()) is not None:
        raise BadValue("mode", "stress", f"a process that can be forked, but {why}")
    begun = monotonic()
    until, found = begun + seconds, _Found()

    def running(instances: int, hits: int) -> None:
        progress(f"stress: {found.instances + instances:,} instances, {found.hits + hits:,} hits")

    while True:
        child = run(program, max(0.0, until - monotonic()), expected, timeout, running)
        if child.failure is not None and not found.instances and not child.counts[SharedCount.FINISHED]:
            raise child.failure
        found.add(child)
        if child.outcome is None or child.outcome.ending in (Ending.HUNG, Ending.STOPPED):
            break
        until = min(until, found.at + min(GRACE, seconds * GRACE_SHARE))  # it crashed: how often does it?
        if monotonic() > until:
            break
    undecided = "" if found.hits else found.undecided()
    notes = [note for note in (undecided, found.failure) if note]
    if 1 < usable_cores() < len(program.threads):
        notes.append(f"{len(program.threads)} threads on {usable_cores()} cores: not all of them ran at once")
    return StressReport(
        instances=found.instances,
        hits=found.hits,
        first=found.first,
        symptom=found.symptom,
        trace=found.trace,
        seconds=monotonic() - begun,
        children=found.children,
        bound=None if found.hits or not found.instances else min(1.0, _OF_THREE / found.instances),
        kinds=tuple(sorted(found.kinds.items())),
        notes=tuple(notes),
        met=found.met,
        gil=found.gil,
        undecided=undecided,
    )
