"""What a program of the corpus is: a buggy and a fixed twin, and the truth about the buggy one."""

from __future__ import annotations

import sys
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

MASKED = "GIL-MASKED"
BREAKS = "BREAKS-TODAY"
# Between taking a lock by `with` and the first line inside, nothing looks whether somebody else wants the GIL. From 3.14 on,
# entering is a call, and calls look.
MASKED_BEFORE_3_14 = MASKED if sys.version_info < (3, 14) else BREAKS


@dataclass(frozen=True)
class Twin:
    """One concurrent program, as ``gilcheck.fuzz`` takes it.

    Attributes:
        setup: makes a fresh state.
        threads: each is called with the state, in a thread of its own.
        invariant: called with the state afterwards; False, or an exception, if something is broken.
    """

    setup: Callable[[], Any]
    threads: tuple[Callable[[Any], object], ...]
    invariant: Callable[[Any], object] | None = None


@dataclass(frozen=True)
class Case:
    """A bug, and the same program without it. Both pass in every sequential order.

    Attributes:
        kind: ``MASKED`` if no thread switch that a build with a GIL can make shows it; ``BREAKS`` if one does.
        symptom: what there is to see.
        preemptions: how many it takes at least.
    """

    name: str
    buggy: Twin
    fixed: Twin
    kind: str
    symptom: str
    preemptions: int


def case(
    name: str,
    buggy: Callable[[], Any],
    fixed: Callable[[], Any],
    threads: tuple[Callable[[Any], object], ...],
    invariant: Callable[[Any], object] | None = None,
    *,
    kind: str,
    symptom: str = "invariant",
    preemptions: int = 1,
) -> Case:
    """Twins that differ in their state alone, whose methods do the work."""
    return Case(name, Twin(buggy, threads, invariant), Twin(fixed, threads, invariant), kind, symptom, preemptions)
