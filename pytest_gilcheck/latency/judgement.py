"""From the lateness with and without the workload to a verdict; pure functions of the measurements.

Noise is one-sided: other processes make probes later, never earlier. So holding and violation are shown by different figures.

**Holds**: decided by the raw lateness beside the workload, whatever caused it. There must be enough moments, and few enough late
ones, that the upper bound of the p99 lies within the claim; for a max, no moment may be later. Every probe must show it.

**Violated**: decided only by lateness attributed to the workload. The time for which the probe, or a thread of the workload, was
ready to run without a core is subtracted from each wait (`lateness.Wait.attributed`). Only quiet rounds count: the probe met the
claim without the workload just before and just after, and the client, which is another process, woke in time. (What stops the
whole machine is not the GIL.) Several stalls must occur in them. One probe is enough.

A missing core is never attributed to the workload, not even if its own threads used all cores, as threads without a GIL do. The
same code would pass on a machine with one more core, and the share of other processes is unknown. Such a check is inconclusive.
On a free-threaded build, what remains is a thread that was neither running nor waiting for a core: a stop-the-world pause, or a
lock inside the interpreter.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from ..core.advice import LONGER, RETRY, longer
from ..core.interpreter import FREE_THREADED
from ..core.verdict import Verdict
from .bounds import LEAST_STALLS, least_moments, shows_beyond, shows_within
from .claim import LatencyClaim
from .lateness import LatenessSpread, Wait, lates, ms, quantile

P99 = 0.01  # the share of moments that may be later than a p99
FEWEST_QUIET = 2  # rounds
FREE_CORE = 0.25  # of the limit: the client's oversleep up to which a core was free, where the platform counts no run-queue time


@dataclass(frozen=True)
class Observed:
    """The waits of one probe, round by round.

    Attributes:
        name: of the probe.
        alone: without the workload: one window before each window of ``beside``, and perhaps one after the last.
        beside: beside the workload.
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
class Conditions:
    """The conditions under which the probes measured.

    Attributes:
        build: ``"gil"`` or ``"free-threaded"``.
        workers: threads that run the workload.
        cores: usable cores.
        oversleeps: seconds by which the client, in its own process, woke late while the workload ran; a list for each round.
        stolen: seconds that the hypervisor took from this machine while the workload ran, for each round.
        covered: whether a window was long enough for a whole call of the workload.
        rate: seconds of budget for one moment, to compute the budget that a message advises.
    """

    build: str
    workers: int
    cores: int
    oversleeps: Sequence[Sequence[float]]
    stolen: Sequence[float]
    covered: bool = True
    rate: float = 0.004


@dataclass(frozen=True)
class LatencyJudgement:
    """The verdict, and in one line what decided it or what is missing."""

    verdict: Verdict
    reason: str


@dataclass(frozen=True)
class _Bound:
    name: str
    limit: float
    share: float  # of the moments that may be later


def judge(claim: LatencyClaim, observed: Sequence[Observed], conditions: Conditions) -> LatencyJudgement:
    """Judge the claim by the waits of these probes."""
    bounds = [_Bound("p99", claim.p99, P99)] if claim.p99 is not None else []
    bounds += [_Bound("max", claim.max, 0.0)] if claim.max is not None else []
    if any(_beyond(probe, bound, conditions) for probe in observed for bound in bounds):
        return LatencyJudgement(
            Verdict.VIOLATED, f"{_figures(observed, claim)} beside the workload; asked for {claim}{_without_gil(conditions)}"
        )
    for probe in observed:
        for bound in bounds:
            if not _within(probe, bound):
                return LatencyJudgement(Verdict.INCONCLUSIVE, _missing(probe, bound, conditions))
    if not conditions.covered:
        reason = "no window was long enough for a whole call of the workload, so its end was not measured"
        return LatencyJudgement(Verdict.INCONCLUSIVE, f"{reason}; make one call shorter, or {LONGER}")
    return LatencyJudgement(Verdict.HOLDS, f"{_figures(observed, claim)} beside the workload; asked for {claim}")


def _within(probe: Observed, bound: _Bound) -> bool:
    late, n = _count(probe.all_beside, bound.limit)
    if bound.share == 0:
        return late == 0 and n >= least_moments(0, P99)
    return shows_within(n, late, bound.share)


def _beyond(probe: Observed, bound: _Bound, conditions: Conditions) -> bool:
    quiet = [number for number in range(len(probe.beside)) if _quiet(number, probe, bound, conditions)]
    late, stalls = _attributed(quiet, probe, bound, conditions)
    if bound.share == 0:
        return stalls >= LEAST_STALLS
    n = sum(wait.moments for number in quiet for wait in probe.beside[number])
    return n > 0 and shows_beyond(n, late, stalls, bound.share)


def _quiet(number: int, probe: Observed, bound: _Bound, conditions: Conditions) -> bool:
    """Whether nothing but the workload delayed the probe or the client in this round, as far as they show."""
    return _met_alone(number, probe, bound) and _client_on_time(number, bound, conditions)


def _met_alone(number: int, probe: Observed, bound: _Bound) -> bool:
    windows = probe.alone[number : number + 2]
    return all(window and _count(window, bound.limit)[0] <= bound.share * _count(window, bound.limit)[1] for window in windows)


def _client_on_time(number: int, bound: _Bound, conditions: Conditions) -> bool:
    oversleeps = conditions.oversleeps[number]
    return sum(late > bound.limit for late in oversleeps) <= bound.share * len(oversleeps)


def _attributed(rounds: Sequence[int], probe: Observed, bound: _Bound, conditions: Conditions) -> tuple[int, int]:
    """The number of moments in these rounds whose attributed lateness exceeds the limit, and of the stalls that they belong to.

    Time that a hypervisor steals is not counted for each thread. So both numbers are reduced by the share that it may have caused.
    """
    late, waited, stalls = 0, 0.0, 0
    for number in rounds:
        for wait in probe.beside[number]:
            unattributed = wait.unattributed
            if unattributed is None:
                unattributed = 0.0 if _core_was_free(number, bound, conditions) else wait.late
            if beyond := sum(moment - unattributed > bound.limit for moment in wait.lates()):
                late, waited, stalls = late + beyond, waited + wait.late - unattributed, stalls + 1
    own = max(0.0, 1 - sum(conditions.stolen[number] for number in rounds) / waited) if stalls else 0.0
    return int(late * own), int(stalls * own)


def _core_was_free(number: int, bound: _Bound, conditions: Conditions) -> bool:
    """Whether a core was certainly free for the probe, on a platform that does not count the time without a core."""
    oversleeps = sorted(conditions.oversleeps[number])
    return conditions.workers < conditions.cores and bool(oversleeps) and quantile(oversleeps, 0.99) <= FREE_CORE * bound.limit


def _count(waits: Sequence[Wait], limit: float) -> tuple[int, int]:
    """Moments later than the limit, and all moments."""
    return sum(late > limit for late in lates(waits)), sum(wait.moments for wait in waits)


def _missing(probe: Observed, bound: _Bound, conditions: Conditions) -> str:
    """Why this probe does not decide, and what to do."""
    late, n = _count(probe.all_beside, bound.limit)
    if n == 0:
        return f"the {probe.name} measured nothing beside the workload; {LONGER}"
    if late <= bound.share * n:
        need = least_moments(late, bound.share or P99)
        reason = f"{n} moments of the {probe.name}, {late} of them late, do not show {bound.name} at most {bound.limit * 1e3:g} ms"
        if need <= n:
            return f"{reason}; {LONGER}"
        return f"{reason}: about {need} are needed; {longer(need * conditions.rate * 1.3, n * conditions.rate)}"
    everything = list(range(len(probe.beside)))
    reason = f"{probe.name} {bound.name} {ms(_figure(probe.all_beside, bound.name))} beside the workload"
    reason = f"{reason}, asked for {bound.name} at most {bound.limit * 1e3:g} ms"
    met = [number for number in everything if _met_alone(number, probe, bound)]
    if len(met) < FEWEST_QUIET:
        worst = max(wait.late for wait in probe.all_alone)
        reason = f"{reason}, but up to {ms(worst)} late without the workload too: machine (or this process) too busy"
        return f"{reason}; {RETRY}"
    if sum(_client_on_time(number, bound, conditions) for number in met) < FEWEST_QUIET:
        worst = max(late for oversleeps in conditions.oversleeps for late in oversleeps)
        reason = f"{reason}, but another process, which only slept, woke up to {ms(worst)} late: machine too busy"
        return f"{reason}; {RETRY}"
    if any(wait.unattributed is None for wait in probe.all_beside) and not all(
        _core_was_free(number, bound, conditions) for number in everything
    ):
        return f"{reason}; this platform does not tell whether a core was missing; retry on a machine with more cores than workers"
    attributed, stalls = _attributed(everything, probe, bound, conditions)
    if attributed <= bound.share * n:
        threads = f"{conditions.workers} busy thread{'s' if conditions.workers > 1 else ''} on {conditions.cores} cores"
        reason = f"{reason}, but the threads waited for a core, not for the workload (other processes, or {threads})"
        return f"{reason}; retry on an idle machine or one with more cores"
    if stalls == 0:
        return f"{reason}, but the hypervisor took time from this machine that may explain every stall; {RETRY}"
    return f"{reason}, in {stalls} stall{'s' if stalls != 1 else ''}: too few to decide; {LONGER}"


def _figures(observed: Sequence[Observed], claim: LatencyClaim) -> str:
    names = [name for name, bound in (("p99", claim.p99), ("max", claim.max)) if bound is not None]
    return ", ".join(
        f"{probe.name} {name} {ms(_figure(probe.all_beside, name))} ({ms(_figure(probe.all_alone, name))} alone)"
        for probe in observed
        for name in names
    )


def _figure(waits: Sequence[Wait], name: str) -> float:
    spread = LatenessSpread.of(waits)
    return 0.0 if spread is None else spread.p99 if name == "p99" else spread.max


def _without_gil(conditions: Conditions) -> str:
    if conditions.build != FREE_THREADED:
        return ""
    return "; this build has no GIL, so the delays are stop-the-world pauses or locks inside the interpreter"
