"""What a user claims about scaling, checked for sense before anything runs."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from ..core.arguments import Arguments
from ..core.interpreter import FREE_THREADED

DEFAULT_EFFICIENCY = 0.7  # of the ceiling, on a free-threaded build
DEFAULT_MAX_SLOWDOWN = 1.25  # on a GIL build: beyond the noise of two threads that alternate, well below Python 2's 1.85
NAMES = ("min_speedup", "max_slowdown", "efficiency")


@dataclass(frozen=True)
class ScalingClaim:
    """One lower bound on the speedup: absolute, or as a share of the ceiling. Exactly one of the two is set.

    Attributes:
        min_speedup: the sequential time over the threaded time must be at least this.
        efficiency: the speedup must be at least this share of what the machine can give.
        text: how the user put it.
    """

    min_speedup: float | None
    efficiency: float | None
    text: str

    def __str__(self) -> str:
        return self.text


def claim(given: Arguments, *, threads: int, build: str) -> ScalingClaim:
    """The claim for this build; with no claim given, the default for it.

    Args:
        given: ``min_speedup`` (sequential over threaded time, at least), ``max_slowdown`` (threaded over sequential time, at most;
            1.25 is min_speedup 0.8) or ``efficiency`` (share of the ceiling): a number, or one for each build by its name.
        threads: how many run at once; no workload is that much times faster, and a claim beyond it is refused.
        build: ``"gil"`` or ``"free-threaded"``; a mapping without this build leaves its default.

    Raises:
        BadValue: two claims at once for this build, or a speedup above the number of threads.
    """
    chosen: dict[str, float] = {}
    for name in NAMES:
        value = given.get(name)
        if (number := value.get(build) if isinstance(value, Mapping) else value) is not None:
            chosen[name] = number
    if len(chosen) > 1:
        first, second = list(chosen)[:2]
        raise given.refused(second, f"no {first} beside it: they are two claims about one figure, so give one", chosen[second])
    if not chosen:
        chosen = {"efficiency": DEFAULT_EFFICIENCY} if build == FREE_THREADED else {"max_slowdown": DEFAULT_MAX_SLOWDOWN}
    [(name, number)] = chosen.items()
    if name == "efficiency":
        return ScalingClaim(None, number, f"at least {number:.0%} of the ceiling")
    if name == "max_slowdown":
        return ScalingClaim(1 / number, None, f"at most {number:g}x slower than sequential")
    if number > threads:
        raise given.refused(name, f"at most {threads}, the number of threads", number)
    return ScalingClaim(number, None, f"at least {number:g}x")
