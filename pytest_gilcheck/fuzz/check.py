"""One fuzz check, from the program to the result."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Sequence
from dataclasses import replace
from math import inf
from typing import Any

from ..core.classes import name_of_callable
from ..core.clocks import monotonic
from ..core.errors import BadValue
from ..core.interpreter import Interpreter, build
from ..core.origin import ours, under_test
from ..core.own_builtins import TAKE_BACK
from ..core.signatures import is_of_kind, takes
from ..core.source import came_through, place
from ..core.verdict import Verdict
from ..engine.outcome import NotExplorable, SequentialFailure, StartsNoThread
from ..engine.program import Program, RunOutput, describe_error
from ..engine.running.events import MonitoringConflict, check_alone
from ..engine.running.journal import Journal
from ..engine.running.record import ScheduleRun
from ..engine.running.undermined import no_room
from ..engine.running.virtual_time import BOUND
from ..search.explorer import Explorer
from ..search.harness import explorer_for
from ..search.ledger import OF_FIRST_RUN, Ledger
from ..search.plan import EXHAUSTIVE, GIL_POINTS, STRESS, FuzzPlan
from .determinism import differing_steps
from .draws import search_all_draws
from .explaining.explain import explain
from .failing import LASTING, Left, StateLeft, Unrepeatable, violated
from .reasons import changed_by_a_run, expected_errors, few, one_step, too_dear, unfinished
from .replay import replayed
from .result import FuzzResult, NoClaim
from .sensitivity import without_each_lock
from .shared_values import FirstRun
from .stressed import stressed

_CALLS_PROGRAM = frozenset({Program.fresh_state.__code__, Program.check_invariant.__code__, Explorer._torn_down.__code__})
_OR_STRESS = "hold one lock around them, or run the check with mode='stress' on a free-threaded build"


def program(
    threads: object,
    setup: object,
    invariant: object,
    name: str | None,
    *,
    teardown: Callable[[], object] | None = None,
    source: str = "argument",
    output: RunOutput | None = None,
) -> Program:
    """Make a `Program` of unchecked parts.

    Raises:
        BadValue: a part that cannot be called so, no thread, or a coroutine or generator function.
    """
    __tracebackhide__ = True
    if not isinstance(threads, Sequence) or isinstance(threads, str) or not threads:
        expected = "a list of callables, one for each thread; one alone has to start threads itself"
        raise BadValue("threads", threads, expected, source)
    for role, part in (*(("threads", thread) for thread in threads), ("setup", setup), ("invariant", invariant)):
        if part is None and role != "threads":
            continue
        if not callable(part):
            raise BadValue(role, part, "something to call", source)
        check_plain(role, part, source)
    state = () if setup is None else (setup,)
    for role, part in (*(("threads", thread) for thread in threads), ("invariant", invariant)):
        if part is not None and not takes(part, state):
            taken = "the state that setup returns, as its only argument" if state else "no argument, because there is no setup"
            raise BadValue(role, part, f"something to call with {taken}", source)
    if setup is not None and not takes(setup, ()):
        raise BadValue("setup", setup, "something to call without arguments", source)
    names = [name_of_callable(thread) for thread in threads]
    name, output = name or " | ".join(dict.fromkeys(names)), output or RunOutput()
    return Program(tuple(threads), setup, invariant, name, teardown, output=output)  # type: ignore[arg-type]


def check_plain(role: str, part: Any, source: str) -> None:
    """Check that a part of a program does something when it is called.

    Raises:
        BadValue: it makes a coroutine or a generator, which nobody runs.
    """
    __tracebackhide__ = True
    for each in (part, type(part).__call__):  # of an instance, its class says what a call does
        if is_of_kind(each, inspect.iscoroutinefunction, inspect.isasyncgenfunction, inspect.isgeneratorfunction):
            expected = "a plain function: an event loop schedules by itself, and a generator does nothing when called"
            raise BadValue(role, part, expected, source)


def fuzz(
    program: Program,
    plan: FuzzPlan,
    *,
    progress: Callable[[str], None] = lambda label: None,
    journal: Journal | None = None,
) -> FuzzResult:
    """Search the schedules of ``program`` for one that breaks it.

    Args:
        progress: called with what is being done, at the beginning of each phase, which takes ``plan.budget`` seconds or less.
        journal: notes each run, for a process that looks after this one.

    Raises:
        BaseException: what the setup raised, or what every thread raises in every sequential order.
        BadValue: the plan does not fit the program.
        ReplayDiverged: the run does not go where the plan's token says.
        StateLeft: a failing run has left this process in another state, and the journal tells another one of it.
        Unrepeatable: the first run found what no later one does, and there is a journal, so that another process can search it.
    """
    begun = monotonic()
    template = undecided(program, plan)
    explorer: Explorer | None = None
    another = journal is not None and plan.replay is None

    def for_another() -> bool:
        """Whether another process can search the first run."""
        return another and not (explorer is not None and explorer.unreported)

    if plan.mode == EXHAUSTIVE and len(program.threads) > 2:
        raise BadValue(
            "mode", plan.mode, f"at most two threads, and not {len(program.threads)}: their schedules are too many", "argument"
        )
    if plan.mode == STRESS and len(program.threads) == 1:
        raise BadValue("mode", plan.mode, "at least two threads: what one starts itself need not run beside it", "argument")
    if why := no_room():
        return template.without_claim(NoClaim.NOT_EXPLORABLE, why)
    try:
        check_alone()
        if plan.mode == STRESS:
            result = stressed(program, plan, template, progress)
        else:
            with explorer_for(program, plan, progress, journal) as explorer:
                result = _explored(explorer, plan, template)
                result = replace(result, schedules=explorer.runs)
    except MonitoringConflict as error:
        result = replace(template, reason=f"{error}, so a search would miss switches; run fuzz checks without that tool")
    except NotExplorable as error:
        alone = isinstance(error, StartsNoThread)
        result = replace(template, reason=str(error)) if alone else template.without_claim(NoClaim.NOT_EXPLORABLE, str(error))
        if explorer is not None and explorer.first_alone and for_another():
            raise Unrepeatable(Left(result)).of(explorer, result) from None  # the first run may well make visible steps
    except Unrepeatable as found:
        result = replace(found.left.result, schedules=explorer.runs if explorer is not None else 0)
        if for_another():
            raise found.of(explorer, replace(result, seconds=monotonic() - begun)) from None
    except SequentialFailure as error:
        if error.again:
            result = not_repeatable(program, template, error.__cause__ or AssertionError(str(error)))
            if for_another():
                raise Unrepeatable(Left(result)).of(explorer, result) from None
            return result
        if error.__cause__ is not None:
            where = "every sequential order" if explorer is None else explorer.every_order
            error.__cause__.add_note(f"fails without any concurrency, in {where}")
            raise error.__cause__ from None
        result = replace(template, conclusion=Verdict.VIOLATED, reason=f"it fails without any concurrency: {error}")
    except Exception as error:
        if not (what := _replaced(error) or (explorer is not None and _beside_replaced(error, explorer))):
            raise
        result = template.without_claim(NoClaim.NOT_EXPLORABLE, what)
    if explorer is not None and explorer.unreported:
        unreported = f"no schedule of the first run, whose steps from {explorer.unreported} on took too long to be watched"
        result = replace(result, coverage=f"{result.coverage}; {unreported}" if result.coverage else unreported)
    if program.note and result.reason:
        result = replace(result, reason=f"{result.reason}; {program.note}")
    if build() != template.interpreter.build:
        result = replace(result, reason=f"{result.reason} (the GIL was enabled during the check)")
    return replace(result, seconds=monotonic() - begun)


def _replaced(error: BaseException) -> str:
    """What the program has put in the place of something that the check itself calls, if that raised this; otherwise empty.

    Nobody had called the program then, and yet its code was the last to run.
    """
    frames = list(came_through(error))
    code, line = frames[-1]
    if any(code in _CALLS_PROGRAM for code, _ in frames) or not under_test(code.co_filename) or ours(code.co_filename):
        return ""
    where = place(code.co_filename, line, code.co_qualname)
    what = f"the program has put its own function at {where} in the place of one that the check itself needs, and that raised"
    return f"{what} {describe_error(error)}: {TAKE_BACK}"


def _beside_replaced(error: BaseException, explorer: Explorer) -> str:
    """Why an error may be none of the program, of which a run has left built-in names replaced; otherwise empty."""
    if not explorer.replaced.names or any(code in _CALLS_PROGRAM for code, _ in came_through(error)):
        return ""
    return explorer.replaced.explain(describe_error(error))


def undecided(program: Program, plan: FuzzPlan, reason: str = "") -> FuzzResult:
    """The result of a check that claims nothing."""
    return FuzzResult(
        conclusion=Verdict.INCONCLUSIVE,
        reason=reason,
        workload=program.name,
        interpreter=Interpreter.current(),
        mode=plan.mode,
        seed=plan.seed,
    )


def _explored(explorer: Explorer, plan: FuzzPlan, template: FuzzResult) -> FuzzResult:
    """The result of a search, or of a replay, after the sequential orders."""
    explorer.progress("sequential orders")
    first_run = FirstRun(explorer.program)
    explorer.prepared = first_run.begins
    if plan.replay is None and plan.schedules is None:
        explorer.most_seconds = plan.budget
    if plan.replay is not None:
        explorer.engine.chance.draw = plan.replay.draw
    try:
        sequential = explorer.sequential()
    except SequentialFailure as error:
        if error.again or error.failure is None:
            raise
        shown, _ = explain(explorer, error.failure, over=lambda: True)  # no schedule passes
        reason = f"it fails without any concurrency: {error}"
        return replace(template, conclusion=Verdict.VIOLATED, reason=reason, story=shown.text, rows=shown.rows, places=shown.places)
    if explorer.is_alone:
        raise StartsNoThread
    deadline = Ledger(plan.budget, counted=plan.schedules is not None, begun=explorer.ready, now=monotonic)
    template = replace(template, steps=max(sum(run.lengths.values()) for run in sequential), expected=expected_errors(explorer))
    over = plan.replay is None and plan.schedules is None and deadline.left() <= 0  # then no claim is made, and no schedule is run
    difference = "" if over else differing_steps(explorer)
    if plan.replay is not None:
        if difference:
            return template.without_claim(NoClaim.NOT_DETERMINISTIC, f"{difference}; so no replay is possible")
        return replayed(explorer, plan.replay, template)
    differs = bool(first_run.alone_found or explorer.first_alone)
    # If the first run can be searched in forks, the rest of the budget is for it.
    forks = explorer.engine.journal is not None and plan.schedules is None and not explorer.unreported
    until = deadline.end_of_search(plan.sensitivity or (differs and forks))
    if forks and not differs and first_run.changed_by_each:
        until -= OF_FIRST_RUN * max(0.0, until - monotonic())
    brief_after = inf
    if differs and forks:  # the rest of the time is for the first run
        brief_after = monotonic() if plan.first_runs else (monotonic() + until) / 2
    result = _searched(explorer, plan, template, sequential, deadline, until, difference, brief_after=brief_after)
    if plan.sensitivity and result.verdict is Verdict.HOLDS:
        result = without_each_lock(explorer, plan, result, sequential, deadline)
    if result.verdict is Verdict.HOLDS and explorer.unreported:
        raise too_dear(result, explorer, first_run.alone_found)
    claims = result.verdict is Verdict.HOLDS or (differs and result.verdict is not Verdict.VIOLATED and not difference)
    if claims and (found := first_run.alone_found):
        alone = f"changed {few(found)}"
        raise changed_by_a_run(
            result, f"the first run {alone}, and later runs found it so, and none has the race of its making", alone
        )
    if claims and explorer.first_alone:
        why = f"only the first run came to {explorer.first_alone}. Something that it left behind, such as a cache or a file, keeps"
        alone = f"came alone to {explorer.first_alone}"
        raise changed_by_a_run(result, f"{why} later runs from there, and none has the races of its making", alone)
    if result.verdict is Verdict.HOLDS and explorer.passing:
        explorer.prepared = first_run.begins_once_more
        _, failure = explorer.in_order(explorer.passing[0])
        if failure is not None:
            raise Unrepeatable(Left(not_repeatable(explorer.program, template, failure.error or AssertionError(failure.message))))
        if found := first_run.changed_since:
            raise changed_by_a_run(result, f"one of the runs changed {few(found)}, and the runs after it found it so")
    if result.verdict is Verdict.HOLDS and explorer.engine.journal is not None and (found := first_run.changed_by_each):
        raise Unrepeatable(Left(result, (result, f"changed {few(found)} as each run does")))
    return result


def not_repeatable(program: Program, template: FuzzResult, error: BaseException) -> FuzzResult:
    """The result for a program whose sequential orders passed, and fail when they run again: the schedule is not to blame."""
    if used_up := program.used_up():  # the error is none of the program then
        return template.without_claim(NoClaim.NOT_REPEATABLE, used_up)
    why = f"fails when it runs again, without any concurrency: {program.shared}"
    error.add_note(why)
    return replace(template.without_claim(NoClaim.NOT_REPEATABLE, f"it {why}"), failure=error)


def _searched(
    explorer: Explorer,
    plan: FuzzPlan,
    template: FuzzResult,
    sequential: list[ScheduleRun],
    deadline: Ledger,
    until: float,
    unrepeatable: str,
    *,
    brief_after: float,
) -> FuzzResult:
    """The result of a search.

    Args:
        until: the end of the search itself, by `monotonic`.
        unrepeatable: what the same schedule does differently the second time.
        brief_after: by `monotonic`, from when on it ends as soon as it is enough for a claim.
    """
    drawn = search_all_draws(explorer, plan, sequential, until, brief_after=brief_after)
    searched = drawn.outcome
    template = replace(
        template, coverage=str(drawn), samples=searched.sampled + drawn.sampled, conflicts_left=searched.conflicts_left
    )
    if searched.failure is not None:
        if searched.failure.symptom in LASTING and (failure := explorer.fails_now()) is not None:
            if explorer.engine.journal is not None:
                raise StateLeft(searched.failure, failure)
            return not_repeatable(explorer.program, template, failure.error or AssertionError(failure.message))
        return violated(explorer, plan, template, searched, sequential, deadline, unrepeatable)
    if (lost := searched.lost) is not None:
        if explorer.engine.journal is not None:
            raise StateLeft(lost.failure, lost.failure, lost)
        return not_repeatable(explorer.program, template, lost.failure.error or AssertionError(lost.failure.message))
    if unrepeatable:
        why = f"{unrepeatable}; so {drawn} without a failure prove nothing"
        what_to_do = "make all state in setup, and seed random numbers there"
        return template.without_claim(NoClaim.NOT_DETERMINISTIC, f"{why}; {what_to_do}")
    if explorer.uncontrolled:
        return template.without_claim(NoClaim.UNCONTROLLED, explorer.uncontrolled[0])
    steps = searched.torn
    if not steps and searched.apart and not searched.settled:
        steps = f"{searched.apart} takes several steps in C, which were simulated, and not all of their conflicts were tried"
    if steps:
        told = f"without a GIL, {steps}: {_OR_STRESS}"
        return replace(template, told=told, reason=f"{told}; otherwise {drawn}: no failure")
    if (reason := unfinished(plan, drawn, explorer.pace)) is not None:
        return replace(template, why=NoClaim.CUT_SHORT, reason=reason)
    part = f" (share {plan.share[0] + 1} of {plan.share[1]})" if plan.share[1] > 1 else ""
    where = "at points where a build with a GIL can switch, " if plan.mode == GIL_POINTS else ""
    time = f", with {BOUND}" if explorer.engine.clock.matters else ""
    library = "" if searched.settled else one_step(tuple(explorer.events.one_step), tuple(explorer.events.imported))
    reason = f"{where}{drawn}{part}{time}: no failure{library}"
    return replace(template, conclusion=Verdict.HOLDS, reason=reason, bound=searched.bound)
