"""The fuzz check for the runner; its workload is a program."""

from __future__ import annotations

from dataclasses import replace

from ..core.arguments import Arguments
from ..core.prepared import Prepared
from ..engine.program import Program
from ..search.plan import plan
from .check import undecided
from .isolated import isolated
from .result import FuzzResult

_MARGIN = 60.0  # seconds for minimising, classification and the report


def prepare(
    program: Program, name: str | None, given: Arguments, *, share: tuple[int, int] = (0, 1), stays: str | None = None
) -> Prepared[FuzzResult]:
    """A fuzz check of ``program``, which has its own name.

    Args:
        share: (which, of how many): run only this share of the schedules, where others run the rest.
        stays: why the program has to run in this process; None if it may run in a fork.

    Raises:
        BadValue: a damaged replay token.
    """
    planned = plan(given, share)
    if planned.replay is not None and given.source_of("replay") != given.source and planned.replay.program != program.checksum:
        planned = replace(planned, replay=None)  # the token of the whole run belongs to another test
    longest = planned.timeout + planned.budget + _MARGIN
    return Prepared(
        run=lambda progress: isolated(program, planned, progress, stays=stays, longest=longest),
        undecided=lambda reason: undecided(program, planned, reason),
        plainly=program.run_sequentially,
        claim={
            "text": f"survives its schedules of at most {planned.preemptions} preemptions",
            "preemptions": planned.preemptions,
        },
        parameters=planned,
        longest_phase=longest,
    )
