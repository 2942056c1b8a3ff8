"""What the threads of a program share, by recorded runs: if that is nothing, no schedule need be spent.

What every record needs is installed once (`Records`), in a process in which no program runs. Each program is recorded in a fork of
it. The collector's list is frozen there: a fork that walks over it would copy all memory, which takes longer than the record.
"""

from __future__ import annotations

import gc
from collections.abc import Iterable
from contextlib import AbstractContextManager, ExitStack
from types import CodeType
from typing import Any

from ..core.clocks import monotonic
from ..engine.program import Program
from ..engine.schedule import Schedule
from ..engine.touched.trace import Trace, told
from ..search.explorer import Explorer
from ..search.harness import session_for
from ..search.plan import FuzzPlan

SHARED = "its threads touch the same, and one changes it"


class Records:
    """What takes time to install, in this process, for its forks.

    Args:
        limit: seconds that the records of one program may take.
        also: what else is installed.
    """

    def __init__(self, limit: float, also: AbstractContextManager[None]) -> None:
        self._limit, self._stack = limit, ExitStack()
        self._stack.enter_context(also)
        self._session = self._stack.enter_context(session_for(None, FuzzPlan(budget=limit)).before_forks())
        gc.freeze()

    def learn(self, parts: Iterable[Any]) -> None:
        """Find what programs reach by these, so that no fork has to."""
        gc.unfreeze()
        self._session.learn(parts)
        gc.freeze()

    def shared_by(self, program: Program) -> str:
        """In a fork: why the schedules of this program have to be searched; empty if its threads shared nothing that was seen.

        The first record is of the first run of this process, which makes what only a first run makes, such as a cache. What a step
        may touch counts as touched. In a later record there must be no step of which nothing is known.

        Raises:
            NotExplorable: no schedule can control the program.
            BaseException: what its setup raised.
        """
        until = monotonic() + self._limit
        self._session.in_fork()
        explorer = self._session.use(program, Explorer)
        if why := _recorded(explorer, until, first=True):
            return why
        explorer.events.forget()
        explorer.in_order()
        return _recorded(explorer, until, first=False) or (str(explorer.uncontrolled[0]) if explorer.uncontrolled else "")

    def give_back(self) -> None:
        """In a fork: remove what was installed."""
        self._stack.close()
        gc.unfreeze()


def _recorded(explorer: Explorer, until: float, *, first: bool) -> str:
    trace = Trace(explorer.engine, focusing=True, until=until)
    with trace:
        run, failure = explorer.follow(Schedule(), recording=True)
    if failure is not None:
        return failure.message
    if trace.gave_up or run.unreported:
        return "its record takes too long"
    if trace.shares():
        return SHARED
    if first:
        return ""
    unknown = [point for point in trace.not_known if not _is_end(trace, point)]
    return f"it is not known what {_in_words(trace.not_known[unknown[0]])} touches" if unknown else ""


def _is_end(trace: Trace, point: int) -> bool:
    """Whether only the end of an object is not known here: what its finalizer does makes steps of its own."""
    access = trace.accesses.get(point)
    return access is not None and access.kind == "end"


def _in_words(unknown: str | tuple[CodeType, int]) -> str:
    return unknown if isinstance(unknown, str) else told(*unknown)
