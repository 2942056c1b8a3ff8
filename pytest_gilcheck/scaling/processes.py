"""The same work in processes: what is left when no GIL, no lock and no object is shared."""

from __future__ import annotations

import os
import pickle
import time
from collections.abc import Callable
from typing import NoReturn

from ..core.child import ChildSide, Ending, ParentSide, fork


def run_in_processes(call: Callable[[], object], processes: int, limit: float) -> float | None:
    """Wall seconds from the first start to the last end of ``processes`` forks that each make the call once.

    Returns:
        None if one of them crashed, raised or outran ``limit``.
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
        os.close(go)  # every child sees the end of the pipe at once
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
    except BaseException:  # the threads showed it already, or it is the fork's own trouble: no figure either way
        answer = None
    side.answer(pickle.dumps(answer))
