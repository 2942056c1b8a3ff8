"""How to measure latency: the arguments that are no claim."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from ..core.arguments import Arguments
from .echo import THINK

DEFAULT_BUDGET = 4.0  # seconds, of which a clear case takes less than two; longer for a slow workload, up to
LONGEST_DEFAULT_BUDGET = 30.0
DEFAULT_TIMEOUT = 60.0  # seconds


@dataclass(frozen=True)
class LatencyPlan:
    """How to measure; everything already checked.

    Attributes:
        workers: threads that run the workload.
        budget: seconds for the check; None for up to four, or what a slow workload takes. Two rounds are run in any case,
            and no more once the claim is decided.
        timeout: seconds that one call of the workload may take.
        think: mean seconds that the echo's client idles between requests; an I/O thread that never idles always looks healthy.
        loop: whether to measure an asyncio event loop too.
        switchinterval: seconds, for the check; None leaves it alone.
        sweep: switch intervals to compare.
        cores: pin this process to so many cores; None leaves the affinity alone.
        setup: called before each time that the workload is started, untimed.
        scale: stretches the default budget (``--gilcheck-budget-scale``).
    """

    workers: int = 1
    budget: float | None = None
    timeout: float = DEFAULT_TIMEOUT
    think: float = THINK
    loop: bool = False
    switchinterval: float | None = None
    sweep: tuple[float, ...] = ()
    cores: int | None = None
    setup: Callable[[], object] | None = None
    scale: float = 1.0

    @property
    def longest_budget(self) -> float:
        """Seconds that the check may take at most."""
        return self.budget or LONGEST_DEFAULT_BUDGET * self.scale


def plan(given: Arguments) -> LatencyPlan:
    """The plan out of what was given; what was not takes its default.

    Several switch intervals are compared, and the verdict is then for the current one.
    """
    interval = given.get("switchinterval")
    several: tuple[float, ...] = interval if isinstance(interval, tuple) else ()
    return LatencyPlan(
        workers=given.get("workers", 1),
        budget=given.get("budget"),
        timeout=given.time("timeout", DEFAULT_TIMEOUT),
        think=given.get("think", THINK),
        loop=given.get("loop", False),
        switchinterval=None if several else interval,
        sweep=several,
        cores=given.get("cores"),
        setup=given.get("setup"),
        scale=given.scale,
    )
