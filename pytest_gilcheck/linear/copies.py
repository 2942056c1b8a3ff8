"""Copies of what operations return, made before the thread goes on, which can be compared with those of another run.

A list that is changed later is not what was seen, so containers are copied. What compares by value is copied by its value: by its
attributes, or by its text if it is of C. What compares by identity is known by the order in which it appears: two threads that get
the same object have the same number in their results, in every run.

What does not work: ``copy.deepcopy``, which runs code of the program, and so makes steps.
"""

from __future__ import annotations

import itertools
import re
from collections import Counter, OrderedDict, defaultdict, deque
from collections.abc import MappingView
from types import BuiltinFunctionType, FunctionType, MethodType, ModuleType
from typing import Any

from ..core.classes import is_a

_PLAIN = (int, str, bytes, bool, complex, type(None), type(Ellipsis), range, slice)
_SEQUENCES = (list, tuple, deque)
_MAPPINGS = (dict, OrderedDict, defaultdict, Counter)
_SETS = (set, frozenset)
_BASES: tuple[tuple[type, Any, Any], ...] = (  # of classes; what their objects hold, without the code of these classes
    (OrderedDict, OrderedDict.items, OrderedDict), (dict, dict.items, dict), (list, list.__iter__, list),
    (deque, deque.__iter__, list), (set, set.__iter__, set), (frozenset, frozenset.__iter__, set),
)  # fmt: skip
_NAMED = (type, FunctionType, BuiltinFunctionType, MethodType, ModuleType)
_DEEPEST = 6
_MOST_ITERATED = 50
_TIME = ("name", "(a time)")
_NOBODY, _OWN = object(), ("name", "(the object)")
_DATES = tuple(("text", name) for name in ("datetime", "date", "time", "timedelta"))
_ADDRESS = re.compile(r"0x[0-9a-fA-F]+")
_HEAP_TYPE = 1 << 9  # Py_TPFLAGS_HEAPTYPE: a class that Python code has made, or a module in C that can be loaded twice


class ByIdentity:
    """An object in an outcome that is known by its identity."""

    __slots__ = ("it",)

    def __init__(self, it: object) -> None:
        self.it = it


def used_up(value: Any, own: object = _NOBODY) -> Any:
    """An iterator as the list of what it gives: to use it is a part of the operation. Anything else as it is, also the object.

    Args:
        own: the object under test. Where that is an iterator, each of its steps is an operation.
    """
    kind = type(value)  # not `isinstance(value, Iterator)`: that runs code of `collections.abc`, which counts as the program's
    if value is not own and hasattr(kind, "__next__") and not hasattr(kind, "read"):
        return list(itertools.islice(value, _MOST_ITERATED))
    return value


def copied(value: Any, own: object = _NOBODY, depth: int = 0) -> Any:
    """A copy of a value in plain ones and tuples; objects that compare by identity as `ByIdentity`.

    Args:
        own: the object under test. A view of it, say, refers to it: what is in it then is no result of the operation.
    """
    kind = type(value)
    if value is own:
        return _OWN
    if kind in _PLAIN:
        return value
    if kind is float:
        return value if value == value else "nan"
    if depth > _DEEPEST:
        return ("...", kind.__name__)
    if kind in _SEQUENCES:
        return (kind.__name__, *[copied(each, own, depth + 1) for each in list(value)])
    if kind in _MAPPINGS:
        items = [(copied(key, own, depth + 1), copied(each, own, depth + 1)) for key, each in list(value.items())]
        return ("dict", *(items if kind is OrderedDict else sorted(items, key=_order)))
    if kind in _SETS:
        return ("set", *sorted([_without_identity(copied(each, own, depth + 1)) for each in list(value)], key=repr))
    if isinstance(value, BaseException):
        return (
            kind.__name__,
            *[_ADDRESS.sub("0x", each) if type(each) is str else copied(each, own, depth + 1) for each in value.args],
        )
    if isinstance(value, tuple):  # a named one
        return (kind.__name__, *[copied(each, own, depth + 1) for each in tuple.__iter__(value)])
    if isinstance(value, _NAMED):
        return ("name", getattr(value, "__qualname__", kind.__name__))
    if MappingView in kind.__mro__:
        return ("name", kind.__name__)  # it holds nothing itself, and what it shows is read when it is used
    compares: Any = kind.__eq__
    return ByIdentity(value) if compares is object.__eq__ else _by_value(value, kind, own, depth)


def _by_value(value: Any, kind: type, own: object, depth: int) -> Any:
    """A copy of an object that has an ``__eq__`` of its own."""
    if (content := _content(value, own, depth)) is not None:
        return (kind.__name__, content, *_attributes(value, own, depth))
    if attributes := _attributes(value, own, depth):
        return (kind.__name__, *attributes)
    if kind.__flags__ & _HEAP_TYPE and isinstance(kind.__dict__.get("__repr__"), FunctionType):
        return ByIdentity(value)  # its text is made by code of the program
    return ("text", kind.__name__, _ADDRESS.sub("0x", repr(value)))


def _attributes(value: Any, own: object, depth: int) -> list[tuple[str, Any]]:
    return [(name, copied(each, own, depth + 1)) for name, each in sorted(state_of(value).items())]


def _content(value: Any, own: object, depth: int = 0) -> Any:
    """What an object of a class derived from a built-in container holds, copied without its code; None for any other object."""
    for base, look, plain in _BASES:
        if is_a(value, base):
            return copied(plain(look(value)), own, depth + 1)
    return None


def state_of(value: Any) -> dict[str, Any]:
    """The attributes of an object, by name, without running its code."""
    found: dict[str, Any] = {}
    for kind in type(value).__mro__:
        slots = kind.__dict__.get("__slots__", ())
        for name in (slots,) if isinstance(slots, str) else tuple(slots):
            member: Any = kind.__dict__.get(name)
            if hasattr(member, "__set__") and name != "__weakref__":  # whether somebody refers to it is no part of its value
                try:
                    found[name] = member.__get__(value, kind)
                except AttributeError:
                    pass  # it is not set
    try:
        own = object.__getattribute__(value, "__dict__")
    except AttributeError:
        return found
    return found | (dict(own) if isinstance(own, dict) else {})


def _order(item: tuple[Any, Any]) -> str:
    return repr(_without_identity(item[0]))


def _without_identity(copy: Any) -> Any:
    """The same without identities: where the order of a set says nothing, no object appears before another one."""
    if type(copy) is ByIdentity:
        return ("name", type(copy.it).__name__)
    return tuple([_without_identity(each) for each in copy]) if type(copy) is tuple else copy


def numbered(outcome: Any, numbers: dict[int, int]) -> Any:
    """The outcome with its objects numbered in the order in which they appear.

    Args:
        numbers: those that have a number already, by id.
    """
    kind = type(outcome)
    if kind is tuple:
        return tuple([numbered(each, numbers) for each in outcome])
    if kind is ByIdentity:
        number = numbers.get(id(outcome.it))
        if number is None:
            number = numbers[id(outcome.it)] = len(numbers) + 1
        return ("object", type(outcome.it).__name__, number)
    return outcome


def without_times(outcome: Any) -> Any:
    """The outcome of a class that reads a clock: what may be a time is not compared, because no two runs read the same."""
    kind = type(outcome)
    if kind is float:
        return _TIME
    if kind is tuple:
        return _TIME if outcome[:2] in _DATES else tuple([without_times(each) for each in outcome])
    return outcome


def fresh(value: Any, depth: int = 0) -> Any:
    """An argument for one run: containers are copied, because the object may keep and change them."""
    kind = type(value)
    if depth > _DEEPEST:
        return value
    if kind in (list, set, tuple, frozenset):
        return kind([fresh(each, depth + 1) for each in value])
    if kind is bytearray:
        return bytearray(value)
    if kind is dict:
        return {key: fresh(each, depth + 1) for key, each in value.items()}
    return value


def shown(value: Any) -> str:
    """A copy as a report shows it."""
    if type(value) is not tuple:
        return repr(value)
    kind, *rest = value
    if kind == "object":
        return f"<{rest[0]} #{rest[1]}>"
    if kind == "name":
        return str(rest[0])
    if kind == "text":
        return str(rest[1])
    if kind == "...":
        return f"{rest[0]}(...)"
    if kind == "dict":
        return "{" + ", ".join(f"{shown(key)}: {shown(each)}" for key, each in rest) + "}"
    if kind == "set":
        return "{" + ", ".join(map(shown, rest)) + "}" if rest else "set()"
    if kind == "tuple":
        return f"({', '.join(map(shown, rest))}{',' * (len(rest) == 1)})"
    if kind == "list":
        return f"[{', '.join(map(shown, rest))}]"
    return f"{kind}({', '.join(_attribute(each) for each in rest)})"


def _attribute(value: Any) -> str:
    """A part of an object, which is an attribute with its name if the object was copied by these."""
    if type(value) is tuple and len(value) == 2 and type(value[0]) is str and value[0].isidentifier() and value[0] not in _TAGS:
        return f"{value[0]}={shown(value[1])}"
    return shown(value)


_TAGS = frozenset({"list", "tuple", "deque", "dict", "set", "name", "text", "object"})


def public_state(target: Any) -> Any:
    """What is looked at in the end: the attributes without an underscore of an object that compare by value, copied; and what it
    holds, if its class is derived from a built-in container."""
    copies: list[tuple[Any, Any]] = [
        (name, copied(each, target)) for name, each in sorted(state_of(target).items()) if not name.startswith("_")
    ]
    if (content := _content(target, target)) is not None:
        copies.append((("name", "items"), content))
    return ("dict", *[(name, copy) for name, copy in copies if not _holds_identities(copy)])


def _holds_identities(copy: Any) -> bool:
    return type(copy) is ByIdentity or (type(copy) is tuple and any(_holds_identities(each) for each in copy))
