"""How a fuzz check searches: its arguments, all of them."""

from __future__ import annotations

import random
from dataclasses import dataclass

from ..core.arguments import Arguments
from ..engine.schedule import BadToken, Token

DEFAULT_BUDGET = 5.0
DEFAULT_TIMEOUT = 20.0
DEFAULT_COUNTED_BUDGET = 60.0  # with a number of schedules, which is to end the search
DEFAULT_PREEMPTIONS = 2
_DRAW = random.Random()  # not the one that the test may have seeded
SEARCH, EXHAUSTIVE, GIL_POINTS, STRESS = "search", "exhaustive", "gil", "stress"


@dataclass(frozen=True)
class FuzzPlan:
    """How to search; everything already checked.

    Attributes:
        preemptions: the most that are enumerated.
        budget: seconds for the search; a failure takes a little longer, to be minimised and explained.
        schedules: end the search after so many schedules, and let no decision depend on time; if the budget ends first, the check
            is inconclusive. None: the budget ends the search.
        timeout: seconds of one run after which it hangs.
        seed: of what is sampled.
        mode: ``"search"``; ``"exhaustive"``: never sample; ``"gil"``: switch only where a build with a GIL can; ``"stress"``: for
            real.
        replay: a token to follow instead of a search.
        sensitivity: whether to search again without each lock.
        include: modules and packages that are under test although they would not be, by name.
        share: (which, of how many) of the schedules are run here.
        deeper: whether a search that has enumerated so many preemptions goes on to more, until the budget is spent.
        first_runs: whether the first run is what matters: where a search of it follows, that of later runs ends as soon as it is
            enough for a claim.
    """

    preemptions: int = DEFAULT_PREEMPTIONS
    budget: float = DEFAULT_BUDGET
    schedules: int | None = None
    timeout: float = DEFAULT_TIMEOUT
    seed: int = 0
    mode: str = SEARCH
    replay: Token | None = None
    sensitivity: bool = False
    include: tuple[str, ...] = ()
    share: tuple[int, int] = (0, 1)
    deeper: bool = False
    first_runs: bool = False

    @property
    def own_schedules(self) -> int | None:
        """The part of ``schedules`` that is run here."""
        if self.schedules is None:
            return None
        which, of = self.share
        return self.schedules // of + (which < self.schedules % of)


def plan(given: Arguments, share: tuple[int, int] = (0, 1)) -> FuzzPlan:
    """The plan out of what was given; what was not takes its default, the seed a random one.

    Args:
        share: (which, of how many): run only this share of the schedules, where others run the rest.

    Raises:
        BadValue: a damaged token; or for a check in stress mode, what only a search does: it would be left undone, and pass.
    """
    mode, schedules = given.get("mode", SEARCH), given.get("schedules")
    if schedules is not None and mode == STRESS:
        if given.source_of("schedules") == given.source:
            raise given.refused("schedules", f"nothing beside mode={STRESS!r}, which runs instances until the budget ends")
        schedules = None  # a setting of the whole run is for the searches in it
    if given.get("sensitivity") and mode == STRESS:
        raise given.refused(
            "sensitivity", f"no search beside mode={STRESS!r}, which takes no lock away: ask for it in a check without that mode"
        )
    if given.get("replay") is not None and mode == STRESS and given.source_of("replay") == given.source:
        raise given.refused("replay", f"nothing beside mode={STRESS!r}, which follows no schedule: replay it without that mode")
    return FuzzPlan(
        preemptions=given.get("preemptions", DEFAULT_PREEMPTIONS),
        budget=given.time("budget", DEFAULT_BUDGET if schedules is None else DEFAULT_COUNTED_BUDGET),
        schedules=schedules,
        timeout=given.time("timeout", DEFAULT_TIMEOUT),
        seed=given_seed(given),
        mode=mode,
        replay=given_token(given),
        sensitivity=given.get("sensitivity", False),
        include=given.get("include", ()),
        share=share,
        deeper=mode == SEARCH and schedules is None and given.get("preemptions") is None,
    )


def given_token(given: Arguments) -> Token | None:
    """The token to follow; None if none was given.

    Raises:
        BadValue: it is damaged.
    """
    text = given.get("replay")
    try:
        return None if text is None else Token.read(text)
    except BadToken as error:
        raise given.refused("replay", f"a token from a report, but {error}") from None


def given_seed(given: Arguments) -> int:
    """The seed that was given, or a random one."""
    seed: int = given.get("seed", _DRAW.randrange(1_000_000))
    return seed
