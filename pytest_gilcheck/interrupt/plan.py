"""How to try interrupts: the arguments that are no claim."""

from __future__ import annotations

import random
from collections.abc import Callable
from dataclasses import dataclass

from ..core.arguments import Arguments

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


def plan(given: Arguments) -> InterruptPlan:
    """The plan out of what was given; what was not takes its default, the seed a random one."""
    return InterruptPlan(
        repeats=given.get("repeats", DEFAULT_REPEATS),
        over=given.get("over", DEFAULT_OVER),
        seed=given.get("seed", random.randrange(1_000_000)),
        timeout=given.time("timeout", DEFAULT_TIMEOUT),
        budget=given.get("budget"),
        setup=given.get("setup"),
    )
