"""What the functions of a program share with the code around them: a search in another process changes its own copies of it."""

from __future__ import annotations

import enum
import functools
import os
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from itertools import islice
from types import BuiltinFunctionType, FunctionType, MethodType, ModuleType
from typing import Any

from ..core.changes import OF_ENUMS, Looked, held_by
from ..core.classes import (
    bases_of,
    file_of_module,
    is_a,
    module_of_class,
    name_of_callable,
    names_of,
    names_of_module,
    qualified_name_of_class,
)
from ..core.origin import under_test
from ..core.source import with_nested
from ..engine.bytecode.code_facts import stores_of
from ..engine.program import Program

_CODE = frozenset({ModuleType, FunctionType, BuiltinFunctionType, staticmethod, classmethod, property})
_NOTHING = object()
_MOST, _MOST_IN = 500, 50  # functions and classes that are looked at, and those in one container
_LEVELS = 5  # of the state of a run
_CACHED = type(functools.lru_cache(len))


class SharedValues:
    """What closures, globals, classes, defaults and bound objects of a program's functions hold when this is made.

    Functions and classes under test that these refer to by name are followed. What only a call can reach is not seen. A global that
    the setup itself stores is made anew for each run, so it does not count, unless for what the threads refer to.

    Args:
        of_threads: whether only what the threads refer to matters.
        state: of a run: the classes of its objects are followed.
    """

    def __init__(self, program: Program, *, of_threads: bool = False, state: Sequence[object] = ()) -> None:
        of_others = () if of_threads else (program.setup, program.invariant)
        self._roots = (*program.threads, *of_others, *program.calls, *_classes_of(state))
        made = set() if of_threads else set(_stored_by(program.setup))  # a first run is told by what every later one finds anew
        self._of_threads = of_threads
        self._before = {name: Looked(value) for name, value in self._now() if name not in made}

    def _now(self) -> Iterator[tuple[str, Any]]:
        yield from _Reached(self._roots).values()
        if self._of_threads:  # the others of a process may change it as they like
            yield "os.environ", tuple(os.environ.items())

    def changed(self) -> tuple[str, ...]:
        """The names of those that have changed since then."""
        return self.changes()[0]

    def changes(self, now: SharedValues | None = None) -> tuple[tuple[str, ...], tuple[str, ...]]:
        """The names of those that have changed, and of those that have not only been made anew with the same content.

        Args:
            now: the values at present, which need not be looked at again if they are those of the same functions and classes.
        """
        if now is not None and [*map(id, now._roots)] == [*map(id, self._roots)]:
            looked = now._before
        else:
            values = dict(self._now())
            looked = {name: Looked(values[name]) for name in self._before if name in values}
        pairs = [(name, before, looked.get(name, _GONE)) for name, before in self._before.items()]
        changed = tuple(name for name, before, after in pairs if before.differs_from(after))
        return changed, tuple(name for name, before, after in pairs if before.has_other_content(after))


_GONE = Looked(_NOTHING)


class FirstRun:
    """What only the first run of a program finds, because it stays as the first run leaves it: a cache, a lazily made singleton.

    The races of its making are in no schedule of any later run. Looked at by `begins`, whenever a run begins; and what one of the
    runs after that has changed for the others, such as a flag that turns a path off, by `begins_once_more`.
    """

    _RUNS = 3  # the first, the second, and one that tells what changes each time

    def __init__(self, program: Program) -> None:
        self._program = program
        self._last: SharedValues | None = None
        self._changed: list[tuple[str, ...]] = []
        self._content: list[tuple[str, ...]] = []  # likewise, of what is not only made anew
        self._at_last: tuple[str, ...] = ()

    def begins(self, state: Sequence[object]) -> None:
        """The state of a run has been made, and its threads are about to begin."""
        if len(self._changed) == self._RUNS - 1:
            return
        try:
            now = SharedValues(self._program, of_threads=True, state=state)
            if self._last is not None:
                for kept, names in zip((self._changed, self._content), self._last.changes(now), strict=True):
                    kept.append(names)
            self._last = now
        except Exception:  # of a metaclass of the program, which lets nobody look at its classes
            self._changed = self._content = [()] * (self._RUNS - 1)

    @property
    def alone_found(self) -> tuple[str, ...]:
        """The names of it."""
        if len(self._changed) < self._RUNS - 1:
            return ()
        found = [
            name for first, later in (self._changed, self._content) for name in first if name not in later
        ]  # `CONFIG = {**CONFIG, key: 1}` makes it anew in each run, and only the first one adds the key
        return tuple(dict.fromkeys(found))

    @property
    def changed_by_each(self) -> tuple[str, ...]:
        """The names of what each run leaves otherwise than it found it, such as a list that grows."""
        if len(self._content) < self._RUNS - 1:
            return ()
        first, later = self._content
        return tuple(name for name in first if name in later)

    def begins_once_more(self, state: Sequence[object]) -> None:
        """The state of one more run has been made, after all others."""
        if self._last is None or len(self._changed) < self._RUNS - 1:
            return
        with suppress(Exception):  # as above
            self._at_last = self._last.changed()

    @property
    def changed_since(self) -> tuple[str, ...]:
        """The names of what a later run has changed, and not each run."""
        return tuple(name for name in self._at_last if not any(name in each for each in self._changed))


def reached_by_name(functions: Sequence[Callable[..., object]]) -> Iterator[tuple[str, Any]]:
    """What these functions refer to by name, and those under test that they refer to: (name in words, value)."""
    return _Reached(functions).values()


class _Reached:
    """Follows the names that functions look up; the same names in the same order each time."""

    def __init__(self, roots: Sequence[Callable[..., object] | type | None]) -> None:
        self._roots = roots
        self._seen: set[int] = set()

    def values(self) -> Iterator[tuple[str, Any]]:
        for root in self._roots:
            yield from self._of(root, f"what is bound to {name_of_callable(root)}")

    def _of(self, value: Any, name: str) -> Iterator[tuple[str, Any]]:
        """The value, under this name; or what is behind it, if it is code."""
        kind = type(value)
        if kind is functools.partial:
            yield from self._of(value.func, name)
            yield name, (*value.args, *value.keywords.values())
        elif kind is MethodType:
            yield from self._of(value.__func__, name)
            yield from self._of(value.__self__, name)
        elif kind in (staticmethod, classmethod):
            yield from self._of(value.__func__, name)
        elif kind is _CACHED:
            yield from self._of(value.__wrapped__, name)
        elif kind is property:
            yield from self._of(value.fget, name)
            yield from self._of(value.fset, name)
        elif kind is FunctionType or is_a(value, type):
            if id(value) not in self._seen and len(self._seen) < _MOST:
                self._seen.add(id(value))
                yield from self._of_function(value) if kind is FunctionType else self._of_class(value)
        elif value is None:
            yield name, value
        elif kind in (dict, list, tuple):
            yield name, value
            for each in list(islice(value.values() if kind is dict else value, _MOST_IN)):
                if type(each) in _CODE:
                    yield from self._of(each, f"a function in {name}")
        elif kind not in _CODE:
            yield name, value
            yield from self._of(kind, name)

    def _of_function(self, function: FunctionType) -> Iterator[tuple[str, Any]]:
        file = function.__code__.co_filename
        if not (under_test(file) or (file.startswith("<") and not file.startswith("<frozen"))):
            return
        for name, cell in zip(function.__code__.co_freevars, function.__closure__ or (), strict=False):
            with suppress(ValueError):  # not assigned yet
                yield from self._of(cell.cell_contents, f"{name!r} of {function.__code__.co_qualname}")
        names = list(dict.fromkeys(name for code in with_nested(function.__code__) for name in code.co_names))
        yield from self._of_module(function.__globals__, function.__module__, names)
        for name in _stored_globals(function):
            if name not in function.__globals__:  # not yet
                yield _global(name, function.__module__), _NOTHING
        for value in (*(function.__defaults__ or ()), *(function.__kwdefaults__ or {}).values()):
            yield from self._of(value, f"a default of {function.__code__.co_qualname}")
        for name, value in vars(function).items():
            yield from self._of(value, f"attribute {name!r} of {function.__code__.co_qualname}")
        yield f"the attributes of {function.__code__.co_qualname}", tuple(vars(function))

    def _of_module(self, variables: dict[str, Any], module: str | None, names: list[str]) -> Iterator[tuple[str, Any]]:
        for name in names:
            if name.startswith("@"):  # what pytest adds to the assertions of a module
                continue
            value: Any = variables.get(name)
            if is_a(value, ModuleType):
                if under_test(file_of_module(value) or "<") and id(value) not in self._seen:
                    self._seen.add(id(value))
                    yield from self._of_module(names_of_module(value), str(names_of_module(value).get("__name__")), names)
            elif name in variables:
                yield from self._of(value, _global(name, module))

    def _of_class(self, kind: type) -> Iterator[tuple[str, Any]]:
        for base in bases_of(kind):
            module_name = module_of_class(base)
            module = sys.modules.get(module_name)
            if module_name != "__main__" and not under_test(file_of_module(module) or "<"):
                continue
            values = []
            for name, part in names_of(base).items():
                if type(part) in _CODE or is_a(part, type):
                    yield from self._of(part, f"{name!r} of class {qualified_name_of_class(base)}")
                elif not name.startswith("__") and not (name in OF_ENUMS and is_a(kind, enum.EnumType)):
                    values += [name, part]
            yield f"class {qualified_name_of_class(base)}", tuple(values)


def _classes_of(state: Sequence[object]) -> tuple[type, ...]:
    """The classes of these objects, and of what they hold, a few levels deep."""
    found: dict[int, type] = {}
    level = list(state)
    for _ in range(_LEVELS):
        below: list[object] = []
        for each in level[:_MOST]:
            kind = each if is_a(each, type) else type(each)
            found[id(kind)] = kind  # type: ignore[assignment]
            below += _parts(each)
        level = below
    return tuple(found.values())


def _parts(thing: Any) -> list[object]:
    """What an object holds, or what is bound to a function."""
    if type(thing) is functools.partial:
        return [thing.func, *thing.args, *thing.keywords.values()]
    if type(thing) is MethodType:
        return [thing.__func__, thing.__self__]
    if type(thing) is not FunctionType:
        return held_by(thing)
    found = list(thing.__defaults__ or ())
    for cell in thing.__closure__ or ():
        with suppress(ValueError):  # not assigned yet
            found.append(cell.cell_contents)
    return found


def _global(name: str, module: str | None) -> str:
    return f"{name!r} of module {module}"


def _stored_by(setup: Any) -> Iterator[str]:
    """The globals that a setup stores, which is a function or makes an instance of a class; what these call is not followed."""
    function = getattr(setup, "__init__", None) if is_a(setup, type) else setup
    if type(function) is FunctionType:
        for name in _stored_globals(function):
            yield _global(name, function.__module__)


def _stored_globals(function: FunctionType) -> Iterator[str]:
    return (name for opname, name in stores_of(function.__code__) if opname == "STORE_GLOBAL")
