"""The check of a class for the runner; its workload is the class, or a function that makes the object."""

from __future__ import annotations

from typing import Any

from ..core.arguments import Arguments
from ..core.prepared import Prepared
from .check import linearizable, undecided
from .classified import Teller
from .given_program import given_program
from .plan import plan
from .reading import subject_of
from .result import LinearizableResult
from .stressed import refuse_here

_MARGIN = 120.0  # seconds to shrink, classify and tell a failure


def prepare(work: Any, name: str | None, given: Arguments, *, tell: Teller) -> Prepared[LinearizableResult]:
    """A check of ``work``.

    Args:
        tell: makes the text of a failing run: the wing of fuzz has it, and wings do not import each other.

    Raises:
        BadValue: an argument that cannot be used, or a class of which no object can be made.
    """
    refuse_here(given)
    planned, subject = plan(given), subject_of(work, name, given)
    program = given_program(subject, given)
    return Prepared(
        run=lambda progress: linearizable(subject, planned, tell, progress, program),
        undecided=lambda reason: undecided(subject, planned, reason),
        plainly=lambda: None,
        claim={"text": f"every run is explained by a sequential order ({subject.rule})", "order": subject.rule},
        parameters=planned,
        longest_phase=planned.timeout + planned.budget + _MARGIN,
    )
