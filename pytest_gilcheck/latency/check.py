"""One latency check, from the workload to the result."""

from __future__ import annotations

import math
import time
from collections.abc import Callable
from contextlib import ExitStack, closing
from dataclasses import replace

from ..core.cores import pinned
from ..core.interpreter import Interpreter, build, gil_came_back, switch_interval, watcher
from ..core.team import Team, raise_plainly
from ..core.verdict import Verdict
from ..core.workloads import Workload, name_of
from .claim import LatencyClaim
from .load import Load
from .peer import ClientGone, Peer
from .plan import DEFAULT_BUDGET, LatencyPlan
from .result import LatencyResult
from .session import ALONE, BESIDE, COVER, FEWEST_ROUNDS, Session
from .window import ProbeHung

_SLOW = 0.2  # seconds from which a first call is made again: it may have imported things


def latency(
    work: Workload,
    claimed: LatencyClaim,
    how: LatencyPlan,
    *,
    name: str | None = None,
    progress: Callable[[str], None] = lambda label: None,
) -> LatencyResult:
    """Measure and judge whether the rest stays responsive while ``work`` runs in worker threads.

    Args:
        work: called without arguments, over and over; a coroutine function is awaited in an event loop of each thread.
        claimed: what to judge.
        how: how to measure.
        name: for the report; the callable's own by default.
        progress: told what comes before each phase.

    Raises:
        BaseException: what the workload raised in its first call, in one thread; KeyboardInterrupt within a group, because it
            was not the user's.
        BaseExceptionGroup: what it raised later, from every thread.
        TeamHung: a call did not return.
        BadValue: the plan cannot be carried out on this system.
    """
    start = time.monotonic()
    blank = LatencyResult(
        verdict=Verdict.INCONCLUSIVE,
        reason="",
        workload=name or name_of(work),
        claim=claimed,
        interpreter=Interpreter.current(),
        workers=how.workers,
        switch_interval=how.switchinterval or Interpreter.current().switch_interval,
    )
    try:
        result = _checked(blank, work, how, progress, start)
    except (ClientGone, ProbeHung) as error:
        result = replace(blank, reason=f"{error}; nothing can be said without it")
    if build() != blank.interpreter.build:
        result = replace(result, verdict=Verdict.INCONCLUSIVE, reason=gil_came_back(blank.interpreter))
    return replace(result, seconds=time.monotonic() - start)


def _checked(
    blank: LatencyResult, work: Workload, how: LatencyPlan, progress: Callable[[str], None], start: float
) -> LatencyResult:
    with ExitStack() as stack:
        progress("the outside client")
        peer = stack.enter_context(closing(Peer()))  # first: a fork must come before any thread
        stack.enter_context(pinned(how.cores))
        stack.enter_context(switch_interval(how.switchinterval))
        blank = replace(blank, interpreter=Interpreter.current())
        team = stack.enter_context(Team(how.workers, "gilcheck-worker"))
        load = Load(work, team, how.timeout, how.setup)
        call_seconds = _first_call(load, progress)
        if (watched := watcher()) is not None:
            return replace(blank, reason=f"{watched} is active: timings under it say nothing; run timing checks without it")
        beside = max(BESIDE, COVER * call_seconds)
        least = FEWEST_ROUNDS * (ALONE + beside) + ALONE
        budget = how.budget or min(how.longest_budget, max(DEFAULT_BUDGET * how.scale, least + how.workers * call_seconds))
        if beside > BESIDE and least > budget:
            reason = (
                f"one call takes {call_seconds:.2g} s, and two windows that see a whole one do not fit into budget={budget:g} s"
            )
            return replace(blank, reason=f"{reason}: budget={math.ceil(least * 1.3)} would do, or shorter calls")
        session = Session(blank, load, team, peer, how, progress, stack)
        result = session.measure(budget, beside, start)
        return replace(result, sweep=tuple(session.sweep(beside)))


def _first_call(load: Load, progress: Callable[[str], None]) -> float:
    """Seconds of a call, in one thread: what it raises is the workload's plain failure, threads or not."""
    try:
        progress("the first call")
        took = load.once()
        if took > _SLOW:
            progress("the second call")
            took = load.once()
        return took
    except BaseExceptionGroup as group:
        raise_plainly(group)
