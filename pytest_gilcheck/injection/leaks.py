"""What an interrupted workload leaves behind: locks held, threads and child processes alive, files open."""

from __future__ import annotations

import asyncio
import functools
import gc
import os
import sys
import threading
from collections import deque
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from types import BuiltinFunctionType, FunctionType, MethodType, ModuleType
from typing import Any

from ..core.classes import attributes_of, file_of_module, module_of_class, name_of_class, names_of, names_of_module
from ..core.clocks import monotonic, sleep
from ..core.origin import foreign, ours, under_test
from ..core.stat import stat_of
from ..core.system import entries, read

_SEMAPHORES = (threading.Semaphore, asyncio.Semaphore)
_LOCKS = (type(threading.Lock()), type(threading.RLock()), *_SEMAPHORES, asyncio.Lock)
_LOCK_MODULES = ("threading", "queue", "functools", "asyncio.locks", "logging", "logging.handlers")
_MOST_OBJECTS = 20_000
_PLAIN = (str, bytes, int, float, bool, type(None), complex, range, BuiltinFunctionType)
_DESCRIPTORS = "/proc/self/fd"
_TASKS = "/proc/self/task"
_POLL = 0.001  # seconds
_GRACE = 0.1  # seconds that a thread of the workload gets to end and to release its locks


@dataclass(frozen=True)
class ResourceBaseline:
    """The resources of this process before the workload runs.

    Attributes:
        threads: identifiers of the live threads.
        files: open descriptors, each as ``"path (descriptor 4)"``.
        children: live child processes, each as ``"name (pid 4711)"``.
        locks: for the ``id()`` of each reachable lock, how often it can still be acquired: 0 or 1, for a semaphore its value.
    """

    threads: frozenset[int | None]
    files: frozenset[str]
    children: frozenset[str]
    locks: dict[int, int]

    @classmethod
    def now(cls, work: Callable[[], Any]) -> ResourceBaseline:
        """The resources of this process now; locks are those reachable from ``work``."""
        free = {id(lock): _available(lock) for _, lock in locks(work)}
        return cls(frozenset(thread.ident for thread in threading.enumerate()), _files(), _children(), free)

    def leaks(self, work: Callable[[], Any]) -> list[str]:
        """Describe each resource in use now that was not in use at the baseline, such as ``"lock self.lock held"``."""
        gc.collect()
        threads = [t for t in threading.enumerate() if t.ident not in self.threads]
        found = [f"thread {thread.name!r} alive" for thread in threads if _stays_alive(thread)]
        for name, lock in locks(work):
            if _available(lock) < self.locks.get(id(lock), 1):
                found.append(f"semaphore {name} not released" if isinstance(lock, _SEMAPHORES) else f"lock {name} held")
        found += [f"child process {child} alive" for child in sorted(_children() - self.children)]
        return found + [f"file {path} open" for path in sorted(_files() - self.files)]


def _stays_alive(thread: threading.Thread) -> bool:
    """Whether a thread is alive at the end of its grace period.

    A thread whose ``start`` was interrupted may run without being marked as started: then it cannot be joined, and ``is_alive``
    denies it.
    """
    until = monotonic() + _GRACE
    while (alive := thread.is_alive() or os.path.exists(f"{_TASKS}/{thread.native_id}")) and monotonic() < until:
        sleep(_POLL)
    return alive


def locks(work: Callable[[], Any]) -> Iterator[tuple[str, Any]]:
    """The locks that a workload can reach, each with the path to it: through closures, objects, the globals of code under test, and
    modules that are no installed packages.

    At most 20,000 objects are examined. None of their own code runs: ``hasattr`` calls a ``__getattr__``, which may raise anything,
    and ``isinstance`` asks a proxy for its class.
    """
    queue: deque[tuple[str, Any]] = deque([("", work)])
    seen: set[int] = set()
    while queue and len(seen) < _MOST_OBJECTS:
        name, thing = queue.popleft()
        if id(thing) in seen or issubclass(type(thing), _PLAIN):
            continue
        seen.add(id(thing))
        if issubclass(type(thing), _LOCKS):
            yield name or repr(thing), thing
        else:
            queue += [part for part in _parts(name, thing) if id(part[1]) not in seen and type(part[1]) not in _PLAIN]


def _parts(name: str, thing: Any) -> Iterator[tuple[str, Any]]:
    kind = type(thing)
    if kind is FunctionType:
        binds = ours(thing.__code__.co_filename)  # the test to its fixtures, for instance: no name of the user's
        for cell_name, cell in zip(thing.__code__.co_freevars, thing.__closure__ or (), strict=True):
            try:
                yield "" if binds else cell_name, cell.cell_contents
            except ValueError:  # the cell is still empty
                continue
        if _under_test(thing.__code__.co_filename):
            yield "", thing.__globals__  # examined once for all functions of a module
    elif kind is ModuleType:
        if not foreign(file_of_module(thing) or "<"):
            names = names_of_module(thing)
            yield from ((f"{names.get('__name__')}.{key}", value) for key, value in list(names.items()))
    elif kind is MethodType:
        yield name or "self", thing.__self__
        yield name, thing.__func__
    elif issubclass(kind, functools.partial):
        yield name, thing.func
        yield from ((f"argument {index + 1}", value) for index, value in enumerate(thing.args))
        yield from thing.keywords.items()
    elif issubclass(kind, dict):
        items = list(dict.items(thing))
        yield from ((f"{name}[{_key(key)}]" if name else _key(key).strip("'"), value) for key, value in items)
    elif container := next((each for each in (list, tuple, set, frozenset, deque) if issubclass(kind, each)), None):
        yield from ((f"{name}[{index}]", value) for index, value in enumerate(list(container.__iter__(thing))))
    elif issubclass(kind, type):
        if (module := sys.modules.get(module_of_class(thing))) is not None and not _library(module):
            yield from ((f"{name}.{key}", value) for key, value in list(names_of(thing).items()))
    elif _may_hold_locks(kind):
        prefix = f"{name}." if name else ""
        yield from ((f"{prefix}{key}", value) for key, value in attributes_of(thing))
        yield name or name_of_class(kind), kind


def _key(key: object) -> str:
    """A key of a dict as part of a path, without its own ``__repr__`` unless it is built in."""
    return repr(key) if type(key) in (str, int, float, bool, bytes, type(None)) else f"<{name_of_class(type(key))}>"


def _may_hold_locks(kind: type) -> bool:
    """Whether objects of this class may hold locks of the workload: classes under test, and library classes that wrap locks.

    Objects of other classes are not examined, because they lead to nearly every object of the process.
    """
    name = module_of_class(kind)
    module = sys.modules.get(name)
    return name in _LOCK_MODULES or (module is not None and not _library(module))


def _library(module: ModuleType) -> bool:
    file = file_of_module(module)
    return file is None or not _under_test(file)


_under_test = functools.cache(under_test)


def _available(lock: Any) -> int:
    """How often the lock can be acquired now. It reads the ``repr``, because ``RLock.locked`` exists since Python 3.14 only."""
    if isinstance(lock, _SEMAPHORES):
        return int(lock._value)  # type: ignore[attr-defined, unused-ignore]
    if isinstance(lock, asyncio.Lock):
        return 0 if lock.locked() else 1
    return 0 if repr(lock).startswith("<locked") else 1


def _children() -> frozenset[str]:
    """The live child processes, each as ``"name (pid 4711)"``; none where there is no ``/proc``."""
    found = set()
    for task in entries("/proc/self/task"):
        for pid in _read_or_nothing(f"/proc/self/task/{task}/children").split():
            try:
                child = stat_of(f"/proc/{pid}")
            except OSError:
                continue
            if child.state != "Z":
                found.add(f"{child.name} (pid {pid})")
    return frozenset(found)


def _files() -> frozenset[str]:
    """The open descriptors of this process, each as ``"path (descriptor 4)"``; none where there is no ``/proc``."""
    found = set()
    for descriptor in entries(_DESCRIPTORS):
        try:
            found.add(f"{os.readlink(f'{_DESCRIPTORS}/{descriptor}')} (descriptor {descriptor})")
        except OSError:  # the descriptor of the listing itself, closed by now
            continue
    return frozenset(found)


def _read_or_nothing(path: str) -> str:
    try:
        return read(path)
    except OSError:  # a thread that has ended, or a kernel without such lists
        return ""
