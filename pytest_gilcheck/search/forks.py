"""Runs a program in processes of their own, forks of this one, which a run may kill or leave in another state."""

from __future__ import annotations

import os
import pickle
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, closing, contextmanager
from dataclasses import dataclass, replace
from typing import Any, NoReturn

from ..core.child import ChildSide, Ending, Outcome, ParentSide, fork
from ..core.child_side import of_this_process
from ..core.clocks import monotonic
from ..engine.program import Program
from ..engine.running.journal import Journal, Stage
from ..engine.running.policy import Policy
from ..engine.summary import PLAIN, RunSummary, Want
from .explorer import Explorer
from .hang_watch import HangWatch
from .harness import explorer_for, run_limit
from .here import Here
from .ledger import Ledger
from .orders import Order
from .plan import FuzzPlan

_LOOK = 0.05  # seconds between two looks at the child
_SETTLING = 10.0  # seconds that a child may take beside the runs that it was made for; a busy machine may let it wait
_LEAST = 1.0  # seconds for what must be done, however little of the budget is left


@dataclass(frozen=True)
class Attempt:
    """What became of a child process.

    Attributes:
        outcome: how it ended.
        journal: what it was doing.
        answer: of the job, if the child survived it and nothing was raised.
    """

    outcome: Outcome
    journal: Journal
    answer: Any = None

    @property
    def died(self) -> bool:
        """Whether the threads of a schedule ended the process, or never returned."""
        journal = self.journal
        return self.outcome.ending is not Ending.ANSWERED and journal.stage is Stage.THREADS

    @property
    def hung(self) -> bool:
        return self.outcome.ending in (Ending.HUNG, Ending.STOPPED)


class Forks:
    """The executor of processes of their own.

    Args:
        begin: called in each of them, for its explorer.
        deadline: of the check.
        learns: whether what one of them learns is for the next ones.

    Attributes:
        learnt: by those so far, or before: what the steps of a run depend on (`Changing.learnt`).
        made: the number of these processes.
    """

    def __init__(
        self,
        begin: Callable[[Journal], AbstractContextManager[Explorer]],
        plan: FuzzPlan,
        deadline: Ledger,
        learnt: tuple[int, ...],
        *,
        learns: bool = True,
    ) -> None:
        self._begin, self._limit, self._deadline = begin, run_limit(plan), deadline
        self.learnt, self._learns = learnt, learns
        self.made = 0

    def run(self, how: Policy | Order, want: Want = PLAIN) -> RunSummary | None:
        """What a run in a process of its own was like; None if it has ended that. See `Here.run`."""
        begun = monotonic()
        did: RunSummary | None = self.answer(lambda explorer: Here(explorer, confirms=False).run(how, want))
        return None if did is None else replace(did, seconds=monotonic() - begun)

    def answer(self, job: Callable[[Explorer], Any]) -> Any:
        """The answer of a job in a process of its own; None if it has none."""
        with self.attempt(job) as tried:
            return tried.answer

    @contextmanager
    def attempt(self, job: Callable[[Explorer], Any]) -> Iterator[Attempt]:
        """Do something in a process of its own. The answer is pickled."""
        self.made += 1
        with closing(Journal(keeps_anchors=True)) as journal:
            seconds = max(_LEAST, self._deadline.left()) + self._limit + _SETTLING
            side = fork(seconds, own_group=of_this_process() is None)
            if isinstance(side, ChildSide):
                _do(side, self._begin, job, journal)
            outcome, _ = awaited(side, HangWatch(journal, self._limit), seconds)
            answer = pickle.loads(outcome.payload) if outcome.ending is Ending.ANSWERED else None
            if self._learns:
                self.learnt = journal.learnt or self.learnt
            yield Attempt(outcome, journal, answer)


def _do(
    side: ChildSide,
    begin: Callable[[Journal], AbstractContextManager[Explorer]],
    job: Callable[[Explorer], Any],
    journal: Journal,
) -> NoReturn:
    try:
        with begin(journal) as explorer:
            try:
                answer = job(explorer)
            finally:
                journal.begin(Stage.IDLE)
        side.answer(pickle.dumps(answer))
    except BaseException:
        side.answer(pickle.dumps(None))
    finally:
        os._exit(1)


def awaited(
    side: ParentSide, watch: HangWatch, longest: float, progress: Callable[[str], None] = lambda label: None
) -> tuple[Outcome, bool]:
    """Wait for the end of a child, and end it if it hangs or is overdue; an exception here, such as a Ctrl-C, ends it too.

    Args:
        longest: seconds that it may take for a phase.
        progress: called with the name of each phase.

    Returns:
        How it ended, and whether it was overdue.
    """
    until = monotonic() + longest
    try:
        while side.gone_at is None:
            for label in side.receive_notes(_LOOK):
                progress(label.decode())
                until = monotonic() + longest
            overdue = monotonic() > until
            if side.gone_at is None and (side.stopped or watch.hangs(side.pid) or overdue):
                return side.hung(), overdue
    except BaseException:
        side.end()
        raise
    return side.finish(), False


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
