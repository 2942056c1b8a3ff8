"""Text about a value that is not ours: its ``__repr__`` and ``__getattr__`` may raise, end the process, or give anything."""

from __future__ import annotations

from typing import Any


def text_of(value: object) -> str:
    """The ``repr`` of a value in one line that can be printed; the name of its class where that cannot be had."""
    try:
        text = repr(value)
    except KeyboardInterrupt:  # may be the user's own
        raise
    except BaseException as error:  # SystemExit, say
        return _without_repr(value, error)
    if text.isprintable():
        return text
    return "".join(_escaped(character) for character in " ".join(text.split()))


def name_in(value: object) -> str:
    """The name that a function, class or module has, and its ``__qualname__`` first; empty for what has none."""
    for attribute in ("__qualname__", "__name__"):
        found = attribute_of(value, attribute)
        if isinstance(found, str) and found:  # a proxy gives something for every name
            return str(found)
    return ""


def attribute_of(value: Any, name: str) -> Any:
    """An attribute of a value; None where it has none, or lets nobody look."""
    try:
        return getattr(value, name, None)
    except KeyboardInterrupt:  # may be the user's own
        raise
    except BaseException:  # of its own __getattr__
        return None


def _escaped(character: str) -> str:
    return character if character.isprintable() else character.encode("unicode_escape").decode()


def _without_repr(value: object, error: BaseException) -> str:
    kind = _class_name(type(value))
    if isinstance(value, int) and isinstance(error, ValueError):  # Python writes no whole number of more than 4,300 digits
        return f"<{kind} of {int.bit_length(value):,} bits>"
    return f"<{kind}, whose repr raises {_class_name(type(error))}>"


def _class_name(kind: type) -> str:
    return str(type.__dict__["__name__"].__get__(kind))  # without asking its metaclass
