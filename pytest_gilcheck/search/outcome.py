"""What a search has explored, in numbers and in words."""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

from ..engine.outcome import Failure
from ..engine.schedule import preemptions
from .bound import Bound
from .ledger import FEWEST, PCT_DEPTH


class Lost(NamedTuple):
    """A failure whose schedule is void here (`MoreSteps`), and what its points depend on, for a process in which nothing has run.

    Attributes:
        learnt: about names, before that run.
        draw: of chance.
    """

    failure: Failure
    learnt: tuple[int, ...]
    draw: int


@dataclass
class SearchOutcome:
    """What a search has explored.

    Attributes:
        failure: the first failure; its schedule is minimal if it was found by enumeration.
        lost: one that came before there were more visible steps, and did not come again.
        complete: the number of preemptions up to which all schedules were run; -1 for none.
        exhausted: the number of schedules of that enumeration.
        enumerated: the number of schedules run by enumeration, complete or not.
        sampled: the number of schedules drawn at random after that.
        priorities: how many of those had random priorities (PCT).
        steps: visible steps of the longest run without preemption.
        threads: the number of the program's threads.
        pending: schedules with one preemption more than ``complete``, about; 0 if they were not counted.
        wanted: the number of preemptions up to which enumeration was wanted.
        everything: whether no schedule is left at all.
        asked: the number of schedules that was asked for; None for a search by time.
        expired: whether the time ended before that number was run.
        void: the number of schedules run before it turned out that there are more visible steps.
        conflicts: the number of schedules run because they turn a conflict round.
        settled: whether that leaves no conflict that was seen, and it is known of each step what it touches.
        independent: whether that is so because the threads touch nothing in common that changes.
        focus: the number of points at which schedules could switch that left steps out.
        focused: how many of those sampled did that.
        focused_conflicts: how many of those by conflicts did that.
        untried: how many likely conflicts of runs without preemption were not turned round, and such runs not recorded, for want of
            time.
        unrecorded: whether the first run took too long to be recorded, so that no conflict is known.
        torn: two places that conflict, of which one is a call in C of several steps, in which no schedule can switch.
        apart: a call in C of several steps in which schedules have switched, and of which something conflicts; or empty.
    """

    failure: Failure | None = None
    lost: Lost | None = None
    complete: int = -1
    exhausted: int = 0
    enumerated: int = 0
    sampled: int = 0
    priorities: int = 0
    steps: int = 0
    threads: int = 2
    pending: int = 0
    wanted: int = 0
    everything: bool = False
    asked: int | None = None
    expired: bool = False
    void: int = 0
    conflicts: int = 0
    settled: bool = False
    independent: bool = False
    focus: int = 0
    focused: int = 0
    focused_conflicts: int = 0
    untried: int = 0
    unrecorded: bool = False
    torn: str = ""
    apart: str = ""

    @property
    def explored(self) -> int:
        """The number of schedules that were run."""
        return self.enumerated + self.sampled + self.void + self.conflicts

    @property
    def all_enumerated(self) -> bool:
        """Whether every schedule with at most the wanted number of preemptions was run."""
        return self.settled or self.complete >= self.wanted

    @property
    def too_few(self) -> bool:
        """Whether what was run is too little for any claim, unless it is the number that was asked for.

        An enumeration in order that is not complete does not count: it has only seen the first steps.
        """
        return self.failure is None and not self.all_enumerated and (self.counting < FEWEST or self.conflicts_open)

    @property
    def conflicts_open(self) -> bool:
        """Whether some conflicts are known that were not turned round; or none is known, because no run was recorded.

        Samples do not make up for that: each switches at two of the many thousand steps of a long run.
        """
        return self.conflicts_left > 0 or (self.unrecorded and not self.settled and self.complete < 1)

    @property
    def conflicts_left(self) -> int:
        """How many likely conflicts were not turned round, unless every schedule with one preemption was run."""
        return 0 if self.complete >= 1 or self.settled else self.untried

    @property
    def counting(self) -> int:
        """How many of the schedules count towards a claim."""
        return self.sampled + self.conflicts + (self.exhausted if self.complete > 0 else 0)

    @property
    def bound(self) -> Bound:
        """How far it went, without a failure."""
        if self.settled:
            return Bound.INDEPENDENT if self.independent else Bound.CONFLICTS
        return Bound.PREEMPTIONS if self.everything or self.all_enumerated else Bound.SAMPLES

    def _chance(self, samples: int, steps: int) -> float:
        """A lower bound on the probability that so many samples found a bug of depth 3, if there is one (PCT)."""
        if not samples or not steps:
            return 0.0
        each = 1 / (self.threads * steps ** (PCT_DEPTH - 1))
        return float(1 - (1 - each) ** samples)

    def __str__(self) -> str:
        if self.settled:
            seen = "the threads touched nothing in common that changes"
            if not self.independent:
                seen = "no conflict that was seen is left untried"
            samples = f", and {_counted(self.sampled, 'sample')}" if self.sampled else ""
            steps = f", with the steps in C of {self.apart} without a GIL simulated" if self.apart else ""
            return f"{seen}: {_counted(self.conflicts, 'schedule')}{samples}{steps}"
        parts: list[tuple[str, int, str]] = []
        in_focus = f"at the {self.focus:,} points where threads may touch the same"
        if self.conflicts:
            narrow = f" ({self.focused_conflicts:,} of them only {in_focus})" if self.focused_conflicts else ""
            parts.append(("", self.conflicts, f"by their conflicts{narrow}"))
        if self.everything:
            parts.append(("all ", self.exhausted, f"over {self.steps} visible steps, with any number of preemptions"))
        elif self.complete >= 0:
            parts.append(("all ", self.exhausted, f"with {_at_most(self.complete)} over {self.steps} visible steps"))
        if partly := self.enumerated - self.exhausted:
            parts.append(("", partly, f"{self._next()} by enumeration"))
        if self.focused:
            chance = f"{self._chance(self.focused, self.focus):.2g} at least"
            parts.append(
                (
                    "",
                    self.focused,
                    f"sampled {in_focus} (a bug of depth {PCT_DEPTH} at these points is found with probability {chance})",
                )
            )
        if whole := self.sampled - self.focused:
            of = f" {self._next()} and of all with more" if self.pending else ""
            chance = f"{self._chance(self.priorities, self.steps):.2g} at least"
            how = f" (random walk, POS, PCT; a bug of depth {PCT_DEPTH} is found with probability {chance})"
            parts.append(("", whole, f"sampled{of}{how if self.priorities else ''}"))
        if self.asked is None and parts:
            every, number, rest = parts[0]
            parts[0] = every, number, f"schedule{'s' * (number != 1)} {rest}"
        text = ", then ".join(f"{every}{number:,} {rest}" for every, number, rest in parts) or "no schedule"
        if self.asked is None:
            return text
        return f"{_counted(self.explored, 'schedule')} (schedules={self.asked}): {text}"

    def _next(self) -> str:
        """Which schedules come after the complete ones."""
        number = self.complete + 1
        with_ = preemptions(number) if number else "no preemption"
        if not self.pending:
            return f"with {with_}"
        run = self.enumerated - self.exhausted  # with forced choices, which were not counted before
        return f"of more than {run:,} with {with_}" if run >= self.pending else f"of about {self.pending:,} with {with_}"


def _counted(number: int, noun: str) -> str:
    return f"{number:,} {noun}{'s' * (number != 1)}"


def _at_most(number: int) -> str:
    return f"at most {preemptions(number)}" if number else "no preemption"
