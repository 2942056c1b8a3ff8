"""The modes in which N workers run at once: threads, processes, interpreters, asyncio tasks."""

from __future__ import annotations

import asyncio
import os
import pickle
import sys
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from typing import Any

from ..core.fork_safety import can_fork
from ..core.team import Team
from ..core.workloads import Workload, is_async
from .processes import run_in_processes
from .workload import Latencies, timed_awaits, timed_calls

SEQUENTIAL, THREADS, PROCESSES, INTERPRETERS, ASYNCIO = "sequential", "threads", "processes", "interpreters", "asyncio"
MODES = (SEQUENTIAL, THREADS, PROCESSES, INTERPRETERS, ASYNCIO)

LapOf = Callable[[int, str], tuple[float, Latencies]]  # calls by each worker, label -> wall seconds, latencies


class ModeFailed(Exception):
    """The workload was tried in this mode and does not run in it."""


def unavailable(mode: str, work: Workload) -> str | None:
    """Why this workload cannot run in this mode here; None if it can."""
    if mode == PROCESSES:
        return can_fork()
    if mode == INTERPRETERS:
        if sys.version_info < (3, 14):
            return "subinterpreters need Python 3.14"
        if is_async(work):
            return "a coroutine function cannot be passed to another interpreter"
        try:
            pickle.dumps(work)
        except Exception as error:  # the object's own hooks may raise anything
            return f"the workload cannot be passed to another interpreter: {error}"
    if mode == ASYNCIO and not is_async(work):
        return "the workload is not a coroutine function"
    return None


@contextmanager
def open_mode(mode: str, work: Workload, workers: int, limit: float) -> Iterator[LapOf]:
    """Start workers in this mode and yield a function that runs a lap of them."""
    with ExitStack() as stack:
        if mode == PROCESSES:
            yield lambda calls, _: _processes(work, workers, calls, limit)
            return
        team = stack.enter_context(Team(1 if mode == ASYNCIO else workers))
        if mode == ASYNCIO:
            yield lambda calls, label: _tasks(team, work, workers, calls, limit, label)
        elif mode == INTERPRETERS:
            yield from _interpreters(stack, team, work, limit)
        else:
            yield lambda calls, label: _team_lap(team, lambda: timed_calls(work, calls), limit, label)


def _team_lap(team: Team, part: Callable[[], Latencies], limit: float, label: str) -> tuple[float, Latencies]:
    latencies: Latencies = []
    lap = team.lap([lambda: latencies.extend(part())] * len(team), limit=limit, label=label)
    return lap.wall / 1e9, latencies


def _tasks(team: Team, work: Workload, tasks: int, calls: int, limit: float, label: str) -> tuple[float, Latencies]:
    async def together() -> Latencies:
        parts = await asyncio.gather(*(timed_awaits(work, calls) for _ in range(tasks)))
        return [latency for part in parts for latency in part]

    return _team_lap(team, lambda: asyncio.run(together()), limit, label)


def _processes(work: Workload, workers: int, calls: int, limit: float) -> tuple[float, Latencies]:
    """The latencies stay in the child processes, because to send them would take time too; only their mean is returned."""
    wall = run_in_processes(lambda: timed_calls(work, calls), workers, limit)
    if wall is None:
        raise ChildProcessError(f"the workload failed, or took over {limit:g} s, in one of {workers} forked processes")
    return wall, [wall / calls]


def _interpreters(stack: ExitStack, team: Team, work: Workload, limit: float) -> Iterator[LapOf]:
    from concurrent import interpreters  # type: ignore[attr-defined,unused-ignore] # Python 3.14

    pool: list[Any] = [interpreters.create() for _ in range(len(team))]
    for interpreter in pool:
        stack.callback(interpreter.close)
        interpreter.exec(f"import sys; sys.path[:] = {sys.path!r}; import os; os.chdir({os.getcwd()!r})")

    def lap(calls: int, label: str) -> tuple[float, Latencies]:
        latencies: Latencies = []

        def part(interpreter: Any) -> Callable[[], None]:
            return lambda: latencies.extend(interpreter.call(timed_calls, work, calls))

        timed = team.lap([part(interpreter) for interpreter in pool], limit=limit, label=label)
        return timed.wall / 1e9, latencies

    try:
        lap(1, "warming up the interpreters")  # imports the module of the workload in each interpreter
    except ExceptionGroup as group:
        why = str(group.exceptions[0].__cause__ or group.exceptions[0]).strip().splitlines()[-1]
        raise ModeFailed(f"{INTERPRETERS}: skipped: the workload does not run in another interpreter: {why}") from group
    yield lap
