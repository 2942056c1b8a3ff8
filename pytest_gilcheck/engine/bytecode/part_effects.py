"""What is touched by reading, storing or deleting an attribute or an element, told without running code of the program."""

from __future__ import annotations

import collections
from _thread import _local
from types import (
    BuiltinFunctionType,
    ClassMethodDescriptorType,
    FunctionType,
    GetSetDescriptorType,
    MemberDescriptorType,
    MethodDescriptorType,
    ModuleType,
    WrapperDescriptorType,
)
from typing import Any

from ...core.classes import bases_of, dictionary_of, in_class, is_a, made_at_run_time, names_of
from ...core.lookup import looked_up
from ...core.origin import standard
from ...core.source import with_nested
from .calls import function_makes_steps
from .library import makes_steps_always
from .reach import reached, role_of
from .touch import ALL, CHANGING, DICTS, SCALARS, Touch, UnderTest, container_of

_PAIR: Any = collections.namedtuple("_PAIR", "a")
_BOUND = (
    FunctionType, classmethod, staticmethod, BuiltinFunctionType, ClassMethodDescriptorType, MethodDescriptorType,
    WrapperDescriptorType,
)  # fmt: skip
_KEPT = (GetSetDescriptorType, type(names_of(_PAIR)["a"]))
_MISSING = names_of(collections.defaultdict)["__missing__"]
_SELF_OF_SUPER = names_of(super)["__self__"].__get__


def touches_of_attribute(holder: Any, name: str, verb: str, under_test: UnderTest, *, by_object: bool = False) -> list[Touch]:
    """What is touched by reading, storing or deleting an attribute.

    Args:
        verb: ``"get"``, ``"set"`` or ``"delete"``.
        by_object: as `object` does it, whatever the class says.
    """
    kind, changes = type(holder), verb != "get"
    if kind is ModuleType:
        return [Touch(vars(holder), name, changes)]
    if is_a(holder, type):
        if changes:
            return [Touch(holder, name, True)]
        return [*touches_of_classes(holder, name), *(touches_of_classes(kind, name) if kind is not type else [])]
    if kind is super:  # up to 3.11
        return touches_of_classes(type(_SELF_OF_SUPER(holder)), name)
    if kind in SCALARS or kind is tuple or (kind in CHANGING and type(in_class(kind, name)) in _BOUND):
        return []
    what, of_classes = role_of(holder), touches_of_classes(kind, name)
    if _local in bases_of(kind) or (what.plain and not what.in_python and kind is not FunctionType):
        return of_classes
    if name in ("__dict__", "__class__"):
        return [*of_classes, Touch(holder, ALL, True)] if changes else of_classes
    finds = in_class(kind, "__setattr__" if verb == "set" else "__delattr__" if changes else "__getattribute__")
    if type(finds) is FunctionType and not by_object:
        steps = function_makes_steps(finds, under_test)
        return of_classes if steps else [*of_classes, Touch(holder, ALL, changes, guess=True)]
    found, own = in_class(kind, name), Touch(holder, name, changes, guess=changes and _used_by_library(kind, name))
    if type(found) is MemberDescriptorType:
        return [*of_classes, own._replace(part=found.__name__)]  # a slot may have several names
    if type(found) in _BOUND and not changes:  # of a container, its contents are a whole
        return [*of_classes, own] if what.in_python and what.container is None else of_classes
    if type(found) in _KEPT or (found is not None and (computes := _computes(found, verb)) is None):
        return [*of_classes, own]
    if found is None:
        computes = None if changes else in_class(kind, "__getattr__")
        if computes is None:
            return [*of_classes, own]
    if type(computes) is FunctionType and function_makes_steps(computes, under_test):
        return of_classes if found is not None else [*of_classes, own]
    return [*of_classes, *_computed(holder, name, changes, keeps=type(found) is not property)]


def _computed(holder: Any, name: str, changes: bool, *, keeps: bool) -> list[Touch]:
    """What C, or code of the library, may touch that computes an attribute: all of the object; if it is kept there, that alone.

    Args:
        keeps: whether it may also keep what it has computed.
    """
    kept = None if changes else dictionary_of(holder)
    if kept is not None and name in kept:
        return [Touch(holder, name, False)]
    own = [Touch(holder, name, True, guess=True)] if keeps else []
    return [Touch(holder, ALL, changes, guess=True), *own, *reached([holder], guess=True)]


def _computes(found: Any, verb: str) -> Any:
    """What computes an attribute that a class has: a function of a property or of another descriptor; None if nothing does."""
    if type(found) is property:
        return {"get": found.fget, "set": found.fset, "delete": found.fdel}[verb] or found
    return in_class(type(found), f"__{verb}__")


def _used_by_library(kind: type, name: str) -> bool:
    """Whether a class is derived from one of the library whose code may look the attribute up, and makes no steps."""
    return any(name in _names_used(base) for base in bases_of(kind) if made_at_run_time(base))


_used: dict[int, tuple[type, frozenset[str]]] = {}  # by class, which it keeps


def _names_used(kind: type) -> frozenset[str]:
    known = looked_up(_used, id(kind))
    if known is None:
        values = list(names_of(kind).values())
        values += [part for each in values if type(each) is property for part in (each.fget, each.fset)]
        codes = [each.__code__ for each in values if type(each) is FunctionType]
        one_step = [
            each for code in codes if standard(code.co_filename) and not makes_steps_always(code) for each in with_nested(code)
        ]
        known = _used[id(kind)] = kind, frozenset(name for code in one_step for name in code.co_names)
    return known[1]


def touches_of_classes(kind: type, name: str) -> list[Touch]:
    """Of a look-up in a class and its bases, as far as they can change."""
    return [Touch(base, name, False) for base in bases_of(kind) if made_at_run_time(base)]


def touches_of_element(container: Any, key: Any, verb: str, *, asks: bool = True) -> list[Touch]:
    """What is touched by reading, storing or deleting an element: that of a plain key alone, if it is there.

    Args:
        asks: whether ``__missing__`` is asked for a key that is not there.
    """
    kind, changes = type(container), verb != "get"
    base = container_of(kind)
    there = base in DICTS and type(key) in SCALARS and dict.__contains__(container, key)
    if base in DICTS and asks and not changes and not there and in_class(kind, "__missing__") is _MISSING:
        return [Touch(container, ALL, True, torn=True)]
    if kind in DICTS and type(key) in SCALARS:
        of_key = Touch(container, (key,), changes)
        return [of_key] if verb == "get" or (verb == "set" and there) else [of_key, Touch(container, ALL, True)]
    if kind is list and type(key) is int and verb != "delete" and 0 <= key < len(container):
        return [Touch(container, (key,), changes)]
    return [*reached([container], shallow=True, changes=changes), *reached([key])]
