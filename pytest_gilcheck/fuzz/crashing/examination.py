"""What the examinations of a schedule have in common whose runs need processes of their own."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass, replace
from typing import Generic, TypeVar

from ...engine.bytecode.visible import Access
from ...engine.outcome import Symptom
from ...engine.program import Program
from ...engine.running.journal import Journal
from ...engine.running.policy import Planned, Policy
from ...engine.running.record import ScheduleRun
from ...engine.schedule import Schedule, Token, preemptions
from ...search.explorer import Explorer
from ...search.forks import Forks, after_sequential_orders
from ...search.ledger import Ledger
from ...search.plan import FuzzPlan
from ..explaining.explain import decided, places_of
from ..explaining.pairs import Pair
from ..explaining.recorder import RecordedStep
from ..explaining.rows import columns_of, rows_of
from ..result import FuzzResult, Kind
from .smaller import smaller

REPLAYS = 3  # each needs a process of its own
_CLASSIFYING = 0.3  # of the budget
_MINIMISING = 0.3  # of the budget


@dataclass(frozen=True, kw_only=True)
class Broken:
    """A run that failed in a process of its own, or ended it.

    Attributes:
        message: what is broken, in one line.
        masked: whether a build with a GIL cannot follow the schedule.
        anchors: a checksum of the place of each choice.
        points: of the run; 0 if they are not known.
        steps: of the run; empty if they are not known.
        trace: stacks that follow these for a reader.
        hung: whether it made no step any more, and so would take as long again.
    """

    symptom: Symptom
    message: str
    schedule: Schedule
    masked: bool
    anchors: tuple[int, ...] = ()
    points: int = 0
    steps: tuple[RecordedStep, ...] = ()
    trace: str = ""
    hung: bool = False


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


Found = TypeVar("Found", bound=Broken)


class Examination(Generic[Found]):
    """Runs a program in child processes, and says what became of one of its schedules.

    Args:
        template: with what is the same for every result.
        learnt: by the process that came to the schedule.
        deadline: of the check.
        progress: called with the name of each phase.
    """

    _again = "did"  # what a replay does that is like the schedule
    _besides = ""  # what the reason says after how the schedule came
    _first = False  # whether the schedule is one of a process's first run
    _learns = True

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
        self._draw, self._narrow, self._setup_at_home = learnt.draw, learnt.narrow, learnt.setup_at_home
        self._deadline, self._progress = deadline, progress
        self._forks = Forks(self._begin, plan, deadline, learnt.names, learns=self._learns)

    def _begin(self, journal: Journal) -> AbstractContextManager[Explorer]:
        """The explorer of a child process."""
        return after_sequential_orders(self._program, self._plan, self._forks.learnt, self._draw, journal)

    def _fails(self, policies: Sequence[Policy], symptom: Symptom | None = None) -> Found | None:
        """The first run of these that fails, with this symptom; None if none does."""
        raise NotImplementedError

    def _recorded(self, schedule: Schedule, symptom: Symptom | None = None) -> Found | None:
        """How this schedule fails, with its steps; None if it does not."""
        return self._fails([Planned(schedule)], symptom)

    def _fails_with_a_gil(self, until: float) -> tuple[Schedule | None, bool]:
        """A schedule of a build with a GIL that fails; or none, and whether too few were run to claim anything."""
        raise NotImplementedError

    def _examined(self, found: Found) -> FuzzResult:
        """The result of a run that failed: minimised, classified, replayed and described."""
        if self._plan.replay is None:
            found = self._smaller(found)
        found, kind = self._classified(found)
        replays = 1 if found.hung or self._deadline.left() <= 0 else REPLAYS
        again = 1 + sum(self._fails([Planned(found.schedule)]) is not None for _ in range(replays - 1))
        return self._described(found, kind, (again, replays))

    def _smaller(self, found: Found) -> Found:
        """With as few preemptions as are found to do."""
        if found.hung or found.schedule.preemptions <= 1:
            return found
        over = self._minimising()

        def tries(policies: Sequence[Policy]) -> Schedule | None:
            other = self._fails(policies, found.symptom)
            return None if other is None or other.masked > found.masked else other.schedule

        best = smaller(found.schedule, [step.thread for step in found.steps], tries, over)
        if best == found.schedule:
            return found
        return self._recorded(best, found.symptom) or found  # a candidate before it may have left something as well

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

    def _classified(self, found: Found) -> tuple[Found, Kind | None]:
        """In a form that a build with a GIL can show, if there is one; and its kind, None if that was not decided."""
        if not found.masked:
            return found, Kind.BREAKS_TODAY
        if self._plan.replay is not None:
            return found, Kind.GIL_MASKED
        if found.hung:  # each further run may take as long
            return found, None
        self._progress("does it break today?")
        schedule, too_few = self._fails_with_a_gil(self._deadline.share(_CLASSIFYING))
        if schedule is not None and (today := self._recorded(schedule)) is not None and not today.masked:
            return self._smaller(today), Kind.BREAKS_TODAY
        if too_few:
            self._deadline.gave_up("whether it breaks today was not decided")
            return found, None
        return found, Kind.GIL_MASKED

    def _deciding(self, found: Found) -> Sequence[Pair]:
        """The pairs of accesses whose order decides that a run fails; empty if none is known."""
        return ()

    def _described(self, found: Found, kind: Kind | None, replays: tuple[int, int]) -> FuzzResult:
        """The template with what is known of a run.

        Args:
            replays: how many of how many failed.
        """
        schedule, few = found.schedule, found.schedule.preemptions
        followed = "" if self._plan.replay is None else "; replayed"
        reason = f"{found.symptom}: {found.message}; with {preemptions(few)}{followed}{self._besides}"
        if replays[0] < replays[1]:
            again = f"only {replays[0]} of {replays[1]} replays {self._again}"
            reason += f"; {again}: the outcome also depends on something other than the schedule"
        if self._deadline.unfinished:
            reason += f"; {' and '.join(self._deadline.unfinished)}: the budget was spent"
        run = ScheduleRun()
        run.choices += [(choice, Access("wait", "", 0), None, found.masked) for choice in schedule.choices]
        rows = rows_of(list(found.steps), run)
        threads = len(self._program.threads)
        story = columns_of(rows, max([threads, *(step.thread + 1 for step in found.steps)])) if rows else []
        pairs = self._deciding(found)
        story += decided(found.steps, pairs) if pairs else []
        names, draw, checked = self._forks.learnt, self._draw, self._program.checksum
        return replace(
            self._template,
            reason=reason,
            kind=kind,
            symptom=str(found.symptom),
            token=str(Token(checked, threads, schedule, found.anchors, found.points, names, draw, self._first)),
            preemptions=few,
            replays=replays,
            story="\n".join([*story, *(f"  {line}" for line in found.trace.splitlines())]),
            rows=tuple(rows),
            places=places_of(found.steps, pairs) if pairs else (),
        )
