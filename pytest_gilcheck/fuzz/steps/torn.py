"""Operations in C that are more than one step where there is no GIL: what threads do to the same object may come in the middle.

Those that read a container are in the table of trials (`c_operations`), and so are most of those that change something. The rest
was tried likewise, on CPython 3.13.0 free-threaded: two threads that each made one call on each of 160,000 objects and more, on two
cores. ``x[k] = v`` of an `OrderedDict` ends the process.
"""

from __future__ import annotations

import collections
import io
import itertools
from types import FunctionType, GeneratorType
from typing import Any

from .c_operations import LAZY, UNLOCKED
from .in_c import ON_SORTED_LISTS
from .operators import container_of

_ITERABLE: tuple[Any, ...] = (
    [], (), range(0), range(1 << 99), {}, {}.values(), {}.items(), set(), "", "\u0100", b"", bytearray(), collections.deque(),
    collections.OrderedDict(), reversed([]), reversed({}), reversed({}.values()), reversed({}.items()),
)  # fmt: skip
_ITERATORS = {type(iter(each)) for each in _ITERABLE} | {enumerate, zip, reversed, itertools.islice}
_KINDS = _ITERATORS | {GeneratorType, collections.OrderedDict, bytearray, io.BytesIO, io.StringIO}  # each change of such an object
_CHANGING = {key for key, changes in ON_SORTED_LISTS.items() if changes} | {id(vars(collections)["_count_elements"])}  # by id
_NAMES: dict[type, str] = {
    list: "list", dict: "dict", set: "set", collections.deque: "deque", collections.OrderedDict: "OrderedDict",
    collections.defaultdict: "dict subclass", collections.Counter: "dict subclass",
}  # fmt: skip
_INSTRUCTIONS = {"CONTAINS_OP": "in", "LIST_EXTEND": "[*x]", "SET_UPDATE": "{*x}", "UNPACK_EX": "a, *b = x"}
_CALLED = {consumer for _, consumer in UNLOCKED} - LAZY


def by_change(holder: Any) -> bool:
    """Whether each change of an object is several steps."""
    return container_of(type(holder)) in _KINDS


def by_instruction(name: str, holder: Any) -> bool:
    """Whether an instruction that is no call reads an object in several steps."""
    consumer = _INSTRUCTIONS.get(name)
    return consumer is not None and _is_unlocked(holder, consumer)


def by_call(callee: Any, holder: Any) -> bool:
    """Whether a call of something in C, or of `json.dumps`, reads or changes an object in several steps."""
    if id(callee) in _CHANGING or type(holder) in _ITERATORS:
        return True
    if type(callee) is FunctionType:
        return _is_unlocked(holder, "json.Encoder")
    owner = getattr(callee, "__objclass__", type(getattr(callee, "__self__", None)))
    module = getattr(callee, "__module__", None) or owner.__module__
    names = {f"x.{callee.__name__}", callee.__qualname__, f"{module}.{callee.__qualname__}"} & _CALLED
    return any(_is_unlocked(holder, name) for name in names)


def _is_unlocked(holder: Any, consumer: str) -> bool:
    """Whether trials say that a consumer goes through an object in several steps.

    An operator, or a method, of a class derived from a container is that of the container. What else goes through a dict knows the
    derived ones, and was tried with one; through another container, it does so in several steps if it does with any.
    """
    kind, base = type(holder), container_of(type(holder))
    if kind is not base and base in _OTHERS and consumer != "in" and not consumer.startswith("x."):
        return any(name == consumer for _, name in UNLOCKED)
    return (_NAMES.get(collections.defaultdict if kind is not base and base is dict else base), consumer) in UNLOCKED


_OTHERS = (list, set, collections.deque)
