"""One scaling check, from the workload to the result."""

from __future__ import annotations

import math
import time
from collections.abc import Callable
from contextlib import ExitStack
from dataclasses import replace
from statistics import median

from ..core.cores import pinned, usable_cores
from ..core.errors import BadValue
from ..core.fork_safety import can_fork
from ..core.held import Held, held_fraction
from ..core.interpreter import FREE_THREADED, Interpreter, build, gil_came_back, switch_interval, watcher
from ..core.machine import yardstick
from ..core.team import Lap, Team, raise_plainly
from ..core.verdict import Verdict
from ..core.workloads import Workload, name_of
from .ceiling import fair, roomy
from .claim import Claim
from .diagnosis import Cause, diagnose, identity, scales
from .judgement import Judgement, judge, refuted_by_held
from .plan import Plan
from .processes import run_in_processes
from .reference import reference_kernel
from .result import ScalingResult
from .sampling import Calibration, Round, Sampler, shortest_unit
from .statistics import LEAST
from .watch import Seen, watch
from .workload import repeated

DEFAULT_BUDGET = 1.0  # seconds; longer for a slow workload, up to
LONGEST_DEFAULT_BUDGET = 30.0
_ROUNDS_WANTED = 5
_HELD_SECONDS = 0.2
_PROCESS_LAPS = 3
_ONE_THREAD_LAPS = 3  # at least; each gives a figure for each thread
_SHORT_LAP = 0.25  # seconds
_MISCALIBRATED = 3.0  # factor between the calibrated and the measured time of a call


def scaling(
    work: Workload,
    claimed: Claim,
    how: Plan,
    *,
    name: str | None = None,
    progress: Callable[[str], None] = lambda label: None,
) -> ScalingResult:
    """Measure and judge whether ``work`` scales over threads.

    Args:
        work: called without arguments, in worker threads; a coroutine function is awaited in an event loop of each thread.
        claimed: what to judge.
        how: how to measure.
        name: for the report; the callable's own by default.
        progress: told what comes before each lap.

    Raises:
        BaseException: what the workload raised in its first call, in one thread; KeyboardInterrupt within a group, because it
            was not the user's.
        BaseExceptionGroup: what it raised later, from every thread.
        TeamHung: it did not return.
        BadValue: the plan cannot be carried out on this system.
    """
    start = time.monotonic()
    blank = ScalingResult(
        verdict=Verdict.INCONCLUSIVE,
        reason="",
        workload=name or name_of(work),
        claim=claimed,
        interpreter=Interpreter.current(),
        threads=how.threads,
    )
    with ExitStack() as stack:
        stack.enter_context(pinned(how.cores))
        stack.enter_context(switch_interval(how.switchinterval))
        blank = replace(blank, interpreter=Interpreter.current())
        team = stack.enter_context(Team(how.threads))
        if how.timeout < (least := 2 * how.threads * shortest_unit()):
            raise BadValue("timeout", how.timeout, f"at least {least:g} seconds, which a lap of {how.threads} threads takes")
        sampler = Sampler(work, reference_kernel(blank.interpreter.build), team, how.timeout, progress, how.setup)
        _warm_up(sampler, max(1, how.warmup))
        if (watched := watcher()) is not None:
            reason = f"{watched} is active: timings under it say nothing; run timing checks without it"
            return replace(blank, reason=reason, seconds=time.monotonic() - start)
        result = _measured(blank, sampler, how, start)
    if how.diagnosed and result.verdict is not Verdict.INCONCLUSIVE and result.cause is not Cause.SCALES:
        result = _with_processes(result, work, how, progress)
    if build() != blank.interpreter.build:
        result = replace(result, verdict=Verdict.INCONCLUSIVE, reason=gil_came_back(blank.interpreter))
    return replace(result, seconds=time.monotonic() - start)


def _warm_up(sampler: Sampler, calls: int) -> None:
    """The first calls, in one thread: what they raise is the workload's plain failure, threads or not."""
    try:
        sampler.warm_up(calls)
    except BaseExceptionGroup as group:
        raise_plainly(group)


def _measured(blank: ScalingResult, sampler: Sampler, how: Plan, start: float) -> ScalingResult:
    calibration = sampler.calibration
    blank = replace(blank, call_seconds=calibration.seconds, calls=calibration.calls, yardstick_before=yardstick())
    if (short := calibration.too_short) is not None:
        return replace(blank, reason=f"the workload is too short to time: {short}; give it more to do in one call")
    budget = how.budget or min(LONGEST_DEFAULT_BUDGET, max(DEFAULT_BUDGET, _ROUNDS_WANTED * _round_seconds(calibration, how)))
    held = None
    if blank.interpreter.build != FREE_THREADED and _wants_speedup(blank.claim):
        held = _held(sampler)
    rounds: list[Round] = []
    judgement: Judgement | None = None
    cores = usable_cores()
    before = time.monotonic()
    for r in sampler.rounds():
        rounds.append(r)
        now = time.monotonic()
        last, before = now - before, now
        judgement = judge(blank.claim, rounds, held, how.threads, cores)
        if judgement.verdict is not Verdict.INCONCLUSIVE or judgement.hopeless or refuted_by_held(blank.claim, held):
            break
        if now - start + last > budget and (how.budget is not None or len(rounds) >= LEAST or now - start > budget):
            break
    assert judgement is not None, "there is at least one round"
    judgement = _believed(judgement, rounds, calibration, how, budget)
    return _concluded(blank, sampler, judgement, rounds, held, how, cores)


def _believed(judgement: Judgement, rounds: list[Round], calibration: Calibration, how: Plan, budget: float) -> Judgement:
    """Doubts about the measurement itself, which come before any verdict."""
    measured = rounds[0].work.sequential.own_wall / 1e9 / (calibration.calls * how.threads)
    factor = measured / calibration.seconds
    if not 1 / _MISCALIBRATED < factor < _MISCALIBRATED:
        reason = f"the workload changed speed while it was measured: one call took {factor:.2g}x as long as just before"
        return replace(judgement, verdict=Verdict.INCONCLUSIVE, reason=f"{reason}; give it the same work each time, or more warmup")
    if judgement.verdict is Verdict.INCONCLUSIVE and len(rounds) < 3 and not judgement.hopeless:
        took = _round_seconds(calibration, how)
        reason = f"{len(rounds)} round(s) fitted into budget={budget:g} s, and at least 3 are needed; one takes about {took:.2g} s"
        wanted = math.ceil(_ROUNDS_WANTED * took)
        return replace(judgement, reason=f"{reason}: {f'budget={wanted}' if wanted > budget else 'a quieter machine'} would do")
    return judgement


def _concluded(
    blank: ScalingResult, sampler: Sampler, judgement: Judgement, rounds: list[Round], held: Held | None, how: Plan, cores: int
) -> ScalingResult:
    trusted = [r for r in rounds if (roomy(r, blank.threads) or fair(r, blank.threads, cores))] or rounds
    speedup = median(r.work.speedup for r in trusted)
    terms = identity(trusted)
    seen: Seen | None = None
    limited = judgement.verdict is not Verdict.INCONCLUSIVE and not scales(speedup, judgement.ceiling, how.threads)
    if limited and how.diagnosed:
        if held is None and blank.interpreter.build != FREE_THREADED:
            held = _held(sampler)
        seen = watch(sampler)
    result = replace(
        blank,
        verdict=judgement.verdict,
        reason=judgement.reason,
        speedup=speedup,
        interval=(judgement.low or 0.0, _meaningful(judgement.high, how.threads)),
        ceiling=judgement.ceiling.typical,
        threshold=judgement.threshold,
        rounds=len(rounds),
        held=held,
        identity=terms,
        pairs=tuple(rounds),
        extra=_one_thread_laps(sampler, rounds),
        yardstick_after=yardstick(),
    )
    return replace(result, diagnosis=diagnose(result.verdict, speedup, judgement.ceiling, how.threads, terms, held, seen))


def _one_thread_laps(sampler: Sampler, rounds: list[Round]) -> tuple[Lap, ...]:
    """A few more sequential laps where the verdict took few rounds: other interpreters are compared by them. Not of long ones."""
    laps = _ONE_THREAD_LAPS - len(rounds)
    short = rounds[0].work.sequential.wall / 1e9 <= _SHORT_LAP
    return tuple(sampler.sequential(f"one thread, lap {number + 1}") for number in range(laps if short else 0))


def _with_processes(result: ScalingResult, work: Workload, how: Plan, progress: Callable[[str], None]) -> ScalingResult:
    """Add what processes give, now that no thread of ours is alive; nothing is added where this process cannot be forked."""
    assert result.calls is not None
    if how.setup is not None or can_fork() is not None:
        return result
    with pinned(how.cores):
        walls = []
        for lap in range(_PROCESS_LAPS):
            progress(f"processes, lap {lap + 1}")
            walls.append(run_in_processes(repeated(work, result.calls), how.threads, how.timeout))
    measured = [wall for wall in walls if wall is not None]
    if not measured:
        return result
    sequential, wall = median(r.work.sequential.wall for r in result.pairs) / 1e9, min(measured)
    details = (*result.diagnosis.details, f"the same work in {how.threads} processes: {sequential / wall:.2f}x")
    return replace(result, diagnosis=replace(result.diagnosis, details=details))


def _held(sampler: Sampler) -> Held | None:
    """The GIL-held fraction; None with a setup, whose own share of the GIL could not be told from the workload's."""
    if sampler.setup is not None:
        return None
    sampler.progress("GIL-held fraction")
    return held_fraction(repeated(sampler.work, 1), seconds=_HELD_SECONDS, limit=sampler.limit)


def _wants_speedup(claimed: Claim) -> bool:
    return claimed.min_speedup is None or claimed.min_speedup > 1


def _meaningful(high: float | None, threads: int) -> float:
    """The upper bound; infinity if it is none. A lap that was denied a core nearly all the time bounds nothing."""
    return math.inf if high is None or high > 1.5 * threads else high


def _round_seconds(calibration: Calibration, how: Plan) -> float:
    """A round of a workload that does not scale at all."""
    return 2 * how.threads * (calibration.calls * calibration.seconds) + 0.02
