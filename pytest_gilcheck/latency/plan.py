"""How to measure latency: unchecked values into a plan."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from ..core.errors import BadValue
from ..core.values import Given, interval, seconds
from .echo import THINK

DEFAULT_TIMEOUT = 60.0  # seconds
SHORTEST_THINK, LONGEST_THINK = 0.0005, 1.0  # seconds; an I/O thread that does not idle looks healthy whatever runs beside it


@dataclass(frozen=True)
class LatencyPlan:
    """How to measure; everything already checked.

    Attributes:
        workers: threads that run the workload.
        budget: seconds for the check; None for up to four, or what a slow workload takes. Two rounds are run in any case,
            and no more once the claim is decided.
        timeout: seconds that one call of the workload may take.
        think: mean seconds that the echo's client idles between requests.
        loop: whether to measure an asyncio event loop too.
        switchinterval: seconds, for the check; None leaves it alone.
        sweep: switch intervals to compare.
        cores: pin this process to so many cores; None leaves the affinity alone.
        setup: called before each time that the workload is started, untimed.
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


def plan(
    *,
    workers: object = None,
    budget: object = None,
    timeout: object = None,
    think: object = None,
    loop: object = None,
    switchinterval: object = None,
    cores: object = None,
    setup: object = None,
    sources: dict[str, str] | None = None,
) -> LatencyPlan:
    """A plan out of unchecked values; None takes the default.

    Args:
        switchinterval: seconds for the check, or a sequence of them to compare; the verdict is then for the current one.
        sources: where each value came from, by its name, for errors.

    Raises:
        BadValue: a value of the wrong type or range.
    """
    given = Given(sources)
    if loop is not None and not isinstance(loop, bool):
        raise BadValue("loop", loop, "True or False", given.source("loop"))
    single, sweep = _intervals(switchinterval, given.source("switchinterval"))
    return LatencyPlan(
        workers=given.whole("workers", workers, 1, 1),
        budget=given.seconds("budget", budget, None),
        timeout=given.seconds("timeout", timeout, DEFAULT_TIMEOUT),
        think=THINK if think is None else _think(think, given.source("think")),
        loop=bool(loop),
        switchinterval=single,
        sweep=sweep,
        cores=given.whole("cores", cores, 1, None),
        setup=given.callable("setup", setup),
    )


def _think(value: object, source: str) -> float:
    if not SHORTEST_THINK <= (checked := seconds("think", value, source)) <= LONGEST_THINK:
        expected = f"seconds from {SHORTEST_THINK:g} to {LONGEST_THINK:g}: an I/O thread that never idles always looks healthy"
        raise BadValue("think", value, expected, source)
    return checked


def _intervals(value: object, source: str) -> tuple[float | None, tuple[float, ...]]:
    if value is None:
        return None, ()
    if isinstance(value, Sequence) and not isinstance(value, (str, bytes)):
        if not value:
            raise BadValue("switchinterval", value, "seconds, or at least one of them to compare", source)
        return None, tuple(interval(f"switchinterval[{index}]", each, source) for index, each in enumerate(value))
    return interval("switchinterval", value, source), ()
