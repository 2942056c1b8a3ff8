"""A check that is ready to run: what every wing makes of its workload and arguments, and what the one runner needs to know."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, Generic, TypeVar

R = TypeVar("R")
Progress = Callable[[str], None]


@dataclass(frozen=True)
class Prepared(Generic[R]):
    """A check with its workload, claim and plan.

    Attributes:
        run: measures and judges; called with a function that takes the name of each phase before it begins.
        undecided: the result, with this reason, where the check cannot be run.
        plainly: runs the workload once, as without a check.
        claim: what is claimed, by name, for evidence; ``"text"`` is the same in words.
        parameters: how it is measured, for evidence: a dataclass.
        longest_phase: seconds that a phase may take; the guard ends a process that is silent for longer.
    """

    run: Callable[[Progress], R]
    undecided: Callable[[str], R]
    plainly: Callable[[], object]
    claim: Mapping[str, Any]
    parameters: object
    longest_phase: float
