"""The same work in processes, which share no GIL, no lock and no object."""

from __future__ import annotations

import os
import pickle
from collections.abc import Callable
from typing import NoReturn

from ..core.child import ChildSide, Ending, ParentSide, fork
from ..core.clocks import time


def run_in_processes(call: Callable[[], object], processes: int, limit: float) -> float | None:
    """Make the call once in each of ``processes`` forks; wall seconds from the first start to the last end.

    Returns:
        None if one of them crashed, raised an exception or took longer than ``limit`` seconds.
    """
    waiting, go = os.pipe()
    sides: list[ParentSide] = []
    try:
        for _ in range(processes):
            side = fork(limit, own_group=False)
            if isinstance(side, ChildSide):
                os.close(go)
                _run_child(side, call, waiting)
            else:
                sides.append(side)
    finally:
        os.close(go)  # closing the pipe starts all children at once
        outcomes = [side.wait() for side in sides]
        os.close(waiting)
    if any(outcome.ending is not Ending.ANSWERED for outcome in outcomes):
        return None
    times = [pickle.loads(outcome.payload) for outcome in outcomes]
    if None in times:
        return None
    return float(max(end for _, end in times) - min(start for start, _ in times))


def _run_child(side: ChildSide, call: Callable[[], object], waiting: int) -> NoReturn:
    try:
        os.read(waiting, 1)
        start = time.perf_counter()
        call()
        answer: tuple[float, float] | None = (start, time.perf_counter())
    except BaseException:  # threads raise it too, or it is caused by the fork: there is no figure
        answer = None
    side.answer(pickle.dumps(answer))
