"""The session of a fuzz check: one program, by its plan."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

from ..engine.program import Program
from ..engine.running.events import Events
from ..engine.running.journal import Journal
from ..engine.session import Session
from .explorer import Explorer
from .plan import FuzzPlan

_LEAST_LIMIT = 2.0  # seconds for one run, however small the budget is


@contextmanager
def installed(program: Program, plan: FuzzPlan) -> Iterator[tuple[Events, Callable[[Journal], Explorer]]]:
    """What takes time to install, for the forks of this process, in each of which the program is to run once.

    Yields:
        The events, which each fork has as they are then; and what makes the explorer in a fork, which has to end without leaving:
        what was installed here is removed here.
    """
    with session_for(program, plan).before_forks() as session:

        def begin(journal: Journal) -> Explorer:
            session.in_fork()
            return session.first(Explorer, journal=journal)

        yield session.events, begin


@contextmanager
def explorer_for(program: Program, plan: FuzzPlan, progress: Callable[[str], None], journal: Journal | None = None) -> Any:
    """A context manager that yields an `Explorer` of this program, with everything installed.

    Args:
        journal: notes the choices of each run, in case that the process dies.
    """
    with session_for(program, plan) as session:
        yield session.first(Explorer, progress=progress, journal=journal)


def session_for(program: Program | None, plan: FuzzPlan) -> Session:
    """A session in which this program is the first, if it is known, and runs have the limits of this plan."""
    limit = run_limit(plan)
    return Session(
        program,
        include=plan.include,
        limit=limit,
        longest=plan.timeout,
        hangs=limit == plan.timeout,
        locks_apart=plan.sensitivity,
    )


def run_limit(plan: FuzzPlan) -> float:
    """Seconds after which a run is ended. It hangs if that is the plan's timeout; otherwise it is too long for the budget."""
    return min(plan.timeout, max(plan.budget, _LEAST_LIMIT))
