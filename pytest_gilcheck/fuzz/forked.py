"""A search in a fork of the process that called it: what the program does to its process happens to the fork.

The caller waits, with its process id, its memory and its terminal. What comes home is the result, or the exception that the check
raises. If the fork dies, the caller finds out which schedule it was, in further forks.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from pickle import dumps, loads  # bound here: the program may replace those of the module
from typing import NoReturn

from ..core import own_modules
from ..core.child import ChildSide, Ending, Outcome, fork
from ..core.packing import packed, unpacked
from ..core.streams import flush
from ..core.system import exit_at_once, getpid
from ..engine.bytecode import sources
from ..engine.program import Program
from ..engine.running.journal import Journal, Stage
from ..search.forks import awaited
from ..search.hang_watch import HangWatch
from ..search.harness import run_limit
from ..search.plan import FuzzPlan
from .check import fuzz
from .failing import StateLeft, Unrepeatable
from .result import FuzzResult
from .shared_values import SharedValues


@dataclass(frozen=True)
class Searched:
    """What came home from a child.

    Attributes:
        outcome: how it ended.
        overdue: whether it was ended because a phase took too long, and not because a run made no step.
        result: of the check; None if it did not come to one.
        error: what the check raised, in place of a result.
        changed: what the program's functions share with the caller, and the child has changed in its own memory, in words.
    """

    outcome: Outcome
    overdue: bool = False
    result: FuzzResult | None = None
    error: BaseException | None = None
    changed: tuple[str, ...] = ()


def search(program: Program, plan: FuzzPlan, journal: Journal, longest: float, progress: Callable[[str], None]) -> Searched:
    """Search the schedules of a program in a child process. `fork_safety.can_fork` should allow it.

    Args:
        journal: says afterwards what the child was doing.
        longest: seconds that a phase of the check may take.
        progress: called in this process, with the name of each phase.
    """
    side = fork(longest)
    if isinstance(side, ChildSide):
        _search_and_answer(side, program, plan, journal)
    outcome, overdue = awaited(side, HangWatch(journal, run_limit(plan), plan.timeout), longest, progress)
    if outcome.ending is not Ending.ANSWERED:
        return Searched(outcome, overdue)
    result, failure, error, changed, learnt = loads(outcome.payload)
    sources.keep(learnt)
    if result is not None and failure is not None:
        result = replace(result, failure=unpacked(failure))
    return Searched(outcome, False, result, None if error is None else unpacked(error), changed)


def _search_and_answer(side: ChildSide, program: Program, plan: FuzzPlan, journal: Journal) -> NoReturn:
    """In the child: it never returns into the caller's code."""
    result: FuzzResult | None = None
    failure: BaseException | None = None
    error: BaseException | None = None

    def progress(label: str) -> None:
        side.send_note(label.encode(errors="replace"))

    own_modules.keep()
    try:
        values: SharedValues | None = None
        try:
            values = SharedValues(program)
            result = fuzz(program, plan, progress=progress, journal=journal)
            result, failure = replace(result, failure=None), result.failure
        except Unrepeatable as once:
            if getpid() == side.pid:
                once.note(journal, () if values is None else values.changed())
                flush()
            exit_at_once(1)
        except StateLeft as left:  # the caller, in whose process nothing has run, goes on
            if getpid() == side.pid:
                left.note(journal)
                flush()
            exit_at_once(1)
        except BaseException as raised:  # also SystemExit and KeyboardInterrupt: the program's setup may raise anything
            error = raised
        if getpid() != side.pid:  # a process that the program has forked came back from it as well
            exit_at_once(1)
        journal.begin(Stage.IDLE)
        flush()
        own_modules.keep()  # and those that the program has taken away are put back
        changed = () if values is None else values.changed()
        side.answer(dumps((result, _packed(failure), _packed(error), changed, sources.learnt())))
    finally:
        exit_at_once(1)


def _packed(error: BaseException | None) -> str | None:
    return None if error is None else packed(error)
