"""One injection check: raises the exception at each step of the workload in turn and judges what every run leaves behind.

Each step gets a run of its own, in a fork of this process, so that all runs begin in the same state. Every run counts the visible
steps and raises at its target; a run that takes another path than the first one is discarded, because its target is another step.

What does not work: forking *at* each step of a single run (the forks share files and sockets, so one closes what the next still
needs); one process for all runs (each would start from what the run before broke).
"""

from __future__ import annotations

import random
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace

from ..core.clocks import time
from ..core.errors import BadValue
from ..core.fork_safety import can_fork
from ..core.interpreter import Interpreter
from ..core.steps import work_out
from ..core.verdict import Verdict
from ..core.workloads import Workload, name_of
from .plan import SAMPLE, InjectionPlan
from .result import Break, InjectionResult
from .run import InjectionRun, run_once

_LEAST_LIMIT = 2.0  # seconds that any run with an exception gets, and
_TIMES_AS_LONG = 10  # times what two runs without one took: after an exception, a lock left held may block the run forever


def inject(
    work: Workload,
    plan: InjectionPlan,
    *,
    name: str | None = None,
    progress: Callable[[str], None] = lambda label: None,
) -> InjectionResult:
    """Raise an exception at each step of ``work`` in turn, and check what it leaves behind.

    Args:
        work: called without arguments in the main thread of a child process; a coroutine function is run by ``asyncio.run``.
        plan: the exception, the steps and the limits.
        name: name for the report; by default the callable's own.
        progress: called before each run with a description of it.

    Raises:
        BaseException: what the workload raised in a run without an injected exception.
        BadValue: this process cannot be forked now, or ``plan.first`` is not below the number of steps.
    """
    begun = time.monotonic()
    if (why := can_fork()) is not None:
        raise BadValue("inject", plan.mode, f"a process that can be forked for each step, but {why}")
    template = InjectionResult(
        verdict=Verdict.INCONCLUSIVE,
        reason="",
        workload=name or name_of(work),
        interpreter=Interpreter.current(),
        mode=plan.mode,
        exception=plan.exception_name,
        seed=plan.seed,
    )
    progress("counting steps")
    counting = time.monotonic()
    first, again = (run_once(work, plan, None, plan.timeout) for _ in range(2))
    timeout = min(plan.timeout, _LEAST_LIMIT + _TIMES_AS_LONG * (time.monotonic() - counting))
    work_out({(file, line, name) for file, line, name in first.code})
    template = replace(template, steps=first.steps, reachable=len(first.reachable))
    if (why := _unusable(first, again)) is not None:
        return replace(template, reason=why, seconds=time.monotonic() - begun)
    if plan.first >= first.steps:
        raise BadValue("first", plan.first, f"a step below {first.steps}, the number of steps of one run")
    tally, reachable = Tally(), set(first.reachable)
    injecting = time.monotonic()
    for index in _targets(plan, first):
        if time.monotonic() - begun > plan.budget:
            tally.next_step = index
            break
        progress(f"{template.exception} at step {index} of {first.steps}")
        tally.add(index, run_once(work, plan, index, timeout), index in reachable)
    elapsed = time.monotonic() - injecting
    result = replace(
        template,
        tried=tally.tried,
        reached=tally.reached,
        next_step=tally.next_step,
        breaks=tuple(sorted(tally.breaks, key=lambda entry: (not entry.reachable, entry.index))),
        swallowed=tally.swallowed,
        rate=tally.tried / elapsed if elapsed else 0.0,
        seconds=time.monotonic() - begun,
    )
    verdict, reason = judge(result, plan.budget, tally.diverged, tally.error)
    return replace(result, verdict=verdict, reason=reason)


@dataclass
class Tally:
    """What the runs with an exception add up to; the fields are those of `InjectionResult`, and:

    Attributes:
        diverged: runs that ended without passing their target.
        error: why the first run that could not be used ended before its target; empty if all were usable.
    """

    tried: int = 0
    reached: int = 0
    swallowed: int = 0
    diverged: int = 0
    next_step: int | None = None
    error: str = ""
    breaks: list[Break] = field(default_factory=list)

    def add(self, index: int, run: InjectionRun, reachable: bool) -> None:
        self.tried += 1
        self.reached += reachable
        if run.raised_at is None:
            self.diverged += not run.error
            self.error = self.error or run.error
            return
        self.swallowed += run.returned
        broken = [run.error] if run.error else run.broken
        if broken:
            place, source, kind, can_occur = run.raised_at
            self.breaks.append(Break(index, place, source, kind, can_occur, tuple(broken)))


def judge(result: InjectionResult, budget: float, diverged: int, error: str) -> tuple[Verdict, str]:
    """The verdict over all runs, and its reason.

    Args:
        result: with all counts and breaks.
        budget: seconds that all runs together were given.
        diverged: runs that ended without passing their target.
        error: why a run ended before its target; empty if none did.
    """
    reachable = [entry for entry in result.breaks if entry.reachable]
    if reachable:
        lines = len({entry.place for entry in reachable})
        more = f"; so do {lines - 1} more lines" if lines > 1 else ""
        return Verdict.VIOLATED, f"not safe to interrupt: {result.exception} at {reachable[0]}{more}"
    if error:
        return Verdict.INCONCLUSIVE, f"a run ended before the step at which to raise: {error}"
    if diverged:
        missed = f"{diverged} of {result.tried} runs did not pass the step at which to raise"
        return Verdict.INCONCLUSIVE, f"the workload is not deterministic: {missed}; make it take the same path in every run"
    if result.next_step is not None:
        tried = f"{result.tried} of {result.steps} steps tried in {budget:g} s, none unsafe"
        return Verdict.INCONCLUSIVE, f"{tried}; continue with first={result.next_step}, or raise the budget"
    if not result.reached:
        return Verdict.INCONCLUSIVE, f"none of the {result.tried} steps tried is one at which {result.exception} can occur"
    part = (
        f"{result.reached} of {result.reachable} steps" if result.reached < result.reachable else f"each of {result.reached} steps"
    )
    reason = f"safe: {result.exception} at {part} where it can occur, of {result.steps} in a run, breaks nothing"
    unreachable = len({entry.place for entry in result.breaks})
    if unreachable:
        reason += f"; {unreachable} lines are safe only because this interpreter does not check for signals there"
    return Verdict.HOLDS, reason


def _unusable(first: InjectionRun, again: InjectionRun) -> str | None:
    """Why two runs without an exception are no basis for injection; None if they are."""
    if first.error or again.error:
        return first.error or again.error
    if first.broken:
        return f"without any injected exception, this is wrong after a run: {'; '.join(first.broken)}"
    if (first.steps, first.digest) != (again.steps, again.digest):
        counts = f"one run has {first.steps} steps and the next {again.steps}"
        counts = counts if first.steps != again.steps else f"two runs of {first.steps} steps took different paths"
        return f"the workload is not deterministic: {counts}; make it take the same path in every run"
    if first.steps == 0:
        return "the workload has no visible steps: all of it runs in C, or in libraries that are not under test"
    return None


def _targets(plan: InjectionPlan, first: InjectionRun) -> Sequence[int]:
    """The steps to raise at, in the order of the run."""
    if plan.mode != SAMPLE:
        return range(plan.first, first.steps)
    steps = [index for index in first.reachable if index >= plan.first]  # other steps decide nothing, so none is drawn
    if len(steps) <= plan.sample:
        return steps
    return sorted(random.Random(plan.seed).sample(steps, plan.sample))
