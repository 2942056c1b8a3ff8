"""What is touched by reading and storing attributes.

Nothing here runs code of the program. What such code computes makes steps of its own: then the instruction touches nothing by
itself. What code of the library, or C, computes is unknown, unless it is listed.
"""

from __future__ import annotations

import collections
import sys
from _thread import _local
from functools import cached_property
from types import (
    BuiltinFunctionType,
    FunctionType,
    GetSetDescriptorType,
    MemberDescriptorType,
    MethodDescriptorType,
    ModuleType,
    SimpleNamespace,
    WrapperDescriptorType,
)
from typing import Any

from ...core.classes import (
    CLASS,
    attributes_of,
    bases_of,
    in_class,
    is_a,
    made_at_run_time,
    module_of_class,
    name_of_class,
    names_of,
)
from ...core.lookup import looked_up
from ...core.source import with_nested
from . import in_c, in_python, values
from .calls import function_makes_steps
from .touch import CONTAINERS, SCALARS, UNKNOWN, Touch, Touches, UnderTest, both

_OF_NAMED_TUPLES: Any = vars(collections)["_tuplegetter"]
_OF_CONTAINERS: Any = (names_of(collections.deque)["maxlen"], names_of(collections.defaultdict)["default_factory"])
_SELF_OF_SUPER = names_of(super)["__self__"].__get__
_OF_ALL_CLASSES = frozenset({"__mro__", "__bases__", "__base__", "__module__", "__dict__", "__name__", "__qualname__", "__class__"})
_WITHOUT_ATTRIBUTES = SCALARS | {tuple, frozenset, list, dict, set, bytearray}  # that can be stored
_PLAIN_READERS = {  # by id: how these find an attribute is how `object` does
    id(in_class(kind, "__getattribute__")) for kind in (*_WITHOUT_ATTRIBUTES, *CONTAINERS, *in_c.KINDS, object, BaseException)
}
_PLAIN_STORERS = {name: {id(in_class(kind, name)) for kind in (object, BaseException)} for name in ("__setattr__", "__delattr__")}


def by_classes(kind: type, name: str) -> list[Touch]:
    """What is touched by looking a name up in a class and its bases, as far as they can change."""
    return [Touch(base, name, False) for base in bases_of(kind) if made_at_run_time(base)]


def attribute_read(holder: Any, name: str, under_test: UnderTest) -> Touches:
    """What is touched by reading an attribute of an object."""
    kind = type(holder)
    if kind is super:  # up to 3.11
        return of_super(_SELF_OF_SUPER(holder), name, under_test)
    if kind is ModuleType:
        return [Touch(vars(holder), name, False)] if name in vars(holder) else UNKNOWN
    if kind in _WITHOUT_ATTRIBUTES:
        return []
    if kind is SimpleNamespace:
        return UNKNOWN if in_class(kind, name) else [Touch(holder, name, False)]
    if values.has_constant_attributes(holder):
        return by_classes(kind, name) if in_class(kind, name) is not None else UNKNOWN
    if _is_local(kind):
        return [] if in_class(kind, name) is None else UNKNOWN
    if in_class(kind, "__getattribute__") is type.__getattribute__:
        return _attribute_of_class_read(holder, name, under_test)
    if id(in_class(kind, "__getattribute__")) not in _PLAIN_READERS:
        return UNKNOWN
    found = in_class(kind, name)
    of_classes = by_classes(kind, name)
    if found is in_c.ARGUMENTS:
        return [*of_classes, Touch(holder, name, False)]
    if any(found is each for each in _OF_CONTAINERS):
        return [*of_classes, Touch(holder, found.__name__, False)]
    if not made_at_run_time(kind):
        if type(found) not in (MethodDescriptorType, WrapperDescriptorType):
            return UNKNOWN
        own_names = kind not in CONTAINERS and kind.__dictoffset__
        return [Touch(holder, name, False)] if own_names else []
    if (kept := in_c.attribute_of_a_member(found) or in_python.attribute_of_a_thread(found)) is not None:
        return [*of_classes, Touch(holder, kept, False)]
    if type(found) is MemberDescriptorType:
        return [*of_classes, Touch(holder, found.__name__, False)]  # a slot may have several names
    if type(found) is _OF_NAMED_TUPLES:
        return of_classes
    if type(found) is cached_property:
        return [*of_classes, Touch(holder, name, False)] if name in dict(attributes_of(holder)) else UNKNOWN
    if type(found) is property:
        return of_classes if type(found.fget) is FunctionType and function_makes_steps(found.fget, under_test) else UNKNOWN
    if found is CLASS:
        return of_classes  # to store it is unknown
    own = [*of_classes, Touch(holder, name, False)]
    if found is None:
        catcher = in_class(kind, "__getattr__")
        return own if catcher is None or (type(catcher) is FunctionType and function_makes_steps(catcher, under_test)) else UNKNOWN
    return own if _binds_quietly(found, under_test) else UNKNOWN


def _is_local(kind: type) -> bool:
    """Whether this is `threading.local`, or ours that stands for it: each thread reads and stores what is its own."""
    return kind is _local or (name_of_class(kind) == "local" and module_of_class(kind) == "_thread" and _local in bases_of(kind))


def _attribute_of_class_read(holder: type, name: str, under_test: UnderTest) -> Touches:
    """Likewise of a class. To store what operators look up in it, and anything in a class of a metaclass, is unknown."""
    of_metaclass = in_class(type(holder), name)
    if of_metaclass is not None and of_metaclass is not in_class(type, name):
        return UNKNOWN
    of_metaclasses = by_classes(type(holder), name)
    if type(of_metaclass) in (GetSetDescriptorType, MemberDescriptorType):  # it comes before what the class has
        return of_metaclasses if name in _OF_ALL_CLASSES else UNKNOWN
    found = in_class(holder, name)
    if found is None and type(holder) is not type and in_class(type(holder), "__getattr__") is not None:
        return UNKNOWN
    return [*of_metaclasses, *by_classes(holder, name)] if _binds_quietly(found, under_test) else UNKNOWN


def _binds_quietly(found: Any, under_test: UnderTest) -> bool:
    """Whether nothing is touched when this is found in a class and bound."""
    kind = type(found)
    if kind is classmethod and type(found.__func__) is not FunctionType:  # up to 3.12 it binds what it wraps
        return False
    if kind in (FunctionType, classmethod, staticmethod, BuiltinFunctionType, MethodDescriptorType, WrapperDescriptorType):
        return True
    getter = in_class(kind, "__get__")
    return getter is None or (type(getter) is FunctionType and function_makes_steps(getter, under_test))


def _in_standard_library(thing: Any) -> bool:
    """Whether this is a module of the standard library, or a class of one that is written in Python."""
    if type(thing) is ModuleType:
        name = vars(thing).get("__name__")
    elif is_a(thing, type) and made_at_run_time(thing):
        name = names_of(thing).get("__module__")
    else:
        return False
    top = str(name).partition(".")[0]
    return top in sys.stdlib_module_names and top != "__main__"


_used: dict[int, tuple[type, frozenset[str]]] = {}


def _uses(kind: type, name: str) -> bool:
    """Whether a method of a class of the standard library uses this name."""
    key = id(kind)
    known = looked_up(_used, key)
    if known is None:
        names: set[str] = set()
        for value in list(names_of(kind).values()):
            parts = (value, *(getattr(value, part, None) for part in ("__func__", "fget", "fset", "fdel", "func", "__wrapped__")))
            for part in parts:
                if type(part) is FunctionType:
                    names.update(*(code.co_names for code in with_nested(part.__code__)))
        known = _used[id(kind)] = kind, frozenset(names)
    return name in known[1]


def attribute_stored(holder: Any, name: str, under_test: UnderTest, *, deletes: bool = False, by_object: bool = False) -> Touches:
    """What is touched by storing an attribute, or deleting it; with ``by_object`` as `object` does it, whatever the class says."""
    kind = type(holder)
    if _is_local(kind):
        return [] if in_class(kind, name) is None else UNKNOWN
    if _in_standard_library(holder) or _in_standard_library(kind):
        return UNKNOWN  # code that makes no steps may look it up
    if any(_in_standard_library(base) and _uses(base, name) for base in bases_of(kind)):
        return UNKNOWN  # code that makes no steps may look it up
    if kind is ModuleType:
        return [Touch(vars(holder), name, True)]
    if kind is SimpleNamespace:
        return UNKNOWN if in_class(kind, name) else [Touch(holder, name, True)]
    if kind is type:
        if name.startswith("__") and name.endswith("__"):
            return UNKNOWN  # operators look it up, which no instruction shows
        return [Touch(holder, name, True)]
    own = "__delattr__" if deletes else "__setattr__"
    found = in_class(kind, own)
    if id(found) not in _PLAIN_STORERS[own] and not by_object:
        return [] if type(found) is FunctionType and function_makes_steps(found, under_test) else UNKNOWN
    found = in_class(kind, name)
    of_classes = by_classes(kind, name)
    if type(found) is property:
        stores = found.fdel if deletes else found.fset
        return of_classes if type(stores) is FunctionType and function_makes_steps(stores, under_test) else UNKNOWN
    setter = None if found is None else in_class(type(found), "__delete__" if deletes else "__set__")
    if setter is not None and type(found) is not MemberDescriptorType:
        return of_classes if type(setter) is FunctionType and function_makes_steps(setter, under_test) else UNKNOWN
    slot = found.__name__ if type(found) is MemberDescriptorType else name
    return [*of_classes, Touch(holder, slot, True)] if made_at_run_time(kind) else UNKNOWN


def of_super(holder: Any, name: str, under_test: UnderTest) -> Touches:
    """What ``super().name`` touches, for this instance, or this class."""
    kinds = (holder, type(holder)) if is_a(holder, type) else (type(holder),)  # in a metaclass, a class is an instance
    if not made_at_run_time(kinds[0]):
        return UNKNOWN
    found = [names_of(base).get(name) for kind in kinds for base in bases_of(kind)]
    quiet = all(_binds_quietly(each, under_test) and type(each) is not property for each in found)
    return both(*(by_classes(kind, name) for kind in kinds)) if quiet else UNKNOWN


def is_kept(holder: Any, name: str) -> bool:
    """Whether an attribute is what an instance keeps under its name, or its class: no code computes it."""
    kind = type(holder)
    found = in_class(kind, name)
    if in_class(kind, "__getattr__") is not None and name not in dict(attributes_of(holder)):
        return False
    if found is None:
        return True
    return type(found) in (MemberDescriptorType, _OF_NAMED_TUPLES) or in_class(type(found), "__get__") is None
