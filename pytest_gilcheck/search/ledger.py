"""The ledger of the budget: what a check may spend, and every number that decides on what.

A check has a budget in seconds, or a number of schedules. Its phases draw on it in turn: each has an `Account`, which says when
it is to end. A search by time enumerates what fits into the time that is left, by what each schedule has taken so far. A search by
count decides by counts alone, so the same seed runs the same schedules on every machine; it has a deadline as well, and if that
comes first, the search is void, because another machine would have run more.

What follows a failure is drawn from the same budget: by time, shares of it; and in either case, so many runs as have a number of
visible steps, in which a recorded run counts as many. So the report of a long program takes no longer than that of a short one.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import NamedTuple, TypeVar

from ..core.clocks import monotonic

Number = TypeVar("Number", int, float)
UNITS = ("share", "times", "schedules", "runs", "points", "preemptions", "threads", "orders", "draws", "probability")


class Entry(NamedTuple):
    """A number that steers a search: of what, and why it is there. A share is of what is left, if nothing else is said."""

    value: float
    unit: str
    reason: str


TABLE: dict[str, Entry] = {}


def _entry(name: str, value: Number, unit: str, reason: str) -> Number:
    TABLE[name] = Entry(value, unit, reason)
    return value


# What makes a claim.
FEWEST = _entry("FEWEST", 100, "schedules", "of a search by time, for any claim")
PCT_DEPTH = _entry(
    "PCT_DEPTH", 3, "preemptions", "and one: the depth of bugs for which samples by priorities have a known probability"
)
NEEDED = _entry("NEEDED", 1.5, "times", "what a claim takes in plain runs, for advice on the budget: some are recorded")
NEARLY_ALL = _entry("NEARLY_ALL", 0.9, "share", "for what is worth more than samples: likely conflicts, a first record, a level")

# Schedules that turn a conflict round.
CONFLICTS = _entry("CONFLICTS", 0.3, "share", "of everything, for those of all kinds: samples find what no conflict tells")
FIRST_CONFLICTS = _entry("FIRST_CONFLICTS", 5, "schedules", "at least: a bug that one preemption shows is among the first")
FEWEST_CONFLICTS = _entry("FEWEST_CONFLICTS", 30, "schedules", "likewise, if that leaves as many others as a claim needs")
LEAST_RECORD = _entry("LEAST_RECORD", 6, "times", "a plain run, that a record takes at least: else none is begun")
RECORD = _entry("RECORD", 30, "runs", "that a recorded one counts as, where runs are counted: it takes about as long")
DEAR_RECORD = _entry("DEAR_RECORD", 2.0, "times", "a run in a process of its own: below, each of these is recorded")
SPARE = _entry("SPARE", 1.1, "times", "a plain run: what a sample takes that switches seldom")
SHORT = _entry("SHORT", 1.5, "times", "the time of a claim without conflicts: below, samples may have to leave steps out")
SHORT_LATER = _entry("SHORT_LATER", 10.0, "times", "likewise, below which that may be so once likely conflicts are turned round")

# Enumeration by the number of preemptions.
WITHOUT_PREEMPTION = _entry("WITHOUT_PREEMPTION", 0.3, "share", "for these schedules: many threads have many orders")
FIRST_LEVEL = _entry("FIRST_LEVEL", 0.65, "share", "that one preemption may take, if two are to follow")
NEXT_LEVEL = _entry("NEXT_LEVEL", 0.5, "share", "that two or more may take, if another one is to follow")
BRANCHING = _entry("BRANCHING", 1.3, "times", "a plain run: one of which it is kept where others branch off")
FEW_READINGS = _entry("FEW_READINGS", 20, "points", "at which a clock is read, up to which a delay there is no preemption")
MOST_DRAWN = _entry("MOST_DRAWN", 20_000, "schedules", "of a level, that are held in memory to draw some of them")
OF_LEVEL = _entry("OF_LEVEL", 0.4, "share", "for some of a level of which not all can be run")

# Samples.
DELAYED = _entry("DELAYED", 0.15, "probability", "of a sample to consider what only a delay lets run: not all at the beginning")
AFTER_CONFLICTS = _entry("AFTER_CONFLICTS", 90, "schedules", "when no conflict is left, at visible steps and at every instruction")
AFTER_INDEPENDENCE = _entry("AFTER_INDEPENDENCE", 30, "schedules", "if nothing is shared: only a mistake of ours makes one matter")
LEAST_TEST = _entry("LEAST_TEST", 5, "schedules", "likewise, at least, however long the program is")
TESTED_POINTS = _entry("TESTED_POINTS", 40_000, "points", "of those, in all")
TESTING = _entry("TESTING", 0.2, "share", "for these: a claim needs no more than their number")

# Sequential orders, and draws of chance.
ALL_AT_FIRST = _entry("ALL_AT_FIRST", 3, "threads", "of which every order runs at first: six orders")
MOST_AT_FIRST = _entry("MOST_AT_FIRST", 6, "orders", "of more threads at first: the rotations")
ALL_ORDERS = _entry("ALL_ORDERS", 4, "threads", "of which every order runs if need be: 24")
SHUFFLED = _entry("SHUFFLED", 40, "orders", "of more threads, if need be: each may refute what the first have in common")
MOST_DRAWS = _entry("MOST_DRAWS", 24, "draws", "of chance beside the first: two threads draw the same of eight in one of eight")
FIRST_DRAW = _entry("FIRST_DRAW", 0.5, "share", "of everything, for the first draw: most bugs are none of chance")
FEWEST_OF_DRAW = _entry("FEWEST_OF_DRAW", 10, "schedules", "of a further draw: with fewer, it is not begun")
OF_FIRST_RUN = _entry("OF_FIRST_RUN", 0.25, "share", "for first runs, where each run leaves the program in another state")

# From a failure to the report.
OVERTIME = _entry("OVERTIME", 0.1, "share", "of the budget: for what makes a result of a failure that was found at the end")
REPORT = _entry("REPORT", 1_000_000, "points", "of the runs of a report: one second")
REPORT_EACH = _entry("REPORT_EACH", 250, "points", "that each run takes beside its own: setup, threads, invariant")
REPORT_RUNS = _entry("REPORT_RUNS", 80, "runs", "beside those, however long they are: a record, and some schedules")
MINIMISING = _entry("MINIMISING", 0.4, "share", "of the budget: people read the schedule")
ENUMERATING = _entry(
    "ENUMERATING", 0.15, "share", "of the budget, for schedules with fewer preemptions than the smallest one found"
)
CLASSIFYING = _entry("CLASSIFYING", 0.5, "share", "of the budget: whether it breaks today decides how urgent it is")
LIKELY_TODAY = _entry("LIKELY_TODAY", 8, "schedules", "that fail if any does: the failing one with its switches moved a little")
EXPLAINING = _entry("EXPLAINING", 0.15, "share", "of the budget, beside the first runs: the nearest schedules come first")
FIRST_TRIALS = _entry("FIRST_TRIALS", 2, "runs", "to explain a failure, always: the schedule itself, and a near one")
FEWEST_TO_CLASSIFY = _entry(
    "FEWEST_TO_CLASSIFY", 20, "schedules", "with a GIL that pass, and no likely conflict left: it is masked"
)
SLEEPING = _entry("SLEEPING", 0.25, "share", "of the budget, for schedules in which a sleep lets all others run")
FEWEST_OF_SLEEP = _entry("FEWEST_OF_SLEEP", 20, "schedules", "of those that pass: then the sleep stands for a wait")
REPLAYS = _entry("REPLAYS", 10, "runs", "of the minimal schedule: what fails in fewer depends on something else")
REPLAYS_BY_CHANCE = _entry("REPLAYS_BY_CHANCE", 40, "runs", "likewise, of a program that does not do the same twice")
RUNS_ALONE = _entry("RUNS_ALONE", 24, "runs", "of such a program in sequential orders, at first")
MOST_ALONE = _entry("MOST_ALONE", 1_536, "runs", "likewise, at most: more of them tell no more")
CHANCE = _entry("CHANCE", 0.01, "probability", "of an error of the first kind: chance is called a race")
MOST_REORDERED = _entry("MOST_REORDERED", 200, "runs", "with other orders of the threads, for each number of preemptions")
ORDERS_OF_CUTS = _entry("ORDERS_OF_CUTS", 60, "orders", "of the same cuts; of more, some are drawn")

# What decides that a run fails.
MOST_USES = _entry("MOST_USES", 20, "points", "at which a thread uses a name, that are looked at for each further one")
FARTHEST = _entry(
    "FARTHEST", 5, "points", "by which a preemption is moved to find a schedule that passes: out of a short section of a lock"
)


class Account:
    """What one phase may spend: until a time, a number of schedules, or both.

    Args:
        until: the end, by the clock ``now``, in seconds.
        schedules: the most; None for any number.
        counted: whether the phase decides by counts alone; a time that comes first makes it void then. None: if there is a number.
        records: whether a recorded run counts as `RECORD` schedules.

    Attributes:
        ran: how many schedules have been run.
        expired: whether the time came before the number.
    """

    ran = 0

    def __init__(
        self,
        until: float,
        schedules: int | None = None,
        *,
        counted: bool | None = None,
        records: bool = False,
        now: Callable[[], float] = monotonic,
    ) -> None:
        self.schedules, self.expired = schedules, False
        self.counted = schedules is not None if counted is None else counted
        self._most = math.inf if schedules is None else schedules
        self._record = (RECORD - 1) * records
        self._until, self._now, self._begun = until, now, now()
        self._records = 0

    def start(self) -> None:
        """Begin to measure."""
        self.ran, self._begun = 0, self._now()

    def recorded(self) -> None:
        """One of the runs was recorded."""
        self._records += 1

    def mark(self, share: float, least: int = 0) -> float:
        """The mark at which this share of what is left is used up; by count, it is ``least`` schedules away at least."""
        if not self.counted:
            now = self._now()
            return now + share * (self._until - now)
        spent = self._spent()
        left = self._most - spent
        return spent + max(int(share * left), min(least, left))

    def reached(self, mark: float | None = None) -> bool:
        """Whether this mark has come; without a mark, whether the phase is to end."""
        if self._spent() >= self._most:
            return True
        if not self.counted:
            return self._now() > (self._until if mark is None else mark)
        if mark is not None and self._spent() >= mark:
            return True
        self.expired = self.expired or self._now() > self._until
        return self.expired

    def allows(self, schedules: int, share: float, pace: float) -> bool:
        """Whether so many schedules will take no more than this share of what is left.

        Args:
            pace: seconds that each will take; 0 if that is not known.
        """
        if schedules > share * (self._most - self._spent()):
            return False
        if self.counted:
            return True
        now = self._now()
        so_far = (now - self._begun) / max(1, self.ran)  # with those that were recorded, which take several times as long
        return schedules * min(so_far, pace or so_far) <= share * (self._until - now)

    def fits(self, records: int, seconds: float, mark: float) -> bool:
        """Whether so many records, of so many seconds each, can be made before a mark."""
        if self._record and self._spent() + records * RECORD > (mark if self.counted else self._most):
            return False
        return self.counted or self._now() + records * seconds <= mark

    def left(self) -> float:
        """Seconds that are left; without end by count."""
        return math.inf if self.counted else self._until - self._now()

    def _spent(self) -> float:
        return self.ran + self._records * self._record


class Ledger:
    """The budget of a check: one for all that it does.

    Args:
        budget: seconds.
        counted: whether a number of schedules is asked for, so that nothing depends on time unless the budget ends.
        begun: when they began, by the clock; None for now.
        now: the clock, in seconds.

    Attributes:
        until: the end of the budget, by that clock.
        unfinished: what was left undone because its share was spent, in words.
        late: what the end of the budget has cut short in a counted check: on a faster machine, the report may be another.
    """

    def __init__(
        self, budget: float, *, counted: bool = False, begun: float | None = None, now: Callable[[], float] = monotonic
    ) -> None:
        self._now = now
        self.budget, self.counted = budget, counted
        self.until = (now() if begun is None else begun) + budget
        self.unfinished: list[str] = []
        self.late: list[str] = []

    def end_of_search(self, more_follow: bool) -> float:
        """The end of the first search: half of what is left if more searches follow one that finds nothing."""
        now = self._now()
        return now + (self.until - now) / 2 if more_follow else self.until

    def share(self, of: float) -> float:
        """The end of a phase that may take this share of the budget: by the clock, within the budget and a tenth of it."""
        return min(self._now() + of * self.budget, self.until + OVERTIME * self.budget)

    def account(self, share: float, points: int) -> Account:
        """What a phase of the report may spend, of runs that have so many points."""
        runs = int(share * (REPORT_RUNS + REPORT / (REPORT_EACH + points)))
        until = self._now() + self.budget if self.counted else self.share(share)
        return Account(until, runs, counted=self.counted, records=True, now=self._now)

    def over(self) -> bool:
        """Whether no time is left for a report, which a counted check gives however long it takes."""
        return not self.counted and self.left() <= 0

    def is_past(self, time: float) -> bool:
        return self._now() > time

    def left(self) -> float:
        """Seconds until the budget and a tenth of it are spent; 0 if they are."""
        return max(0.0, self.until + OVERTIME * self.budget - self._now())

    def closed(self, account: Account, phase: str, undone: str) -> None:
        """A phase is over: note what it has left undone, unless it came to its end before that of its account."""
        if account.expired:
            self.late.append(phase)
        elif account.reached():
            self.gave_up(undone)

    def gave_up(self, what: str) -> None:
        """Note that something was left undone because its share was spent."""
        if what not in self.unfinished:
            self.unfinished.append(what)


def limited(until: float, schedules: int | None) -> Account:
    """The account of a search: by count if there is a number of schedules, otherwise by time; ``until`` is by ``monotonic``."""
    return Account(until, schedules, now=monotonic)
