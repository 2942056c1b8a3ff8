"""A fuzz check in a process that it may kill: another one goes on then, and says what happened.

In a guarded child the check runs in that very process, and the one that goes on is a fork from the beginning of the check
(`core/standby`). So the test goes on after the check whatever it did, its teardowns run, and nothing that the program left in
memory is lost unless the program kills the process.

A caller that nobody guards, such as a script, must keep its process id, and cannot be replaced by a fork. There the search runs in
the fork (`forked`), and what the program leaves in memory stays there, which a warning says.
"""

from __future__ import annotations

import sys
import warnings
from collections.abc import Callable, Sequence
from contextlib import closing, suppress
from dataclasses import replace
from pickle import dumps, loads  # bound here: the program may replace those of the module

from ..core import own_modules
from ..core.child import Ending
from ..core.child_side import ChildSide, of_this_process
from ..core.clocks import monotonic, sleep
from ..core.exit_status import is_crash
from ..core.fork_safety import NoFork, can_fork
from ..core.origin import ours
from ..core.packing import unpacked
from ..core.standby import Inherited, Standby, stand_by
from ..core.streams import flush
from ..core.system import exit_at_once
from ..core.verdict import Verdict
from ..engine.bytecode import sources
from ..engine.program import Program
from ..engine.running.journal import Journal, Stage
from ..engine.running.short_slices import short_slices
from ..engine.schedule import Token
from ..search.hang_watch import HangWatch
from ..search.harness import run_limit
from ..search.ledger import Ledger
from ..search.plan import STRESS, FuzzPlan
from . import forked
from .check import fuzz, not_repeatable, undecided
from .crashing import first_run
from .crashing.crash import Dead, crashed, dead_of, seen_in
from .crashing.left_behind import left_behind
from .failing import Left, StateLeft, Unrepeatable
from .replay import ReplayDiverged
from .result import FuzzResult

_WHERE = {
    Stage.IDLE: "outside of its runs",
    Stage.SETUP: "in the setup",
    Stage.THREADS: "in a run",
    Stage.AFTER: "after a run",
}
_LOOK = 0.005  # seconds between two looks whether another process has an answer
_PATIENCE = 60.0  # seconds that it may take beyond the budget, on a busy machine
_HERE = "GILCHECK_ISOLATE=none runs it in the process that calls"


def isolated(
    program: Program, plan: FuzzPlan, progress: Callable[[str], None], *, stays: str | None = None, longest: float = float("inf")
) -> FuzzResult:
    """What `fuzz` returns, also if a run of the program kills its process or makes a call that never returns.

    Args:
        stays: why the program has to run in the process that calls; None if it may run in a fork. Nothing in a guarded child.
        longest: seconds that a phase of the check may take in a fork.

    Raises:
        BaseException: see `fuzz`.
    """
    own_modules.keep()  # those that the check has imported too
    if plan.mode == STRESS:  # which has children of its own
        return fuzz(program, plan, progress=progress)
    with short_slices():  # a fork inherits them
        return _guarded(program, plan, progress, stays, longest)


def _guarded(program: Program, plan: FuzzPlan, progress: Callable[[str], None], stays: str | None, longest: float) -> FuzzResult:
    side = of_this_process()
    why = can_fork() if side is not None else stays
    first = plan.replay if plan.replay is not None and plan.replay.first else None
    if why is not None:
        if first is not None:
            needs = "the token is of the first run of a process, so its replay needs a process of its own"
            return undecided(program, plan, f"{needs}: {why}")
        return replace(fuzz(program, plan, progress=progress), unguarded=why)
    try:
        if first is not None:
            return _replay_of_first_run(program, plan, first, progress)
        with closing(Journal(keeps_anchors=plan.replay is not None)) as journal:
            if side is not None:
                return _beside_a_standby(side, program, plan, journal, progress)
            return _in_a_fork(program, plan, journal, longest, progress)
    except NoFork as error:
        return replace(fuzz(program, plan, progress=progress), unguarded=str(error))


def _beside_a_standby(
    side: ChildSide, program: Program, plan: FuzzPlan, journal: Journal, progress: Callable[[str], None]
) -> FuzzResult:
    begun = monotonic()
    watch = HangWatch(journal, run_limit(plan), plan.timeout)

    def served(worker: int) -> bool:
        """In the process that waits: search the first run, if the other one asks for that; whether that one hangs."""
        if journal.stage is Stage.ONCE:
            answer = b""
            with suppress(BaseException):  # nothing may come out of here into the test, which the other process runs
                answer = dumps(replace(_once(program, plan, journal, begun, lambda label: None), failure=None))
            journal.keep(answer, Stage.FOUND)
        return journal.stage is not Stage.FOUND and watch.hangs(worker)

    standby = stand_by(side, served)
    if not isinstance(standby, Inherited):
        try:
            return fuzz(program, plan, progress=progress, journal=journal)
        except Unrepeatable as once:  # this process goes on, with what the program has left in its memory
            progress("schedules of the first run, each in a process of its own")
            return _asked(standby, once, plan, journal, begun)
        except StateLeft as left:
            left.note(journal)
            flush()
            exit_at_once(1)  # and the process that waits goes on, in which nothing has run
        finally:
            standby.dismiss()
    if journal.stage is Stage.LEFT:
        return _left(program, plan, journal, begun, progress)
    return _examined(
        program, plan, seen_in(standby.trace, journal, standby.hung, run_limit(plan), standby.status), journal, begun, progress
    )


def _in_a_fork(program: Program, plan: FuzzPlan, journal: Journal, longest: float, progress: Callable[[str], None]) -> FuzzResult:
    begun = monotonic()
    searched = forked.search(program, plan, journal, longest, progress)
    _warn_of(searched.changed)
    if searched.error is not None:
        raise searched.error
    if searched.result is not None:
        return searched.result
    outcome = searched.outcome
    ended = outcome.headline
    if outcome.ending is Ending.STOPPED:
        reason = f"{ended}; {_HERE}"
    elif journal.stage is Stage.ONCE:
        return _once(program, plan, journal, begun, progress)
    elif journal.stage is Stage.LEFT:
        return _left(program, plan, journal, begun, progress)
    elif searched.overdue or journal.stage is Stage.IDLE:
        reason = f"{_WHERE[journal.stage]}, {ended}"
    elif journal.stage is not Stage.THREADS and outcome.ending is Ending.KILLED and not is_crash(outcome.signed_status):
        reason = f"{ended}, from outside or for its memory"
    else:
        return _examined(program, plan, dead_of(outcome, journal, run_limit(plan)), journal, begun, progress)
    return replace(undecided(program, plan, reason), story=outcome.stacks, seconds=monotonic() - begun)


def _examined(
    program: Program, plan: FuzzPlan, dead: Dead, journal: Journal, begun: float, progress: Callable[[str], None]
) -> FuzzResult:
    """The result, of how the process of the search has ended."""
    deadline = Ledger(plan.budget, begun=begun)
    progress("the process of the search has died")
    if plan.replay is not None:
        _check_followed(plan.replay, journal)
    result = crashed(program, plan, undecided(program, plan), dead, journal, deadline, progress)
    return replace(result, seconds=monotonic() - begun)


def _left(program: Program, plan: FuzzPlan, journal: Journal, begun: float, progress: Callable[[str], None]) -> FuzzResult:
    """The result, of a schedule that has left its process in another state."""
    template = replace(undecided(program, plan), schedules=journal.run)
    result = left_behind(program, plan, template, journal, Ledger(plan.budget, begun=begun), progress)
    if result is None:  # the state of its process grew, so its schedule is none of the first run
        undecided_ = not_repeatable(program, template, _unpacked(journal.text))
        failure, undecided_ = undecided_.failure, replace(undecided_, failure=None)
        left = Left(undecided_, learnt=journal.learnt, draw=journal.draw, ready=begun)
        result = first_run.searched(program, plan, left, Ledger(plan.budget, begun=begun), progress)
        if result.verdict is Verdict.INCONCLUSIVE:
            result = replace(result, failure=failure)
    return replace(result, seconds=monotonic() - begun)


def _once(program: Program, plan: FuzzPlan, journal: Journal, begun: float, progress: Callable[[str], None]) -> FuzzResult:
    """The result, of a program whose first run finds what no later one does."""
    left: Left = loads(journal.text)
    _warn_of(left.changed)
    sources.keep(left.facts)
    result = first_run.searched(program, plan, left, Ledger(plan.budget, begun=left.ready or begun), progress)
    if result.verdict is Verdict.INCONCLUSIVE and left.failure is not None:
        result = replace(result, failure=_with_note(unpacked(left.failure), result))
    return replace(result, seconds=monotonic() - begun)


def _asked(standby: Standby, once: Unrepeatable, plan: FuzzPlan, journal: Journal, begun: float) -> FuzzResult:
    """The result of the process in which nothing has run, which searches the first run; that of the search here if none comes."""
    if not standby.announced:  # the test has closed our descriptors
        return once.left.result
    failure = once.left.result.failure
    once.note(journal)
    until = monotonic() + plan.budget + _PATIENCE
    while journal.stage is Stage.ONCE and monotonic() < until and standby.lives():
        sleep(_LOOK)
    if journal.stage is not Stage.FOUND or not journal.text:
        return once.left.result
    result: FuzzResult = loads(journal.text)
    if result.verdict is Verdict.INCONCLUSIVE and failure is not None:
        result = replace(result, failure=_with_note(failure, result))
    return replace(result, seconds=monotonic() - begun)


def _with_note(failure: BaseException, result: FuzzResult) -> BaseException:
    """The failure, with what was tried after it."""
    if result.tried:
        failure.add_note(result.tried)
    return failure


def _replay_of_first_run(program: Program, plan: FuzzPlan, token: Token, progress: Callable[[str], None]) -> FuzzResult:
    begun = monotonic()
    result = first_run.replayed(program, plan, token, undecided(program, plan), Ledger(plan.budget, begun=begun), progress)
    return replace(result, seconds=monotonic() - begun)


def _unpacked(error: bytes) -> BaseException:
    """An error that came in a journal, if it fitted there."""
    try:
        return unpacked(error.decode())
    except Exception:
        return AssertionError("it fails now")


def _check_followed(token: Token, journal: Journal) -> None:
    """Whether a run that killed its process was that of the token.

    Raises:
        ReplayDiverged: it made other choices, or made them elsewhere.
    """
    followed = journal.schedule.choices == token.schedule.choices and journal.anchors == token.anchors
    if journal.stage is Stage.THREADS and not journal.sequential and not followed:
        raise ReplayDiverged(f"the run made other choices than the token says ({journal.schedule}), and ended its process")


def _warn_of(changed: Sequence[str]) -> None:
    """Warn, at the line of the call, of what the caller shares with the program and will not see changed: an assertion on it proves
    nothing."""
    if not changed:
        return
    named = ", ".join(changed[:3]) + (", ..." if len(changed) > 3 else "")
    text = f"gilcheck: the program changed {named} in the process of its search, which its caller does not see"
    level, frame = 1, sys._getframe()
    while frame.f_back is not None and ours(frame.f_code.co_filename):
        level, frame = level + 1, frame.f_back
    warnings.warn(f"{text}: make it in setup and look at it in invariant; or {_HERE}", RuntimeWarning, stacklevel=level)
