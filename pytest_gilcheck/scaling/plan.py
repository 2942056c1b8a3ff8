"""How to measure scaling: the arguments that are no claim."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from ..core.arguments import Arguments
from ..core.cores import usable_cores

DEFAULT_BUDGET = 1.0  # seconds; longer for a slow workload, up to
LONGEST_DEFAULT_BUDGET = 30.0
DEFAULT_TIMEOUT = 60.0
DEFAULT_THREADS = 4  # or as many as there are cores, if fewer; never fewer than 2


@dataclass(frozen=True)
class ScalingPlan:
    """How to measure; everything already checked.

    Attributes:
        threads: how many run at once, at least 2.
        budget: seconds for the check; None for `DEFAULT_BUDGET`, or what five rounds of a slow workload take.
        timeout: seconds after which one lap counts as hung.
        cores: pin to so many cores; None leaves the affinity alone.
        switchinterval: seconds, for the check; None leaves it alone.
        warmup: untimed calls first.
        setup: called before each lap, untimed.
        scale: stretches the default budget (``--gilcheck-budget-scale``).
        diagnosed: whether to look for the cause too, which takes about as long again where it does not scale.
    """

    threads: int
    budget: float | None = None
    timeout: float = DEFAULT_TIMEOUT
    cores: int | None = None
    switchinterval: float | None = None
    warmup: int = 1
    setup: Callable[[], object] | None = None
    scale: float = 1.0
    diagnosed: bool = True


def plan(given: Arguments) -> ScalingPlan:
    """The plan out of what was given; what was not takes its default."""
    return ScalingPlan(
        threads=given.get("threads", max(2, min(DEFAULT_THREADS, usable_cores()))),
        budget=given.get("budget"),
        timeout=given.time("timeout", DEFAULT_TIMEOUT),
        cores=given.get("cores"),
        switchinterval=given.get("switchinterval"),
        warmup=given.get("warmup", 1),
        setup=given.get("setup"),
        scale=given.scale,
    )
