"""From the end of the process that searched to a result: what ended it is replayed, minimised, classified and explained.

All of it happens in child processes, because each run of the schedule may kill its process. `Journal` says which schedule it was.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

from ...core.child import Ending, Outcome
from ...core.exit_status import describe_exit, is_crash
from ...core.fork_safety import NoFork
from ...core.origin import ours, under_test
from ...core.system import scratch_file
from ...core.verdict import Verdict
from ...engine.outcome import Symptom
from ...engine.program import Program
from ...engine.running.journal import Journal, Stage
from ...engine.running.policy import Planned, Policy
from ...engine.schedule import Schedule, preemptions
from ...search.conflicts import first_focus
from ...search.explorer import Explorer
from ...search.forks import Forks
from ...search.harness import explorer_for, run_limit
from ...search.ledger import Ledger, limited
from ...search.orders import orders_of
from ...search.plan import FuzzPlan
from ...search.search import Search
from ...search.strategy import observed
from ..result import FuzzResult, NoClaim
from .examination import Broken, Examination, Learnt
from .recording import StreamedRecorder, recorded_steps

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


@dataclass(frozen=True, kw_only=True)
class Dead(Broken):
    """The end of a process that ran a program: its schedule, and what it died of.

    Attributes:
        where: ``"file:line (function)"`` of the user's innermost frame in the thread that was running; empty if unknown.
        status: its exit status, or minus the number of the signal that killed it; None if it is unknown.
    """

    where: str = ""
    status: int | None = None

    def at(self, where: str) -> Dead:
        """The same, with where it was if that is not known yet."""
        return replace(self, where=where, message=f"{self.message}, in {where}") if where and not self.where else self

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


def seen_in(trace: str, journal: Journal, hung: bool, limit: float, status: int | None = None) -> Dead:
    """What is known of a process that is no child of this one: its stacks, and what it was doing."""
    where, shown = _place_in(trace, hung=hung)
    fatal = next((name for text, name in _FATAL.items() if f"Fatal Python error: {text}" in trace), "")
    what = f"was killed by {fatal}" if fatal else _never_returns(limit) if hung else _ended(status)
    return _dead(journal, what, where, trace=shown, hung=hung, status=status)


def dead_of(outcome: Outcome, journal: Journal, limit: float) -> Dead:
    """What is known of a child of this process that died."""
    hung = outcome.ending in (Ending.HUNG, Ending.STOPPED)
    where, shown = _place_in(outcome.trace, hung=hung)
    status = None if hung else outcome.signed_status
    what = _never_returns(limit) if hung else _ended(status)
    return _dead(journal, what, where, trace=shown, hung=hung, status=status, anchors=journal.anchors)


def _dead(journal: Journal, what: str, where: str, *, hung: bool, **of: Any) -> Dead:
    """The end of a process.

    Args:
        what: completes "the process ...".
        of: more of it.
    """
    symptom = Symptom.HANGS if hung else Symptom.CRASHED
    made = {"schedule": journal.schedule, "masked": journal.masked, **of}
    return Dead(symptom=symptom, message=f"the process {what}", hung=hung, **made).at(where)


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
    deadline: Ledger,
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
        why = f"a step of it has not ended after {limit:.3g} s: {dead.message}"
        return replace(template.without_claim(NoClaim.NOT_EXPLORABLE, why), story=dead.trace)
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
            why = f"{dead.message}, without any concurrency, and not in another process: {dead.perhaps}"
            return template.without_claim(NoClaim.NOT_REPEATABLE, why)
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


class _CrashExamination(Examination[Dead]):
    """Replays, minimises, classifies and explains a schedule that ends its process."""

    def in_order(self) -> Dead | None:
        """How a process ends in which the sequential orders run, if it does, and after which step."""
        self._progress("replaying what ended the process")

        def job(explorer: Explorer) -> None:
            for order in orders_of(len(self._program.threads)):
                explorer.in_order(order)

        program, plan = self._program, self._plan
        begin = partial(explorer_for, program, plan, lambda label: None)  # before any order has run
        return self._with_steps(Forks(begin, plan, self._deadline, ()), job, sequential=True)

    def result(self, first: Dead) -> FuzzResult:
        """The result, of the first end of a process that was seen."""
        self._progress("replaying what ended the process")
        if self._narrow:
            if (followed := self._with_every_step(first)) is None:
                return self._not_again(first)
            first = followed
        found = self._recorded(first.schedule)
        return self._not_again(first) if found is None else self._examined(found)

    def _not_again(self, first: Dead) -> FuzzResult:
        reason = f"{first.symptom}: {first.message}; with {preemptions(first.schedule.preemptions)}"
        if first.trace or first.hung:
            return replace(self._template, reason=f"{reason}; its schedule did not do so again, so it has no token", replays=(0, 1))
        reason = f"{reason}; its schedule did not do so again: {first.perhaps}"
        return replace(self._template, conclusion=Verdict.INCONCLUSIVE, symptom=None, reason=reason)

    def _with_every_step(self, first: Dead) -> Dead | None:
        """How the process of a schedule ends that was made where steps were hidden: its schedule has every step then."""

        def job(explorer: Explorer) -> None:
            if (focus := first_focus(explorer)) is not None:
                explorer.follow_without(first.schedule, focus.hidden)

        return self._died(self._forks, job)[0]

    def _fails(self, policies: Sequence[Policy], symptom: Symptom | None = None) -> Dead | None:
        def job(explorer: Explorer) -> None:
            for policy in policies:
                explorer.once(policy)

        found, _ = self._died(self._forks, job)
        return found if found is not None and symptom in (None, found.symptom) else None

    def _died(self, forks: Forks, job: Callable[[Explorer], Any], *, sequential: bool = False) -> tuple[Dead | None, Any]:
        """How the process of a job ends, if the threads of a schedule end it, or those of a sequential order; or its answer."""
        with forks.attempt(job) as tried:
            if tried.died and (sequential or not tried.journal.sequential):
                return dead_of(tried.outcome, tried.journal, run_limit(self._plan)), None
            return None, tried.answer

    def _with_steps(self, forks: Forks, job: Callable[[Explorer], Any], *, sequential: bool = False) -> Dead | None:
        """How the process of a job ends, with its steps; None if it does not."""
        with scratch_file() as file:

            def streamed(explorer: Explorer) -> None:
                self._program.output.drop()
                with observed(explorer.engine, StreamedRecorder(explorer.engine.takes_part, file.fileno())):
                    job(explorer)

            dead, _ = self._died(forks, streamed, sequential=sequential)
            steps = recorded_steps(file.fileno())
        if dead is None or not steps:
            return dead
        return replace(dead.at(steps[-1].place), points=steps[-1].point, steps=tuple(steps))

    def _recorded(self, schedule: Schedule, symptom: Symptom | None = None) -> Dead | None:
        dead = self._with_steps(self._forks, lambda explorer: explorer.once(Planned(schedule)) and None)
        if dead is None:  # looking at the steps may be what saves it
            return self._fails([Planned(schedule)], symptom)
        self._program.output.keep()
        return dead

    def _fails_with_a_gil(self, until: float) -> tuple[Schedule | None, bool]:
        if self._deadline.is_past(until):
            return None, True
        plan = self._plan

        def job(explorer: Explorer) -> bool:
            limit = limited(until, plan.own_schedules)
            sequential = explorer.measured()
            return not Search(explorer, plan.preemptions, limit, plan.seed, gil=True).run(sequential).too_few

        found, enough = self._died(self._forks, job)
        return (None if found is None else found.schedule), not enough


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
