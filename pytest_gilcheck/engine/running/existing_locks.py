"""Finds the locks that exist when a check begins, wherever the program can reach them, and the primitives beside their names.

A module is searched once anything leads to it, by an object, a name or an import in the user's code; an installed package as a
whole. Most packages that are loaded belong to pytest's plugins, and are 9,000 objects of 10,000 for a small test. Most of the
user's modules are those of other tests: beside our own suite, a check looked at 23,700 objects. A name leads to each
module of the user that ends with it, whatever the name stands for: so a relative import, or an attribute of a package, leads there.

What does not work: searching the whole heap (``gc.get_referrers`` takes longer than the search for schedules, and finds the locks
of all other code); replacing a lock in a set or in C. A thread that blocks on such a lock is noticed then (`watchdog`).
"""

from __future__ import annotations

import _thread
import opcode
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
from ...core.origin import of_package
from ...core.source import with_nested
from . import primitives
from .contents import ATOMS, Contents, only_atoms
from .engine import Engine
from .repeatable import Repeatable
from .replaced import KINDS, REPLACED, replacement_of
from .undoing import Undoing

_LOCK, _RLOCK = type(_thread.allocate_lock()), type(primitives._RLock())
_dictoffset_of = type.__dict__["__dictoffset__"].__get__  # without asking the metaclass
_IMPORT = opcode.opmap["IMPORT_NAME"]
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
        self._wrapped: dict[int, Any] = {}  # by the id of the real lock, of which two that wait must meet at one
        self._of_name: Counter[str] = Counter()
        self._packages: dict[str, list[tuple[Any, str]]] = {}  # installed ones that nobody has reached, with the names of modules
        self._modules: dict[str, list[tuple[Any, str]]] = {}  # others, by the last part of their names
        self._reached: list[tuple[Any, str]] = []
        self._asked: set[str] = set()  # names of modules, and packages
        self._named: set[str] = set()  # last parts
        self._kinds_asked: set[int] = set()  # by id

    def later(self, names: Any, module: str, *, of_package: bool) -> None:
        """Search this module as soon as anything leads to it, or to the installed package that it is of."""
        key = module.partition(".")[0] if of_package else module.rpartition(".")[2]
        if key in (self._asked if of_package else self._named):
            self._reached.append((names, module))
        else:
            (self._packages if of_package else self._modules).setdefault(key, []).append((names, module))

    def take_reached(self) -> list[tuple[Any, str]]:
        """What was reached, and is to be searched."""
        found, self._reached = self._reached, []
        return found

    def reach(self, module: object) -> None:
        """Something of this module, or the module itself, is within reach of the program; and so is all of its package."""
        if type(module) is str and module not in self._asked:
            package = module.partition(".")[0]
            self._asked |= {module, package}
            self._reached += self._packages.pop(package, [])
            self._name(module.rpartition(".")[2])

    def _name(self, part: str) -> None:
        """The user's modules whose names end so are within reach."""
        if part not in self._named:
            self._named.add(part)
            self._reached += self._modules.pop(part, [])

    def _reach_by(self, value: Any, kind: type) -> None:
        """What this refers to without a name that is searched: where it was defined, and what it may import."""
        if id(kind) not in self._kinds_asked:
            self._kinds_asked.add(id(kind))
            self.reach(module_of_class(kind))
        if kind is types.BuiltinFunctionType:
            self.reach(value.__module__)
        elif kind is types.FunctionType:
            self.reach(value.__module__)
            if not of_package(value.__code__.co_filename):
                for code in with_nested(value.__code__):
                    lead = self.reach if _IMPORT in code.co_code[::2] else self._name  # it may import what has such a name
                    for name in code.co_names:
                        lead(name)
        elif issubclass(kind, type):
            self.reach(module_of_class(value))
        elif kind is types.ModuleType:
            self.reach(names_of_module(value).get("__name__"))

    def _wrapper(self, lock: Any, where: str) -> Any:
        if id(lock) not in self._wrapped:
            kind = primitives.Lock if type(lock) is _LOCK else primitives.RLock
            self._wrapped[id(lock)] = kind(lock, where, self._of_name[where])
            self._of_name[where] += 1
        return self._wrapped[id(lock)]

    def wrap(self, roots: Iterable[tuple[Any, str]], changes: Undoing, seen: set[int]) -> None:
        """Wrap the locks that exist already, wherever these lead, each with its name; and note which packages these lead to.

        Args:
            seen: the ids of objects that have just been searched.
        """
        wrapper = self._wrapper
        sorts, contents = _Sorts(), Contents()
        waiting: deque[tuple[Any, str]] = deque(roots)
        while waiting and len(seen) < _MOST:
            thing, path = waiting.popleft()
            if id(thing) in seen or is_a(thing, _LEAVES):
                continue
            seen.add(id(thing))
            self._learn(thing if is_a(thing, type) else type(thing))
            if type(thing) is types.FunctionType:
                self._reach_by(thing, types.FunctionType)
            for place, name, value in contents.of(thing):
                if type(value) is types.ModuleType and names_of_module(value).get("__name__") == f"{path}.{name}":
                    continue  # a package has its modules; what uses one has its name
                self._reach_by(value, type(value))
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
            self.reach(module_of_class(kind))
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
