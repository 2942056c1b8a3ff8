"""The class that an object really has, without asking the object."""

from __future__ import annotations


def is_a(value: object, kinds: type | tuple[type, ...]) -> bool:
    """Whether the value's own class is one of these, or derived from it.

    ``isinstance`` asks the value for its ``__class__``, which is the user's code: a lazy object or a proxy makes what it stands
    for, and raises if that cannot be made now.
    """
    return issubclass(type(value), kinds)
