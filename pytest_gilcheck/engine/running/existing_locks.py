"""Finds the locks that exist when a check begins, wherever the program can reach them, and the primitives beside their names.

What does not work: searching the whole heap (``gc.get_referrers`` takes longer than the search for schedules, and finds the locks
of all other code); replacing a lock in a set or in C. A thread that blocks on such a lock is noticed then (`watchdog`).
"""

from __future__ import annotations

import _thread
import operator
import sys
import threading
import types
import weakref
from collections import Counter, deque
from collections.abc import Callable, Iterable
from enum import Enum, auto
from functools import partial
from typing import Any

from ...core.classes import bases_of, is_a, module_of_class, names_of, names_of_module
from . import primitives
from .contents import ATOMS, Contents, only_atoms
from .engine import Engine
from .repeatable import Repeatable
from .replaced import KINDS, REPLACED, replacement_of
from .undoing import Undoing

_LOCK, _RLOCK = type(_thread.allocate_lock()), type(primitives._RLock())
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


class ExistingLocks:
    """Those of one session.

    Args:
        under_test: whether a class is under test, by the name of its module.

    Attributes:
        kinds: the classes under test that were found on the way.
    """

    def __init__(self, engine: Engine, under_test: Callable[[object], bool]) -> None:
        self._engine, self._under_test = engine, under_test
        self.kinds: list[type] = []
        self._looked_at: dict[int, type] = {}  # by id: the hash of a class may be code of the program

    def wrap(self, roots: Iterable[tuple[Any, str]], changes: Undoing) -> None:
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
                    changes.set_anywhere(place, name, made)
                    waiting.append((value, f"{path}.{name}"))  # what else is in it
                elif (lock := _lock_behind(value)) is not None:
                    where = f"{path}.{name}" if isinstance(name, str) and lock is value else path
                    if not is_a(place, _FIXED):
                        changes.set_anywhere(place, name, _with_lock(value, wrapper, where))
                elif not is_a(place, _FIXED) and (replacement := replacement_of(value)) is not None:
                    unbound = is_a(place, type) and is_a(value, types.BuiltinFunctionType)
                    changes.set_anywhere(place, name, staticmethod(replacement) if unbound else replacement)
                elif not is_a(value, _LEAVES) and id(value) not in seen:
                    waiting.append((value, f"{path}.{name}" if isinstance(name, str) else path))

    def _learn(self, kind: type) -> None:
        """Remember a class that is under test."""
        if id(kind) not in self._looked_at:
            self._looked_at[id(kind)] = kind
            if self._under_test(module_of_class(kind)):
                self.kinds.append(kind)


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
            if id(value) in REPLACED:
                return _Sort.OTHER
            return _Sort.LEAF if _is_bare(value) else _Sort.WHOLE
        if kind is tuple:
            return _Sort.LEAF if only_atoms(value) else _Sort.OTHER
        found = self._of_kinds.get(id(kind))
        if found is None:
            found = self._of_kinds[id(kind)] = (_sort_of(kind), kind)
        if found[0] is _Sort.OTHER and kind in (type, types.BuiltinFunctionType) and id(value) not in REPLACED:
            if kind is type:
                return _Sort.WHOLE
            return _Sort.OTHER if type(value.__self__) in (_LOCK, _RLOCK) else _Sort.LEAF
        return found[0]


def _sort_of(kind: type) -> _Sort:
    if id(kind) in KINDS or kind in (_LOCK, _RLOCK) or issubclass(kind, (threading.local, tuple, staticmethod)):
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
        replacement = replacement_of(value.__func__)
        return None if replacement is None else staticmethod(replacement)
    if not is_a(value, tuple) or depth == 0 or tuple.__len__(value) > _MOST_IN_TUPLE:
        return None
    made = []
    for each in tuple.__iter__(value):
        found = replacement_of(each)
        if found is None:
            found = _rebuilt(each, wrapper, where, depth - 1)
        made.append(_with_lock(each, wrapper, where) if found is None else found)
    if all(map(operator.is_, made, tuple.__iter__(value))):
        return None
    try:
        return tuple.__new__(type(value), made)
    except TypeError:  # a structure of C
        return None
