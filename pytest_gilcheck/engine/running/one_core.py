"""Keeps the threads of a search on one core that others leave idle.

Only one thread of a search goes on at a time, and a hand-over to a thread on another core takes 25 us where one on the same core
takes 3 us (measured). Nothing but the search is kept there: programs that the workload starts get all cores, the affinity that the
workload sets itself is left alone, and it reads the affinity that it would have without a search.

Every `_LOOK` seconds the load of the cores is read: a search moves to a core that others leave idle, and uses all cores while there
is none. On a core that it shares with a busy neighbour it would wait for half of the time.

What does not work: leaving it to the scheduler, which keeps two threads that wake each other on two cores if both are idle.
"""

from __future__ import annotations

import functools
import os
import subprocess
import threading
from collections.abc import Callable, Iterable
from contextlib import suppress
from typing import Any

from ...core.clocks import monotonic, process_time
from ...core.stat import CoreTimes, core_times, stat_of
from ...core.system import HAS_AFFINITY, HAS_PROC, entries

_LOOK = 0.2  # seconds; /proc/stat counts in ticks of 10 ms
_BUSY = 0.25  # of a core that others use: the search leaves it
_IDLE = 0.6  # of a core that nobody uses: the search moves there
_STARTERS = ((subprocess, "_fork_exec"), (os, "posix_spawn"), (os, "posix_spawnp"), (os, "system"))


class OneCore:
    """A context manager: the calling thread, and all threads that start inside, run on one core.

    It does nothing on a system without CPU affinity or ``/proc``, and where there is one core only.
    """

    def __init__(self) -> None:
        self._cores: frozenset[int] = frozenset()  # that the caller may use; empty if there is nothing to do
        self._core: int | None = None  # that the search keeps to; None while it uses all of them
        self._strangers: set[int] = set()  # threads that were there before, and those whose affinity the workload has set
        self._next_look = 0.0
        self._times: dict[int, CoreTimes] = {}
        self._before = (0.0, 0.0)
        self._undo: list[Callable[[], None]] = []

    def __enter__(self) -> OneCore:
        if not (HAS_AFFINITY and HAS_PROC):
            return self
        cores = frozenset(os.sched_getaffinity(0))
        times = _times(cores)
        if len(cores) > 1 and times.keys() == cores:
            self._cores, self._times = cores, times
            self._before = monotonic(), process_time()
            self._next_look = self._before[0] + _LOOK
            self._strangers = _threads() - {threading.get_native_id()}
            self._replace_functions()
            self._keep_to(_here(cores))
        return self

    def __exit__(self, *error: object) -> None:
        while self._undo:
            self._undo.pop()()
        if self._core is not None:
            self._keep_to(None)
        self._cores = frozenset()

    def look(self) -> None:
        """Move to another core if others use this one. Called between two runs."""
        if not self._cores or (now := monotonic()) < self._next_look:
            return
        used, times = process_time(), _times(self._cores)
        ours = min(1.0, (used - self._before[1]) / (now - self._before[0]))
        idle = {core: _idle(self._times[core], times.get(core, self._times[core])) for core in self._cores}
        self._next_look, self._before, self._times = now + _LOOK, (now, used), {**self._times, **times}
        if self._core is not None and 1 - idle[self._core] - ours < _BUSY:
            return
        best = max(idle, key=lambda core: idle[core])
        if self._core is None and sum(idle.values()) + ours > 1 + _IDLE:  # what we use ourselves, on any core, is idle time to us
            self._keep_to(best)
        else:
            self._keep_to(best if idle[best] > _IDLE else None)

    def _keep_to(self, core: int | None) -> None:
        """Give the caller, and every thread that was started since, this core; None gives them all cores."""
        self._core = core
        for thread in _threads() - self._strangers:
            with suppress(OSError):  # it has ended
                _set_affinity(thread, self._cores if core is None else (core,))

    def _replace_functions(self) -> None:
        """Let the workload read its affinity, set it, and start programs, as it would without a search."""
        self._replace(os, "sched_getaffinity", self._get_affinity)
        self._replace(os, "sched_setaffinity", self._set_affinity)
        for module, name in _STARTERS:
            if (function := getattr(module, name, None)) is not None:
                self._replace(module, name, self._on_all_cores(function))

    def _replace(self, module: Any, name: str, function: Callable[..., Any]) -> None:
        before = getattr(module, name)
        setattr(module, name, function)
        self._undo.append(lambda: setattr(module, name, before))

    def _is_ours(self, process: int) -> bool:
        thread = threading.get_native_id()
        return process in (0, thread) and thread not in self._strangers

    def _get_affinity(self, process: int, /) -> set[int]:
        return set(self._cores) if self._is_ours(process) else _get_affinity(process)

    def _set_affinity(self, process: int, cores: Iterable[int], /) -> None:
        _set_affinity(process, cores)
        self._strangers.add(process or threading.get_native_id())

    def _on_all_cores(self, function: Callable[..., Any]) -> Callable[..., Any]:
        """The function, called while its thread may use all cores: a program that it starts inherits them."""

        @functools.wraps(function)
        def start(*arguments: Any, **more: Any) -> Any:
            if self._core is None or not self._is_ours(0):
                return function(*arguments, **more)
            _set_affinity(0, self._cores)
            try:
                return function(*arguments, **more)
            finally:
                if self._core is not None:
                    _set_affinity(0, (self._core,))

        return start


_get_affinity = os.sched_getaffinity if HAS_AFFINITY else (lambda process: set())
_set_affinity = os.sched_setaffinity if HAS_AFFINITY else (lambda process, cores: None)


def _threads() -> set[int]:
    return set(map(int, entries("/proc/self/task")))


def _here(cores: frozenset[int]) -> int:
    """The core on which the calling thread runs. The scheduler chose it, among all cores, by their load just now."""
    with suppress(OSError):
        if (core := stat_of("/proc/thread-self").core) in cores:
            return core
    return min(cores)


def _times(cores: Iterable[int]) -> dict[int, CoreTimes]:
    """The times of these cores; without those of which the system says nothing."""
    known = core_times()
    return {core: known[core] for core in cores if core in known}


def _idle(before: CoreTimes, after: CoreTimes) -> float:
    """The share of the time that nobody used; 0 if no tick has passed."""
    passed = after.total - before.total
    return (after.idle - before.idle) / passed if passed else 0.0
