"""What the examinations of a schedule have in common whose runs need processes of their own."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import AbstractContextManager
from dataclasses import dataclass, replace
from typing import Any, Protocol

from ...engine.bytecode.visible import Access
from ...engine.program import Program
from ...engine.running.journal import Journal
from ...engine.running.record import ScheduleRun
from ...engine.schedule import Schedule, Token, preemptions
from ...search.explorer import Explorer, Symptom
from ...search.harness import run_limit
from ...search.ledger import Ledger
from ...search.plan import FuzzPlan
from ..explaining.recorder import RecordedStep
from ..explaining.rows import columns_of, rows_of
from ..result import FuzzResult, Kind
from .attempt import Attempt, after_sequential_orders, attempt

REPLAYS = 3  # each needs a process of its own
CLASSIFYING = 0.3  # of the budget
_MINIMISING = 0.3  # of the budget
_LEAST = 1.0  # seconds for what must be done, however little of the budget is left


class Failing(Protocol):
    """A run that failed in a process of its own: how, by which schedule, and a checksum of the place of each of its choices.

    Attributes:
        masked: whether a build with a GIL cannot follow the schedule.
    """

    @property
    def symptom(self) -> Symptom: ...
    @property
    def message(self) -> str: ...
    @property
    def schedule(self) -> Schedule: ...
    @property
    def masked(self) -> bool: ...
    @property
    def anchors(self) -> tuple[int, ...]: ...


@dataclass(frozen=True)
class Learnt:
    """What the runs of a schedule depend on beside it.

    Attributes:
        names: which change, as checksums (`Changing.learnt`).
        draw: of chance.
        narrow: whether some steps were hidden.
        setup_at_home: see `Explorer`.
    """

    names: tuple[int, ...]
    draw: int
    narrow: bool = False
    setup_at_home: bool = False

    @classmethod
    def by(cls, journal: Journal) -> Learnt:
        """What a process had learnt that kept this journal."""
        return cls(journal.learnt, journal.draw, journal.narrow)


class Examination:
    """Runs a program in child processes, and says what became of one of its schedules.

    Args:
        template: with what is the same for every result.
        learnt: by the process that came to the schedule.
        deadline: of the check.
        progress: called with the name of each phase.
    """

    _again = "did"  # what a replay does that is like the schedule

    def __init__(
        self,
        program: Program,
        plan: FuzzPlan,
        template: FuzzResult,
        learnt: Learnt,
        deadline: Ledger,
        progress: Callable[[str], None],
    ) -> None:
        self._program, self._plan, self._template = program, plan, template
        self._learnt, self._draw, self._narrow = learnt.names, learnt.draw, learnt.narrow
        self._setup_at_home = learnt.setup_at_home
        self._deadline, self._progress = deadline, progress

    def _attempt(self, job: Callable[[Explorer, Journal], Any]) -> Attempt:
        seconds = max(_LEAST, self._deadline.left())
        return attempt(self._begin, job, run_limit(self._plan), seconds)

    def _begin(self, journal: Journal) -> AbstractContextManager[Explorer]:
        """The explorer of a child process."""
        return after_sequential_orders(self._program, self._plan, self._learnt, self._draw, journal)

    def _done_with(self, tried: Attempt) -> None:
        """Keep what an attempt has learnt, and close its journal."""
        self._learnt = tried.journal.learnt or self._learnt
        tried.journal.close()

    def _minimising(self) -> Callable[[], bool]:
        """Begin to minimise; the answer is called to ask whether the time for that is over."""
        self._progress("minimising in child processes")
        until = self._deadline.share(_MINIMISING)

        def over() -> bool:
            if self._deadline.is_past(until):
                self._deadline.gave_up("not fully minimised")
                return True
            return False

        return over

    def _kind_not_decided(self) -> None:
        self._deadline.gave_up("whether it breaks today was not decided")

    def _described(
        self,
        found: Failing,
        points: int,
        steps: list[RecordedStep],
        kind: Kind | None,
        replays: tuple[int, int],
        *,
        besides: str = "",
        first: bool = False,
        trace: str = "",
    ) -> FuzzResult:
        """The template with what is known of a run.

        Args:
            points, steps: of it; the steps may be empty.
            replays: how many of how many failed.
            besides: what the reason says after how the schedule came.
            first: whether it was the first run of its process.
            trace: stacks that follow the steps.
        """
        schedule, few = found.schedule, found.schedule.preemptions
        reason = (
            f"{found.symptom}: {found.message}; with {preemptions(few)}{'' if self._plan.replay is None else '; replayed'}{besides}"
        )
        if replays[0] < replays[1]:
            again = f"only {replays[0]} of {replays[1]} replays {self._again}"
            reason += f"; {again}: the outcome also depends on something other than the schedule"
        if self._deadline.unfinished:
            reason += f"; {' and '.join(self._deadline.unfinished)}: the budget was spent"
        run = ScheduleRun()
        run.choices += [(choice, Access("wait", "", 0), None, found.masked) for choice in schedule.choices]
        rows = rows_of(steps, run)
        threads = len(self._program.threads)
        story = columns_of(rows, max([threads, *(step.thread + 1 for step in steps)])) if rows else []
        return replace(
            self._template,
            reason=reason,
            kind=kind,
            symptom=str(found.symptom),
            token=str(Token(self._program.checksum, threads, schedule, found.anchors, points, self._learnt, self._draw, first)),
            preemptions=few,
            replays=replays,
            story="\n".join([*story, *(f"  {line}" for line in trace.splitlines())]),
            rows=tuple(rows),
        )
