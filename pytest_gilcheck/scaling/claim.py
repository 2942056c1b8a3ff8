"""What a user claims about scaling, checked for sense before anything runs."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from ..core.errors import BadValue
from ..core.interpreter import BUILDS, FREE_THREADED, GIL

DEFAULT_EFFICIENCY = 0.7  # of the ceiling, on a free-threaded build
DEFAULT_MAX_SLOWDOWN = 1.25  # on a GIL build: beyond the noise of two threads taking turns, well below Python 2's 1.85

PerBuild = float | Mapping[str, float]


@dataclass(frozen=True)
class Claim:
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


def claim(
    *,
    min_speedup: PerBuild | None = None,
    max_slowdown: PerBuild | None = None,
    efficiency: PerBuild | None = None,
    threads: int,
    build: str,
    source: str = "argument",
) -> Claim:
    """The claim for this build; with no argument the default for it.

    Args:
        min_speedup: sequential over threaded time, at least; a number, or one for each build by its name.
        max_slowdown: threaded over sequential time, at most; 1.25 is min_speedup 0.8.
        efficiency: share of the ceiling, 0 to 1.
        threads: how many run at once; no workload is that much times faster, and a claim beyond it is refused.
        build: ``"gil"`` or ``"free-threaded"``; a mapping without this build leaves its default.
        source: where the arguments came from, for errors.

    Raises:
        BadValue: a value of the wrong type or range, an unknown build, or two claims at once.
    """
    given: list[tuple[str, Any]] = [
        (name, value)
        for name, value in (("min_speedup", min_speedup), ("max_slowdown", max_slowdown), ("efficiency", efficiency))
        if value is not None
    ]
    chosen = {name: number for name, value in given if (number := _for_build(name, value, build, source)) is not None}
    if len(chosen) > 1:
        (first, _), (second, value) = list(chosen.items())[:2]
        raise BadValue(second, value, f"no {first} beside it: they are two claims about one figure, so give one", source)
    if not chosen:
        chosen = {"efficiency": DEFAULT_EFFICIENCY} if build == FREE_THREADED else {"max_slowdown": DEFAULT_MAX_SLOWDOWN}
    [(name, value)] = chosen.items()
    if name == "efficiency":
        if value > 1:
            raise BadValue(name, value, "at most 1, all that the machine can give", source)
        return Claim(None, value, f"at least {value:.0%} of the ceiling")
    if name == "max_slowdown":
        if value < 1:
            raise BadValue(name, value, "at least 1; to ask for a speedup, use min_speedup", source)
        return Claim(1 / value, None, f"at most {value:g}x slower than sequential")
    if value > threads:
        raise BadValue(name, value, f"at most {threads}, the number of threads", source)
    return Claim(value, None, f"at least {value:g}x")


def _for_build(name: str, value: object, build: str, source: str) -> float | None:
    if isinstance(value, Mapping):
        if not value:
            raise BadValue(name, dict(value), f"a number for {GIL!r}, for {FREE_THREADED!r} or for both", source)
        if unknown := [key for key in value if key not in BUILDS]:
            raise BadValue(name, dict(value), f"only the builds {GIL!r} and {FREE_THREADED!r}, not {unknown[0]!r}", source)
        for key in value:
            _positive(f"{name}[{key!r}]", value[key], source)
        return value.get(build)
    return _positive(name, value, source)


def _positive(name: str, value: object, source: str) -> float:
    if isinstance(value, bool) or not isinstance(value, (int, float)) or not math.isfinite(value) or value <= 0:
        raise BadValue(name, value, "a number above 0", source)
    return float(value)
