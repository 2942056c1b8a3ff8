"""Calls that store an attribute under a name that is computed: ``setattr(x, name, value)``.

The call says which name it is, so no other name need be taken for one that changes.
"""

from __future__ import annotations

from types import FrameType, MethodWrapperType, WrapperDescriptorType

from .stack import operands_of

_FUNCTIONS = {id(setattr): 3, id(delattr): 2}  # by id, the number of arguments; these objects do not end
_METHODS = {"__setattr__": 3, "__delattr__": 2}


def setter(callee: object) -> int | None:
    """The number of arguments, the object included, if a callee is C code that stores or deletes an attribute; None if not."""
    found = _FUNCTIONS.get(id(callee))
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
