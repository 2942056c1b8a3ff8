"""How a fuzz check searches: its arguments, checked."""

from __future__ import annotations

import random
from collections.abc import Sequence
from dataclasses import dataclass
from types import ModuleType

from ..core.errors import BadValue
from ..core.values import Given
from .schedule import BadToken, Token

DEFAULT_BUDGET = 5.0
DEFAULT_TIMEOUT = 20.0
DEFAULT_COUNTED_BUDGET = 60.0  # with a number of schedules, which is to end the search
DEFAULT_PREEMPTIONS = 2
SEARCH, EXHAUSTIVE, GIL_POINTS, STRESS = "search", "exhaustive", "gil", "stress"
MODES = (SEARCH, EXHAUSTIVE, GIL_POINTS, STRESS)


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

    @property
    def own_schedules(self) -> int | None:
        """The part of ``schedules`` that is run here."""
        if self.schedules is None:
            return None
        which, of = self.share
        return self.schedules // of + (which < self.schedules % of)


def plan(
    *,
    preemptions: object = None,
    budget: object = None,
    schedules: object = None,
    timeout: object = None,
    seed: object = None,
    mode: object = None,
    replay: object = None,
    sensitivity: object = None,
    include: object = None,
    share: tuple[int, int] = (0, 1),
    sources: dict[str, str] | None = None,
) -> FuzzPlan:
    """A plan out of unchecked values; None takes the default, for ``seed`` a random one.

    Raises:
        BadValue: a value of the wrong type or range, or a damaged token.
    """
    given = Given(sources)
    if mode is not None and mode not in MODES:
        raise BadValue("mode", mode, " or ".join(repr(name) for name in MODES), given.source("mode"))
    if sensitivity is not None and not isinstance(sensitivity, bool):
        raise BadValue("sensitivity", sensitivity, "True or False", given.source("sensitivity"))
    if schedules is not None and mode == STRESS:
        expected = f"no number of schedules with mode={STRESS!r}, which runs instances until the budget ends"
        raise BadValue("schedules", schedules, expected, given.source("schedules"))
    token = None
    if replay is not None:
        try:
            token = Token.read(replay) if isinstance(replay, str) else None
        except BadToken as error:
            raise BadValue("replay", replay, f"a token from a report, but {error}", given.source("replay")) from None
        if token is None:
            raise BadValue("replay", replay, "a token from a report, as a string", given.source("replay"))
    return FuzzPlan(
        preemptions=given.whole("preemptions", preemptions, 0, DEFAULT_PREEMPTIONS),
        budget=given.seconds("budget", budget, DEFAULT_BUDGET if schedules is None else DEFAULT_COUNTED_BUDGET),
        schedules=given.whole("schedules", schedules, 1, None),
        timeout=given.seconds("timeout", timeout, DEFAULT_TIMEOUT),
        seed=given.whole("seed", seed, 0, random.randrange(1_000_000)),
        mode=SEARCH if mode is None else str(mode),
        replay=token,
        sensitivity=bool(sensitivity),
        include=_included(include, given.source("include")),
        share=share,
    )


def _included(include: object, source: str) -> tuple[str, ...]:
    given: Sequence[object] = () if include is None else [include] if isinstance(include, (str, ModuleType)) else include  # type: ignore[assignment]
    if not isinstance(given, Sequence):
        raise BadValue("include", include, "modules, or their names", source)
    names = [entry.__name__ if isinstance(entry, ModuleType) else entry for entry in given]
    for name in names:
        if not isinstance(name, str) or not name:
            raise BadValue("include", name, "a module, or its name", source)
    return tuple(str(name) for name in names)
