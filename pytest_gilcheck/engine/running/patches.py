"""Replaces primitives by those of `primitives` for the time of a check, and restores them afterwards.

Names that refer to a primitive are replaced in every module, by identity: ``from threading import Lock`` and
``field(default_factory=Lock)`` make names of their own. Existing locks are wrapped in a `Lock` around the same real lock, wherever
the program can reach them: from its threads' closures and modules, from the modules under test, from ``logging`` and executors.

What is not found is noticed: a thread that blocks on a real lock (`watchdog`), and from 3.12 on one that calls a real clock
(`Events`).
"""

from __future__ import annotations

import _thread
import builtins
import copyreg
import os
import sys
import threading
import types
from collections.abc import Iterable
from functools import partial
from typing import Any

from ...core.classes import file_of_module, is_a, name_of_callable, names_of_module
from ...core.lookup import looked_up
from ...core.origin import of_package, ours
from ..bytecode import switch_points
from . import controlling, dates, files, hooks, primitives, repeatable, threads
from .children import noting
from .contents import NOT_CHANGED
from .controlling import current
from .engine import Engine
from .existing_locks import ExistingLocks
from .repeatable import Repeatable
from .replaced import REPLACED, UNDERMINING, replacement_of
from .undoing import Undoing

_ALWAYS_SEARCHED = ("logging", "concurrent.futures.thread", "concurrent.futures._base")


class Patches:
    """A context manager during which the primitives are replaced.

    Args:
        roots: the functions of the program, and what it can reach beside them.
        name: of the program, which decides what random numbers it gets.
        locks_apart: tell the locks of the program apart, see `primitives.locks_used`.
    """

    def __init__(self, engine: Engine, roots: Iterable[Any], name: str, locks_apart: bool) -> None:
        self._engine, self._roots, self._name, self._locks_apart = engine, list(roots), name, locks_apart
        self._changes = Undoing()
        self._of_program = Undoing()  # likewise, where only the present program reaches
        self._modules: dict[int, types.ModuleType] = {}  # in which names are replaced
        self._locks = ExistingLocks(engine, self._is_of_module_under_test)

    def __enter__(self) -> Patches:
        try:
            self._replace()
        except BaseException:  # a part of the replacements would be worse than the error
            self.__exit__()
            raise
        return self

    def _replace(self) -> None:
        primitives.locks_used.clear()
        primitives.told_apart = self._locks_apart
        self._repeatable = Repeatable(lambda: current() is not None, self._is_of_module_under_test, self._name)
        self._changes.then(self._repeatable.end)
        self._replace_names_of(self._new_modules())
        for target, name, value in self._others():
            self._changes.set(target, name, value)
        for kind in (dates.REAL["datetime"], dates.REAL["date"]):
            if kind not in copyreg.dispatch_table:
                copyreg.dispatch_table[kind] = dates.reduced
                self._changes.then(partial(copyreg.dispatch_table.pop, kind, None))
        if (uuid := sys.modules.get("uuid")) is not None and hasattr(uuid, "_generate_time_safe"):
            self._changes.set(uuid, "_generate_time_safe", None)  # of C; without it, it uses the clock and random numbers
        self._search([*self._searched(self._modules.values()), *self._named(self._roots)], self._changes)
        futures = sys.modules.get("concurrent.futures._base")
        self._repeatable.hash_by_number([threading.Thread, *([] if futures is None else [futures.Future]), *self._locks.kinds])
        self._engine.chance = self._repeatable
        controlling.resume(self._engine)
        switch_points.hook = self._engine.at_switch_point
        self._engine.release_idle = threads.release_idle_workers
        self._engine.is_idle_worker = threads.is_executor_worker

    def __exit__(self, *error: object) -> None:
        controlling.active = controlling.paused = switch_points.hook = None
        self._of_program.take_back()
        self._changes.take_back()

    def begin_program(self, roots: Iterable[Any], locks_apart: bool, *, anew: bool) -> None:
        """The next runs are those of another program: replace what it reaches, and what has been imported since.

        What is made from the beginning of the session on is made under control, so only that is left.

        Args:
            anew: whether to search all modules, because others are under test now.
        """
        self._of_program.take_back()
        primitives.locks_used.clear()
        primitives.disabled_lock, primitives.told_apart = None, locks_apart
        self._look_further(roots, self._of_program, anew=anew)

    def learn(self, roots: Iterable[Any]) -> None:
        """Replace what all programs from here on reach by these."""
        self._look_further(roots, self._changes, anew=False)

    def _look_further(self, roots: Iterable[Any], changes: Undoing, *, anew: bool) -> None:
        new, known = self._new_modules(), len(self._locks.kinds)
        self._replace_names_of(new)
        self._search(self._searched(self._modules.values() if anew else new), self._changes)
        self._search(self._named(roots), changes)
        self._repeatable.hash_by_number(self._locks.kinds[known:])

    def _search(self, roots: Iterable[tuple[Any, str]], changes: Undoing) -> None:
        """Wrap the locks that these lead to, and those of the packages that these lead to."""
        seen: set[int] = set()
        self._locks.wrap(roots, changes, seen)
        while reached := self._locks.take_reached():
            self._locks.wrap(reached, self._changes, seen)

    def _new_modules(self) -> list[types.ModuleType]:
        """The modules that were not there when this was called last."""
        modules = [each for each in list(sys.modules.values()) if id(each) not in self._modules and is_a(each, types.ModuleType)]
        self._modules.update((id(each), each) for each in modules)
        return modules

    def _replace_names_of(self, modules: Iterable[types.ModuleType]) -> None:
        for module in modules:
            if _may_change(module):
                self._replace_names(names_of_module(module))

    def _searched(self, modules: Iterable[types.ModuleType]) -> list[tuple[Any, str]]:
        """The names of those modules that are searched for locks in any case. Those under test wait until something leads there."""
        found = []
        for module in modules:
            names, file = names_of_module(module), file_of_module(module)
            name = str(names.get("__name__", ""))
            if name in _ALWAYS_SEARCHED:
                found.append((names, name))
            elif names and file is not None and self._engine.takes_part(file):
                self._locks.later(names, name, of_package=of_package(file))
        return found

    @staticmethod
    def _named(roots: Iterable[Any]) -> list[tuple[Any, str]]:
        return [(root, name_of_callable(root) if callable(root) else "a fixture") for root in roots]

    def _replace_names(self, names: dict[str, Any]) -> None:
        if REPLACED.isdisjoint(map(id, list(names.values()))):
            return  # as in most modules, of which there are a thousand
        for name, value in list(names.items()):
            if id(value) not in REPLACED:
                continue
            if (replacement := replacement_of(value)) is not None:
                self._changes.set_item(names, name, replacement)
            elif value is repeatable.REAL_URANDOM:
                self._changes.set_item(names, name, self._repeatable.urandom)

    def _others(self) -> list[tuple[Any, str, Any]]:
        found = [
            *self._repeatable.replacements(),
            *files.replacements(current),
            *UNDERMINING,
            (_thread, "allocate_lock", primitives.Lock),
            (_thread, "RLock", primitives.RLock),
            (_thread, "start_new_thread", threads.start_new_thread),
            (threading.Thread, "join", threads.join),
            (threading.Thread, "is_alive", threads.is_alive),
            (threading, "RLock", primitives.RLock),
            (builtins, "__import__", hooks.importing(builtins.__import__)),
            (threading, "excepthook", hooks.excepthook_for(threading.excepthook)),
            (sys, "unraisablehook", hooks.unraisablehook_for(sys.unraisablehook)),
        ]
        if threads._start_joinable is not None:
            found.append((_thread, "start_joinable_thread", threads.start_joinable_thread))
        for name in ("fork", "forkpty"):
            if hasattr(os, name):
                found.append((os, name, hooks.refusing(f"it forks (os.{name})", getattr(os, name))))
        if (processes := sys.modules.get("subprocess")) is not None:
            popen = processes.Popen
            found.append((popen, "_execute_child", noting(popen._execute_child, hooks.started_process)))
        if (pools := sys.modules.get("multiprocessing.pool")) is not None and hasattr(pools.Pool, "_wait_for_updates"):
            wait = hooks.waiting_for_updates(pools.Pool._wait_for_updates)
            found.append((pools.Pool, "_wait_for_updates", staticmethod(wait)))
        if (loops := sys.modules.get("asyncio.base_events")) is not None:
            loop = loops.BaseEventLoop
            found.append((loop, "run_forever", hooks.refusing("it runs an event loop (asyncio)", loop.run_forever, in_setup=True)))
        return found

    def _is_of_module_under_test(self, name: object) -> bool:
        file = file_of_module(sys.modules.get(name)) if isinstance(name, str) else None
        return file is not None and self._engine.takes_part(file)


def _may_change(module: Any) -> bool:
    if not is_a(module, types.ModuleType):
        return False
    name = str(looked_up(names_of_module(module), "__name__"))
    return name.partition(".")[0] not in NOT_CHANGED and not ours(file_of_module(module) or "")
