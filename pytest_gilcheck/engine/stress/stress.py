"""Stress mode: runs thousands of instances of a program a second, with threads that run at the same time, in child processes.

It shows what no controlled schedule can: a value torn in C, a crash, a thread that never ends. A child that crashes or hangs ends
alone, and its counts survive.

Without a hit in N instances, the probability of one is below 3/N with 95% confidence ("rule of three"), on this machine and build.
With a GIL, threads do not switch inside `v += 1`, however often that is tried.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

from ...core.child import Ending
from ...core.clocks import monotonic
from ...core.cores import usable_cores
from ...core.fork_safety import can_fork
from ..outcome import NotExplorable
from ..program import Program, describe_error
from .child import GRACE, GRACE_SHARE, SharedCount, StressBounds
from .guard import StressChild, run

DEFAULT_TIMEOUT = 10.0  # seconds for one instance, after which it hangs
GIL_NOTE = (
    "stress with a GIL cannot see what the GIL masks: known bugs of that kind showed 0 times in 1.34 million instances;"
    " run it on a free-threaded build"
)
ONE_CORE_NOTE = "stress on one core cannot see what needs threads that run at once: 0 hits of a racy counter in 337,457 instances"
_OF_THREE = 3.0
LEAST_OVERLAPPED = 30  # instances in which threads ran at the same time; with fewer, the absence of hits is no evidence


@dataclass(frozen=True)
class StressReport:
    """The outcome of a stress run.

    Attributes:
        instances: the number of instances, including one in which a child crashed or hung.
        hits: the number of instances that failed.
        first: what failed in the first of those, in one line.
        symptom: of the first hit: ``"invariant"``, ``"exception"``, ``"crashed"`` or ``"hangs"``; None without a hit.
        trace: the traceback of the first exception, or what ``faulthandler`` wrote at the first crash or hang.
        seconds: how long it took.
        children: the number of child processes.
        bound: without a hit, an upper bound on the probability of one, with 95% confidence; None with a hit.
        kinds: (symptom, number of hits).
        notes: what limits this outcome, one line each.
        overlapped: the number of instances in which threads ran at the same time.
        gil: whether there was a GIL, which masks some bugs.
        undecided: why the absence of hits is no evidence here: a GIL, a single core, too few instances, an early end; or empty.
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
    overlapped: int = 0
    gil: bool = False
    undecided: str = ""

    @property
    def rate(self) -> float:
        """Hits per instance."""
        return self.hits / max(1, self.instances)

    def headline(self) -> str:
        """One line with the figures."""
        ran = f"{self.instances:,} instances in {self.seconds:.1f} s"
        if self.symptom is not None:
            return f"{self.first}; {self.hits:,} of {ran} ({self.rate:.2g}), threads overlapped in {self.overlapped:,}"
        bound = f": p < {self.bound:.1e} (3/N, at 95%)" if self.bound and not self.undecided else ""
        return f"0 hits in {ran}, threads overlapped in {self.overlapped:,}{bound}"

    def __str__(self) -> str:
        lines = [f"stress: {self.headline()}"]
        if len(self.kinds) > 1:
            lines.append("  hits by kind: " + ", ".join(f"{kind} {hits:,}" for kind, hits in self.kinds))
        lines += [f"  {note}" for note in self.notes]
        lines += [f"    {line}" for line in self.trace.splitlines()]
        return "\n".join(lines)


@dataclass
class _Found:
    """The counts and findings of all children so far."""

    instances: int = 0
    kinds: dict[str, int] = field(default_factory=dict)
    first: str = ""
    symptom: str | None = None
    trace: str = ""
    children: int = 0
    overlapped: int = 0
    gil: bool = False
    failure: str = ""
    at: float = 0.0  # the time of the first hit
    seen: set[str] = field(default_factory=set)  # symptoms that have a trace

    @property
    def hits(self) -> int:
        return sum(self.kinds.values())

    def add(self, child: StressChild) -> None:
        counts = child.counts
        self.children += 1
        self.overlapped += counts[SharedCount.OVERLAPPED]
        self.gil = self.gil or not counts[SharedCount.FREE_THREADED]
        self.instances += counts[SharedCount.FINISHED] + (child.outcome is not None)
        for kind, hits in child.kinds().items():
            if hits:
                self.kinds[kind] = self.kinds.get(kind, 0) + hits
        for report in (child.first, child.end() if child.outcome is not None else None):
            if report is None or report[0] in self.seen:
                continue
            symptom, message, trace = report
            if self.symptom is None:
                self.symptom, self.first, self.trace, self.at = symptom, message, trace, monotonic()
            else:
                self.trace += f"\n\nand later: {message}\n{trace}"
            self.seen.add(symptom)
        if child.failure is not None:
            self.failure = f"it ended early, after {self.instances:,} instances: {describe_error(child.failure)}"

    def undecided(self) -> str:
        """Why the absence of hits would be no evidence; empty if it would be."""
        if self.gil:
            return GIL_NOTE
        if usable_cores() < 2:
            return ONE_CORE_NOTE
        if self.failure:
            return "nothing was broken until it ended early"
        few = f"threads overlapped in only {self.overlapped:,} of {self.instances:,} instances"
        few += ": raise budget, or use a less busy machine"
        return few if self.overlapped < LEAST_OVERLAPPED else ""


def stress(
    program: Program,
    seconds: float,
    *,
    expected: Sequence[frozenset[str]] = (),
    timeout: float = DEFAULT_TIMEOUT,
    progress: Callable[[str], None] = lambda label: None,
) -> StressReport:
    """Run instances of a program for so many seconds, or until shortly after the first hit.

    Args:
        expected: for each thread, the names of the exceptions that every sequential order raises too. Exceptions in threads that
            the program starts itself are not noticed.
        timeout: seconds for one instance, after which it hangs.

    Raises:
        BaseException: what the setup raised the first time.
        NotExplorable: this process cannot be forked now.
    """
    if (why := can_fork()) is not None:
        raise NotExplorable(f"mode='stress' runs instances in forked processes, but {why}")
    begun = monotonic()
    until, found = begun + seconds, _Found()

    def running(instances: int, hits: int) -> None:
        progress(f"stress: {found.instances + instances:,} instances, {found.hits + hits:,} hits")

    while True:
        child = run(program, StressBounds(max(0.0, until - monotonic()), timeout), expected, running)
        if child.failure is not None and not found.instances and not child.counts[SharedCount.FINISHED]:
            raise child.failure
        found.add(child)
        if child.outcome is None or child.outcome.ending in (Ending.HUNG, Ending.STOPPED):
            break
        until = min(until, found.at + min(GRACE, seconds * GRACE_SHARE))  # more children, for the rate of crashes
        if monotonic() > until:
            break
    undecided = "" if found.hits else found.undecided()
    notes = [note for note in (undecided, found.failure) if note]
    if 1 < usable_cores() < len(program.threads):
        notes.append(f"{len(program.threads)} threads on {usable_cores()} cores: not all of them ran at the same time")
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
        overlapped=found.overlapped,
        gil=found.gil,
        undecided=undecided,
    )
