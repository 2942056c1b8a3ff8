"""The steps of a recorded run that touch what several threads may touch.

Most steps of a large program touch what only their own thread can reach. A schedule that switches right before such a step is
equivalent to one that switches before the next step that others can notice. So where there is no time to sample at every step,
samples switch at the others alone: fewer steps, each of which is more likely to matter, and the rest costs nothing.

This is for samples, which prove nothing: in another interleaving, a step may touch what several threads touch, although it did not
in this run. A step that the recorded run has not made is never hidden, and no step in a ``while`` loop is: a thread that
polls there would never be stopped. A step at which all that others can notice is the end of an object is hidden: what it ends is
not known, and the steps before and after it are left.

What one thread alone changes in the recorded run, and what lives on after that, counts as touched by several: who takes which item
of a queue depends on the schedule, and in a run without preemption one worker may take them all.

A step of which it is a guess what it touches is never hidden.
"""

from __future__ import annotations

from bisect import bisect_left
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass

from ..engine.bytecode.visible import Access
from ..engine.running.record import Deed
from ..engine.schedule import Choice, Schedule
from ..engine.summary import Focusing, RunSummary, Touched


@dataclass(frozen=True)
class Focus:
    """What a recorded run says of its steps.

    Attributes:
        hidden: the steps that touch nothing that several threads touch, and calls that made no step, by id; they are kept, so an id
            has one meaning.
        lengths: by thread, the number of its other points.
        hidden_points: of the run, in order.
        anchors: where the run came to a step at its other points, by point.
    """

    hidden: dict[int, Access]
    lengths: dict[int, int]
    hidden_points: list[int]
    anchors: Mapping[int, str]

    def without(self, schedule: Schedule) -> Schedule:
        """A schedule that branches off from the recorded run, where the hidden steps are no points."""
        return Schedule(tuple(Choice(self._left(point), thread, forced) for point, thread, forced in schedule.choices))

    def led(self, run: RunSummary, schedule: Schedule) -> bool:
        """Whether a run that followed `without` made the first choice where the schedule does, as far as that is known.

        A run without any choice may have: behind the last step of a thread that is left, no other one interrupts it.
        """
        point = schedule.choices[0].point
        while (at := bisect_left(self.hidden_points, point)) < len(self.hidden_points) and self.hidden_points[at] == point:
            point += 1
        known = self.anchors.get(point)
        return known is None or run.anchors[:1] == (known,)

    def _left(self, point: int) -> int:
        """The number of this point, or of the next one that is left."""
        before = bisect_left(self.hidden_points, point)
        return point - before

    @property
    def points(self) -> int:
        """The points of the run that are left."""
        return sum(self.lengths.values())


def focus_of(touched: Touched, focusing: Focusing) -> Focus:
    """The focus of one recorded run that has ended."""
    contested = _contested(touched, focusing)
    of_point = focusing.of_point
    matters = {
        step
        for point, step in of_point.items()
        if (point in touched.not_known and point not in touched.ends)
        or point in touched.guessed
        or point in focusing.entries
        or any(part.holder in contested for part in touched.parts.get(point, ()))
    }
    hidden = {step: focusing.steps[step] for step in focusing.hideable if step not in matters}
    left = Counter(owner for point, owner in touched.owners.items() if of_point.get(point) not in hidden)
    anchors = {point: focusing.anchors[step] for point, step in of_point.items() if step not in hidden}
    return Focus(hidden, dict(left), sorted(point for point, step in of_point.items() if step in hidden), anchors)


def _contested(touched: Touched, focusing: Focusing) -> set[int]:
    """The objects that several threads may touch, and one of them changes."""
    users: dict[int, set[int]] = {}
    changed: set[int] = set()
    for point, parts in touched.parts.items():
        for part in parts:
            users.setdefault(part.holder, set()).add(touched.owners[point])
            if part.deed is not Deed.READ:
                changed.add(part.holder)
    return {holder for holder in changed if len(users[holder]) > 1 or holder in focusing.outlasting}
