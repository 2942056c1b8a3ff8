"""What a search for schedules that turn conflicts round has still to try, in order, and what it has tried.

Where every run is recorded, those with the fewest preemptions come first, and of these the rarest conflicts. Where records take too
long for that, what a conflict is comes first (`Rank`): a second preemption for a race is worth more than the thousandth step of
which it is not known what it touches.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field
from heapq import heapify, heappop, heappush
from typing import NamedTuple

from ..engine.schedule import Choice, Schedule
from ..engine.summary import Spot

Node = tuple[tuple[Choice, ...], int]  # the choices of a run up to a point, and that point
LIKELY, POSSIBLE, UNLIKELY = range(3)  # how likely it is that two steps conflict


class Rank(NamedTuple):
    """When a schedule is tried: the least comes first.

    Attributes:
        tier: two for each of `LIKELY`, `POSSIBLE` and `UNLIKELY`: in code of the user, and in libraries.
        before: how often the same pair of instructions was raced for before.
        uses: how often a run touches what is raced for.
    """

    tier: int
    before: int
    uses: int

    @property
    def likely(self) -> bool:
        return self.tier // 2 == LIKELY


class Item(NamedTuple):
    """A schedule that is to be tried.

    Attributes:
        order: by which the heaps are sorted.
        number: of all that were entered, so that no two are equal.
        node: where it branches off.
    """

    order: tuple[int, ...]
    number: int
    rank: Rank
    node: Node
    schedule: Schedule


def _first() -> list[Item]:
    return [Item((0, 0, 0, 0), 0, Rank(0, 0, 0), ((), 0), Schedule())]


@dataclass
class Frontier:
    """What is to be tried, and what has been tried, at each node. It goes from one process to another.

    Attributes:
        tried: by node, the threads that came next there, or are to.
        hinted: likewise, with hints.
        waiting: schedules that turn a race round; the heap's first is the next.
        hints: schedules that no race led to.
        passed: schedules that passed when they were run without a record, and may be run again with one.
        raced: how often each pair of instructions was raced for, by the thread that began.
    """

    tried: dict[Node, set[int]] = field(default_factory=dict)
    hinted: dict[Node, set[int]] = field(default_factory=dict)
    waiting: list[Item] = field(default_factory=_first)
    hints: list[Item] = field(default_factory=list)
    passed: list[Item] = field(default_factory=list)
    raced: Counter[tuple[int | Spot | None, ...]] = field(default_factory=Counter)
    _added: int = 0
    _by_rank: bool = False

    @property
    def unrecorded(self) -> int:
        """The number of schedules that are known and have no record."""
        return len(self.waiting) + len(self.hints) + len(self.passed)

    @property
    def likely(self) -> int:
        """The number of schedules with one preemption that turn a likely conflict round and have not been run."""
        heaps = [heap for heap in (self.waiting, self.hints) if heap and (not self._by_rank or heap[0].rank.likely)]
        left = [item for heap in heaps for item in heap if heap is self.waiting or not self._is_tried(item)]
        return sum(item.rank.likely and item.schedule.preemptions == 1 for item in left)

    @property
    def revealing(self) -> bool:
        """Whether a schedule with at most one preemption has turned a likely conflict round and passed, and its run was not
        recorded: the steps that it alone comes to may have conflicts of their own."""
        return bool(self.passed) and self.passed[0].rank.likely and self.passed[0].schedule.preemptions <= 1

    def enter(self, heap: list[Item], node: Node, choice: Choice, rank: Rank) -> None:
        """A schedule that makes this choice at the node."""
        schedule = Schedule((*node[0], choice))
        self._added += 1
        heappush(heap, Item(self._order(schedule, rank), self._added, rank, node, schedule))

    def by_rank(self) -> None:
        """From here on, what a conflict is comes before the number of preemptions."""
        if not self._by_rank:
            self._by_rank = True
            for heap in (self.waiting, self.hints):
                heap[:] = [item._replace(order=self._order(item.schedule, item.rank)) for item in heap]
                heapify(heap)

    def next(self, hints_too: bool = True) -> Schedule | None:
        """The next schedule that has not been run: of races, or of hints that no race has led to; None if none is left.

        Args:
            hints_too: whether hints count when no race is left.
        """
        item = self._next(hints_too)
        return None if item is None else item.schedule

    def next_without_record(self, hints_too: bool, *, likely: bool) -> Schedule | None:
        """Likewise, for a run without a record: if it passes, it is one that can be run again.

        Args:
            likely: whether only likely conflicts count.
        """
        item = self._next(hints_too, likely=likely)
        if item is None:
            return None
        heappush(self.passed, item)
        return item.schedule

    def again(self) -> Schedule | None:
        """The next schedule that has passed without a record; None if there is none."""
        return heappop(self.passed).schedule if self.passed else None

    def _next(self, hints_too: bool, *, likely: bool = False) -> Item | None:
        while True:
            hint = self.hints and (self.waiting or hints_too) and (not self.waiting or self.hints[0] < self.waiting[0])
            heap = self.hints if hint else self.waiting
            if not heap or (likely and not heap[0].rank.likely):
                return None
            item = heappop(heap)
            if heap is self.waiting:
                return item
            if not self._is_tried(item):
                self.tried[item.node].add(item.schedule.choices[-1].thread)
                return item

    def _is_tried(self, hint: Item) -> bool:
        return hint.schedule.choices[-1].thread in self.tried[hint.node]

    def _order(self, schedule: Schedule, rank: Rank) -> tuple[int, ...]:
        few, (tier, before, uses) = schedule.preemptions, rank
        return (tier, before, few, uses) if self._by_rank else (few, tier, before, uses)


class WithoutRecord:
    """Which schedules are run without a record, before they are recorded or instead of that.

    None, as long as there is time to record all that waits. From then on, those of likely conflicts at once; and once the runs of
    these are recorded, as many of the others as run in the time that records take.

    Attributes:
        frontier: what is to be tried; it may be another object after a record.
    """

    def __init__(self, frontier: Frontier) -> None:
        self.frontier = frontier
        self._begun = self._likely = False
        self._ahead = 0.0  # seconds of schedules of no likely conflict beyond those of records

    def next(self, hints_too: bool) -> Schedule | None:
        """The next one; None if one is to be recorded first."""
        if not self._begun:
            return None
        self._likely = True
        schedule = self.frontier.next_without_record(hints_too, likely=True)
        if schedule is None and not self.frontier.revealing and (self._ahead <= 0 or not self.frontier.passed):
            self._likely = False
            schedule = self.frontier.next_without_record(hints_too, likely=False)
        return schedule

    def took(self, seconds: float) -> None:
        """The next one has been run."""
        if not self._likely:
            self._ahead += seconds

    def recorded(self, seconds: float, fits: Callable[[int, float], bool], *, dear: bool = True) -> None:
        """One was recorded, which took so long.

        Args:
            dear: whether that is much longer than a run without a record; otherwise every run is recorded, also in short time.
        """
        if self._begun:
            self._ahead -= seconds
        elif fits(self.frontier.unrecorded, seconds):
            return
        self._begun = dear
        self.frontier.by_rank()
