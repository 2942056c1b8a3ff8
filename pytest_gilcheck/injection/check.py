"""One injection check: raises the exception at each step of the workload in turn and judges what every run leaves behind.

Each step gets a run of its own, in a fork of this process, so that all runs begin in the same state. Every run counts the visible
steps and raises at its target; a run that takes another path than the first one is discarded, because its target is another step.

A long run has more steps than the budget has time for. So the steps at which a signal can be handled come first, and each next one
lies far from those before it: a search that ends early has seen the beginning, the middle and the end of the run.

What does not work: forking *at* each step of a single run (the forks share files and sockets, so one closes what the next still
needs); one process for all runs (each would start from what the run before broke).
"""

from __future__ import annotations

import random
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from itertools import zip_longest

from ..core.clocks import time
from ..core.errors import BadValue
from ..core.fork_safety import can_fork
from ..core.interpreter import Interpreter
from ..core.origin import foreign, module_of
from ..core.steps import work_out
from ..core.verdict import Verdict
from ..core.workloads import Workload, name_of
from .child_side import Target
from .library import chosen
from .plan import SAMPLE, InjectionPlan
from .result import Break, InjectionResult
from .run import InjectionRun, run_once

_LEAST_LIMIT = 2.0  # seconds that any run with an exception gets, and
_LIBRARY_TRIES = 3  # runs for a step of a library, until one passes it: its number of steps may depend on timing
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
        BadValue: ``plan.first`` is not below the number of steps to try, or a module of ``plan.include`` has no source.
    """
    begun = time.monotonic()
    chosen(plan.include)  # refused here and not in a child
    template = InjectionResult(
        conclusion=Verdict.INCONCLUSIVE,
        reason="",
        workload=name or name_of(work),
        interpreter=Interpreter.current(),
        mode=plan.mode,
        exception=plan.exception_name,
        seed=plan.seed,
    )
    if (why := can_fork()) is not None:
        return replace(template, reason=f"this process cannot be forked for each step: {why}")
    progress("counting steps")
    counting = time.monotonic()
    first, again = (run_once(work, plan, None, plan.timeout) for _ in range(2))
    timeout = min(plan.timeout, _LEAST_LIMIT + _TIMES_AS_LONG * (time.monotonic() - counting))
    work_out({(file, line, name) for file, line, name in first.code})
    stepped = sorted({module_of(file) for file, _, _ in first.code if foreign(file)})
    template = replace(
        template,
        steps=first.steps,
        reachable=len(first.reachable),
        library_steps=len(first.library),
        stepped=tuple(stepped),
        not_stepped=tuple(first.passed),
    )
    if (why := _unusable(first, again)) is not None:
        return replace(template, reason=why, seconds=time.monotonic() - begun)
    everything, targets = first.steps + len(first.library), _targets(plan, first)
    if plan.first >= max(1, len(targets)):
        raise BadValue("first", plan.first, f"a number below {len(targets)}, the number of steps to try")
    tally, reachable = Tally(), set(first.reachable)
    injecting = time.monotonic()
    for position in range(plan.first, len(targets)):
        if time.monotonic() - begun > plan.budget:
            tally.next_step = position
            break
        index = targets[position]
        progress(f"{template.exception} at step {index} of {everything}")
        if index < first.steps:
            tally.add(index, run_once(work, plan, index, timeout), index in reachable)
        else:
            tally.add_library(index, _run_to(work, plan, first.library[index - first.steps], timeout))
    elapsed = time.monotonic() - injecting
    result = replace(
        template,
        tried=tally.tried,
        reached=tally.reached,
        next_step=tally.next_step,
        breaks=tuple(sorted(tally.breaks, key=lambda entry: (not entry.reachable, entry.index))),
        swallowed=tally.swallowed,
        library_tried=tally.library_tried,
        library_missed=tally.library_missed,
        rate=(tally.tried + tally.library_tried) / elapsed if elapsed else 0.0,
        seconds=time.monotonic() - begun,
    )
    verdict, reason = judge(result, plan.budget, tally.diverged, tally.error)
    return replace(result, conclusion=verdict, reason=reason)


@dataclass
class Tally:
    """What the runs with an exception add up to; the fields are those of `InjectionResult`, and:

    Attributes:
        diverged: runs that ended without passing their target.
        error: why the first run that could not be used ended before its target; empty if all were usable.
    """

    tried: int = 0
    reached: int = 0
    library_tried: int = 0
    library_missed: int = 0
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
        self._add_effect(index, run)

    def add_library(self, index: int, run: InjectionRun) -> None:
        if run.raised_at is None:
            self.library_missed += not run.error
            self.error = self.error or run.error
            return
        self.library_tried += 1
        self._add_effect(index, run)

    def _add_effect(self, index: int, run: InjectionRun) -> None:
        assert run.raised_at is not None, "the exception was raised"
        self.swallowed += run.returned
        broken = [run.error] if run.error else run.broken
        if broken:
            place, source, kind, can_occur, origin, called_from = run.raised_at
            self.breaks.append(Break(index, place, source, kind, can_occur, tuple(broken), origin, called_from))


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
        by_user = [entry for entry in reachable if not entry.origin]
        first = (by_user or reachable)[0]
        lines = len({entry.place for entry in reachable})
        more = f"; so do {lines - 1} more lines" if lines > 2 else "; so does 1 more line" if lines > 1 else ""
        whose = ""
        if not by_user and result.all_own_steps_tried:
            whose = f"; no step of your own code breaks anything, so this is a defect of {first.origin}"
        elif not by_user:
            whose = f"; {result.reached} of {result.reachable} steps of your own code were tried, and broke nothing"
        return Verdict.VIOLATED, f"not safe to interrupt: {result.exception} at {first}{more}{whose}"
    if error:
        return Verdict.INCONCLUSIVE, f"a run ended before the step at which to raise: {error}"
    if diverged:
        missed = f"{diverged} of {result.tried} runs did not pass the step at which to raise"
        return Verdict.INCONCLUSIVE, f"the workload is not deterministic: {missed}; make it take the same path in every run"
    if result.next_step is not None:
        return Verdict.INCONCLUSIVE, _cut_short(result, budget)
    if not result.reached and not result.library_tried:
        return Verdict.INCONCLUSIVE, f"none of the {result.tried} steps tried is one at which {result.exception} can occur"
    part = (
        f"{result.reached} of {result.reachable} steps" if result.reached < result.reachable else f"each of {result.reached} steps"
    )
    reason = f"safe: {result.exception} at {part} where it can occur, of {result.steps} in a run, breaks nothing"
    unreachable = len({entry.place for entry in result.breaks})
    if unreachable:
        lines_are = "1 line is" if unreachable == 1 else f"{unreachable} lines are"
        reason += f"; {lines_are} safe only because this interpreter does not check for signals there"
    return Verdict.HOLDS, f"{reason}; {result.coverage()}"


def _cut_short(result: InjectionResult, budget: float) -> str:
    """What a search that ran out of its budget has tried, and what to do."""
    tried, hit = result.tried + result.library_tried, result.reached + result.library_tried
    possible = result.reachable + result.library_steps
    reason = f"{tried} of {result.steps + result.library_steps} steps tried in {budget:g} s, {hit} of {possible} where "
    reason += f"{result.exception} can occur, spread over the run; none unsafe"
    if result.mode == SAMPLE:
        return f"{reason}; ask for a smaller sample, or raise the budget"
    sample = f'inject="sample", sample={max(1, hit)}'
    if hit + result.library_missed >= possible:
        return f"{reason}; {sample} leaves out the other steps, which decide nothing"
    return f"{reason}; {sample} is a sample that fits the budget; for all steps raise it, or go on with first={result.next_step}"


def _run_to(work: Workload, plan: InjectionPlan, target: Target, timeout: float) -> InjectionRun:
    """A run that passed the target; the last of several if none did."""
    for _ in range(_LIBRARY_TRIES):
        run = run_once(work, plan, target, timeout)
        if run.raised_at is not None:
            break
    return run


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
    if first.steps == 0 and not first.library:
        return "the workload has no visible steps: all of it runs in C, or in libraries that are not under test"
    return None


def _targets(plan: InjectionPlan, first: InjectionRun) -> list[int]:
    """The steps to raise at, in the order in which they are tried, which is the same for the same plan and the same run.

    Of a sample, half are steps of the user's own code, if there are so many: code of libraries has far more steps.
    """
    own, library = first.reachable, range(first.steps, first.steps + len(first.library))
    if plan.mode == SAMPLE:  # steps at which the exception cannot occur decide nothing, so none is drawn
        of_own = min(len(own), max(plan.sample - plan.sample // 2, plan.sample - len(library)))
        draw = random.Random(plan.seed)
        drawn = [*draw.sample(own, of_own), *draw.sample(library, min(len(library), plan.sample - of_own))]
        return [drawn[index] for index in _spread(len(drawn))]
    possible = set(own)
    impossible = [index for index in range(first.steps) if index not in possible]
    in_turn = zip_longest(*([steps[index] for index in _spread(len(steps))] for steps in (own, library)))
    found = [index for pair in in_turn for index in pair if index is not None]
    return [*found, *(impossible[index] for index in _spread(len(impossible)))]


def _spread(count: int) -> list[int]:
    """The numbers below this, so ordered that the first ones, however many, lie about evenly (van der Corput's sequence)."""
    bits = max(1, (count - 1).bit_length())
    return sorted(range(count), key=lambda number: f"{number:0{bits}b}"[::-1])
