"""What operators ask of the instances of a class: code under test, which makes steps of its own, or a container or value in C.

A class that is derived from a container (``class Recent(OrderedDict)``), or from ``str``, ``int``, ``tuple`` and their like, and
defines none of the special methods that an operator asks for is such a container or value to it. So is an instance with a few
special methods of its own to a method in C of the container that asks for none of these: ``super().__setitem__(key, value)``.
"""

from __future__ import annotations

import collections
from types import FunctionType, GetSetDescriptorType, MemberDescriptorType
from typing import Any

from ...core.classes import bases_of, in_class, made_at_run_time, names_of
from ...core.lookup import looked_up
from ...core.origin import ours
from .calls import CONTAINER_BASES, UnderTest, function_makes_steps

_DATA = frozenset(
    {"__dict__", "__weakref__", "__doc__", "__name__", "__qualname__", "__module__", "__wrapped__", "__annotations__"}
)
_OF_CLASSES = frozenset({"__init_subclass__", "__class_getitem__", "__subclasshook__", "__prepare__"})
OF_NO_OPERATOR: frozenset[str] = frozenset({
    "__init__", "__new__", "__post_init__", "__enter__", "__exit__", "__call__", "__init_subclass__", "__annotate__",
    "__annotate_func__",
})  # fmt: skip
_plain_kinds: dict[int, tuple[type, bool, bool]] = {}


def all_methods_make_steps(kind: type, under_test: UnderTest) -> bool:
    """Whether whatever an operator asks an instance of this class for is code under test, or looks at nothing."""
    return _plain(kind, under_test)[0]


def asks_nobody(kind: type, under_test: UnderTest) -> bool:
    """Whether such an instance may also be an element of what is compared, hashed or shown in C: no code of its own is called then,
    and nothing happens in C after that."""
    return _plain(kind, under_test)[1]


def _plain(kind: type, under_test: UnderTest) -> tuple[bool, bool]:
    key = id(kind)
    known = looked_up(_plain_kinds, key)
    if known is None:
        plain = quiet = type(kind) is type
        for base in kind.__mro__[:-1] if plain else ():
            made = made_at_run_time(base)
            for name, value in list(vars(base).items()):
                if not (name.startswith("__") and name.endswith("__")) or of_no_instance(name, value):
                    continue
                made = made and type(value) is FunctionType and function_makes_steps(value, under_test)
                by_address = name == "__hash__" and made and ours(value.__code__.co_filename)
                quiet = quiet and (name in OF_NO_OPERATOR or by_address)
            plain = plain and made
        known = _plain_kinds[id(kind)] = kind, plain, plain and quiet
    return known[1], known[2]


def of_no_instance(name: str, value: Any) -> bool:
    """Whether no operator calls what a class keeps under this special name; a descriptor need not be callable itself."""
    kind = type(value)
    if (name in _DATA and kind in (GetSetDescriptorType, MemberDescriptorType)) or (kind is classmethod and name in _OF_CLASSES):
        return True  # a slot of any other name has what an operator calls
    return not callable(value) and in_class(kind, "__get__") is None


def calls_code(kind: type, name: str, under_test: UnderTest) -> bool:
    """Whether an operator that asks for this special method calls code under test, and does no more.

    Operators look it up in the class of an instance and its bases, and ask no metaclass.
    """
    found = in_class(kind, name)
    return type(found) is FunctionType and function_makes_steps(found, under_test) and not ours(found.__code__.co_filename)


# Classes that are derived from a container or a value.

_VALUES = (str, int, float, bytes, tuple, frozenset)  # of which the elements, if any, never change
_BASES = frozenset(map(id, (*CONTAINER_BASES, *_VALUES)))  # no class is compared: its metaclass may do that in code of its own
_COMPARING = frozenset({"__eq__", "__ne__", "__lt__", "__le__", "__gt__", "__ge__", "__hash__"})
_SHOWING: frozenset[str] = frozenset({
    "__repr__", "__str__", "__format__", "__sizeof__", "__dir__", "__reduce__", "__reduce_ex__", "__getstate__", "__setstate__",
    "__deepcopy__",
})  # fmt: skip
_OF_THE_WHOLE = _COMPARING | _SHOWING
_NOT_ASKED: frozenset[str] = frozenset({  # by what goes through a container, or reads or stores an element that it has
    "__getattribute__", "__getattr__", "__setattr__", "__delattr__", "__set_name__", "__missing__", "__del__",
})  # fmt: skip
_GOING_THROUGH = frozenset({"__iter__", "__len__", "__contains__", "__reversed__", "keys", "values", "items"})
_COPYING = frozenset({"copy", "__copy__"})  # these call the class
_DIRECT: frozenset[str] = frozenset({  # of OrderedDict; its others ask for methods of the instance
    "__setitem__", "__delitem__", "__getitem__", "__contains__", "__len__", "get", "keys", "values", "items", "clear",
    "move_to_end",
})  # fmt: skip
_derived: dict[int, tuple[type, type, frozenset[str]]] = {}


def _derivation(kind: type) -> tuple[type, frozenset[str]]:
    """The container from which a class is derived, and the names of it that the class has otherwise; itself if there is none."""
    key = id(kind)
    known = looked_up(_derived, key)
    if known is None:
        mro = bases_of(kind)
        base = next((each for each in mro if id(each) in _BASES), kind)
        above = {id(each) for each in bases_of(base)}
        inherited = {name for each in bases_of(base) for name in names_of(each)}
        own: set[str] = set()
        first = True
        for each in mro if base is not kind else ():
            first = first and each is not base
            for name, value in list(names_of(each).items()) if id(each) not in above else ():
                special = name.startswith("__") and name.endswith("__")
                if special and _of_a_named_tuple(value):
                    continue
                asked = not of_no_instance(name, value) if special else name in inherited
                if asked and (first or name not in inherited):
                    own.add(name)
        known = _derived[key] = kind, base, frozenset(own) - OF_NO_OPERATOR
    return known[1], known[2]


def _of_a_named_tuple(method: Any) -> bool:
    """Whether `collections.namedtuple` has made this method, which looks at the elements alone."""
    return (
        type(method) is FunctionType
        and method.__code__.co_qualname.startswith("namedtuple.<locals>.")
        and method.__globals__ is vars(collections)
    )


def container_of(kind: type) -> type:
    """The container from which a class is derived, whatever it has otherwise; itself if there is none."""
    return _derivation(kind)[0]


def kind_of(thing: Any, *, asks: str = "", compared: bool = False, shown: bool = False) -> type:
    """The class of an object; the container of which it is one to operators, if its class is derived from that.

    Args:
        asks: the special method that an operator asks for, whatever the class does with others.
        compared: whether it may also be compared or hashed.
        shown: whether it may also be shown or copied.
    """
    kind = type(thing)
    if not made_at_run_time(kind):
        return kind
    base, own = _derivation(kind)
    if asks:
        return kind if own & (_GOING_THROUGH | {asks}) else base
    other = own - _NOT_ASKED - _COPYING - (frozenset() if compared else _COMPARING) - (frozenset() if shown else _SHOWING)
    return kind if other else base


def kind_for_method(thing: Any, name: str) -> type:
    """Likewise for a method in C of the container, under this name, of which `_GOING_THROUGH` goes on with what it finds there."""
    kind = type(thing)
    if not made_at_run_time(kind):
        return kind
    base, own = _derivation(kind)
    if own & _GOING_THROUGH or (base is collections.OrderedDict and name not in _DIRECT and own - _NOT_ASKED - _OF_THE_WHOLE):
        return kind
    return kind if name in _COPYING and base is not list and base is not dict and base is not set else base


def made_as(kind: type) -> type | None:
    """The container in C that makes the instances of a class which is derived from it; None if code of the class does."""
    base, own = _derivation(kind)
    if base is kind or own - _NOT_ASKED - _OF_THE_WHOLE - _COPYING:
        return None
    return base if all(in_class(kind, name) is in_class(base, name) for name in ("__new__", "__init__")) else None


def plain_value(thing: Any) -> str | int | None:
    """The text or number, of an instance of a class derived from these that compares as they do; None of any other object."""
    kind = kind_of(thing, compared=True)
    if kind is type(thing):
        return None
    return str.__str__(thing) if kind is str else int.__int__(thing) if kind is int else None


def value_made_by(maker: Any) -> type | None:
    """The class of texts, numbers or tuples whose ``__new__`` this is."""
    return next((kind for kind in _VALUES if maker is _MAKERS_OF_VALUES[kind]), None)


_MAKERS_OF_VALUES = {kind: in_class(kind, "__new__") for kind in _VALUES}
