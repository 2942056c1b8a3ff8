"""One scaling check, from the workload to the result."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from contextlib import ExitStack
from dataclasses import replace
from statistics import median

from ..core.advice import RETRY, longer
from ..core.clocks import time
from ..core.cores import pinned, usable_cores
from ..core.errors import BadValue
from ..core.fork_safety import can_fork
from ..core.held_fraction import Held, held_fraction
from ..core.interpreter import FREE_THREADED, Interpreter, build, gil_came_back, switch_interval, watcher
from ..core.machine import yardstick
from ..core.team import Lap, Team, raise_plainly
from ..core.verdict import Verdict
from ..core.workloads import Workload, name_of
from .claim import ScalingClaim
from .diagnosis import Cause, diagnose, identity, scales
from .judgement import ScalingJudgement, judge, refuted_by_held
from .plan import DEFAULT_BUDGET, LONGEST_DEFAULT_BUDGET, ScalingPlan
from .processes import run_in_processes
from .reading import RoundsReading, read_rounds
from .reference import reference_kernel
from .result import ScalingResult
from .sampling import Calibration, Round, Sampler, shortest_unit
from .statistics import LEAST
from .watch import WatchSummary, watch
from .workload import repeated

_ROUNDS_WANTED = 5
_HELD_SECONDS = 0.2
_PROCESS_LAPS = 3
_ONE_THREAD_LAPS = 3  # at least; each gives one figure for each thread
_SHORT_LAP = 0.25  # seconds; laps are added only if they are shorter
_MISCALIBRATED = 3.0  # factor between the calibrated and the measured time of a call, from which a result is rejected

_DENIED = 0.5  # share of a sequential lap without a core, from which the rest of it is no measurement
_SLOWED = 2.0  # factor between the time that a round took and its work, from which the reason says both


def scaling(
    work: Workload,
    claim: ScalingClaim,
    plan: ScalingPlan,
    *,
    name: str | None = None,
    progress: Callable[[str], None] = lambda label: None,
) -> ScalingResult:
    """Measure and judge whether ``work`` scales over threads.

    Args:
        work: called without arguments, in worker threads; a coroutine function is awaited in an event loop of each thread.
        claim: what to judge.
        plan: how to measure.
        name: of the workload in the report; the name of the callable by default.
        progress: called with a label before each lap.

    Raises:
        BaseException: the workload raised it in its first call, in one thread; a KeyboardInterrupt comes in a group, because
            the user did not press Ctrl-C.
        BaseExceptionGroup: what the workload raised later, from every thread.
        TeamHung: a call did not return within the timeout.
        BadValue: the plan cannot be carried out on this system.
    """
    start = time.monotonic()
    template = ScalingResult(
        conclusion=Verdict.INCONCLUSIVE,
        reason="",
        workload=name or name_of(work),
        claim=claim,
        interpreter=Interpreter.current(),
        threads=plan.threads,
    )
    with ExitStack() as stack:
        stack.enter_context(pinned(plan.cores))
        stack.enter_context(switch_interval(plan.switchinterval))
        template = replace(template, interpreter=Interpreter.current())
        team = stack.enter_context(Team(plan.threads))
        if plan.timeout < (least := 2 * plan.threads * shortest_unit()):
            most = f"fewer for timeout={plan.timeout:g}: one lap of so many takes at least {least:g} seconds"
            raise BadValue("threads", plan.threads, most)
        sampler = Sampler(work, reference_kernel(template.interpreter.build), team, plan.timeout, progress, plan.setup)
        _warm_up(sampler, max(1, plan.warmup))
        if (watched := watcher()) is not None:
            reason = f"{watched} is active and distorts all timings; run timing checks without it"
            return replace(template, reason=reason, distorted=True, seconds=time.monotonic() - start)
        result = _measured(template, sampler, plan, start)
    if plan.diagnosed and result.conclusion is not Verdict.INCONCLUSIVE and result.cause is not Cause.SCALES:
        result = _with_processes(result, work, plan, progress)
    if build() != template.interpreter.build:
        result = replace(result, conclusion=Verdict.INCONCLUSIVE, reason=gil_came_back(template.interpreter))
    return replace(result, seconds=time.monotonic() - start)


def _warm_up(sampler: Sampler, calls: int) -> None:
    """Make the first calls in one thread. Their exceptions are raised as they are, because they do not depend on threads."""
    try:
        sampler.warm_up(calls)
    except BaseExceptionGroup as group:
        raise_plainly(group)


def _measured(template: ScalingResult, sampler: Sampler, plan: ScalingPlan, start: float) -> ScalingResult:
    calibration = sampler.calibration
    template = replace(template, call_seconds=calibration.seconds, calls=calibration.calls, yardstick_before=yardstick())
    if (short := calibration.too_short) is not None:
        return replace(template, reason=f"the workload is too short to time: {short}; do more work in one call")
    wanted = max(DEFAULT_BUDGET, _ROUNDS_WANTED * _round_seconds(calibration, plan))
    budget = plan.budget or plan.scale * min(LONGEST_DEFAULT_BUDGET, wanted)
    held = None
    if template.interpreter.build != FREE_THREADED and _wants_speedup(template.claim):
        held = _held(sampler)
    rounds: list[Round] = []
    reading: RoundsReading | None = None
    judgement: ScalingJudgement | None = None
    cores = usable_cores()
    began = before = time.monotonic()
    for r in sampler.rounds():
        rounds.append(r)
        now = time.monotonic()
        last, before = now - before, now
        reading = read_rounds(rounds, plan.threads, cores)
        judgement = judge(template.claim, reading, held)
        if judgement.verdict is not Verdict.INCONCLUSIVE or judgement.hopeless or refuted_by_held(template.claim, held):
            break
        if now - start + last > budget and (plan.budget is not None or len(rounds) >= LEAST or now - start > budget):
            break
    assert reading is not None, "there is at least one round"
    assert judgement is not None
    judgement = _believed(judgement, rounds, (before - began) / len(rounds), calibration, plan, budget)
    return _concluded(template, sampler, judgement, reading, held, plan)


def _believed(
    judgement: ScalingJudgement, rounds: list[Round], lasted: float, calibration: Calibration, plan: ScalingPlan, budget: float
) -> ScalingJudgement:
    """Reject the measurement (verdict: inconclusive) if the workload changed speed; explain it if too few rounds were completed.

    Args:
        lasted: seconds that a round took.
    """
    first = rounds[0].work.sequential
    measured = first.own_wall / 1e9 / (calibration.calls * plan.threads)
    factor = measured / calibration.seconds
    if not 1 / _MISCALIBRATED < factor < _MISCALIBRATED:
        if first.denied is not None and first.denied > _DENIED:  # what is left of the lap says nothing of the workload
            reason = f"machine too busy: for {min(1.0, first.denied):.0%} of a lap, which takes one core, there was none"
            return replace(judgement, verdict=Verdict.INCONCLUSIVE, reason=f"{reason}; {RETRY}")
        reason = f"the workload changed speed during the measurement: one call took {factor:.2g}x as long as in the calibration"
        advice = "give every call the same work, or raise warmup="
        return replace(judgement, verdict=Verdict.INCONCLUSIVE, reason=f"{reason}; {advice}")
    if judgement.verdict is Verdict.INCONCLUSIVE and len(rounds) < 3 and not judgement.hopeless:
        took = _round_seconds(calibration, plan)
        rounds_run = f"{len(rounds)} round{'s' if len(rounds) > 1 else ''}"
        reason = f"{rounds_run} fitted into budget={budget:g} s, at least 3 are needed, and one takes about {took:.2g} s"
        if lasted > _SLOWED * took:
            reason += f" of an idle machine; here one took {lasted:.2g} s"
        needed = _ROUNDS_WANTED * took
        return replace(judgement, reason=f"{reason}; {longer(needed, budget) if needed > budget else RETRY}")
    return judgement


def _concluded(
    template: ScalingResult,
    sampler: Sampler,
    judgement: ScalingJudgement,
    reading: RoundsReading,
    held: Held | None,
    plan: ScalingPlan,
) -> ScalingResult:
    terms = identity(reading.trusted)
    seen: WatchSummary | None = None
    limited = judgement.verdict is not Verdict.INCONCLUSIVE and not scales(reading)
    if limited and plan.diagnosed:
        if held is None and template.interpreter.build != FREE_THREADED:
            held = _held(sampler)
        seen = watch(sampler)
    result = replace(
        template,
        conclusion=judgement.verdict,
        reason=judgement.reason,
        speedup=reading.speedup,
        interval=(judgement.low or 0.0, _meaningful(judgement.high, plan.threads)),
        ceiling=reading.ceiling.typical,
        threshold=judgement.threshold,
        rounds=len(reading.rounds),
        held=held,
        identity=terms,
        pairs=reading.rounds,
        extra=_one_thread_laps(sampler, reading.rounds),
        yardstick_after=yardstick(),
    )
    return replace(result, diagnosis=diagnose(result.conclusion, reading, terms, held, seen))


def _one_thread_laps(sampler: Sampler, rounds: Sequence[Round]) -> tuple[Lap, ...]:
    """Add sequential laps if the verdict took few rounds, because interpreters are compared by them; none if a lap is long."""
    laps = _ONE_THREAD_LAPS - len(rounds)
    short = rounds[0].work.sequential.wall / 1e9 <= _SHORT_LAP
    return tuple(sampler.sequential(f"one thread, lap {number + 1}") for number in range(laps if short else 0))


def _with_processes(result: ScalingResult, work: Workload, plan: ScalingPlan, progress: Callable[[str], None]) -> ScalingResult:
    """Add the speedup with processes, if this process can be forked; the threads of the check must have ended."""
    assert result.calls is not None
    if plan.setup is not None or can_fork() is not None:
        return result
    with pinned(plan.cores):
        walls = []
        for lap in range(_PROCESS_LAPS):
            progress(f"processes, lap {lap + 1}")
            walls.append(run_in_processes(repeated(work, result.calls), plan.threads, plan.timeout))
    measured = [wall for wall in walls if wall is not None]
    if not measured:
        return result
    sequential, wall = median(r.work.sequential.wall for r in result.pairs) / 1e9, min(measured)
    details = (*result.diagnosis.details, f"the same work in {plan.threads} processes: {sequential / wall:.2f}x")
    return replace(result, diagnosis=replace(result.diagnosis, details=details))


def _held(sampler: Sampler) -> Held | None:
    """The GIL-held fraction; None with a setup, which holds the GIL too and cannot be separated from the workload."""
    if sampler.setup is not None:
        return None
    sampler.progress("GIL-held fraction")
    return held_fraction(repeated(sampler.work, 1), seconds=_HELD_SECONDS, limit=sampler.limit)


def _wants_speedup(claim: ScalingClaim) -> bool:
    return claim.min_speedup is None or claim.min_speedup > 1


def _meaningful(high: float | None, threads: int) -> float:
    """The upper bound, or infinity. A lap without a core for nearly all of its time gives no bound."""
    return math.inf if high is None or high > 1.5 * threads else high


def _round_seconds(calibration: Calibration, plan: ScalingPlan) -> float:
    """The seconds of one round of a workload that does not scale at all."""
    return 2 * plan.threads * (calibration.calls * calibration.seconds) + 0.02
