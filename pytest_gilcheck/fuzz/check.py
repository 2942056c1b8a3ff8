"""One fuzz check, from the program to the result."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from time import monotonic

from ..core.errors import BadValue
from ..core.interpreter import Interpreter, build
from ..core.verdict import Verdict
from .explaining.explain import explain
from .plan import EXHAUSTIVE, GIL_POINTS, SEARCH, STRESS, FuzzPlan
from .program import Program
from .result import FuzzResult, Kind
from .running.engine import FAIR_STEPS_WHEN_SPINNING, ScheduleRun
from .running.events import MonitoringConflict, check_alone
from .running.policy import Planned
from .schedule import Token, checksum
from .searching.explorer import Explorer, NotExplorable, SequentialBaseline, SequentialFailure, Symptom
from .searching.harness import explorer_for
from .searching.minimise import minimised, observed
from .searching.search import Search, SearchOutcome
from .sensitivity import without_each_lock
from .stress.check import stressed

_REPLAYS = 10
_CLASSIFYING = 0.5  # of the budget, at most, goes into telling whether a failure shows today
_MINIMISING = 1.0  # seconds


def program(
    threads: object,
    setup: object,
    invariant: object,
    name: str | None,
    *,
    teardown: Callable[[], object] | None = None,
    source: str = "argument",
) -> Program:
    """The program out of unchecked parts.

    Raises:
        BadValue: a part that cannot be called, fewer than two threads, or coroutine functions.
    """
    import inspect

    if not isinstance(threads, Sequence) or isinstance(threads, str) or len(threads) < 2:
        raise BadValue("threads", threads, "a list of at least two callables, one for each thread", source)
    for role, part in (*(("threads", thread) for thread in threads), ("setup", setup), ("invariant", invariant)):
        if part is None and role != "threads":
            continue
        if not callable(part):
            raise BadValue(role, part, "something to call", source)
        if inspect.iscoroutinefunction(part) or inspect.isasyncgenfunction(part) or inspect.isgeneratorfunction(part):
            raise BadValue(
                role, part, "a plain function: an event loop schedules by itself, and a generator does nothing when called", source
            )
    names = [getattr(thread, "__qualname__", type(thread).__name__) for thread in threads]
    return Program(tuple(threads), setup, invariant, name or " | ".join(dict.fromkeys(names)), teardown)  # type: ignore[arg-type]


def fuzz(program: Program, plan: FuzzPlan, *, progress: Callable[[str], None] = lambda label: None) -> FuzzResult:
    """Search the schedules of ``program`` for one that breaks it.

    Raises:
        BaseException: what the setup raised, or what every thread raises in every sequential order.
        BadValue: the plan does not fit the program.
    """
    begun = monotonic()
    template = FuzzResult(
        verdict=Verdict.INCONCLUSIVE,
        reason="",
        workload=program.name,
        interpreter=Interpreter.current(),
        mode=plan.mode,
        seed=plan.seed,
    )
    if plan.mode == EXHAUSTIVE and len(program.threads) > 2:
        raise BadValue(
            "mode", plan.mode, f"at most two threads, and not {len(program.threads)}: their schedules are too many", "argument"
        )
    try:
        check_alone()
        if plan.mode == STRESS:
            result = stressed(program, plan, template, progress)
        else:
            with explorer_for(program, plan, progress) as explorer:
                result = _checked(explorer, plan, template, begun)
                result = replace(result, schedules=explorer.runs)
    except MonitoringConflict as error:
        result = replace(template, reason=f"{error}; without all of them a search would be blind: run fuzz checks without it")
    except NotExplorable as error:
        result = replace(template, reason=f"it cannot be explored: {error}")
    except SequentialFailure as error:
        if error.__cause__ is not None:
            raise error.__cause__ from None
        result = replace(template, verdict=Verdict.VIOLATED, reason=f"no concurrency is needed: {error}")
    if build() != template.interpreter.build:
        result = replace(result, reason=f"{result.reason} (the GIL was switched on during the check)")
    return replace(result, seconds=monotonic() - begun)


def _checked(explorer: Explorer, plan: FuzzPlan, template: FuzzResult, begun: float) -> FuzzResult:
    explorer.progress("sequential orders")
    sequential = explorer.sequential()
    engine, usual = explorer.engine, max(run.points for run in sequential)
    engine.fair_steps = min(engine.fair_steps, FAIR_STEPS_WHEN_SPINNING + 3 * usual)
    engine.most_points = max(20 * engine.fair_steps, 50 * usual)
    template = replace(template, steps=max(sum(run.lengths.values()) for run in sequential), expected=_expected(explorer.baseline))
    if (different := _nondeterminism(explorer)) is not None:
        return replace(
            template, reason=f"it does not do the same twice in the same schedule, so nothing can be searched: {different}"
        )
    if plan.replay is not None:
        return _replayed(explorer, plan.replay, template)
    result = _searched(explorer, plan, template, sequential, begun)
    if plan.sensitivity and result.verdict is Verdict.HOLDS:
        result = without_each_lock(explorer, plan, result, sequential)
    return result


def _searched(explorer: Explorer, plan: FuzzPlan, template: FuzzResult, sequential: list[ScheduleRun], begun: float) -> FuzzResult:
    search = Search(
        explorer,
        plan.preemptions,
        begun + plan.budget,
        plan.seed,
        gil=plan.mode == GIL_POINTS,
        sampling=plan.mode == SEARCH,
        share=plan.share,
    )
    searched = search.run(sequential)
    template = replace(template, coverage=str(searched))
    if searched.failure is not None:
        return _violated(explorer, plan, template, searched, sequential)
    uncontrolled = list(dict.fromkeys(explorer.uncontrolled))
    if uncontrolled:
        reason = f"partly uncontrolled, so nothing is claimed: {uncontrolled[0]}"
        return replace(template, reason=reason)
    if searched.cut:
        reason = f"cut short by budget={plan.budget:g} s: {searched}"
        return replace(template, reason=f"{reason}; give it more, or fewer preemptions or steps")
    part = f" (share {plan.share[0] + 1} of {plan.share[1]})" if plan.share[1] > 1 else ""
    where = "at points where a build with a GIL can switch, " if plan.mode == GIL_POINTS else ""
    return replace(template, verdict=Verdict.HOLDS, reason=f"{where}{searched}{part}: nothing breaks")


def _violated(
    explorer: Explorer, plan: FuzzPlan, template: FuzzResult, searched: SearchOutcome, sequential: list[ScheduleRun]
) -> FuzzResult:
    """The failure made small, classified, replayed and told."""
    failure = searched.failure
    assert failure is not None, "that is what is told"
    if failure.symptom is Symptom.HANGS:  # nothing that takes so long is tried again
        reason = f"{failure.symptom}: {failure.message}, for {plan.timeout:g} s"
        if failure.run.uncontrolled:
            return replace(template, reason=f"partly uncontrolled, so nothing is claimed: {failure.run.uncontrolled[0]}; {reason}")
        return replace(template, verdict=Verdict.VIOLATED, reason=reason, symptom=str(failure.symptom))
    if searched.sampled:
        explorer.progress("making it smaller")
        failure = minimised(explorer, failure, monotonic() + _MINIMISING)
    kind: Kind | None = Kind.BREAKS_TODAY
    if failure.run.masked:
        explorer.progress("does it break today?")
        today = Search(explorer, plan.preemptions, monotonic() + _CLASSIFYING * plan.budget, plan.seed, gil=True).run(sequential)
        if today.failure is not None:
            failure = today.failure
        else:
            kind = None if today.cut else Kind.GIL_MASKED
    explorer.progress("replaying it")
    again = [explorer.follow(failure.schedule)[1] for _ in range(_REPLAYS)]
    count = sum(other is not None and other.symptom is failure.symptom for other in again)
    story, last = explain(explorer, failure)
    failure = replace(last, run=failure.run) if last.symptom is failure.symptom else failure
    token = str(
        Token(
            explorer.program.checksum,
            len(explorer.program.threads),
            failure.schedule,
            _anchor_sums(failure.run),
            failure.run.points,
        )
    )
    few = failure.schedule.preemptions
    after = f"{few} preemption{'s' * (few != 1)}"
    reason = f"{failure.symptom}: {failure.message}; with {after}"
    if kind is None:
        reason += "; whether it breaks today was not found out in time"
    if count < _REPLAYS:
        reason += f"; only {count} of {_REPLAYS} replays fail: something beyond the schedule decides too"
    if explorer.uncontrolled:
        reason += f"; partly uncontrolled: {explorer.uncontrolled[0]}"
    return replace(
        template,
        verdict=Verdict.VIOLATED,
        reason=reason,
        kind=kind,
        symptom=str(failure.symptom),
        token=token,
        preemptions=few,
        replays=(count, _REPLAYS),
        story=story.text,
        rows=story.rows,
        coverage=f"{searched.enumerated + searched.sampled:,} schedules until one failed",
    )


class ReplayDiverged(AssertionError):
    """A replay did not follow its token: the code, or the interpreter, has other steps than the one that wrote it."""


def _replayed(explorer: Explorer, token: Token, template: FuzzResult) -> FuzzResult:
    """Follow a token.

    Raises:
        ReplayDiverged: the run does not go where the token says.
    """
    if token.threads != len(explorer.program.threads) or token.program != explorer.program.checksum:
        raise ReplayDiverged(f"the token is of another program than {explorer.program.name}: its threads have other names")
    policy = Planned(token.schedule)
    run, failure = explorer.once(policy)
    if policy.unused is not None:
        raise ReplayDiverged(
            f"the run has no such choice as {Token.__name__.lower()} point {policy.unused.point}: the steps are others"
        )
    for choice, expected, anchor in zip(run.schedule.choices, token.anchors, run.anchors, strict=False):
        if checksum(anchor) != expected:
            raise ReplayDiverged(f"at point {choice.point} the run is at {anchor.strip()!r}, which is not where the token was made")
    if run.points != token.points and failure is None:
        raise ReplayDiverged(f"the run has {run.points} points, and the token's had {token.points}")
    if failure is None:
        return replace(
            template,
            verdict=Verdict.HOLDS,
            reason=f"the replay of {token.schedule} breaks nothing any more",
            coverage="one schedule, replayed",
        )
    story, _ = explain(explorer, failure)
    kind = Kind.GIL_MASKED if run.masked else Kind.BREAKS_TODAY
    return replace(
        template,
        verdict=Verdict.VIOLATED,
        reason=f"{failure.symptom}: {failure.message}; replayed",
        kind=kind,
        symptom=str(failure.symptom),
        token=str(token),
        preemptions=run.schedule.preemptions,
        coverage="one schedule, replayed",
        story=story.text,
        rows=story.rows,
    )


def _nondeterminism(explorer: Explorer) -> str | None:
    """What the same schedule does differently the second time; None if nothing."""
    seen: list[list[str]] = []
    for _ in range(2):
        steps: list[str] = []
        with observed(
            explorer.engine,
            lambda task, point, access, frame, steps=steps: steps.append(  # type: ignore[misc]
                f"T{task.index} {access.kind}s {access.name} at {frame.f_code.co_filename}:{frame.f_lineno}"
            ),
        ):
            explorer.in_order()
        seen.append(steps)
    if seen[0] == seen[1]:
        return None
    for index, (first, second) in enumerate(zip(*seen, strict=False)):
        if first != second:
            return f"step {index + 1} is first {first!r}, and then {second!r}"
    return f"it makes {len(seen[0])} steps, and then {len(seen[1])}"


def _expected(baseline: SequentialBaseline) -> str:
    message = [f"{name} (at most {count} times)" if count > 1 else name for name, count in sorted(baseline.expected.items())]
    return f"every sequential order raises {', '.join(message)} too" if message else ""


def _anchor_sums(run: ScheduleRun) -> tuple[int, ...]:
    return tuple(checksum(anchor) for anchor in run.anchors)
