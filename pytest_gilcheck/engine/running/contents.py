"""List what an object refers to by a name, to find locks and primitives.

A check inspects thousands of objects before its first run. How to inspect an object depends on its class alone, so that is found
out once for each class.
"""

from __future__ import annotations

import gc
import sys
import threading
import types
import weakref
from collections import deque
from collections.abc import Callable, Iterator
from functools import partial
from itertools import islice
from typing import Any

from ...core.classes import bases_of, file_of_module, module_of_class, name_of_class, names_of, names_of_module
from ...core.origin import ours

ATOMS = (str, bytes, int, float, complex, bool, type(None))  # classes of values that refer to nothing
_ATOMS = frozenset(map(id, ATOMS))  # by id: the hash of a class may be code of the program
NOT_CHANGED = (
    "_pytest",
    "pytest",
    "pluggy",
    "hypothesis",
    "xdist",
    "execnet",
    "importlib",
    "_frozen_importlib",
    "_thread",
    "_queue",
)
_MOST = 1000  # of a sequence or a set

Found = list[tuple[Any, Any, Any]]  # (where it is kept, under which name, the object)
_Reader = Callable[[Any], Found]


def only_atoms(values: tuple[Any, ...], depth: int = 2) -> bool:
    """Whether there are only atoms in a tuple and in the tuples in it; False if these are nested deeper than ``depth``."""
    others = [each for each in tuple.__iter__(values) if id(type(each)) not in _ATOMS]
    return not others or (depth > 1 and all(type(each) is tuple and only_atoms(each, depth - 1) for each in others))


class Contents:
    """The readers of one check, by class. A new check needs new ones, because the program may change a class in between."""

    def __init__(self) -> None:
        self._readers: dict[int, tuple[_Reader, type]] = {}  # by id, with the class, so that no other gets its number

    def of(self, thing: Any) -> Found:
        """List everything that an object refers to by a name, without atoms."""
        kind = type(thing)
        known = self._readers.get(id(kind))
        if known is None:
            known = self._readers[id(kind)] = (self._reader_of(kind), kind)
        return known[0](thing)

    def _reader_of(self, kind: type) -> _Reader:
        for kinds, reader in _READERS:
            if issubclass(kind, kinds):
                return reader
        if module_of_class(kind).partition(".")[0] in NOT_CHANGED or issubclass(kind, threading.Thread):
            return _nothing
        return partial(_attributes, _slots(kind))


def _nothing(thing: Any) -> Found:
    return []


def _items(thing: Any) -> Found:
    return [(thing, key, value) for key, value in list(dict.items(thing)) if id(type(value)) not in _ATOMS]


def _elements(iterate: Callable[[Any], Iterator[Any]], thing: Any) -> Found:
    return [(thing, index, value) for index, value in enumerate(islice(iterate(thing), _MOST)) if id(type(value)) not in _ATOMS]


def _members(iterate: Callable[[Any], Iterator[Any]], thing: Any) -> Found:
    return [(thing, None, value) for value in islice(iterate(thing), _MOST) if id(type(value)) not in _ATOMS]


def _behind_a_proxy(thing: Any) -> Found:
    return [(thing, "of", kept) for kept in gc.get_referents(thing)]


def _parts(thing: Any) -> Found:
    return [(thing, "func", thing.func), (thing, "args", thing.args), (thing, "keywords", thing.keywords)]


def _of_function(thing: Any) -> Found:
    if ours(thing.__code__.co_filename):
        return []
    cells = [cell for cell in thing.__closure__ or () if _filled(cell)]
    found: Found = [(cell, "cell", cell.cell_contents) for cell in cells]
    home = sys.modules.get(thing.__module__ or "")
    if thing.__globals__ is not (names_of_module(home) or thing.__globals__):  # made of a text, with names of its own
        found.append((thing, None, thing.__globals__))
    return [
        *found,
        (thing, "__defaults__", thing.__defaults__ or ()),
        (thing, "keywords", thing.__kwdefaults__ or {}),
        *((vars(thing), key, value) for key, value in vars(thing).items()),
    ]


def _of_method(thing: Any) -> Found:
    return [(thing, "self", thing.__self__), (thing, "function", thing.__func__)]


def _of_class(thing: Any) -> Found:
    module = module_of_class(thing)
    if module in sys.stdlib_module_names or ours(file_of_module(sys.modules.get(module)) or ""):
        return []
    return [(thing, key, value) for key, value in list(names_of(thing).items()) if id(type(value)) not in _ATOMS]


def _wrapped(thing: Any) -> Found:
    return [(thing, "function", thing.__func__)]


def _of_property(thing: Any) -> Found:
    return [(thing, name, getattr(thing, name)) for name in ("fget", "fset") if getattr(thing, name) is not None]


def _attributes(slots: list[str], thing: Any) -> Found:
    try:
        kept = object.__getattribute__(thing, "__dict__")  # and not what the user's code says that it is
    except AttributeError:
        kept = None
    found: Found = _items(kept) if issubclass(type(kept), dict) else []
    for name in slots:
        try:
            found.append((thing, name, object.__getattribute__(thing, name)))
        except AttributeError:
            continue
    if issubclass(type(thing), weakref.ref):  # logging refers to its handlers this way
        found.append((thing, "target", thing()))
    return found


def _slots(kind: type) -> list[str]:
    """Return the names of the slots that the instances of a class have."""
    found: list[str] = []
    for base in bases_of(kind):
        slots = names_of(base).get("__slots__", ())
        for name in (slots,) if isinstance(slots, str) else slots:
            if name.startswith("__") and not name.endswith("__"):
                name = f"_{name_of_class(base).lstrip('_')}{name}"  # as the compiler does
            found.append(name)
    return found


def _filled(cell: types.CellType) -> bool:
    try:
        cell.cell_contents  # noqa: B018
    except ValueError:
        return False
    return True


_READERS: list[tuple[tuple[type, ...], _Reader]] = [
    ((dict,), _items),
    *(((kind,), partial(_elements, kind.__iter__)) for kind in (list, deque)),  # a derived class may do anything else
    *(((kind,), partial(_members, kind.__iter__)) for kind in (tuple, set, frozenset)),
    ((types.MappingProxyType,), _behind_a_proxy),
    ((partial,), _parts),
    ((types.FunctionType,), _of_function),
    ((types.MethodType,), _of_method),
    ((type,), _of_class),
    ((staticmethod, classmethod), _wrapped),
    ((property,), _of_property),
]
