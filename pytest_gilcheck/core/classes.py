"""The class that an object really has, without asking the object."""

from __future__ import annotations

from collections.abc import Awaitable, Iterator, Mapping, Set
from itertools import chain, compress
from types import AsyncGeneratorType, CoroutineType, GeneratorType, GetSetDescriptorType, MemberDescriptorType, ModuleType
from typing import Any

_mro_of, _dict_of, _module_of, _name_of, _qualname_of, _flags_of = (
    type.__dict__[name].__get__ for name in ("__mro__", "__dict__", "__module__", "__name__", "__qualname__", "__flags__")
)
_HEAP_TYPE = 1 << 9  # of the flags of a type
_names_of_module: Any = vars(ModuleType)["__dict__"].__get__


def bases_of(kind: type) -> tuple[type, ...]:
    """The method resolution order of a class, without asking its metaclass."""
    return kind.__mro__ if type(kind) is type else _mro_of(kind)


def names_of(kind: type) -> Mapping[str, Any]:
    """What a class itself defines, without asking its metaclass."""
    return kind.__dict__ if type(kind) is type else _dict_of(kind)


def made_at_run_time(kind: type) -> bool:
    """Whether this is a heap type, as all classes of Python code are; its attributes can be stored to."""
    return bool((kind.__flags__ if type(kind) is type else _flags_of(kind)) & _HEAP_TYPE)


def in_class(kind: Any, name: str) -> Any:
    """What a class defines or inherits under a name, without asking its metaclass; None if nothing."""
    for base in bases_of(kind):
        if name in (names := names_of(base)):
            return names[name]
    return None


def derived_from(kind: type) -> Iterator[type]:
    """A class and all that are derived from it, each once, level by level: in C, because a process has thousands."""
    found = level = {id(kind): kind}
    while level:
        below: list[type] = list(chain.from_iterable(map(type.__subclasses__, level.values())))
        level = {key: each for key, each in zip(map(id, below), below, strict=True) if key not in found}
        found = found | level
    return iter(found.values())


def classes_of(modules: Set[str]) -> Iterator[type]:
    """All classes of the modules of these names."""
    kinds = list(derived_from(object))
    return compress(kinds, map(modules.__contains__, map(str, map(_module_of, kinds))))


def attributes_of(thing: object) -> Iterator[tuple[str, Any]]:
    """Names and values of an object's own attributes, in its ``__dict__`` and its slots, without asking it."""
    for base in bases_of(type(thing)):
        for name, found in list(names_of(base).items()):
            if name == "__dict__" and type(found) in (GetSetDescriptorType, MemberDescriptorType):
                yield from list(found.__get__(thing).items())
            elif type(found) is MemberDescriptorType:
                try:
                    yield name, found.__get__(thing)
                except AttributeError:  # the slot is still empty
                    continue


def names_of_module(module: object) -> dict[str, Any]:
    """The names of a module, without asking it: a lazy one would be imported by that, or raise that it cannot be.

    Empty for what is no module; `sys.modules` may hold anything.
    """
    found: dict[str, Any] | None = _names_of_module(module) if is_a(module, ModuleType) else None
    return {} if found is None else found  # None if ``__init__`` has not been called


def file_of_module(module: object) -> str | None:
    """The file of a module, or of what stands in `sys.modules` for one, without asking it; None if it has none."""
    own = names_of_module(module) if is_a(module, ModuleType) else dict(attributes_of(module))
    found = own.get("__file__")
    return found if type(found) is str else None


def module_of_class(kind: type) -> str:
    """The name of the module of a class, without asking its metaclass."""
    return str(_module_of(kind))


def name_of_class(kind: type) -> str:
    """The name of a class, without asking its metaclass."""
    return str(_name_of(kind))


def qualified_name_of_class(kind: type) -> str:
    """The qualified name of a class (PEP 3155), without asking its metaclass."""
    return str(_qualname_of(kind))


def full_name_of_class(kind: type) -> str:
    """The qualified name of a class, behind that of its module; of a built-in class alone."""
    name = qualified_name_of_class(kind)
    return name if (module := module_of_class(kind)) == "builtins" else f"{module}.{name}"


def name_of_callable(function: object) -> str:
    """The qualified name of a function or a class; of another object, such as a `functools.partial`, the name of its class."""
    if is_a(function, type):
        return qualified_name_of_class(function)  # type: ignore[arg-type]
    try:
        name: object = function.__qualname__  # type: ignore[attr-defined]
    except Exception:  # of the object's own code
        name = None
    return name if isinstance(name, str) else name_of_class(type(function))


def is_a(value: object, kinds: type | tuple[type, ...]) -> bool:
    """Whether the value's own class is one of these, or derived from it.

    ``isinstance`` asks the value for its ``__class__``, which is the user's code: a lazy object or a proxy makes what it stands
    for, and raises if that cannot be made now.
    """
    return issubclass(type(value), kinds)


def dictionary_of(thing: object) -> dict[str, Any] | None:
    """The ``__dict__`` of an instance, or None. (`gc.get_referents` does not show it, from 3.13 on.)"""
    of_class = in_class(type(thing), "__dict__")
    if is_a(thing, type) or type(of_class) is not GetSetDescriptorType:  # anything else is code of the program
        return None
    kept = of_class.__get__(thing)
    return kept if type(kept) is dict else None


def is_unfinished(value: object) -> bool:
    """Whether this is something to be awaited or iterated over, a coroutine for instance, in which no work has been done so far.

    A proxy has all special methods that what it stands for may have, and ``__await__`` among them, which says nothing.
    """
    kind = type(value)
    if issubclass(kind, (CoroutineType, GeneratorType, AsyncGeneratorType)):
        return True
    return not computes_its_class(kind) and issubclass(kind, Awaitable)


def computes_its_class(kind: type) -> bool:
    """Whether instances have a ``__class__`` of their own, as those of a proxy, which is not to be asked for it."""
    return in_class(kind, "__class__") is not CLASS


CLASS = names_of(object)["__class__"]  # the descriptor of all objects that compute none of their own
