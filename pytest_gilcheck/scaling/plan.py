"""How to measure scaling: unchecked values into a plan."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from ..core.cores import usable_cores
from ..core.values import Given, interval

DEFAULT_TIMEOUT = 60.0
DEFAULT_THREADS = 4  # or as many as there are cores, if fewer; never fewer than 2


@dataclass(frozen=True)
class Plan:
    """How to measure; everything already checked.

    Attributes:
        threads: how many run at once, at least 2.
        budget: seconds for the check; None for `DEFAULT_BUDGET`, or what five rounds of a slow workload take.
        timeout: seconds after which one lap counts as hung.
        cores: pin to so many cores; None leaves the affinity alone.
        switchinterval: seconds, for the check; None leaves it alone.
        warmup: untimed calls first.
        setup: called before each lap, untimed.
        diagnosed: whether to look for the cause too, which takes about as long again where it does not scale.
    """

    threads: int
    budget: float | None = None
    timeout: float = DEFAULT_TIMEOUT
    cores: int | None = None
    switchinterval: float | None = None
    warmup: int = 1
    setup: Callable[[], object] | None = None
    diagnosed: bool = True


def plan(
    *,
    threads: object = None,
    budget: object = None,
    timeout: object = None,
    cores: object = None,
    switchinterval: object = None,
    warmup: object = None,
    setup: object = None,
    sources: dict[str, str] | None = None,
) -> Plan:
    """A plan out of unchecked values; None takes the default.

    Args:
        sources: where each value came from, by its name, for errors.

    Raises:
        BadValue: a value of the wrong type or range.
    """
    given = Given(sources)
    return Plan(
        threads=given.whole("threads", threads, 2, max(2, min(DEFAULT_THREADS, usable_cores()))),
        budget=given.seconds("budget", budget, None),
        timeout=given.seconds("timeout", timeout, DEFAULT_TIMEOUT),
        cores=given.whole("cores", cores, 1, None),
        switchinterval=None
        if switchinterval is None
        else interval("switchinterval", switchinterval, given.source("switchinterval")),
        warmup=given.whole("warmup", warmup, 0, 1),
        setup=given.callable("setup", setup),
    )
