"""Replaces primitives by those of `primitives` for the time of a check, and restores them afterwards.

Names that refer to a primitive are replaced in every module, by identity: ``from threading import Lock`` and
``field(default_factory=Lock)`` make names of their own. Existing locks are wrapped in a `Lock` around the same real lock, wherever
the program can reach them: from its threads' closures and modules, from the modules under test, from ``logging`` and executors.

What does not work: searching the whole heap for existing locks (``gc.get_referrers`` takes longer than the search for schedules,
and finds the locks of all other code); replacing a lock in a set or in C. A thread that blocks on such a lock is noticed then, and
from 3.12 on so is one that calls a real clock (`Events`).
"""

from __future__ import annotations

import _queue
import _thread
import builtins
import copyreg
import operator
import os
import sys
import threading
import types
import weakref
from collections import Counter, deque
from collections.abc import Callable, Iterable
from enum import Enum, auto
from functools import partial
from typing import Any

from ...core.classes import bases_of, file_of_module, is_a, module_of_class, name_of_callable, names_of, names_of_module
from ...core.clocks import PUBLIC
from ...core.origin import ours
from ..bytecode import switch_points
from . import dates, files, primitives, repeatable, undermined
from .children import noting
from .contents import ATOMS, NOT_CHANGED, Contents, only_atoms
from .engine import Engine
from .repeatable import Repeatable

_LOCK, _RLOCK = type(_thread.allocate_lock()), type(primitives._RLock())
_ALWAYS_SEARCHED = ("logging", "concurrent.futures.thread", "concurrent.futures._base")
_dictoffset_of = type.__dict__["__dictoffset__"].__get__  # without asking the metaclass
_MOST_IN_TUPLE = 1000  # of data, and no table of functions
_MOST = 50_000  # objects that are searched for locks
_PLAIN = (*ATOMS, types.BuiltinFunctionType, types.CodeType, types.ModuleType)
_LEAVES = (*_PLAIN, Engine, Repeatable, primitives.Lock)  # through our own, everything could be reached

_CONTAINERS = (
    dict, list, deque, tuple, set, frozenset, partial, type, staticmethod, classmethod, property, weakref.ref,
    types.MappingProxyType, types.FunctionType, types.MethodType,
)  # fmt: skip
_FIXED = (types.ModuleType, tuple, set, frozenset)  # their contents have no names that could be replaced

Undo = Callable[[], object]


class Patches:
    """A context manager during which the primitives are replaced.

    Args:
        roots: the functions of the program, and what it can reach beside them.
        name: of the program, which decides what random numbers it gets.
        locks_apart: tell the locks of the program apart, see `primitives.locks_used`.
    """

    def __init__(self, engine: Engine, roots: Iterable[Any], name: str, locks_apart: bool) -> None:
        self._engine, self._roots, self._name, self._locks_apart = engine, list(roots), name, locks_apart
        self._undo: list[Undo] = []
        self._of_program: list[Undo] = []  # likewise, of what only the present program reaches
        self._modules: dict[int, types.ModuleType] = {}  # in which names are replaced
        self._kinds: list[type] = []  # under test
        self._looked_at: dict[int, type] = {}  # by id: the hash of a class may be code of the program

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
        self._repeatable = Repeatable(lambda: primitives._current() is not None, self._is_of_module_under_test, self._name)
        self._undo.append(self._repeatable.end)
        self._replace_names_of(self._new_modules())
        for target, name, value in self._others():
            self._set(target, name, value)
        for kind in (dates.REAL["datetime"], dates.REAL["date"]):
            if kind not in copyreg.dispatch_table:
                copyreg.dispatch_table[kind] = dates.reduced
                self._undo.append(partial(copyreg.dispatch_table.pop, kind, None))
        if (uuid := sys.modules.get("uuid")) is not None and hasattr(uuid, "_generate_time_safe"):
            self._set(uuid, "_generate_time_safe", None)  # of C; without it, it uses the clock and random numbers
        self._wrap_existing_locks([*self._searched(self._modules.values()), *self._named(self._roots)])
        futures = sys.modules.get("concurrent.futures._base")
        self._repeatable.hash_by_number([threading.Thread, *([] if futures is None else [futures.Future]), *self._kinds])
        self._engine.chance = self._repeatable
        primitives.resume(self._engine)
        switch_points.hook = self._engine.at_switch_point
        self._engine.release_idle = primitives.release_idle_workers
        self._engine.is_idle_worker = primitives.is_executor_worker

    def __exit__(self, *error: object) -> None:
        primitives.active = primitives.paused = switch_points.hook = None
        self._take_back()
        while self._undo:
            self._undo.pop()()

    def begin_program(self, roots: Iterable[Any], locks_apart: bool, *, anew: bool) -> None:
        """The next runs are those of another program: replace what it reaches, and what has been imported since.

        What is made from the beginning of the session on is made under control, so only that is left.

        Args:
            anew: whether to search all modules, because others are under test now.
        """
        self._take_back()
        primitives.locks_used.clear()
        primitives.disabled_lock, primitives.told_apart = None, locks_apart
        new, known = self._new_modules(), len(self._kinds)
        self._replace_names_of(new)
        self._wrap_existing_locks(self._searched(self._modules.values() if anew else new))
        before, self._undo = self._undo, self._of_program
        try:
            self._wrap_existing_locks(self._named(roots))
        finally:
            self._undo = before
        self._repeatable.hash_by_number(self._kinds[known:])

    def _take_back(self) -> None:
        """Give back what the present program has reached alone."""
        while self._of_program:
            self._of_program.pop()()

    def _new_modules(self) -> list[types.ModuleType]:
        """The modules that were not there when this was called last."""
        modules = [each for each in list(sys.modules.values()) if is_a(each, types.ModuleType) and id(each) not in self._modules]
        self._modules.update((id(each), each) for each in modules)
        return modules

    def _replace_names_of(self, modules: Iterable[types.ModuleType]) -> None:
        for module in modules:
            if _may_change(module):
                self._replace_names(names_of_module(module))

    def _searched(self, modules: Iterable[types.ModuleType]) -> list[tuple[Any, str]]:
        """The names of those modules that are searched for locks."""
        found = []
        for module in modules:
            names, file = names_of_module(module), file_of_module(module)
            name = str(names.get("__name__", ""))
            if name in _ALWAYS_SEARCHED or (names and file is not None and self._engine.takes_part(file)):
                found.append((names, name))
        return found

    @staticmethod
    def _named(roots: Iterable[Any]) -> list[tuple[Any, str]]:
        return [(root, name_of_callable(root) if callable(root) else "a fixture") for root in roots]

    def _replace_names(self, names: dict[str, Any]) -> None:
        if _REPLACED.isdisjoint(map(id, list(names.values()))):
            return  # as in most modules, of which there are a thousand
        for name, value in list(names.items()):
            if id(value) not in _REPLACED:
                continue
            if (replacement := _replacement(value)) is not None:
                self._set_item(names, name, replacement)
            elif value is repeatable.REAL_URANDOM:
                self._set_item(names, name, self._repeatable.urandom)

    def _others(self) -> list[tuple[Any, str, Any]]:
        found = [
            *self._repeatable.replacements(),
            *files.replacements(primitives._current),
            *_UNDERMINING,
            (_thread, "allocate_lock", primitives.Lock),
            (_thread, "RLock", primitives.RLock),
            (_thread, "start_new_thread", primitives.start_new_thread),
            (threading.Thread, "join", primitives.join),
            (threading.Thread, "is_alive", primitives.is_alive),
            (threading, "RLock", primitives.RLock),
            (builtins, "__import__", primitives.importing(builtins.__import__)),
            (threading, "excepthook", primitives.excepthook_for(threading.excepthook)),
            (sys, "unraisablehook", primitives.unraisablehook_for(sys.unraisablehook)),
        ]
        if primitives._start_joinable is not None:
            found.append((_thread, "start_joinable_thread", primitives.start_joinable_thread))
        for name in ("fork", "forkpty"):
            if hasattr(os, name):
                found.append((os, name, primitives.refusing(f"it forks (os.{name})", getattr(os, name))))
        if (processes := sys.modules.get("subprocess")) is not None:
            popen = processes.Popen
            found.append((popen, "_execute_child", noting(popen._execute_child, primitives.started_process)))
        if (pools := sys.modules.get("multiprocessing.pool")) is not None and hasattr(pools.Pool, "_wait_for_updates"):
            wait = primitives.waiting_for_updates(pools.Pool._wait_for_updates)
            found.append((pools.Pool, "_wait_for_updates", staticmethod(wait)))
        if (loops := sys.modules.get("asyncio.base_events")) is not None:
            loop = loops.BaseEventLoop
            found.append(
                (loop, "run_forever", primitives.refusing("it runs an event loop (asyncio)", loop.run_forever, in_setup=True))
            )
        return found

    def _wrap_existing_locks(self, roots: Iterable[tuple[Any, str]]) -> None:
        """Wrap the locks that exist already, wherever these lead, each with its name."""
        wrapped: dict[int, Any] = {}
        of_name: Counter[str] = Counter()

        def wrapper(lock: Any, where: str) -> Any:
            if id(lock) not in wrapped:
                kind = primitives.Lock if type(lock) is _LOCK else primitives.RLock
                wrapped[id(lock)] = kind(lock, where, of_name[where])
                of_name[where] += 1
            return wrapped[id(lock)]

        seen: set[int] = set()
        sorts, contents = _Sorts(), Contents()
        waiting: deque[tuple[Any, str]] = deque(roots)
        while waiting and len(seen) < _MOST:
            thing, path = waiting.popleft()
            if id(thing) in seen or is_a(thing, _LEAVES):
                continue
            seen.add(id(thing))
            self._learn(thing if is_a(thing, type) else type(thing))
            for place, name, value in contents.of(thing):
                sort = sorts.of(value)
                if sort is _Sort.LEAF:
                    continue
                if sort is _Sort.WHOLE:
                    if id(value) not in seen:
                        waiting.append((value, f"{path}.{name}" if isinstance(name, str) else path))
                    continue
                if is_a(value, threading.local):
                    if type(value).__init__ is threading.local.__init__:
                        self._engine.thread_locals.append(value)
                    else:
                        self._engine.workers.fresh = True  # __init__ runs in each thread; this costs five times as much
                if (made := _rebuilt(value, wrapper, f"{path}.{name}")) is not None and not is_a(place, _FIXED):
                    self._set_anywhere(place, name, made)
                    waiting.append((value, f"{path}.{name}"))  # what else is in it
                elif (lock := _lock_behind(value)) is not None:
                    where = f"{path}.{name}" if isinstance(name, str) and lock is value else path
                    if not is_a(place, _FIXED):
                        self._set_anywhere(place, name, _with_lock(value, wrapper, where))
                elif not is_a(place, _FIXED) and (replacement := _replacement(value)) is not None:
                    unbound = is_a(place, type) and is_a(value, types.BuiltinFunctionType)
                    self._set_anywhere(place, name, staticmethod(replacement) if unbound else replacement)
                elif not is_a(value, _LEAVES) and id(value) not in seen:
                    waiting.append((value, f"{path}.{name}" if isinstance(name, str) else path))

    def _learn(self, kind: type) -> None:
        """Remember a class that is under test."""
        if id(kind) not in self._looked_at:
            self._looked_at[id(kind)] = kind
            if self._is_of_module_under_test(module_of_class(kind)):
                self._kinds.append(kind)

    def _is_of_module_under_test(self, name: object) -> bool:
        file = file_of_module(sys.modules.get(name)) if isinstance(name, str) else None
        return file is not None and self._engine.takes_part(file)

    def _set_anywhere(self, place: Any, name: Any, value: Any) -> None:
        """Keep this value in a place instead, until the check is over; a place that cannot be changed is left as it is."""
        if is_a(place, (dict, list, deque)):
            self._set_item(place, name, value)
        elif is_a(place, partial):
            if name in ("func", "args"):
                self._undo.append(partial(self._set_part, place, name, getattr(place, name)))
                self._set_part(place, name, value)
        elif is_a(place, types.CellType):
            before = place.cell_contents
            place.cell_contents = value
            self._undo.append(lambda: setattr(place, "cell_contents", before))
        elif isinstance(name, str) and hasattr(place, name):
            self._set(place, name, value)

    @staticmethod
    def _set_part(place: partial[Any], name: str, value: Any) -> None:
        changed: Any = place
        parts = {"func": place.func, "args": place.args, name: value}
        changed.__setstate__((parts["func"], parts["args"], place.keywords, vars(place)))

    def _set_item(self, place: Any, key: Any, value: Any) -> None:
        before = place[key]
        place[key] = value

        def undo() -> None:
            try:
                if place[key] is value:
                    place[key] = before
            except LookupError:  # the program removed it
                pass

        self._undo.append(undo)

    def _set(self, target: Any, name: str, value: Any) -> None:
        of_class = is_a(target, type) and name in vars(target)  # looked up, a static method is a function
        before = vars(target)[name] if of_class else getattr(target, name)
        try:
            setattr(target, name, value)
        except (AttributeError, TypeError):  # read-only or frozen: it is left as it is
            try:
                object.__setattr__(target, name, value)
            except (AttributeError, TypeError):
                return
        self._undo.append(lambda: _restore(target, name, before))


class _Sort(Enum):
    LEAF = auto()  # neither replaced, nor is anything in it
    WHOLE = auto()  # not replaced; there may be something in it
    OTHER = auto()  # to be looked at closely


class _Sorts:
    """Which objects have to be looked at closely. Of the tens of thousands of a check, most are told apart by their class."""

    def __init__(self) -> None:
        self._of_kinds: dict[int, tuple[_Sort, type]] = {}  # by id, with the class, so that no other gets its number

    def of(self, value: Any) -> _Sort:
        kind = type(value)
        if kind is types.FunctionType:
            if id(value) in _REPLACED:
                return _Sort.OTHER
            return _Sort.LEAF if _is_bare(value) else _Sort.WHOLE
        if kind is tuple:
            return _Sort.LEAF if only_atoms(value) else _Sort.OTHER
        found = self._of_kinds.get(id(kind))
        if found is None:
            found = self._of_kinds[id(kind)] = (_sort_of(kind), kind)
        if found[0] is _Sort.OTHER and kind in (type, types.BuiltinFunctionType) and id(value) not in _REPLACED:
            if kind is type:
                return _Sort.WHOLE
            return _Sort.OTHER if type(value.__self__) in (_LOCK, _RLOCK) else _Sort.LEAF
        return found[0]


def _sort_of(kind: type) -> _Sort:
    if id(kind) in _KINDS or kind in (_LOCK, _RLOCK) or issubclass(kind, (threading.local, tuple, staticmethod)):
        return _Sort.OTHER
    if issubclass(kind, _LEAVES) or (not issubclass(kind, _CONTAINERS) and not _has_attributes(kind)):
        return _Sort.LEAF
    return _Sort.WHOLE


def _has_attributes(kind: type) -> bool:
    """Whether the instances of a class have attributes of their own."""
    return bool(_dictoffset_of(kind)) or any("__slots__" in names_of(base) for base in bases_of(kind))


def _is_bare(function: types.FunctionType) -> bool:
    """Whether nothing but its code belongs to a function, which has the names of its module."""
    if function.__closure__ is not None or function.__defaults__ is not None or function.__kwdefaults__ is not None:
        return False
    home = sys.modules.get(function.__module__ or "")
    return not function.__dict__ and function.__globals__ is names_of_module(home)


def _lock_behind(value: Any) -> Any:
    """The lock that this is, or of which it is a method, as a Condition keeps them; None if neither."""
    lock = value.__self__ if is_a(value, types.BuiltinMethodType) else value
    return lock if type(lock) in (_LOCK, _RLOCK) else None


def _with_lock(value: Any, wrapper: Callable[[Any, str], Any], where: str) -> Any:
    """The replacement of a lock, or the method of one that replaces this; any other value itself."""
    lock = _lock_behind(value)
    if lock is None:
        return value
    wrapped = wrapper(lock, where)
    return wrapped if lock is value else getattr(wrapped, value.__name__, value)


def _rebuilt(value: Any, wrapper: Callable[[Any, str], Any], where: str, depth: int = 3) -> Any:
    """What to keep in the place of a tuple or static method in which there is a lock or a primitive; None if there is none."""
    if type(value) is staticmethod:
        replacement = _replacement(value.__func__)
        return None if replacement is None else staticmethod(replacement)
    if not is_a(value, tuple) or depth == 0 or tuple.__len__(value) > _MOST_IN_TUPLE:
        return None
    made = []
    for each in tuple.__iter__(value):
        found = _replacement(each)
        if found is None:
            found = _rebuilt(each, wrapper, where, depth - 1)
        made.append(_with_lock(each, wrapper, where) if found is None else found)
    if all(map(operator.is_, made, tuple.__iter__(value))):
        return None
    try:
        return tuple.__new__(type(value), made)
    except TypeError:  # a structure of C
        return None


def _restore(target: Any, name: str, before: Any) -> None:
    try:
        setattr(target, name, before)
    except (AttributeError, TypeError):
        object.__setattr__(target, name, before)


def _replacement(value: Any) -> Any:
    """The replacement of this primitive; None if it is not a primitive.

    Nothing else is hashed, which would run the user's code: a ``MagicMock`` records each such call, in lists that are searched too.
    """
    return _REPLACEMENTS.get(value) if id(type(value)) in _KINDS else None


def _may_change(module: Any) -> bool:
    if not is_a(module, types.ModuleType):
        return False
    name = str(names_of_module(module).get("__name__", ""))
    return name.partition(".")[0] not in NOT_CHANGED and not ours(file_of_module(module) or "")


_UNDERMINING = undermined.replacements(primitives._current)
_REPLACEMENTS: dict[Any, Any] = {
    **{getattr(module, name): replacement for module, name, replacement in _UNDERMINING},
    _thread.allocate_lock: primitives.Lock,
    threading.Lock: primitives.Lock,
    threading.RLock: primitives.RLock,
    primitives._RLock: primitives.RLock,
    _queue.SimpleQueue: primitives.SimpleQueue,
    _thread._local: primitives.Local,
    PUBLIC["sleep"]: primitives.sleep,
    PUBLIC["monotonic"]: primitives.monotonic,
    PUBLIC["monotonic_ns"]: primitives.monotonic_ns,
    PUBLIC["time"]: primitives.wall_clock,
    PUBLIC["time_ns"]: primitives.wall_clock_ns,
    PUBLIC["perf_counter"]: primitives.perf_counter,
    PUBLIC["perf_counter_ns"]: primitives.perf_counter_ns,
    PUBLIC["process_time"]: primitives.process_time,
    PUBLIC["process_time_ns"]: primitives.process_time_ns,
    PUBLIC["thread_time"]: primitives.process_time,
    PUBLIC["thread_time_ns"]: primitives.process_time_ns,
    dates.REAL["datetime"]: dates.VirtualDatetime,
    dates.REAL["date"]: dates.VirtualDate,
    _thread.start_new_thread: primitives.start_new_thread,
}
if "clock_gettime" in PUBLIC:
    _REPLACEMENTS[PUBLIC["clock_gettime"]] = primitives.clock_gettime
    _REPLACEMENTS[PUBLIC["clock_gettime_ns"]] = primitives.clock_gettime_ns
if "clock_settime" in PUBLIC:
    _REPLACEMENTS[PUBLIC["clock_settime"]] = primitives.clock_settime
    _REPLACEMENTS[PUBLIC["clock_settime_ns"]] = primitives.clock_settime_ns
if primitives._start_joinable is not None:
    _REPLACEMENTS[primitives._start_joinable] = primitives.start_joinable_thread
_KINDS = frozenset(id(type(primitive)) for primitive in _REPLACEMENTS)
_HOMES = (_thread, threading, _queue, *map(sys.modules.get, ("time", "datetime", "os", "sys")))
_EQUAL = [  # built-in functions that have a second name there, such as `_thread.allocate`, are equal and not identical
    value for home in _HOMES for value in vars(home).values() if type(value) is types.BuiltinFunctionType and value in _REPLACEMENTS
]
_REPLACED = frozenset(map(id, (*_REPLACEMENTS, *_EQUAL, repeatable.REAL_URANDOM)))
