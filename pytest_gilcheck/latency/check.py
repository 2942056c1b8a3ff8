"""One latency check, from the workload to the result."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import ExitStack, closing
from dataclasses import replace

from ..core.advice import RETRY, longer
from ..core.clocks import time
from ..core.cores import pinned
from ..core.interpreter import Interpreter, build, gil_came_back, switch_interval, watcher
from ..core.team import Team, raise_plainly
from ..core.verdict import Verdict
from ..core.workloads import Workload, name_of
from .claim import LatencyClaim
from .load import Load
from .measurement import ALONE, BESIDE, COVER, FEWEST_ROUNDS, LatencyMeasurement
from .peer import ClientGone, Peer
from .plan import DEFAULT_BUDGET, LatencyPlan
from .result import LatencyResult
from .window import ProbeHung

_SLOW = 0.2  # seconds; a first call that takes longer is repeated, because it may have imported modules


def latency(
    work: Workload,
    claim: LatencyClaim,
    plan: LatencyPlan,
    *,
    name: str | None = None,
    progress: Callable[[str], None] = lambda label: None,
) -> LatencyResult:
    """Measure and judge whether the other threads of the process stay responsive while ``work`` runs in worker threads.

    Args:
        work: called without arguments, repeatedly; a coroutine function is awaited in an event loop of each thread.
        claim: what to judge.
        plan: how to measure.
        name: of the workload in the report; the name of the callable by default.
        progress: called with a label before each phase.

    Raises:
        BaseException: the workload raised it in its first call, in one thread; a KeyboardInterrupt comes in a group, because
            the user did not press Ctrl-C.
        BaseExceptionGroup: what the workload raised later, from every thread.
        TeamHung: a call did not return.
        BadValue: the plan cannot be carried out on this system.
    """
    start = time.monotonic()
    template = LatencyResult(
        conclusion=Verdict.INCONCLUSIVE,
        reason="",
        workload=name or name_of(work),
        claim=claim,
        interpreter=Interpreter.current(),
        workers=plan.workers,
        switch_interval=plan.switchinterval or Interpreter.current().switch_interval,
    )
    try:
        result = _checked(template, work, plan, progress, start)
    except (ClientGone, ProbeHung) as error:
        result = replace(template, reason=f"not measured: {error}; {RETRY}")
    if build() != template.interpreter.build:
        result = replace(result, conclusion=Verdict.INCONCLUSIVE, reason=gil_came_back(template.interpreter))
    return replace(result, seconds=time.monotonic() - start)


def _checked(
    template: LatencyResult, work: Workload, plan: LatencyPlan, progress: Callable[[str], None], start: float
) -> LatencyResult:
    with ExitStack() as stack:
        progress("starting the client process")
        peer = stack.enter_context(closing(Peer()))  # first: fork before any thread starts
        stack.enter_context(pinned(plan.cores))
        stack.enter_context(switch_interval(plan.switchinterval))
        template = replace(template, interpreter=Interpreter.current())
        team = stack.enter_context(Team(plan.workers, "gilcheck-worker", "workers"))
        load = Load(work, team, plan.timeout, plan.setup)
        call_seconds = _first_call(load, progress)
        if (watched := watcher()) is not None:
            reason = f"{watched} is active and distorts all timings; run timing checks without it"
            return replace(template, reason=reason, distorted=True)
        beside = max(BESIDE, COVER * call_seconds)
        least = FEWEST_ROUNDS * (ALONE + beside) + ALONE
        budget = plan.budget or min(plan.longest_budget, max(DEFAULT_BUDGET * plan.scale, least + plan.workers * call_seconds))
        if beside > BESIDE and least > budget:
            reason = (
                f"one call takes {call_seconds:.2g} s, and budget={budget:g} s is too short for two windows of a whole call each"
            )
            return replace(template, reason=f"{reason}; {longer(least * 1.3, budget)}, or make one call shorter")
        session = LatencyMeasurement(template, load, team, peer, plan, progress, stack)
        result = session.measure(budget, beside, start)
        return replace(result, sweep=tuple(session.sweep(beside)))


def _first_call(load: Load, progress: Callable[[str], None]) -> float:
    """The seconds of one call in one thread. Its exception is raised as it is, because it does not depend on threads."""
    try:
        progress("the first call")
        took = load.once()
        if took > _SLOW:
            progress("the second call")
            took = load.once()
        return took
    except BaseExceptionGroup as group:
        raise_plainly(group)
