"""A fuzz check in a process that it may kill: another one takes over then, and says what happened.

In a guarded child that process is a fork from the beginning of the check (`core/standby`). So the test goes on after the check
whatever it did, its teardowns run, and nothing that the program left in memory is lost unless the program kills the process.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

from ..core.child_side import of_this_process
from ..core.clocks import monotonic
from ..core.fork_safety import can_fork
from ..core.standby import Inherited, stand_by
from .check import ReplayDiverged, fuzz, undecided
from .crashing.crash import crashed, seen_in
from .crashing.hang_watch import HangWatch
from .deadline import Deadline
from .plan import STRESS, FuzzPlan
from .program import Program
from .result import FuzzResult
from .running.journal import Journal, Stage
from .schedule import Token
from .searching.harness import run_limit


def isolated(program: Program, plan: FuzzPlan, progress: Callable[[str], None]) -> FuzzResult:
    """What `fuzz` returns, also if a run of the program kills the process or makes a call that never returns.

    Raises:
        BaseException: see `fuzz`.
    """
    side = of_this_process()
    if side is None or plan.mode == STRESS or can_fork() is not None:  # a guard that sees the end of this process says so
        return fuzz(program, plan, progress=progress)
    begun = monotonic()
    journal = Journal(keeps_anchors=plan.replay is not None)
    standby = stand_by(side, HangWatch(journal, run_limit(plan)).hangs)
    if not isinstance(standby, Inherited):
        try:
            return fuzz(program, plan, progress=progress, journal=journal)
        finally:
            standby.dismiss()
            journal.close()
    deadline = Deadline(plan.budget, begun=begun)
    dead = seen_in(standby.trace, journal, standby.hung, run_limit(plan))
    progress("the process of the search has died")
    if plan.replay is not None:
        _check_followed(plan.replay, journal)
    result = crashed(program, plan, undecided(program, plan), dead, journal, deadline, progress)
    journal.close()
    return replace(result, seconds=monotonic() - begun)


def _check_followed(token: Token, journal: Journal) -> None:
    """Whether a run that killed its process was that of the token.

    Raises:
        ReplayDiverged: it made other choices, or made them elsewhere.
    """
    followed = journal.schedule.choices == token.schedule.choices and journal.anchors == token.anchors
    if journal.stage is Stage.THREADS and not journal.sequential and not followed:
        raise ReplayDiverged(f"the run made other choices than the token says ({journal.schedule}), and ended its process")
