"""How a campaign goes: its arguments, all of them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from ..core.arguments import Arguments
from ..engine.schedule import Token
from ..search.plan import given_seed, given_token
from .of_hypothesis import examples_of, seed_of, settings_of

DEFAULT_EXAMPLES = 200
DEFAULT_BUDGET = 60.0
DEFAULT_TIMEOUT = 5.0
SCHEDULES = 60  # of one program
FEWEST = 20  # programs, for any claim
LEAST_OVERLAPPED = 0.8  # of the pairs of operations, likewise


@dataclass(frozen=True)
class LinearPlan:
    """How a campaign goes.

    Attributes:
        examples: programs that hypothesis draws at most, before those that shrink a failure.
        budget: seconds for all programs; a failure takes a little longer, to be shrunk and told.
        timeout: seconds of one run after which it hangs.
        seed: of what is drawn.
        seeded: whether the user gave the seed; then nothing depends on what earlier campaigns have left.
        include: modules that are under test although they would not be, by name.
        replay: the token of an earlier failure, of which the program is given or in hypothesis' database.
        settings: of hypothesis, for what the other arguments do not say.
        stress: whether programs run with real threads, and no schedule is searched.
    """

    examples: int = DEFAULT_EXAMPLES
    budget: float = DEFAULT_BUDGET
    timeout: float = DEFAULT_TIMEOUT
    seed: int = 0
    seeded: bool = False
    include: tuple[str, ...] = ()
    replay: Token | None = None
    settings: Any = None
    stress: bool = False


def plan(given: Arguments) -> LinearPlan:
    """The plan out of what was given; what was not takes its default, the seed a random one.

    Raises:
        BadValue: a damaged token.
    """
    chosen = settings_of(given)
    seed = given_seed(given) if "seed" in given else seed_of(chosen)
    return LinearPlan(
        examples=given.get("examples", examples_of(chosen, DEFAULT_EXAMPLES)),
        budget=given.time("budget", DEFAULT_BUDGET),
        timeout=given.time("timeout", DEFAULT_TIMEOUT),
        seed=given_seed(given) if seed is None else seed,
        seeded=seed is not None,
        include=given.get("include", ()),
        replay=given_token(given),
        settings=chosen,
        stress=given.get("stress", False),
    )
