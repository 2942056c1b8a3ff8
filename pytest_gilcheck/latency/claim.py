"""What a user claims about responsiveness, checked for sense before anything runs."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass

from ..core.errors import BadValue
from ..core.interpreter import BUILDS, FREE_THREADED, GIL, build

DEFAULT_P99 = 0.05  # seconds: ten switch intervals, and half of what a human notices
LONGEST = 10.0  # seconds; a larger claim is a slip of the unit, and would always hold

PerBuild = float | Mapping[str, float]


@dataclass(frozen=True)
class LatencyClaim:
    """Upper bounds on how late the rest gets to run beside the workload; at least one of the two is set.

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


def claim(*, p99: PerBuild | None = None, max: PerBuild | None = None, source: str = "argument") -> LatencyClaim:
    """The claim for the build that runs now; with no argument, p99 at most 50 ms.

    Args:
        p99: seconds; a number, or one for each build by its name (``"gil"``, ``"free-threaded"``).
        max: seconds, likewise.
        source: where the arguments came from, for errors.

    Raises:
        BadValue: a value of the wrong type or range, an unknown build, or a max below the p99.
    """
    now = build()
    quantile = None if p99 is None else _for_build("p99", p99, now, source)
    worst = None if max is None else _for_build("max", max, now, source)
    if quantile is None and worst is None:
        quantile = DEFAULT_P99
    if quantile is not None and worst is not None and worst < quantile:
        raise BadValue("max", worst, f"at least the p99 of {quantile:g}, which would say nothing beside it", source)
    bounds = [(name, bound) for name, bound in (("p99", quantile), ("max", worst)) if bound is not None]
    return LatencyClaim(quantile, worst, ", ".join(f"{name} at most {bound * 1e3:g} ms" for name, bound in bounds))


def _for_build(name: str, value: object, now: str, source: str) -> float | None:
    if isinstance(value, Mapping):
        if not value:
            raise BadValue(name, dict(value), f"seconds for {GIL!r}, for {FREE_THREADED!r} or for both", source)
        if unknown := [key for key in value if key not in BUILDS]:
            raise BadValue(name, dict(value), f"only the builds {GIL!r} and {FREE_THREADED!r}, not {unknown[0]!r}", source)
        checked = {key: _latency(f"{name}[{key!r}]", value[key], source) for key in value}
        return checked.get(now)
    return _latency(name, value, source)


def _latency(name: str, value: object, source: str) -> float:
    if isinstance(value, bool) or not isinstance(value, (int, float)) or not math.isfinite(value) or not 0 < value <= LONGEST:
        raise BadValue(name, value, f"seconds above 0, at most {LONGEST:g}", source)
    return float(value)
