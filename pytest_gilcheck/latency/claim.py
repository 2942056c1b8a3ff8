"""What a user claims about responsiveness, checked for sense before anything runs."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from ..core.arguments import Arguments
from ..core.interpreter import build

DEFAULT_P99 = 0.05  # seconds: ten switch intervals, and half of what a human notices


@dataclass(frozen=True)
class LatencyClaim:
    """Upper bounds on how late other work gets to run beside the workload; at least one of the two is set.

    Attributes:
        p99: seconds that 99 of 100 beats, and of 100 requests, must not exceed.
        max: seconds that none may exceed.
        text: how the user put it.
    """

    p99: float | None
    max: float | None
    text: str

    def __str__(self) -> str:
        return self.text


def claim(given: Arguments) -> LatencyClaim:
    """The claim for the build that runs now; with no claim given, p99 at most 50 ms.

    Args:
        given: ``p99`` and ``max`` in seconds: a number, or one for each build by its name.

    Raises:
        BadValue: a max below the p99.
    """
    now = build()
    bounds: dict[str, float] = {}
    for name in ("p99", "max"):
        value = given.get(name)
        if (bound := value.get(now) if isinstance(value, Mapping) else value) is not None:
            bounds[name] = bound
    bounds = bounds or {"p99": DEFAULT_P99}
    quantile, worst = bounds.get("p99"), bounds.get("max")
    if quantile is not None and worst is not None and worst < quantile:
        raise given.refused("max", f"at least the p99 of {quantile:g}, which would say nothing beside it", worst)
    return LatencyClaim(quantile, worst, ", ".join(f"{name} at most {bound * 1e3:g} ms" for name, bound in bounds.items()))
