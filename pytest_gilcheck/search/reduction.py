"""Decides which schedules can make a difference: those with the fewest preemptions and the rarest conflicts first.

Two runs in which every two conflicting transitions come in the same order end alike. So from each run only those schedules branch
off that turn a race round: right before its first transition, the thread of the second one runs, or one that it needs. When none
are left, no conflict that was seen is untried (dynamic partial-order reduction, Flanagan and Godefroid, POPL 2005).
Runs come in any order: each is examined for itself, and what was tried at a point is known by the schedule up to there.

Threads that do the same and have touched nothing yet cannot be told apart, so only one of them is tried.

That is a reason to stop only if it is known what all transitions touch, and every run begins alike. If it is not known, or one run
changes what the next one finds, or time plays a part, or a thread is not known, there is a `doubt`: other schedules follow.

Nothing runs here: `propose` says what is to be run next, and `saw` what it was like. A record takes up to 30 times as long as its
run. So if there is no time to record all that waits, each schedule is first run without a record, and what passed is recorded
afterwards, to learn what branches off from it.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import NamedTuple

from ..core.clocks import monotonic
from ..core.origin import foreign
from ..engine.running.policy import Planned, PlannedAndLeft, Policy
from ..engine.running.record import Deed
from ..engine.schedule import Choice, Schedule
from ..engine.summary import PLAIN, RunSummary, Touched, Want
from .focus import Focus, focus_of
from .frontier import LIKELY, POSSIBLE, UNLIKELY, Frontier, Item, Node, Rank, WithoutRecord
from .ledger import DEAR_RECORD, RECORD
from .orders import Order
from .races import Race, Races

_SELDOM = 20  # times that a run makes a step, at most, for hints at each
_HINTED = 2  # preemptions of a run that gives no more hints


class Proposed(NamedTuple):
    """What is to be run next.

    Attributes:
        how: a policy; or a sequential order of the threads.
        schedule: that it follows, of a run in which every step is a point; None for an order.
        again: whether it is no further schedule: it confirms that threads share nothing.
    """

    how: Policy | Order
    want: Want
    schedule: Schedule | None = None
    again: bool = False


@dataclass
class Reduction:
    """Which schedules of one program are next.

    Attributes:
        alike: by thread of the program, the first one that does the same.
        gil: whether to preempt only where a build with a GIL can switch.
        doubt: why nothing is known of the interleavings that were not run; empty if there is no reason.
        focusing: whether `focus` is wanted.
        fits: whether there is time for so many runs of so many seconds each.
        until: says when a run that has not ended is no longer recorded, by `monotonic`.
        counted: whether what runs take is told by counts: a record takes as long as so many runs (`ledger.RECORD`).
        pace: seconds of a run without a record, where a record may be hardly longer; 0 where it always is.
        take_apart: has a call in C be several steps from here on; returns whether it was one before: then the search begins anew.
        frontier: what is to be tried.
        focus: the steps of the first run that touch what several threads touch.
        runs: the number of schedules run.
        records: the number of runs that were recorded, those included that confirm another one.
        record_seconds: what the last record took, with what was made of it.
        focused: how many of these were only run in `focus`.
        shared: whether several threads of a run have touched the same object.
        guessed: whether it was a guess what a step touches.
        independent: whether the threads shared nothing in two recorded runs, one begun by the first and one by the last thread, and
            nothing is in doubt.
        blind: whether the first record gave up, so that no conflict is known.
        torn: two places that conflict, of which one is a call in C of several steps, in which no schedule can switch.
        apart: a call in C of several steps that was taken apart, so that schedules switch in it, and of which something conflicts.
    """

    alike: tuple[int, ...]
    gil: bool = False
    doubt: str = ""
    focusing: bool = False
    fits: Callable[[int, float], bool] = lambda runs, seconds: True
    until: Callable[[], float] = lambda: math.inf
    counted: bool = False
    pace: float = 0.0
    take_apart: Callable[[str], bool] = lambda call: False
    frontier: Frontier = field(default_factory=Frontier)
    focus: Focus | None = None
    runs: int = 0
    records: int = 0
    record_seconds: float = 0.0
    focused: int = 0
    shared: bool = False
    guessed: bool = False
    independent: bool = False
    blind: bool = False
    torn: str = ""
    apart: str = ""
    _cheapest: float = math.inf  # seconds of a record
    _begins: int = 0  # the thread that made the first step of the present record
    _reverse: Schedule | None = None  # of the order in which the last thread comes first
    _unfocused: Schedule | None = None  # to be run again with every step

    def __post_init__(self) -> None:
        self._without = WithoutRecord(self.frontier)

    @property
    def finished(self) -> bool:
        """Whether no schedule is left."""
        return not self.frontier.waiting and not self.frontier.passed and not (self.doubt and self.frontier.hints)

    def propose(self) -> Proposed | None:
        """What is to be run next, if nothing has failed so far; None if nothing is left."""
        frontier = self.frontier
        schedule, self._unfocused = self._unfocused, None
        if schedule is not None or (schedule := self._without.next(bool(self.doubt))) is not None:
            self.runs += 1
            return self._without_record(schedule)
        schedule = frontier.again()
        if schedule is None and (schedule := frontier.next(bool(self.doubt))) is not None:
            self.runs += 1
        if schedule is not None:
            return Proposed(Planned(schedule), self._record(focusing=self.focusing and self.focus is None), schedule)
        return None if self.records != 1 or self.doubt else self._in_reverse()

    def _in_reverse(self) -> Proposed | None:
        """The order in which the last thread comes first, after a run that has shown no conflict; and that again, recorded.

        It shows what depends on who comes first, and whether one run changes what the next one finds.
        """
        if self._reverse is None:
            return Proposed(tuple(range(len(self.alike) - 1, -1, -1)), PLAIN, again=True)
        return Proposed(Planned(self._reverse), self._record(), self._reverse, again=True)

    def saw(self, proposed: Proposed, summary: RunSummary) -> None:
        """What the run was like."""
        schedule, begun = proposed.schedule, monotonic()
        if schedule is None:
            self._reverse = summary.schedule
        elif proposed.want.touched:
            self.records += 1
            if not summary.failed:
                self.examine(schedule, summary)
            if proposed.again:
                self.independent = self.finished and not (self.doubt or self.shared or self.guessed)
                return
            gave_up = summary.touched is not None and summary.touched.gave_up
            self.blind = self.blind or (gave_up and self.records == 1)
            self.record_seconds = summary.seconds + monotonic() - begun
            self._cheapest = min(self._cheapest, self.record_seconds)  # any other one may have waited for a core
            dear = self._cheapest > DEAR_RECORD * self.pace
            self._without.recorded(RECORD if self.counted else self.record_seconds, fits=self.fits, dear=dear)
        else:
            self._without.took(1.0 if self.counted else summary.seconds)
            if not proposed.want.hidden:
                return
            if summary.failed or self.focus is None or self.focus.led(summary, schedule):
                self.focused += 1
                return
            self.focus, self.focusing = None, False  # its points are others than in the recorded run
            self.runs -= 1
            self._unfocused = schedule

    def _record(self, *, focusing: bool = False) -> Want:
        return Want(choices=True, switches=self.gil, touched=True, until=self.until(), focusing=focusing)

    def _without_record(self, schedule: Schedule) -> Proposed:
        """Run a schedule; in `focus`, if it branches off from the run of which that is."""
        if self.focus is None or len(schedule.choices) > 1:
            return Proposed(PlannedAndLeft(schedule), Want(switches=self.gil), schedule)
        want = Want(hidden=self.focus.hidden, anchors=True)
        return Proposed(PlannedAndLeft(self.focus.without(schedule)), want, schedule)

    def examine(self, schedule: Schedule, summary: RunSummary) -> None:
        """Enter what branches off from a run that did not fail, and of which it is known what it touched.

        Args:
            schedule: that it was to follow.
        """
        touched = summary.touched
        assert touched is not None, "it was recorded"
        self.doubt = self.doubt or self._doubt_of(schedule, summary) or self._doubt_of_state(touched)
        if summary.stuck or summary.polls or len(touched.owners) != summary.points:
            return
        self.shared, self.guessed = self.shared or touched.shares, self.guessed or bool(touched.guessed)
        if self.focusing and self.focus is None and touched.focusing is not None:
            self.focus = focus_of(touched, touched.focusing)
        races = Races(touched, summary.points)
        if touched.torn and not self.gil:
            self._look_for_torn(races, touched)
        self._begins = touched.owners.get(1, 0)
        for race in races.races:
            self._turn_round(race, summary, touched, races)
        if self.gil:
            for pair in races.contended:
                self._start_in_vain(pair, summary, touched, races)
        if summary.schedule.preemptions == 0 and not self.gil:
            self._hint_at_ends(summary, touched)
        if summary.schedule.preemptions < _HINTED:
            for pair in races.unguarded():
                self._follow_hint(pair, summary, touched, races)

    def _doubt_of(self, schedule: Schedule, summary: RunSummary) -> str:
        if summary.doubt:
            return summary.doubt
        followed = summary.schedule.choices[: len(schedule.choices)] == schedule.choices
        return "" if followed else "a schedule could not be followed"

    def _doubt_of_state(self, touched: Touched) -> str:
        return "what one run changes, the next one finds" if touched.found_again else ""

    def _look_for_torn(self, races: Races, touched: Touched) -> None:
        """Whether something comes in the middle of a call in C where threads run at once, and never in a schedule.

        Such a call is taken apart from here on, which makes more steps: the search begins anew. What is left in one step is told.
        """
        for race in races.races:
            for torn, other in ((race.first, race.second), (race.second, race.first)):
                if torn not in touched.torn or self.torn:
                    continue
                if torn in touched.taken_apart and _conflict(touched, torn, other, touched.taken_apart[torn].holders):
                    self.apart = self.apart or touched.taken_apart[torn].text
                if not _conflict(touched, torn, other, touched.torn[torn].holders):
                    continue
                if touched.torn[torn].call and self.take_apart(touched.torn[torn].call):
                    return
                text, beside = touched.torn[torn].text, touched.torn.get(other)
                by = beside.text if beside else touched.told.get(other, "another step")
                meanwhile = "two threads may be in it at once" if by == text else f"{by} may come in the middle of it"
                self.torn = f"{text} takes several steps in C, where no schedule switches, and {meanwhile}"
                self.doubt = self.doubt or self.torn

    def _turn_round(self, race: Race, run: RunSummary, touched: Touched, races: Races) -> None:
        """Enter what is to be tried, so that the second transition of a race comes before the first."""
        node, tried = self._node(race.first, run, touched)
        point = node[1]
        enabled = [each for each in run.enabled(point) if not races.waits(each, point)]
        needed = [each for each in races.before_second(race) if each in enabled]
        wanted = needed[:1] if needed else run.enabled(point)
        if needed and not tried.isdisjoint(needed):
            return
        for thread in wanted:
            if thread not in tried and not self._same_as_one_of(tried, thread, point, races):
                tried.add(thread)
                self._enter(self.frontier.waiting, node, thread, self._rank(race, touched, _likely(race, touched)), touched)

    def _start_in_vain(self, pair: Race, run: RunSummary, touched: Touched, races: Races) -> None:
        """Enter the thread that acquires a lock after another one, to be tried while that one holds it.

        Between two points at which a build with a GIL can switch, a thread is not interrupted, unless it has to wait for a lock:
        then what it does before and what it does after come apart. No race says so: it is the order of no two accesses.
        """
        (node, tried), thread = self._node(pair.first, run, touched), touched.owners[pair.second]
        point = node[1]
        if thread not in tried and thread in run.enabled(point) and not races.waits(thread, point):
            tried.add(thread)
            self._enter(self.frontier.waiting, node, thread, self._rank(pair, touched), touched)

    def _follow_hint(self, pair: Race, run: RunSummary, touched: Touched, races: Races) -> None:
        """Enter the thread of the second transition of a pair as a hint, to be tried right before the first."""
        (node, _), thread = self._node(pair.first, run, touched), touched.owners[pair.second]
        point = node[1]
        hinted = self.frontier.hinted.setdefault(node, {touched.owners[point]})
        if thread in run.enabled(point) and thread not in hinted and not self._same_as_one_of(hinted, thread, point, races):
            hinted.add(thread)
            self._enter(self.frontier.hints, node, thread, self._rank(pair, touched, _likely(pair, touched)), touched)

    def _hint_at_ends(self, run: RunSummary, touched: Touched) -> None:
        """Enter hints for another thread to come right before, and right after, each step that may end an object: no race says so.

        In a long program, few samples switch there.
        """
        ends = {point: touched.spots[point] for point in touched.ends}
        uses = Counter(ends.values())
        for point, spot in ends.items():
            if uses[spot] <= _SELDOM:
                rank = self._rank(Race(point, point, uses[spot]), touched, UNLIKELY)
                for at in (point, point + 1):
                    if touched.owners.get(at) == touched.owners[point]:
                        self._hint(at, run, touched, rank)

    def _hint(self, point: int, run: RunSummary, touched: Touched, rank: Rank) -> None:
        """Enter hints for all other threads to run from this point on."""
        node: Node = tuple([choice for choice in run.schedule.choices if choice.point < point]), point
        self.frontier.tried.setdefault(node, {touched.owners[point]})
        hinted = self.frontier.hinted.setdefault(node, {touched.owners[point]})
        for thread in run.enabled(point):
            if thread not in hinted:
                hinted.add(thread)
                self._enter(self.frontier.hints, node, thread, rank, touched)

    def _node(self, transition: int, run: RunSummary, touched: Touched) -> tuple[Node, set[int]]:
        """Where a schedule branches off that lets another thread come before a transition, and the threads tried there."""
        point = self._before(transition, run, touched)
        node: Node = tuple([choice for choice in run.schedule.choices if choice.point < point]), point
        return node, self.frontier.tried.setdefault(node, {touched.owners[point]})

    def _enter(self, heap: list[Item], node: Node, thread: int, rank: Rank, touched: Touched) -> None:
        self.frontier.enter(heap, node, Choice(node[1], thread, node[1] in touched.no_step), rank)

    def _rank(self, race: Race, touched: Touched, likely: int = LIKELY) -> Rank:
        """When the turning round of a race is tried.

        The first race of each pair of instructions comes before the next ones, which a loop makes: those in code of the user, then
        those in libraries, which make most of the steps of many programs and seldom have the bug. Then come the others, and
        steps of which it is not known what they touch, unless they work on what several threads work on; the ends of objects are
        the last. What is rarely touched comes before what often is.
        """
        spots = touched.spots.get(race.first), touched.spots.get(race.second)
        in_libraries = all(spot is None or foreign(spot.file) for spot in spots)
        pair = self._begins, *spots  # where another thread begins, this one is interrupted elsewhere in the same code
        before = self.frontier.raced[pair]
        self.frontier.raced[pair] += 1
        tier = max(likely, POSSIBLE if before else LIKELY)
        return Rank(2 * tier + in_libraries, before, race.uses)

    def _before(self, point: int, run: RunSummary, touched: Touched) -> int:
        """The point at which another thread is to run instead, so that it comes before this transition.

        That is the first one since which the thread of the transition has touched nothing; for a build with a GIL, it is the last
        one before the transition at which that can switch, or at which the thread was handed the turn.

        What does not work: to go back over what is read and nowhere changed in this run. What comes in between then may change it:
        of two threads that each read what the other one writes, both read first in no run.
        """
        owners, first = touched.owners, point
        while owners.get(first - 1) == owners[point] and first - 1 not in touched.parts and first - 1 not in touched.not_known:
            first -= 1
        if not self.gil or owners.get(first - 1) != owners[point]:
            return first
        first = point
        while first not in run.reachable and owners.get(first - 1) == owners[point]:
            first -= 1
        return first

    def _same_as_one_of(self, tried: set[int], thread: int, point: int, races: Races) -> bool:
        """Whether a thread that has been tried does the same as this one, and neither has touched anything yet."""
        if self.gil or races.first_touch.get(thread, point) < point:
            return False
        alike = self.alike
        return thread < len(alike) and any(
            other < len(alike) and alike[other] == alike[thread] and races.first_touch.get(other, point) >= point for other in tried
        )


def _conflict(touched: Touched, one: int, other: int, holders: frozenset[int]) -> bool:
    """Whether two transitions touch one of these objects, and one of them changes it."""
    changes: dict[int, bool] = {}
    for part in touched.parts.get(one, ()):
        if part.holder in holders:
            changes[part.holder] = changes.get(part.holder, False) or part.deed is not Deed.READ
    return any(
        part.holder in changes and (changes[part.holder] or part.deed is not Deed.READ) for part in touched.parts.get(other, ())
    )


def _likely(race: Race, touched: Touched) -> int:
    """How likely it is that the two steps of a race conflict: of what a step may touch, that is not known."""
    return POSSIBLE if race.first in touched.guessed or race.second in touched.guessed else LIKELY
