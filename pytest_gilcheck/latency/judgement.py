"""From lateness, alone and beside the workload, to a verdict. Pure functions of what was measured.

Noise is one-sided: neighbours make probes later, never earlier. So the two sides are shown by different figures.

**It holds** by the raw lateness beside the workload, whoever caused it: enough moments, and late ones few enough, that the bound
of the p99 lies within the claim; for a max, none above it. Every probe must show it.

**It is violated** only by lateness that the workload answers for: the time that the probe, or a thread of the workload, was ready
to run and denied a core is taken off each wait (`lateness.Wait.blamed`). And only calm rounds count: those in which the probe met
the claim without the workload, just before and just after, and the client in its own process woke in time, for what stops the
whole machine is nobody's GIL. In them there must be several stalls. One probe is enough.

A missing core is never blamed on the workload, not even if its own threads took all of them, as threads without a GIL do: the
same code would pass on a machine with one more core, and which share neighbours had cannot be told. That is inconclusive, and
says so. On a free-threaded build what is left to blame is a thread that was neither running nor waiting for a core: a
stop-the-world pause, or a lock inside the interpreter.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from ..core.interpreter import FREE_THREADED
from ..core.verdict import Verdict
from .bounds import LEAST_STALLS, least_moments, shows_beyond, shows_within
from .claim import LatencyClaim
from .lateness import Spread, Wait, lates, ms, quantile

P99 = 0.01  # the share of moments that may be later than a p99
FEWEST_CALM = 2  # rounds
CALM = 0.25  # of the limit, that the client's oversleep may reach where the platform says nothing of denied cores


@dataclass(frozen=True)
class Observed:
    """What one probe saw, round by round.

    Attributes:
        name: of the probe.
        alone: its waits without the workload; one window before each of those beside it, and perhaps one after the last.
        beside: its waits beside the workload.
    """

    name: str
    alone: Sequence[Sequence[Wait]]
    beside: Sequence[Sequence[Wait]]

    @property
    def all_alone(self) -> list[Wait]:
        return [wait for window in self.alone for wait in window]

    @property
    def all_beside(self) -> list[Wait]:
        return [wait for window in self.beside for wait in window]


@dataclass(frozen=True)
class Circumstances:
    """What else the verdict rests on.

    Attributes:
        build: ``"gil"`` or ``"free-threaded"``.
        workers, cores: threads that run the workload, on so many usable cores.
        oversleeps: seconds by which the client, in its own process, woke late while the workload ran, round by round.
        stolen: seconds that the hypervisor took from this machine meanwhile, round by round.
        covered: whether some window saw a whole call of the workload.
        rate: seconds of budget that a moment costs, to say how long a longer budget.
    """

    build: str
    workers: int
    cores: int
    oversleeps: Sequence[Sequence[float]]
    stolen: Sequence[float]
    covered: bool = True
    rate: float = 0.004


@dataclass(frozen=True)
class Judgement:
    """The verdict, and what decided or what is missing, in one line."""

    verdict: Verdict
    reason: str


@dataclass(frozen=True)
class _Bound:
    name: str
    limit: float
    share: float  # of the moments that may be later


def judge(claim: LatencyClaim, observed: Sequence[Observed], there: Circumstances) -> Judgement:
    """Judge the claim by what these probes saw."""
    bounds = [_Bound("p99", claim.p99, P99)] if claim.p99 is not None else []
    bounds += [_Bound("max", claim.max, 0.0)] if claim.max is not None else []
    if any(_beyond(probe, bound, there) for probe in observed for bound in bounds):
        return Judgement(Verdict.VIOLATED, f"{_figures(observed, claim)} beside the workload; asked for {claim}{_left(there)}")
    for probe in observed:
        for bound in bounds:
            if not _within(probe, bound):
                return Judgement(Verdict.INCONCLUSIVE, _missing(probe, bound, there))
    if not there.covered:
        reason = "no window was long enough to see a whole call of the workload, so what it does later was not seen"
        return Judgement(Verdict.INCONCLUSIVE, f"{reason}; shorter calls or a longer budget would help")
    return Judgement(Verdict.HOLDS, f"{_figures(observed, claim)} beside the workload; asked for {claim}")


def _within(probe: Observed, bound: _Bound) -> bool:
    late, n = _count(probe.all_beside, bound.limit)
    if bound.share == 0:
        return late == 0 and n >= least_moments(0, P99)
    return shows_within(n, late, bound.share)


def _beyond(probe: Observed, bound: _Bound, there: Circumstances) -> bool:
    calm = [number for number in range(len(probe.beside)) if _calm(number, probe, bound, there)]
    late, stalls = _blamed(calm, probe, bound, there)
    if bound.share == 0:
        return stalls >= LEAST_STALLS
    n = sum(wait.moments for number in calm for wait in probe.beside[number])
    return n > 0 and shows_beyond(n, late, stalls, bound.share)


def _calm(number: int, probe: Observed, bound: _Bound, there: Circumstances) -> bool:
    """Whether nothing but the workload was seen to delay anybody in this round."""
    return _met_alone(number, probe, bound) and _client_on_time(number, bound, there)


def _met_alone(number: int, probe: Observed, bound: _Bound) -> bool:
    windows = probe.alone[number : number + 2]
    return all(window and _count(window, bound.limit)[0] <= bound.share * _count(window, bound.limit)[1] for window in windows)


def _client_on_time(number: int, bound: _Bound, there: Circumstances) -> bool:
    oversleeps = there.oversleeps[number]
    return sum(late > bound.limit for late in oversleeps) <= bound.share * len(oversleeps)


def _blamed(rounds: Sequence[int], probe: Observed, bound: _Bound, there: Circumstances) -> tuple[int, int]:
    """Moments in these rounds later than the limit by the workload's doing, and the stalls that they belong to.

    Time that a hypervisor steals is not seen thread by thread: so much as could be its doing is taken off them all.
    """
    late, waited, stalls = 0, 0.0, 0
    for number in rounds:
        for wait in probe.beside[number]:
            unexplained = wait.unexplained
            if unexplained is None:
                unexplained = 0.0 if _room(number, bound, there) else wait.late
            if beyond := sum(moment - unexplained > bound.limit for moment in wait.lates()):
                late, waited, stalls = late + beyond, waited + wait.late - unexplained, stalls + 1
    own = max(0.0, 1 - sum(there.stolen[number] for number in rounds) / waited) if stalls else 0.0
    return int(late * own), int(stalls * own)


def _room(number: int, bound: _Bound, there: Circumstances) -> bool:
    """Whether a core was surely free for the probe, on a platform that does not say who was denied one."""
    oversleeps = sorted(there.oversleeps[number])
    return there.workers < there.cores and bool(oversleeps) and quantile(oversleeps, 0.99) <= CALM * bound.limit


def _count(waits: Sequence[Wait], limit: float) -> tuple[int, int]:
    """Moments later than the limit, and all moments."""
    return sum(late > limit for late in lates(waits)), sum(wait.moments for wait in waits)


def _missing(probe: Observed, bound: _Bound, there: Circumstances) -> str:
    """Why this probe decides nothing, and what would help."""
    late, n = _count(probe.all_beside, bound.limit)
    if n == 0:
        return f"the {probe.name} made no observation beside the workload; a longer budget would help"
    if late <= bound.share * n:
        need = least_moments(late, bound.share or P99)
        reason = f"{n} moments of the {probe.name}, {late} of them late, do not show {bound.name} at most {bound.limit * 1e3:g} ms"
        more = "a longer budget would help" if need <= n else f"about {need} would: budget={max(1.0, need * there.rate * 1.3):.1f}"
        return f"{reason}; {more}"
    everything = list(range(len(probe.beside)))
    reason = f"{probe.name} {bound.name} {ms(_figure(probe.all_beside, bound.name))} beside the workload"
    reason = f"{reason}, asked for {bound.name} at most {bound.limit * 1e3:g} ms"
    met = [number for number in everything if _met_alone(number, probe, bound)]
    if len(met) < FEWEST_CALM:
        worst = max(wait.late for wait in probe.all_alone)
        reason = f"{reason}, but it is up to {ms(worst)} late without the workload too: the machine is busy"
        return f"{reason}, or other threads of this process are; a quieter machine or a wider claim would help"
    if sum(_client_on_time(number, bound, there) for number in met) < FEWEST_CALM:
        worst = max(late for oversleeps in there.oversleeps for late in oversleeps)
        reason = f"{reason}, but a process that only sleeps woke up to {ms(worst)} late meanwhile: the machine is busy"
        return f"{reason}; a quieter one would help"
    if any(wait.unexplained is None for wait in probe.all_beside) and not all(_room(number, bound, there) for number in everything):
        return f"{reason}; this platform does not say whether a core was missing; more cores than workers would help"
    blamed, stalls = _blamed(everything, probe, bound, there)
    if blamed <= bound.share * n:
        threads = f"{there.workers} busy thread{'s' if there.workers > 1 else ''} on {there.cores} cores"
        reason = f"{reason}, but the delay is that of threads which had no core (neighbours, or {threads})"
        return f"{reason}; a quieter machine or more cores would help"
    return f"{reason}, in {stalls} stall{'s' if stalls != 1 else ''}: too few to call; a longer budget would help"


def _figures(observed: Sequence[Observed], claim: LatencyClaim) -> str:
    names = [name for name, bound in (("p99", claim.p99), ("max", claim.max)) if bound is not None]
    return ", ".join(
        f"{probe.name} {name} {ms(_figure(probe.all_beside, name))} ({ms(_figure(probe.all_alone, name))} alone)"
        for probe in observed
        for name in names
    )


def _figure(waits: Sequence[Wait], name: str) -> float:
    spread = Spread.of(waits)
    return 0.0 if spread is None else spread.p99 if name == "p99" else spread.max


def _left(there: Circumstances) -> str:
    if there.build != FREE_THREADED:
        return ""
    return "; with no GIL to wait for, these are stop-the-world pauses or locks inside the interpreter"
