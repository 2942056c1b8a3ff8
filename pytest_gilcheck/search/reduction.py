"""Searches the schedules that can make a difference, those with the fewest preemptions and the rarest conflicts first.

Two runs in which every two conflicting transitions come in the same order end alike. So from each run only those schedules branch
off that turn a race round: right before its first transition, the thread of the second one runs, or one that it needs. When none
are left, no conflict that was seen is untried (dynamic partial-order reduction, Flanagan and Godefroid, POPL 2005).
Runs come in any order: each is examined for itself, and what was tried at a point is known by the schedule up to there.

Threads that do the same and have touched nothing yet cannot be told apart, so only one of them is tried.

That is a reason to stop only if it is known what all transitions touch, and every run begins alike. If it is not known, or one run
changes what the next one finds, or time plays a part, or the program starts threads, there is a `doubt`: other schedules follow.
"""

from __future__ import annotations

import io
import math
import sys
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field

from ..core.classes import bases_of
from ..core.clocks import monotonic
from ..core.origin import foreign, ours
from ..engine.bytecode.calling import called
from ..engine.bytecode.touch import UNKNOWN
from ..engine.bytecode.visible import place_in_code
from ..engine.running.policy import PlannedAndLeft
from ..engine.running.record import Deed, ScheduleRun
from ..engine.schedule import Choice, Schedule
from ..engine.touched.objects import Objects
from ..engine.touched.trace import Trace, told
from .explorer import Explorer, Failure, Symptom
from .focus import Focus, focus_of
from .frontier import ANOTHER_BEGINS, LIKELY, POSSIBLE, UNLIKELY, Frontier, Item, Node, Rank, WithoutRecord
from .races import Race, Races

_REMEMBERED = 8  # runs whose changed objects are looked for in later runs
_SELDOM = 20  # times that a run makes a step, at most, for hints at each
_HINTED = 2  # preemptions of a run that gives no more hints
_NO_TIME = "there was no time to record every run"


@dataclass
class Reduction:
    """The search, which can be stopped and continued.

    Attributes:
        gil: whether to preempt only where a build with a GIL can switch.
        runs: the number of schedules run.
        records: the number of runs that were recorded, those included that confirm another one.
        record_seconds: what the last record took, with what was made of it.
        focused: how many of these were only run in `focus`.
        failure: the first failure.
        focusing: whether `focus` is wanted.
        fits: whether there is time for so many runs of so many seconds each.
        until: says when a run that has not ended is no longer recorded, by `monotonic`.
        focus: the steps of the first run that touch what several threads touch.
        frontier: what is to be tried.
        doubt: why nothing is known of the interleavings that were not run; empty if there is no reason.
        shared: whether several threads of a run have touched the same object.
        independent: whether the threads shared nothing in two recorded runs, one begun by the first and one by the last thread, and
            nothing is in doubt.
        blind: whether the first record gave up, so that no conflict is known.
        torn: two places that conflict, of which one is a call in C of several steps, in which no schedule can switch.
        apart: a call in C of several steps that was taken apart, so that schedules switch in it, and of which something conflicts.
    """

    explorer: Explorer
    gil: bool = False
    focusing: bool = False
    fits: Callable[[int, float], bool] = lambda runs, seconds: True
    until: Callable[[], float] = lambda: math.inf
    focus: Focus | None = None
    runs: int = 0
    records: int = 0
    record_seconds: float = 0.0
    focused: int = 0
    failure: Failure | None = None
    doubt: str = ""
    shared: bool = False
    independent: bool = False
    blind: bool = False
    torn: str = ""
    apart: str = ""
    frontier: Frontier = field(default_factory=Frontier)
    _written: Objects = field(default_factory=Objects)  # by earlier runs
    _begins: int = 0  # the thread that made the first step of the present record
    _codes: frozenset[int] = frozenset()  # the ids of code that had started before the present record

    @property
    def finished(self) -> bool:
        """Whether no schedule is left."""
        return not self.frontier.waiting and not self.frontier.passed and not (self.doubt and self.frontier.hints)

    def __post_init__(self) -> None:
        program, takes_part = self.explorer.program, self.explorer.engine.takes_part
        ours_ = [thread for thread in program.threads if ours(getattr(getattr(thread, "__code__", None), "co_filename", ""))]
        calls = [*(thread for thread in program.threads if not any(thread is each for each in ours_)), *program.calls]
        if (ours_ and not program.calls) or any(called(each, [], takes_part) is UNKNOWN for each in calls):
            self.doubt = "its threads begin in code that is not under test"

    def search(self, stop: Callable[[], bool]) -> None:
        """Run schedules until none is left, one fails, or ``stop``, which is asked after each, returns True.

        A record takes up to 30 times as long as the run. So if there is no time to record all that waits, each schedule is first
        run without a record, and what passed is recorded afterwards, to learn what branches off from it.
        """
        frontier, without = self.frontier, WithoutRecord(self.frontier)
        while self.failure is None:
            begun = monotonic()
            if (schedule := without.next(bool(self.doubt))) is not None:
                self._run_without_record(schedule)
                without.took(monotonic() - begun)
                if stop():
                    return
                continue
            schedule = frontier.again()
            if schedule is None:
                if (schedule := frontier.next(bool(self.doubt))) is None:
                    break
                self.runs += 1
            self.explorer.hide({})
            self._codes = self.explorer.events.codes
            focusing = self.focusing and self.focus is None
            trace = self._trace(focusing=focusing, until=self.until())
            run, self.failure = self._recorded(schedule, trace)
            if self.failure is None:
                self.examine(schedule, run, trace)
            self.record_seconds = monotonic() - begun
            self.blind = self.blind or (trace.gave_up and self.records == 1)
            if stop() or trace.gave_up:  # the next record would take as long
                return
            without.recorded(self.record_seconds, fits=self.fits)
        if self.records == 1 and self.failure is None and not self.doubt:
            self._record_in_reverse()
            if self.frontier.waiting:
                self.search(stop)

    def _record_in_reverse(self) -> None:
        """Record the order in which the last thread comes first, after a run that has shown no conflict.

        It shows what depends on who comes first, and whether one run changes what the next one finds.
        """
        order, self.failure = self.explorer.in_order(range(len(self.explorer.program.threads) - 1, -1, -1))
        if self.failure is not None:
            return
        trace = self._trace(until=self.until())
        run, self.failure = self._recorded(order.schedule, trace)
        if self.failure is None:
            self.examine(order.schedule, run, trace)
            self.independent = self.finished and not (self.doubt or self.shared)

    def _trace(self, *, focusing: bool = False, until: float = math.inf) -> Trace:
        names = self.explorer.events.names
        by_dictionaries = names.anything or names.dictionaries
        return Trace(self.explorer.engine, focusing=focusing, until=until, by_dictionaries=by_dictionaries)

    def _recorded(self, schedule: Schedule, trace: Trace) -> tuple[ScheduleRun, Failure | None]:
        """Run the program and record what it touches.

        What fails each time that it is recorded, and not otherwise, is no failure of the program: it may count references, say. A
        failure that comes and goes is one, whatever the reason.
        """
        self._written.let_go()
        self.records += 1
        with trace:
            run, failure = self.explorer.follow(schedule, recording=True, measuring=self.gil)
        if failure is None or failure.symptom is Symptom.HANGS:  # which would take as long again
            return run, failure
        if (plain := self.explorer.follow(schedule, measuring=self.gil)[1]) is not None:
            return run, plain
        if trace.objects.disturbed:
            what = f"it is not known what {trace.objects.disturbed} touches"
        else:
            with self._trace():
                if self.explorer.follow(schedule, recording=True, measuring=self.gil)[1] is None:
                    return run, failure
            what = "the program notices that it is recorded"
        self.doubt = self.doubt or what
        return run, None

    def _run_without_record(self, schedule: Schedule) -> None:
        """Run a schedule; in `focus`, if it branches off from the run of which that is."""
        self.runs += 1
        if self.focus is None or len(schedule.choices) > 1:
            self.explorer.hide({})
            _, self.failure = self.explorer.once(PlannedAndLeft(schedule), measuring=self.gil)
            return
        self.explorer.hide(self.focus.hidden)
        run, failure = self.explorer.once(PlannedAndLeft(self.focus.without(schedule)))
        if failure is None and not self.focus.led(run, schedule):
            self.focus, self.focusing = None, False  # its points are others than in the recorded run
            self.runs -= 1
            self._run_without_record(schedule)
            return
        self.focused += 1
        if failure is not None:
            self.failure = self.explorer.with_every_step(failure, self.focus.hidden)

    def examine(self, schedule: Schedule, run: ScheduleRun, trace: Trace) -> None:
        """Enter what branches off from a run that did not fail, and was recorded with `Trace` and ``recording``."""
        self.doubt = self.doubt or self._doubt_of(schedule, run, trace) or self._doubt_of_state(trace)
        if run.broken_off or run.yields or len(trace.owners) != run.points:
            return
        self.shared = self.shared or trace.shares()
        if self.focusing and self.focus is None:
            self.focus = focus_of(trace, self._codes)
        races = Races(trace, run.points)
        if trace.torn and not self.gil:
            self._look_for_torn(races, trace)
        self._begins = trace.owners.get(1, 0)
        for race in races.races:
            self._turn_round(race, run, trace, races)
        if self.gil:
            for pair in races.contended:
                self._start_in_vain(pair, run, trace, races)
        if run.schedule.preemptions == 0 and trace.not_known and not self.gil:
            self._hint_at_unknown(run, trace, races)
        if run.schedule.preemptions < _HINTED:
            for pair in races.unguarded():
                self._follow_hint(pair, run, trace, races)

    def _look_for_torn(self, races: Races, trace: Trace) -> None:
        """Whether something comes in the middle of a call in C where threads run at once, and never in a schedule.

        Such a call is taken apart from here on, which makes more steps: the search begins anew. What is left in one step is told.
        """
        for race in races.races:
            for torn, other in ((race.first, race.second), (race.second, race.first)):
                if torn not in trace.torn or self.torn:
                    continue
                if torn in trace.taken_apart and _conflict(trace, torn, other, trace.taken_apart[torn].holders):
                    self.apart = self.apart or trace.taken_apart[torn].text
                if not _conflict(trace, torn, other, trace.torn[torn].holders):
                    continue
                if torn in trace.spots and self.explorer.events.names.take_apart(place_in_code(*trace.spots[torn])):
                    return
                text, beside = trace.torn[torn].text, trace.torn.get(other)
                by = beside.text if beside else told(*trace.spots[other]) if other in trace.spots else "another step"
                meanwhile = "two threads may be in it at once" if by == text else f"{by} may come in the middle of it"
                self.torn = f"{text} takes several steps in C, where no schedule switches, and {meanwhile}"
                self.doubt = self.doubt or self.torn

    def _doubt_of_state(self, trace: Trace) -> str:
        """Whether a run has changed what an earlier one had changed: it is not made anew for each run."""
        written = {number: each for number, each in trace.written().items() if not _only_grows(each)}
        if any(self._written.knows(each) for each in written.values()):
            return "what one run changes, the next one finds"
        if self.records <= _REMEMBERED:
            for each in written.values():
                self._written.number(each)
        return ""

    def _doubt_of(self, schedule: Schedule, run: ScheduleRun, trace: Trace) -> str:
        names, engine = self.explorer.events.names, self.explorer.engine
        if trace.gave_up:
            return _NO_TIME
        if trace.not_known:
            return f"it is not known what {trace.doubt} touches"
        if engine.clock.matters or run.delays or run.readings:
            return "time plays a part"
        if engine.chance.gave_bytes:
            return "chance plays a part"
        if run.uncontrolled or run.left or len(engine.tasks) > len(self.explorer.program.threads):
            return "not all of its threads are known"
        if run.yields or run.broken_off or len(trace.owners) != run.points:
            return "a thread polls, or a run does not end"
        if names.anything or names.dictionaries or names.ends_matter or names.looked_into:
            return "names may change without a store, or the ends of objects matter"
        if run.schedule.choices[: len(schedule.choices)] != schedule.choices:
            return "a schedule could not be followed"
        return ""

    def _turn_round(self, race: Race, run: ScheduleRun, trace: Trace, races: Races) -> None:
        """Enter what is to be tried, so that the second transition of a race comes before the first."""
        node, tried = self._node(race.first, run, trace)
        point = node[1]
        enabled = [each for each in trace.enabled(point) if not races.waits(each, point)]
        needed = [each for each in races.before_second(race) if each in enabled]
        wanted = needed[:1] if needed else trace.enabled(point)
        if needed and not tried.isdisjoint(needed):
            return
        for thread in wanted:
            if thread not in tried and not self._same_as_one_of(tried, thread, point, races):
                tried.add(thread)
                self._enter(self.frontier.waiting, node, thread, self._rank(race, trace, _likely(race, trace)), trace)

    def _start_in_vain(self, pair: Race, run: ScheduleRun, trace: Trace, races: Races) -> None:
        """Enter the thread that acquires a lock after another one, to be tried while that one holds it.

        Between two points at which a build with a GIL can switch, a thread is not interrupted, unless it has to wait for a lock:
        then what it does before and what it does after come apart. No race says so: it is the order of no two accesses.
        """
        (node, tried), thread = self._node(pair.first, run, trace), trace.owners[pair.second]
        point = node[1]
        if thread not in tried and thread in trace.enabled(point) and not races.waits(thread, point):
            tried.add(thread)
            self._enter(self.frontier.waiting, node, thread, self._rank(pair, trace), trace)

    def _follow_hint(self, pair: Race, run: ScheduleRun, trace: Trace, races: Races) -> None:
        """Enter the thread of the second transition of a pair as a hint, to be tried right before the first."""
        (node, _), thread = self._node(pair.first, run, trace), trace.owners[pair.second]
        point = node[1]
        hinted = self.frontier.hinted.setdefault(node, {trace.owners[point]})
        if thread in trace.enabled(point) and thread not in hinted and not self._same_as_one_of(hinted, thread, point, races):
            hinted.add(thread)
            self._enter(self.frontier.hints, node, thread, self._rank(pair, trace, _likely(pair, trace)), trace)

    def _hint_at_unknown(self, run: ScheduleRun, trace: Trace, races: Races) -> None:
        """Enter hints for another thread to be the first, and to come right before, and right after, each step of which it is not
        known what it touches; those first that a run seldom makes.

        No race says so, and in a long program few samples switch there.
        """
        uses, guesses = Counter(trace.not_known.values()), trace.guesses()
        # The steps of the threads that come last are not interrupted in this run.
        self._hint(min(trace.owners), run, trace, ANOTHER_BEGINS, races)
        for point, what in trace.not_known.items():
            if uses[what] <= _SELDOM and point in trace.owners:
                access = trace.accesses.get(point)
                likely = LIKELY if point in guesses else UNLIKELY if access is not None and access.kind == "end" else POSSIBLE
                for at in (point, point + 1):
                    if at == point or trace.owners.get(at) == trace.owners[point]:
                        self._hint(at, run, trace, self._rank(Race(point, point, uses[what]), trace, likely))

    def _hint(self, point: int, run: ScheduleRun, trace: Trace, rank: Rank, races: Races | None = None) -> None:
        """Enter hints for all other threads to run from this point on; with ``races``, for those that do not all do the same."""
        node: Node = tuple([choice for choice in run.schedule.choices if choice.point < point]), point
        self.frontier.tried.setdefault(node, {trace.owners[point]})
        hinted = self.frontier.hinted.setdefault(node, {trace.owners[point]})
        for thread in trace.enabled(point):
            if thread not in hinted and (races is None or not self._same_as_one_of(hinted, thread, point, races)):
                hinted.add(thread)
                self._enter(self.frontier.hints, node, thread, rank, trace)

    def _node(self, transition: int, run: ScheduleRun, trace: Trace) -> tuple[Node, set[int]]:
        """Where a schedule branches off that lets another thread come before a transition, and the threads tried there."""
        point = self._before(transition, run, trace)
        node: Node = tuple([choice for choice in run.schedule.choices if choice.point < point]), point
        return node, self.frontier.tried.setdefault(node, {trace.owners[point]})

    def _enter(self, heap: list[Item], node: Node, thread: int, rank: Rank, trace: Trace) -> None:
        self.frontier.enter(heap, node, Choice(node[1], thread, node[1] in trace.no_step), rank)

    def _rank(self, race: Race, trace: Trace, likely: int = LIKELY) -> Rank:
        """When the turning round of a race is tried.

        The first race of each pair of instructions comes before the next ones, which a loop makes: those in code of the user, then
        those in libraries, which make most of the steps of many programs and seldom have the bug. Then come the others, and
        steps of which it is not known what they touch, unless they work on what several threads work on; the ends of objects are
        the last. What is rarely touched comes before what often is.
        """
        spots = trace.spots.get(race.first), trace.spots.get(race.second)
        in_libraries = all(spot is None or foreign(spot[0].co_filename) for spot in spots)
        places = [spot and (spot[0].co_filename, spot[0].co_firstlineno, spot[1]) for spot in spots]
        pair = self._begins, *places  # where another thread begins, this one is interrupted elsewhere in the same code
        before = self.frontier.raced[pair]
        self.frontier.raced[pair] += 1
        tier = max(likely, POSSIBLE if before else LIKELY)
        return Rank(2 * tier + in_libraries, before, race.uses)

    def _before(self, point: int, run: ScheduleRun, trace: Trace) -> int:
        """The point at which another thread is to run instead, so that it comes before this transition.

        That is the first one since which the thread of the transition has touched nothing; for a build with a GIL, it is the last
        one before the transition at which that can switch, or at which the thread was handed the turn.

        What does not work: to go back over what is read and nowhere changed in this run. What comes in between then may change it:
        of two threads that each read what the other one writes, both read first in no run.
        """
        owners, first = trace.owners, point
        while owners.get(first - 1) == owners[point] and first - 1 not in trace.parts and first - 1 not in trace.not_known:
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
        threads = self.explorer.program.threads
        return thread < len(threads) and any(
            other < len(threads) and threads[other] is threads[thread] and races.first_touch.get(other, point) >= point
            for other in tried
        )


def _conflict(trace: Trace, one: int, other: int, holders: frozenset[int]) -> bool:
    """Whether two transitions touch one of these objects, and one of them changes it."""
    changes: dict[int, bool] = {}
    for part in trace.parts.get(one, ()):
        if part.holder in holders:
            changes[part.holder] = changes.get(part.holder, False) or part.deed is not Deed.READ
    return any(
        part.holder in changes and (changes[part.holder] or part.deed is not Deed.READ) for part in trace.parts.get(other, ())
    )


def _likely(race: Race, trace: Trace) -> int:
    """How likely it is that the two steps of a race conflict: of what a step may touch, that is not known."""
    return POSSIBLE if race.first in trace.supposed or race.second in trace.supposed else LIKELY


def _only_grows(thing: object) -> bool:
    """Whether this is the standard output of the process, which the program writes and does not read."""
    return thing is sys.stdout and io.TextIOWrapper in bases_of(type(thing))
