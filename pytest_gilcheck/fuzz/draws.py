"""Search a program that uses chance with one draw of it after the other.

A *draw* is all that chance gives to one run: its random numbers, and the hashes that order its sets of objects
(`running.repeatable`). Every run of a draw is given the same, so its schedules can be followed again; but a failure may need two
threads that draw the same slot, and one draw either has that or not. So the schedules of the first draw are searched with a half of
the limit, and those of the others with the rest.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import inf

from ..core.clocks import monotonic
from ..engine.running.record import ScheduleRun
from ..search.explorer import Explorer
from ..search.ledger import FEWEST, FEWEST_OF_DRAW, FIRST_DRAW, MOST_DRAWS, SPARE, limited
from ..search.outcome import SearchOutcome
from ..search.plan import EXHAUSTIVE, GIL_POINTS, FuzzPlan
from ..search.search import Search


@dataclass(frozen=True)
class Drawn:
    """What was searched.

    Attributes:
        outcome: of the draw that failed, or else of the first one.
        further: the number of further draws that were searched.
        schedules: the number of schedules of these.
        focused: how many of those could only switch where threads may touch the same.
        counting: how many of those count towards a claim.
        sampled: how many of those were drawn at random.
        uses: whether the program uses chance.
    """

    outcome: SearchOutcome
    further: int = 0
    schedules: int = 0
    focused: int = 0
    counting: int = 0
    sampled: int = 0
    uses: bool = False

    @property
    def too_few(self) -> bool:
        """Whether what was run is too little for any claim."""
        few = self.outcome.counting + self.counting < FEWEST
        return self.outcome.too_few and (few or self.outcome.conflicts_open)

    def __str__(self) -> str:
        if not self.uses:
            return str(self.outcome)
        if not self.further:
            return f"{self.outcome}, with one draw of its random numbers and orders of sets"
        others = f"{self.further} other draw{'s' * (self.further > 1)}"
        narrow = f" ({self.focused:,} of them only at points where threads may touch the same)" if self.focused else ""
        return f"{self.outcome}; and {self.schedules:,} schedules{narrow} with {others} of its random numbers and orders of sets"


def search_all_draws(
    explorer: Explorer, plan: FuzzPlan, sequential: list[ScheduleRun], until: float, *, brief_after: float = inf
) -> Drawn:
    """Search until a run of any draw fails, or the limit of the plan is reached.

    Args:
        sequential: the sequential runs of the first draw; afterwards, of the draw that failed.
        until: the end of the search, by the clock.
        brief_after: by the clock, from when on the search of a draw ends as soon as it is enough for a claim.
    """
    chance = explorer.engine.chance
    first_draw = chance.draw
    asked, uses = plan.own_schedules, chance.drawn
    begun = monotonic()
    part = (asked + 1) // 2 if asked is not None and uses else asked
    share = 1.0
    if asked is None and begun < until:
        explorer.in_order()  # how long does a run take that nobody observes?
        needed = FEWEST * SPARE * explorer.pace / max(until - begun, explorer.pace)
        share = max(FIRST_DRAW, min(1.0, needed)) if uses else 1.0  # enough schedules of one draw come before any of another one
    first = _search(explorer, plan, sequential, begun + (until - begun) * share, part, brief_after)
    if first.failure is not None or not uses:
        return Drawn(first, uses=uses)
    wanted = first.steps * first.threads  # about all of one preemption
    each = (monotonic() - begun) / max(1, first.explored)  # seconds of a schedule
    further = schedules = focused = counting = sampled = 0
    for draw in range(1, MOST_DRAWS + 1):
        left, turns = until - monotonic(), MOST_DRAWS - draw + 1
        rest = None if asked is None else asked - first.explored - schedules
        if left <= 0 or (rest is not None and rest < FEWEST_OF_DRAW):
            break
        own = explorer.sequential_with(first_draw + draw)
        seconds = left if rest is not None else max(left / turns, min(left, wanted * each))
        count = None if rest is None else max(rest // turns, min(rest, wanted), FEWEST_OF_DRAW)
        outcome = _search(explorer, plan, own, monotonic() + seconds, count, brief_after)
        further, schedules, counting = further + 1, schedules + outcome.explored, counting + outcome.counting
        focused += outcome.focused + outcome.focused_conflicts
        sampled += outcome.sampled
        first.expired, first.lost = first.expired or outcome.expired, first.lost or outcome.lost
        if outcome.failure is not None:
            sequential[:] = own
            return Drawn(outcome, uses=True)
    chance.draw = first_draw
    return Drawn(first, further, schedules, focused, counting, sampled, uses)


def _search(
    explorer: Explorer, plan: FuzzPlan, sequential: list[ScheduleRun], until: float, schedules: int | None, brief_after: float
) -> SearchOutcome:
    return Search(
        explorer,
        plan.preemptions,
        limited(until, schedules),
        plan.seed,
        gil=plan.mode == GIL_POINTS,
        sampling=plan.mode not in (GIL_POINTS, EXHAUSTIVE),
        share=plan.share,
        asked=plan.schedules,
        deeper=plan.deeper,
        brief_after=brief_after,
    ).run(sequential)
