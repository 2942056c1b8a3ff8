"""A failing schedule that leaves its process in another state, so that every later run there fails as well, or none does.

Code that stores something and takes it back at its end does so, if another thread is in between: a patched attribute, a log level,
the current folder. In the process of that run nothing more can be found out. So each run of the schedule gets a process of its own,
a fork of one in which nothing has run, like a schedule that kills its process (`crash`).
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

from ...core.fork_safety import NoFork
from ...core.verdict import Verdict
from ...engine.program import Program
from ...engine.running.journal import Journal
from ...search.ledger import Ledger
from ...search.plan import FuzzPlan
from ..result import FuzzResult
from .examination import Learnt
from .own_process import ApartExamination


def left_behind(
    program: Program, plan: FuzzPlan, template: FuzzResult, journal: Journal, deadline: Ledger, progress: Callable[[str], None]
) -> FuzzResult | None:
    """The result for a schedule that has left its process in another state (`Stage.LEFT`).

    Args:
        template: with what is the same for every result.
        journal: has the schedule.

    Returns:
        None if the schedule fails in no process of its own, and every order fails in the one that it has left.
    """
    template = replace(
        template, conclusion=Verdict.VIOLATED, coverage=f"{journal.run:,} runs until one left its process in another state"
    )
    if not journal.complete:
        return None
    progress("replaying in processes of their own")
    try:
        return ApartExamination(program, plan, template, Learnt.by(journal), deadline, progress).result(
            journal.schedule, broken=bool(journal.text)
        )
    except NoFork:
        return None
