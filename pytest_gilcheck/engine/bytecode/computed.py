"""Which attributes are computed: by a descriptor of a class under test, by a type in C, or by a class of the standard library.

A load of such an attribute needs a step though no instruction stores it. The classes that there are tell which they are. A name too
many costs steps and nothing else, so no more is asked than where a class has a descriptor.
"""

from __future__ import annotations

import sys
import types
import weakref
from collections.abc import Iterable, Iterator, Set
from types import BuiltinFunctionType, FunctionType, GetSetDescriptorType, MemberDescriptorType

from ...core.classes import bases_of, derived_from, in_class, module_of_class, names_of
from ...core.lookup import looked_up

_CHANGED_BY_C = frozenset({"timezone", "altzone", "daylight", "tzname", "__notes__", "value"})  # and no type shows it
_CONSTANT_IN_C = frozenset(  # attributes of the standard library in C that do not change, and that much code uses for its own
    {
        "name", "mode", "path", "type", "size", "offset", "args", "kwargs", "proto", "family", "digest_size", "block_size",
        "typecode", "itemsize", "var", "old_value", "connection", "pattern", "version", "default", "indent", "strict", "dialect",
        "id", "time", "closefd", "delimiter", "check", "protocol", "server_side", "server_hostname", "ident",
    }
)  # fmt: skip
_IMMUTABLE = frozenset(  # modules and classes of the standard library whose attributes do not change once they are initialised
    {
        "pathlib", "enum", "inspect.Parameter", "inspect.Signature", "ipaddress", "fractions", "uuid", "typing", "statistics",
        "urllib.parse", "ast", "types", "numbers", "zoneinfo", "importlib.metadata", "importlib.resources", "importlib.abc",
        "annotationlib", "dis", "dataclasses", "tokenize", "operator", "_operator", "functools", "abc", "re", "socket", "asyncio",
        "http.HTTPStatus", "platform", "bz2", "lzma", "datetime", "decimal", "itertools", "_struct", "collections.deque",
        "collections.defaultdict", "builtins.int", "builtins.float", "builtins.complex", "builtins.slice", "builtins.range",
        "builtins.property", "builtins.code",
    }
)  # fmt: skip
_BOUND = frozenset({FunctionType, BuiltinFunctionType, classmethod, staticmethod, MemberDescriptorType})  # they compute nothing


def kept_in_c(kind: type) -> Iterator[str]:
    """The names of what C keeps in an instance of this class, which its ``__init__`` stores anew: ``maxlen`` of a deque."""
    for base in bases_of(kind)[:-1]:
        for name, member in names_of(base).items():
            if type(member) in (MemberDescriptorType, GetSetDescriptorType) and not name.startswith("__"):
                yield name


def is_borrowed(method: object, kind: type) -> bool:
    """Whether a method is no function, and not what a class in C has of its own."""
    return method is not None and type(method) is not FunctionType and getattr(method, "__objclass__", None) is not kind


def computed_by(kind: type) -> Iterator[str]:
    """The names under which a class has a descriptor that may compute something."""
    for name, value in list(names_of(kind).items()):
        renamed = type(value) is MemberDescriptorType and value.__name__ != name  # a slot that is stored under another name
        if type(value) is GetSetDescriptorType and name.startswith("__"):  # `__dict__`, `__weakref__`
            continue
        if renamed or (type(value) not in _BOUND and in_class(type(value), "__get__") is not None):
            yield name


def _is_in_python(descriptor: object) -> bool:
    return type(descriptor) is property or type(in_class(type(descriptor), "__get__")) is FunctionType


class _ComputedElsewhere:
    """The names of attributes that a type in C, or a class of the standard library, computes from a state that changes.

    No store instruction changes them, and no step is made when they are read. What is known stays known, also in the forks of this
    process: a name too many costs steps.
    """

    def __init__(self) -> None:
        self._names = set(_CHANGED_BY_C)
        self._modules = 0  # that were there when this has looked last: a module that is imported brings types of its own
        self._looked_at: dict[int, weakref.ref[type]] = {}  # by id; a class may come to the address of one that has ended

    def names(self) -> Set[str]:
        if self._modules != len(sys.modules):
            self._modules = len(sys.modules)
            self._look()
        return self._names

    def _look(self) -> None:
        known = self._looked_at
        new = [kind for kind in derived_from(object) if (seen := looked_up(known, id(kind))) is None or seen() is not kind]
        known.update((id(kind), weakref.ref(kind)) for kind in new)
        self._names |= _computed_in(new)


def _computed_in(kinds: Iterable[type]) -> set[str]:
    found: set[str] = set()
    for kind in kinds:
        names, standard = names_of(kind), of_the_library(kind)
        if standard and _is_immutable(kind):
            continue
        if standard:  # and Python code computes it; but ``name``, of threads and log handlers, much code uses for its own
            found |= {name for name in computed_by(kind) if name != "name" and _is_in_python(names[name])}
        if "__slots__" in names or issubclass(kind, tuple):  # a slot of Python changes by stores alone
            continue
        of_errors = standard and issubclass(kind, BaseException)  # C stores their members where it initialises them (`kept_in_c`)
        kept = (GetSetDescriptorType,) if of_errors else (GetSetDescriptorType, MemberDescriptorType)
        members = {name for name, value in list(names.items()) if type(value) in kept}
        found |= members - _CONSTANT_IN_C if standard else members
    return found


def _is_immutable(kind: type) -> bool:
    parts = (*module_of_class(kind).split("."), kind.__name__)
    return any(".".join(parts[:count]) in _IMMUTABLE for count in range(1, len(parts) + 1))


_elsewhere = _ComputedElsewhere()


def computed_elsewhere() -> Set[str]:
    """The names of attributes that a class of this process, which is not the program's, computes from a state that changes."""
    return _elsewhere.names()


def of_the_library(kind: type) -> bool:
    """Whether a class is one of the standard library, and not one that `types` has made for a program."""
    module = module_of_class(kind)
    if module == "types" and getattr(types, kind.__name__, None) is not kind:
        return False
    return module.partition(".")[0] in sys.stdlib_module_names
