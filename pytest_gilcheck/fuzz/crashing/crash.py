"""From the end of the process that searched to a result: what ended it is replayed, minimised, classified and explained.

All of it happens in child processes, because each run of the schedule may kill its process. `Journal` says which schedule it was.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import partial

from ...core.child import Ending, Outcome
from ...core.exit_status import describe_exit, is_crash
from ...core.fork_safety import NoFork
from ...core.origin import ours, under_test
from ...core.system import scratch_file
from ...core.verdict import Verdict
from ...engine.program import Program
from ...engine.running.journal import Journal, Stage
from ...engine.running.policy import Planned, Policy
from ...engine.schedule import Schedule, preemptions
from ...search.deadline import Deadline
from ...search.explorer import Explorer, Symptom
from ...search.harness import explorer_for, run_limit
from ...search.limits import limited
from ...search.minimise import observed
from ...search.orders import orders_of
from ...search.plan import FuzzPlan
from ...search.reduction import Reduction
from ...search.search import Search
from ..explaining.recorder import RecordedStep
from ..result import FuzzResult, Kind
from .attempt import Attempt, attempt
from .examination import CLASSIFYING, REPLAYS, Examination, Learnt
from .recording import StreamedRecorder, recorded_steps
from .smaller import smaller

_FATAL = {
    "Segmentation fault": "SIGSEGV",
    "Aborted": "SIGABRT",
    "Bus error": "SIGBUS",
    "Floating-point exception": "SIGFPE",
    "Floating point exception": "SIGFPE",
    "Illegal instruction": "SIGILL",
}
_OWN_END = "it ends its own process (os._exit, os.kill): take that call out, or have the test replace it (monkeypatch)"
_LINE = re.compile(r'File "(?P<file>.*)", line (?P<line>\d+) in (?P<function>.*)')


@dataclass(frozen=True)
class Dead:
    """The end of a process that ran a program: its schedule, and what it died of.

    Attributes:
        what: completes "the process ...".
        where: ``"file:line (function)"`` of the user's innermost frame in the thread that was running; empty if unknown.
        trace: what ``faulthandler`` wrote, without our own frames.
        status: its exit status, or minus the number of the signal that killed it; None if it is unknown.
    """

    schedule: Schedule
    masked: bool
    anchors: tuple[int, ...]
    what: str
    where: str
    trace: str
    hung: bool = False
    status: int | None = None

    @property
    def message(self) -> str:
        return f"the process {self.what}" + (f", in {self.where}" if self.where else "")

    @property
    def on_purpose(self) -> bool:
        """Whether a signal has ended it that is no crash: its own, another process's, or the system's, which needs the memory."""
        return self.status is not None and self.status < 0 and not is_crash(self.status)

    @property
    def perhaps(self) -> str:
        """What may have ended it once, and not again, as a question."""
        if self.status is not None and self.status >= 0:
            return "does it end itself (os._exit) by what an earlier run has left? Then make that anew in setup"
        return "was it killed from outside, for its memory, or by the program itself (os.kill)?"

    @property
    def symptom(self) -> Symptom:
        return Symptom.HANGS if self.hung else Symptom.CRASHED


def seen_in(trace: str, journal: Journal, hung: bool, limit: float, status: int | None = None) -> Dead:
    """What is known of a process that is no child of this one: its stacks, and what it was doing."""
    where, shown = _place_in(trace, hung=hung)
    fatal = next((name for text, name in _FATAL.items() if f"Fatal Python error: {text}" in trace), "")
    what = f"was killed by {fatal}" if fatal else _never_returns(limit) if hung else _ended(status)
    return Dead(journal.schedule, journal.masked, (), what, where, shown, hung, status)


def dead_of(tried: Attempt, limit: float) -> Dead:
    """What is known of a child of this process that died."""
    where, shown = _place_in(tried.outcome.trace, hung=tried.hung)
    journal = tried.journal
    what, status = _what(tried.outcome, limit), None if tried.hung else tried.outcome.signed_status
    return Dead(journal.schedule, journal.masked, journal.anchors, what, where, shown, tried.hung, status)


def _what(outcome: Outcome, limit: float) -> str:
    return _never_returns(limit) if outcome.ending in (Ending.HUNG, Ending.STOPPED) else _ended(outcome.signed_status)


def _ended(status: int | None) -> str:
    return "ended before its time (os._exit?)" if status is None else describe_exit(status)


def _never_returns(limit: float) -> str:
    return f"made no step for {limit:.3g} s in a call that holds the GIL"


def crashed(
    program: Program,
    plan: FuzzPlan,
    template: FuzzResult,
    dead: Dead,
    journal: Journal,
    deadline: Deadline,
    progress: Callable[[str], None],
) -> FuzzResult:
    """The result of a check whose process ended in a run of the program.

    Args:
        template: with what is the same for every result.
        dead: what is known of that process.
        journal: what it was doing.
    """
    limit = run_limit(plan)
    schedules = f"{journal.run:,} run{'s' * (journal.run != 1)} until one ended the process"
    template = replace(template, coverage=schedules, schedules=journal.run)
    if dead.hung and limit != plan.timeout:
        reason = f"not explorable: a step of it has not ended after {limit:.3g} s: {dead.message}"
        return replace(template, reason=reason, story=dead.trace)
    violated = replace(template, conclusion=Verdict.VIOLATED, symptom=str(dead.symptom), story=dead.trace)
    if journal.stage is not Stage.THREADS:
        part = "setup" if journal.stage is Stage.SETUP else "invariant or the teardown"
        if dead.on_purpose:
            return replace(template, reason=f"{dead.message}, in the {part}, after {schedules}: {dead.perhaps}")
        return replace(violated, reason=f"{dead.symptom}: {dead.message}, in the {part}, after {schedules}")
    if journal.sequential and not dead.trace and not dead.hung:
        try:
            again = _CrashExamination(program, plan, violated, Learnt.by(journal), deadline, progress).in_order()
        except NoFork as error:
            return replace(template, reason=f"{dead.message}, without any concurrency; not tried again, because {error}")
        if again is None:
            reason = f"not repeatable: {dead.message}, without any concurrency, and not in another process"
            return replace(template, reason=f"{reason}: {dead.perhaps}")
        return replace(violated, reason=f"it fails without any concurrency: {again.symptom}: {again.message}: {_OWN_END}")
    if journal.sequential:
        return replace(violated, reason=f"it fails without any concurrency: {dead.symptom}: {dead.message}")
    reason = f"{dead.symptom}: {dead.message}; with {preemptions(dead.schedule.preemptions)}"
    if not journal.complete:
        return replace(violated, reason=f"{reason}; it has no token: its run has too many switches")
    try:
        return _CrashExamination(program, plan, violated, Learnt.by(journal), deadline, progress).result(dead)
    except NoFork as error:
        return replace(violated, reason=f"{reason}; not replayed, because {error}")


class _CrashExamination(Examination):
    """Replays, minimises, classifies and explains a schedule that ends its process."""

    _points = 0

    def in_order(self) -> Dead | None:
        """How a process ends in which the sequential orders run, if it does, and after which step."""
        self._progress("replaying what ended the process")
        with scratch_file() as file:

            def job(explorer: Explorer, journal: Journal) -> None:
                with observed(explorer.engine, StreamedRecorder(explorer.engine.takes_part, file.fileno())):
                    for order in orders_of(len(self._program.threads)):
                        explorer.in_order(order)

            begin = partial(explorer_for, self._program, self._plan, lambda label: None)  # before any order has run
            tried = attempt(begin, job, run_limit(self._plan), max(1.0, self._deadline.left()))
            try:
                if not tried.died or tried.journal.stage is not Stage.THREADS:
                    return None
                dead, steps = dead_of(tried, run_limit(self._plan)), recorded_steps(file.fileno())
            finally:
                tried.journal.close()
        return replace(dead, where=steps[-1].place) if steps and not dead.where else dead

    def result(self, first: Dead) -> FuzzResult:
        """The result, of the first end of a process that was seen."""
        self._progress("replaying what ended the process")
        if self._narrow:
            if (followed := self._with_every_step(first)) is None:
                return self._not_again(first)
            first = followed
        dead, steps = self._recorded(first.schedule)
        if dead is None:
            return self._not_again(first)
        if self._plan.replay is None and not dead.hung:
            dead, steps = self._smaller(dead, steps)
        kind = self._kind(dead)
        if kind is Kind.BREAKS_TODAY and dead.masked:
            dead, steps = self._today or (dead, steps)
        replays = 1 if dead.hung or self._deadline.left() <= 0 else REPLAYS
        again = 1 + sum(self._dies(dead.schedule) is not None for _ in range(replays - 1))
        return self._described(dead, self._points, steps, kind, (again, replays), trace=dead.trace)

    _today: tuple[Dead, list[RecordedStep]] | None = None

    def _not_again(self, first: Dead) -> FuzzResult:
        reason = f"{first.symptom}: {first.message}; with {preemptions(first.schedule.preemptions)}"
        if first.trace or first.hung:
            return replace(self._template, reason=f"{reason}; its schedule did not do so again, so it has no token", replays=(0, 1))
        reason = f"{reason}; its schedule did not do so again: {first.perhaps}"
        return replace(self._template, conclusion=Verdict.INCONCLUSIVE, symptom=None, reason=reason)

    def _with_every_step(self, first: Dead) -> Dead | None:
        """How the process of a schedule ends that was made where steps were hidden: its schedule has every step then."""

        def job(explorer: Explorer, journal: Journal) -> None:
            reduction = Reduction(explorer, focusing=True)
            reduction.search(lambda: True)
            if reduction.focus is not None:
                explorer.follow_without(first.schedule, reduction.focus.hidden)

        return self._died(self._attempt(job))

    def _dies(self, schedule: Schedule) -> Dead | None:
        """How the process of this schedule ends; None if it does not."""
        return self._died(self._attempt(lambda explorer, journal: explorer.once(Planned(schedule)) and None))

    def _died(self, tried: Attempt) -> Dead | None:
        try:
            if not tried.died or tried.journal.stage is not Stage.THREADS or tried.journal.sequential:
                return None
            return dead_of(tried, run_limit(self._plan))
        finally:
            self._done_with(tried)

    def _recorded(self, schedule: Schedule) -> tuple[Dead | None, list[RecordedStep]]:
        """How the process of this schedule ends, and its steps."""
        with scratch_file() as file:

            def job(explorer: Explorer, journal: Journal) -> None:
                self._program.output.drop()
                with observed(explorer.engine, StreamedRecorder(explorer.engine.takes_part, file.fileno())):
                    explorer.once(Planned(schedule))

            dead = self._died(self._attempt(job))
            steps = recorded_steps(file.fileno())
        if dead is None:  # looking at the steps may be what saves it
            return self._dies(schedule), []
        self._program.output.keep()
        self._points = steps[-1].point if steps else 0
        if steps and not dead.where:
            dead = replace(dead, where=steps[-1].place)
        return dead, steps

    def _smaller(self, dead: Dead, steps: list[RecordedStep]) -> tuple[Dead, list[RecordedStep]]:
        over = self._minimising()

        def tries(policies: Sequence[Policy]) -> Schedule | None:
            def job(explorer: Explorer, journal: Journal) -> None:
                for policy in policies:
                    explorer.once(policy)

            found = self._died(self._attempt(job))
            return found.schedule if found is not None and not found.hung and found.masked <= dead.masked else None

        best = smaller(dead.schedule, [step.thread for step in steps], tries, over)
        if best == dead.schedule:
            return dead, steps
        again, shorter = self._recorded(best)
        return (dead, steps) if again is None else (again, shorter)

    def _kind(self, dead: Dead) -> Kind | None:
        """Whether it happens on a build with a GIL, too; None if that was not decided."""
        if not dead.masked:
            return Kind.BREAKS_TODAY
        if self._plan.replay is not None:
            return Kind.GIL_MASKED
        if dead.hung:  # each further run may take as long
            return None
        self._progress("does it break today?")
        until = self._deadline.share(CLASSIFYING)
        if self._deadline.is_past(until):
            self._kind_not_decided()
            return None
        plan = self._plan

        def job(explorer: Explorer, journal: Journal) -> bool:
            limit = limited(until, plan.own_schedules)
            sequential = explorer.measured()
            return not Search(explorer, plan.preemptions, limit, plan.seed, gil=True).run(sequential).too_few

        tried = self._attempt(job)
        enough = tried.answer
        found = self._died(tried)
        if found is not None:
            again, steps = self._recorded(found.schedule)
            if again is not None and not again.masked:
                self._today = self._smaller(again, steps)
                return Kind.BREAKS_TODAY
        if enough:
            return Kind.GIL_MASKED
        self._kind_not_decided()
        return None


def _place_in(trace: str, *, hung: bool) -> tuple[str, str]:
    """The innermost place under test in the thread that ran, and the stacks that show it, without our frames.

    Args:
        hung: whether the process was still running, so that no thread is named as the current one.
    """
    found: list[tuple[str, list[str]]] = []
    for section in trace.split("\n\n"):
        lines = section.splitlines()
        if hung is any(line.startswith("Current thread") for line in lines):  # which is then the one that was asked for the stacks
            continue
        matches = [(line, _LINE.search(line)) for line in lines]
        kept = [line for line, match in matches if match is None or not (ours(match["file"]) or "threading.py" in match["file"])]
        frames = [match for _, match in matches if match is not None and under_test(match["file"])]
        if frames:
            found.append((f"{frames[0]['file']}:{frames[0]['line']} ({frames[0]['function']})", kept))
    if len(found) != 1 and not hung:
        return "", ""
    return (found[0][0] if len(found) == 1 else ""), "\n".join(line for _, kept in found for line in kept)
