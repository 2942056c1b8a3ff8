"""Is it safe to interrupt? The exception raised at every step of the workload in turn, and a look at what it left behind.

One run for each step, each in a fork of this process, so that all start from the same state. Every run counts the visible steps
and raises at its own; a run that does not pass the same steps as the first has diverged and proves nothing.

What does not work: forking *at* each step of a single run (the files and sockets of the forks are the same, so one cleans up
what the next still needs); one process for all runs (each would start from what the one before broke).
"""

from __future__ import annotations

import asyncio
import gc
import inspect
import json
import os
import random
import time
import zlib
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field, replace
from typing import Any

from ..core.child import ChildSide, Ending, fork
from ..core.errors import BadValue
from ..core.interpreter import Interpreter
from ..core.steps import Step, Steps, identity, work_out
from ..core.values import Given
from ..core.verdict import Judged, Verdict
from ..core.workloads import Workload, name_of
from .left_over import Baseline
from .starting import Start
from .target import packed, unpacked

EVERY_STEP, SAMPLE = "every-step", "sample"
MODES = (EVERY_STEP, SAMPLE)
DEFAULT_BUDGET = 30.0
DEFAULT_SAMPLE = 100
_NEVER = -1
_SHOWN = 10
_LEAST_LIMIT = 2.0  # seconds for a run with an interrupt, and
_TIMES_AS_LONG = 10  # times what two without one took: after an interrupt, a lock left held may make it hang


@dataclass(frozen=True)
class InjectionPlan:
    """How to inject; everything already checked.

    Attributes:
        mode: every-step or sample.
        exception: what is raised; a class is raised without arguments.
        invariant: called after each run, or awaited; broken if it returns something false, other than None, or raises.
        first: the step to begin with: where an earlier check ran out of time.
        sample: how many steps, for the mode sample.
        seed: of the sample.
        budget: seconds for all runs.
        timeout: seconds for one run; once it is known how long one takes, not much longer than that.
        setup: called in each child first.
    """

    mode: str
    exception: type[BaseException] | BaseException = KeyboardInterrupt
    invariant: Callable[[], object] | None = None
    first: int = 0
    sample: int = DEFAULT_SAMPLE
    seed: int = 0
    budget: float = DEFAULT_BUDGET
    timeout: float = 60.0
    setup: Callable[[], object] | None = None

    @property
    def exception_name(self) -> str:
        return getattr(self.exception, "__name__", repr(self.exception))


@dataclass(frozen=True)
class Break:
    """One step at which an interrupt breaks something.

    Attributes:
        index: of the step, in the order of the run.
        place: ``"file:line (function)"``.
        source: that line.
        kind: what the step is: ``"after a call"``, ``"before STORE_ATTR"``, ...
        reachable: whether this interpreter looks for signals there.
        broken: what was wrong afterwards.
    """

    index: int
    place: str
    source: str
    kind: str
    reachable: bool
    broken: tuple[str, ...]

    def __str__(self) -> str:
        return f"step {self.index}, {self.kind}, `{self.source}` at {self.place}: {'; '.join(self.broken)}"


@dataclass(frozen=True, kw_only=True)
class InjectionResult(Judged):
    """The outcome of an injection check.

    Attributes:
        workload: its name.
        mode, exception, seed: how it was done.
        steps: visible steps of one run.
        reachable: how many of them this interpreter looks for signals at.
        tried, reached: at how many the exception was raised, and at how many of the reachable ones.
        next_step: where to go on, if time ran out; None otherwise.
        breaks: the steps that break something, the reachable ones first, in the order of the run.
        swallowed: steps at which the workload caught the exception and returned.
        rate: steps tried in a second.
        seconds: what it all took.
    """

    workload: str
    interpreter: Interpreter
    mode: str
    exception: str
    steps: int = 0
    reachable: int = 0
    tried: int = 0
    reached: int = 0
    next_step: int | None = None
    breaks: tuple[Break, ...] = ()
    swallowed: int = 0
    seed: int = 0
    rate: float = 0.0
    seconds: float = 0.0

    def figures(self) -> dict[str, Any]:
        """Every figure by name, as numbers, strings and lists: the evidence record's."""
        names = ("mode", "exception", "steps", "reachable", "tried", "reached", "next_step", "swallowed", "seed", "rate", "seconds")
        return {name: getattr(self, name) for name in names} | {"broken": str(self.breaks[0]) if self.breaks else None}

    def details(self) -> dict[str, Any]:
        """Every step that broke something."""
        names = ("index", "place", "kind", "reachable")
        return {"breaks": [{name: getattr(entry, name) for name in names} for entry in self.breaks]}

    def headline(self) -> str:
        return f"{self.workload}: {super().headline()}"

    def __str__(self) -> str:
        rows = [
            ("interpreter", str(self.interpreter)),
            ("injected", f"{self.exception} at {self.tried} of {self.steps} steps ({self.mode}, seed {self.seed})"),
            ("reachable", f"{self.reachable} of these steps: this interpreter looks for signals there"),
            ("swallowed", f"at {self.swallowed} steps the workload caught it and returned"),
            ("rate", f"{self.rate:.0f} steps/s"),
        ]
        lines = [self.headline(), *(f"  {name:11}  {text}" for name, text in rows)]
        for title, wanted in (
            ("breaks at:", True),
            ("would break, were it not that this interpreter does not look for signals there:", False),
        ):
            found = [entry for entry in self.breaks if entry.reachable is wanted]
            by_line = {(entry.place, entry.broken): entry for entry in reversed(found)}
            shown = sorted(by_line.values(), key=lambda entry: entry.index)
            if found:
                lines += [f"  {title}", *(f"    {entry}" for entry in shown[:_SHOWN])]
                lines += [f"    and {len(shown) - _SHOWN} more lines"] if len(shown) > _SHOWN else []
        return "\n".join(lines)


@dataclass(frozen=True)
class Run:
    """One run in a child, as it told of itself."""

    steps: int = 0
    digest: int = 0
    raised_at: tuple[str, str, str, bool] | None = None  # place, source, kind, reachable
    reach: list[int] = field(default_factory=list)  # the steps at which it can come, of a run without an exception
    returned: bool = False
    broken: list[str] = field(default_factory=list)
    error: str = ""
    code: list[list[Any]] = field(default_factory=list)


def plan(
    *,
    inject: object,
    exception: object = None,
    invariant: object = None,
    first: object = None,
    sample: object = None,
    seed: object = None,
    budget: object = None,
    timeout: object = None,
    setup: object = None,
    sources: dict[str, str] | None = None,
) -> InjectionPlan:
    """A plan out of unchecked values; None takes the default, for ``seed`` a random one.

    Raises:
        BadValue: a value of the wrong type or range.
    """
    given = Given(sources)
    if inject not in MODES:
        raise BadValue("inject", inject, " or ".join(repr(mode) for mode in MODES), given.source("inject"))
    if exception is not None and not isinstance(exception, BaseException):
        if not (isinstance(exception, type) and issubclass(exception, BaseException)):
            raise BadValue("exception", exception, "an exception, or a class of them", given.source("exception"))
        try:
            exception()
        except Exception as error:
            expected = f"a class that needs no arguments, or an exception with them ({error})"
            raise BadValue("exception", exception, expected, given.source("exception")) from None
    return InjectionPlan(
        mode=str(inject),
        exception=KeyboardInterrupt if exception is None else exception,
        invariant=given.callable("invariant", invariant),
        first=given.whole("first", first, 0, 0),
        sample=given.whole("sample", sample, 1, DEFAULT_SAMPLE),
        seed=given.whole("seed", seed, 0, random.randrange(1_000_000)),
        budget=given.seconds("budget", budget, DEFAULT_BUDGET),
        timeout=given.seconds("timeout", timeout, 60.0),
        setup=given.callable("setup", setup),
    )


def inject(
    work: Workload,
    how: InjectionPlan,
    *,
    name: str | None = None,
    progress: Callable[[str], None] = lambda label: None,
) -> InjectionResult:
    """Raise an exception at each step of ``work`` in turn, and check what is left behind.

    Raises:
        BaseException: what the workload raised when it was left alone.
        BadValue: this process cannot be forked now, or there is no such step to begin with.
    """
    begun = time.monotonic()
    start = Start(work, how.setup, ())
    if (why := start.no_fork()) is not None:
        raise BadValue("inject", how.mode, f"a process that can be forked for every step, but {why}")
    blank = InjectionResult(
        verdict=Verdict.INCONCLUSIVE,
        reason="",
        workload=name or name_of(work),
        interpreter=Interpreter.current(),
        mode=how.mode,
        exception=how.exception_name,
        seed=how.seed,
    )
    progress("counting steps")
    counting = time.monotonic()
    first, again = (_run(start, how, _NEVER) for _ in range(2))
    how = replace(how, timeout=min(how.timeout, _LEAST_LIMIT + _TIMES_AS_LONG * (time.monotonic() - counting)))
    work_out({(file, line, name) for file, line, name in first.code})
    blank = replace(blank, steps=first.steps, reachable=len(first.reach))
    if (why := _useless(first, again)) is not None:
        return replace(blank, reason=why, seconds=time.monotonic() - begun)
    if how.first >= first.steps:
        raise BadValue("first", how.first, f"a step below {first.steps}, as many as a run has")
    return _tried(blank, start, how, first, begun, progress)


def _useless(first: Run, again: Run) -> str | None:
    """Why nothing can be said from two runs without an exception; None if something can."""
    if first.error or again.error:
        return first.error or again.error
    if first.broken:
        return f"already without any interrupt something is wrong afterwards: {'; '.join(first.broken)}"
    if (first.steps, first.digest) != (again.steps, again.digest):
        return f"the workload is not deterministic: {first.steps} steps in one run and {again.steps} in the next, or others"
    if first.steps == 0:
        return "the workload has no visible steps: it is all C, or all library"
    return None


def _tried(
    blank: InjectionResult,
    start: Start,
    how: InjectionPlan,
    first: Run,
    begun: float,
    progress: Callable[[str], None],
) -> InjectionResult:
    steps = list(range(how.first, first.steps))
    if how.mode == SAMPLE:  # where it can come: what is drawn elsewhere decides nothing
        steps = [index for index in first.reach if index >= how.first]
        if len(steps) > how.sample:
            steps = sorted(random.Random(how.seed).sample(steps, how.sample))
    can_come = set(first.reach)
    breaks: list[Break] = []
    swallowed, tried, reached, next_step, diverged, wrong = 0, 0, 0, None, 0, ""
    injecting = time.monotonic()
    for index in steps:
        if time.monotonic() - begun > how.budget:
            next_step = index
            break
        progress(f"{blank.exception} at step {index} of {first.steps}")
        run = _run(start, how, index)
        tried += 1
        reached += index in can_come
        if run.raised_at is None and not run.error:
            diverged += 1
            continue
        swallowed += run.returned
        wrong = wrong or (run.error if run.raised_at is None else "")
        broken = [run.error] if run.error and run.raised_at is not None else run.broken
        if run.raised_at is not None and broken:
            place, source, kind, reachable = run.raised_at
            breaks.append(Break(index, place, source, kind, reachable, tuple(broken)))
    elapsed = time.monotonic() - injecting
    breaks.sort(key=lambda entry: (not entry.reachable, entry.index))
    result = replace(
        blank,
        tried=tried,
        reached=reached,
        next_step=next_step,
        breaks=tuple(breaks),
        swallowed=swallowed,
        rate=tried / elapsed if elapsed else 0.0,
        seconds=time.monotonic() - begun,
    )
    verdict, reason = _verdict(result, how, diverged, wrong)
    return replace(result, verdict=verdict, reason=reason)


def _verdict(result: InjectionResult, how: InjectionPlan, diverged: int, wrong: str) -> tuple[Verdict, str]:
    reachable = [entry for entry in result.breaks if entry.reachable]
    if reachable:
        lines = len({entry.place for entry in reachable})
        more = f"; {lines - 1} more lines likewise" if lines > 1 else ""
        return Verdict.VIOLATED, f"not safe to interrupt: {result.exception} at {reachable[0]}{more}"
    if wrong:
        return Verdict.INCONCLUSIVE, f"a run did not get to its step: {wrong}"
    if diverged:
        return Verdict.INCONCLUSIVE, f"the workload is not deterministic: {diverged} of {result.tried} runs did not pass their step"
    if result.next_step is not None:
        words = f"{result.tried} of {result.steps} steps tried in {how.budget:g} s, none unsafe"
        return Verdict.INCONCLUSIVE, f"{words}; go on with first={result.next_step}, or give more budget"
    if not result.reached:
        return Verdict.INCONCLUSIVE, f"none of the {result.tried} steps tried is one at which {result.exception} can come"
    where = (
        f"{result.reached} of {result.reachable} steps" if result.reached < result.reachable else f"each of {result.reached} steps"
    )
    words = f"safe: {result.exception} at {where} where it can come, of {result.steps} in a run, breaks nothing"
    hidden = len({entry.place for entry in result.breaks})
    return Verdict.HOLDS, words + (f"; {hidden} lines rest on where this interpreter looks for signals" if hidden else "")


def _run(start: Start, how: InjectionPlan, target: int) -> Run:
    """One run, with the exception at the step of this index."""
    side = fork(how.timeout)
    if isinstance(side, ChildSide):
        try:
            side.answer(json.dumps(_in_child(side, start, how, target)).encode())
        finally:
            os._exit(1)
    outcome = side.wait()
    if outcome.ending is not Ending.ANSWERED:
        notes = side.notes()
        return Run(error=str(outcome).splitlines()[0], raised_at=tuple(json.loads(notes[-1])) if notes else None)
    told = json.loads(outcome.payload)
    if failure := told.pop("failure", ""):
        raise unpacked(failure)
    raised_at = told.pop("raised_at", None)
    return Run(raised_at=None if raised_at is None else tuple(raised_at), **told)


def _in_child(side: ChildSide, start: Start, how: InjectionPlan, target: int) -> dict[str, Any]:
    counted, digest = 0, 0
    reach: list[int] = []
    pid = os.getpid()
    raised_at: tuple[str, str, str, bool] | None = None
    kind = how.exception if isinstance(how.exception, type) else type(how.exception)

    def can_come(step: Step) -> bool:
        return step.reachable or issubclass(kind, MemoryError)  # which any instruction may raise

    def at(step: Step) -> None:
        nonlocal counted, digest, raised_at
        if raised_at is not None or os.getpid() != pid:  # a fork of the workload is not what is tried
            return
        counted = step.index + 1
        if can_come(step) and target == _NEVER:
            reach.append(step.index)
        digest = zlib.crc32(f"{step.code.co_qualname}:{step.offset}".encode(), digest)
        if step.index == target:
            raised_at = (step.place, step.source, step.kind, can_come(step))
            side.tell(json.dumps(raised_at).encode())  # for the case that the run never ends
            raise how.exception

    returned = False
    stepped = Steps(at)
    failure: BaseException | None = None
    gc.freeze()  # what the parent had: collecting that again in every run would take most of its time
    if start.setup is not None:
        start.setup()
    baseline = Baseline.now(start.work)
    try:
        with stepped:
            result = start.work()
            if inspect.iscoroutine(result):
                asyncio.run(result)
        returned = raised_at is not None
    except BaseException as error:  # the injected one, or what the workload made of it; without one, its own failure
        if raised_at is None:
            failure = error
    if os.getpid() != pid:  # a process that the workload forked has come all the way back
        os._exit(0)
    if isinstance(how.exception, BaseException):  # or it would keep the frames of the workload, and what is open in them
        how.exception.__traceback__ = how.exception.__context__ = None
    if isinstance(failure, KeyboardInterrupt):
        return {"error": "the workload raises KeyboardInterrupt by itself"}
    if failure is not None:
        return {"failure": packed(failure)}
    blind = stepped.lost and target == _NEVER
    broken = baseline.left(start.work)
    if how.invariant is not None:
        try:
            answer = how.invariant()
            if inspect.isawaitable(answer):
                answer = asyncio.run(_awaited(answer))
            if answer is not None and not answer:
                broken.insert(0, "the invariant is False" if answer is False else f"the invariant is {answer!r}")
        except BaseException as error:  # an assertion of the user's, or what a broken object does
            broken.insert(0, f"the invariant is broken: {type(error).__name__}: {str(error).splitlines()[0] if str(error) else ''}")
    return {
        "steps": counted,
        "reach": reach,
        "error": "somebody took the tracing away (sys.settrace) in the middle of the workload" if blind else "",
        "digest": digest,
        "raised_at": raised_at,
        "returned": returned,
        "broken": broken,
        "code": [identity(code) for code in stepped.seen.values()] if target == _NEVER else [],
    }


async def _awaited(answer: Awaitable[object]) -> object:
    return await answer
