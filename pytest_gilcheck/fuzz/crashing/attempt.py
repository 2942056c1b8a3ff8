"""Runs schedules of a program in a child process that they may kill."""

from __future__ import annotations

import os
import pickle
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass
from typing import Any

from ...core.child import ChildSide, Ending, Outcome, ParentSide, fork
from ...core.child_side import of_this_process
from ...core.classes import name_of_class
from ...core.clocks import monotonic
from ...engine.program import Program
from ...engine.running.journal import Journal, Stage
from ...search.explorer import Explorer
from ...search.harness import explorer_for
from ...search.plan import FuzzPlan
from .hang_watch import HangWatch

_LOOK = 0.05  # seconds between two looks at the child
_SETTLING = 10.0  # seconds that a child may take beside the runs that it was made for; a busy machine may let it wait


@dataclass(frozen=True)
class Attempt:
    """What became of a child process.

    Attributes:
        outcome: how it ended.
        journal: what it was doing; to be closed.
        answer: of the job, if the child survived it and nothing was raised.
        error: what was raised in it, as text.
    """

    outcome: Outcome
    journal: Journal
    answer: Any = None
    error: str = ""

    @property
    def died(self) -> bool:
        """Whether a run of the program ended the process, or never returned."""
        return self.outcome.ending is not Ending.ANSWERED and self.journal.stage is not Stage.IDLE

    @property
    def hung(self) -> bool:
        return self.outcome.ending in (Ending.HUNG, Ending.STOPPED)


@contextmanager
def after_sequential_orders(
    program: Program, plan: FuzzPlan, learnt: tuple[int, ...], draw: int, journal: Journal
) -> Iterator[Explorer]:
    """An explorer that has run the sequential orders with this draw, and has taken over what was known about names."""
    with explorer_for(program, plan, lambda label: None, journal) as explorer:
        explorer.engine.chance.draw = draw
        explorer.sequential(visible=False)
        explorer.learn(learnt)
        yield explorer


def attempt(
    begin: Callable[[Journal], AbstractContextManager[Explorer]],
    job: Callable[[Explorer, Journal], Any],
    limit: float,
    seconds: float,
) -> Attempt:
    """Do something with a program in a child process.

    Args:
        begin: called in the child, for its explorer.
        job: what to do. Its answer is pickled.
        limit: seconds after which a run is ended.
        seconds: that the job may take; a run that hangs in C gets its time limit in addition.
    """
    journal = Journal(keeps_anchors=True)
    until = monotonic() + seconds + limit + _SETTLING
    side = fork(seconds + limit + _SETTLING, own_group=of_this_process() is None)
    if isinstance(side, ChildSide):
        try:
            side.answer(pickle.dumps(("answer", _done(begin, job, journal))))
        except BaseException as error:
            side.answer(pickle.dumps(("error", f"{name_of_class(type(error))}: {error}")))
        finally:
            os._exit(1)
    outcome = _awaited(side, HangWatch(journal, limit), until)
    kind, answer = pickle.loads(outcome.payload) if outcome.ending is Ending.ANSWERED else ("", None)
    return Attempt(outcome, journal, answer if kind == "answer" else None, str(answer) if kind == "error" else "")


def _awaited(side: ParentSide, watch: HangWatch, until: float) -> Outcome:
    try:
        while side.gone_at is None:
            side.receive_notes(_LOOK)
            if side.gone_at is None and (watch.hangs(side.pid) or monotonic() > until):
                return side.hung()
    except BaseException:
        side.end()
        raise
    return side.finish()


def _done(
    begin: Callable[[Journal], AbstractContextManager[Explorer]],
    job: Callable[[Explorer, Journal], Any],
    journal: Journal,
) -> Any:
    with begin(journal) as explorer:
        try:
            return job(explorer, journal)
        finally:
            journal.begin(Stage.IDLE)
