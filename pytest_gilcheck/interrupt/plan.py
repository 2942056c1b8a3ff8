"""How to try interrupts: unchecked values into a plan."""

from __future__ import annotations

import random
from collections.abc import Callable
from dataclasses import dataclass

from ..core.values import Given

DEFAULT_REPEATS = 8
DEFAULT_OVER = 1.0
DEFAULT_TIMEOUT = 60.0


@dataclass(frozen=True)
class InterruptPlan:
    """How to try; everything already checked.

    Attributes:
        repeats: how many of each signal must find the workload running.
        over: seconds from its beginning over which their moments are spread, if it lasts as long.
        seed: of the moments.
        timeout: seconds that the setup may take.
        budget: seconds after which no more signals are sent; None for no such bound.
        setup: called in each child first.
    """

    repeats: int = DEFAULT_REPEATS
    over: float = DEFAULT_OVER
    seed: int = 0
    timeout: float = DEFAULT_TIMEOUT
    budget: float | None = None
    setup: Callable[[], object] | None = None


def plan(
    *,
    repeats: object = None,
    over: object = None,
    seed: object = None,
    timeout: object = None,
    budget: object = None,
    setup: object = None,
    sources: dict[str, str] | None = None,
) -> InterruptPlan:
    """A plan out of unchecked values; None takes the default, for ``seed`` a random one.

    Args:
        sources: where each value came from, by its name, for errors.

    Raises:
        BadValue: a value of the wrong type or range.
    """
    given = Given(sources)
    return InterruptPlan(
        repeats=given.whole("repeats", repeats, 1, DEFAULT_REPEATS),
        over=given.seconds("over", over, DEFAULT_OVER),
        seed=given.whole("seed", seed, 0, random.randrange(1_000_000)),
        timeout=given.seconds("timeout", timeout, DEFAULT_TIMEOUT),
        budget=given.seconds("budget", budget, None),
        setup=given.callable("setup", setup),
    )
