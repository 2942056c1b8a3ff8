"""Calls that store attributes under names that no instruction has: ``setattr(x, name, value)``, ``namespace.__init__(**names)``,
``error.__init__(number, text)``.

The call says which names these are, so no other name need be taken for one that changes.
"""

from __future__ import annotations

import ast
import sys
from collections.abc import Iterable
from functools import partial
from types import FrameType, GetSetDescriptorType, MemberDescriptorType, MethodWrapperType, SimpleNamespace, WrapperDescriptorType

from ...core.classes import bases_of, names_of
from ...core.lookup import looked_up
from .stack import operands_of

_FUNCTIONS = {id(setattr): 3, id(delattr): 2}  # by id, the number of arguments; these objects do not end
_METHODS = {"__setattr__": 3, "__delattr__": 2}
_KEEPING = {id(each): each for each in (SimpleNamespace, ast.AST)}  # by id: ``__init__`` stores what it is called with by name
_MEMBERS = (MemberDescriptorType, GetSetDescriptorType)


def setter(callee: object) -> int | None:
    """The number of arguments, the object included, if a callee is C code that stores or deletes an attribute; None if not."""
    key = id(callee)
    found = looked_up(_FUNCTIONS, key)
    if found is None and type(callee) in (WrapperDescriptorType, MethodWrapperType):
        return _METHODS.get(callee.__name__)  # type: ignore[attr-defined]
    return found


def set_by(frame: FrameType, callee: object, arguments: int) -> str | None:
    """The name of the attribute that such a call is about to store, or to delete; None if it cannot be told.

    Args:
        frame: the one that calls.
        arguments: how many there are on its stack, without the object of a method; -1 if some have keywords.
    """
    wanted = setter(callee)
    if wanted is None or arguments not in (wanted, wanted - 1):
        return None
    found = operands_of(frame, wanted - 1)  # without the object, which is the first of them, or beside them
    return found[0] if found is not None and type(found[0]) is str else None


def initialiser_in_c(callee: object) -> type | None:
    """The class whose ``__init__`` in C a call runs, also by a `partial`; it may store attributes of an object that others have."""
    while type(callee) is partial:
        callee = callee.func
    if type(callee) not in (WrapperDescriptorType, MethodWrapperType) or callee.__name__ != "__init__":  # type: ignore[attr-defined]
        return None
    kind: type = callee.__objclass__  # type: ignore[attr-defined]
    return None if kind is object else kind


def stored_by_initialiser(kind: type) -> list[str]:
    """The names of what C keeps in an instance of this class, which its ``__init__`` stores anew: ``maxlen`` of a deque."""
    members = (each for base in bases_of(kind)[:-1] for each in names_of(base).items())
    return [name for name, member in members if type(member) in _MEMBERS and not name.startswith("__")]


def stored_by(kind: type, callee: object, frame: FrameType, name: str, argument: int) -> Iterable[str | None]:
    """The names that the ``__init__`` of such a class stores, called where a frame is; None for one that cannot be told.

    Args:
        name, argument: of the instruction.
    """
    if id(kind) not in _KEEPING:
        return stored_by_initialiser(kind)
    found = None if type(callee) is partial else _keywords(frame, name, argument)  # it has keywords of its own
    return (None,) if found is None else found


def _keywords(frame: FrameType, name: str, argument: int) -> Iterable[str] | None:
    if name == "CALL":
        return () if sys.version_info >= (3, 13) else None  # before, an instruction beside it may have names
    found = operands_of(frame, 1)
    if name == "CALL_FUNCTION_EX" and sys.version_info < (3, 14) and not argument & 1:
        return ()
    if found is None or type(found[0]) not in (tuple, dict):
        return None
    return [each for each in found[0] if type(each) is str]
