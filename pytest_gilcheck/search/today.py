"""What is likely to show on a build with a GIL that a schedule breaks there too: its own switches, where such a build switches."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import islice, pairwise, product

from ..engine.outcome import Failure
from ..engine.schedule import Choice, Schedule
from .ledger import LIKELY_TODAY
from .strategy import SeenRun, Steps, Strategy, following


class LikelyToday(Strategy):
    """Moves each switch of a failing schedule to the next point before it, or after it, at which a build with a GIL can switch.

    Attributes:
        failure: of a schedule that a build with a GIL can follow; None if none was found.
    """

    def __init__(self, failing: Failure) -> None:
        super().__init__()
        self._failing = failing
        self.failure: Failure | None = None

    def _search(self) -> Steps[None]:
        run, failure = yield following(self._failing.schedule, measuring=True)
        if failure is None:
            return
        for schedule in islice(where_a_gil_switches(self._failing.schedule, run), LIKELY_TODAY):
            _, failure = yield following(schedule)
            if failure is not None and not failure.run.masked:
                self.failure = failure
                return


def where_a_gil_switches(schedule: Schedule, run: SeenRun) -> Iterator[Schedule]:
    """The schedules that differ from that of a measured run in where it preempts: nowhere but where a build with a GIL can."""
    reachable = sorted(run.reachable)
    choices = schedule.choices
    ends = [*(choice.point for choice in choices[1:]), run.points + 1]
    options: list[list[Choice]] = []
    last = 0
    for choice, end in zip(choices, ends, strict=True):
        if choice.forced or choice.point in run.reachable:
            options.append([choice])
        else:
            before = [point for point in reachable if last < point < choice.point][-1:]
            after = [point for point in reachable if choice.point < point < end][:1]
            options.append([choice._replace(point=point) for point in (*before, *after)])
        last = choice.point
    for moved in product(*options):
        if all(one.point < other.point for one, other in pairwise(moved)):
            yield Schedule(moved)
