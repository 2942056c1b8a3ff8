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

_ITERABLE: tuple[Any, ...] = (
    [], (), range(0), range(1 << 99), {}, {}.values(), {}.items(), set(), "", "\u0100", b"", bytearray(), collections.deque(),
    collections.OrderedDict(), reversed([]), reversed({}), reversed({}.values()), reversed({}.items()),
)  # fmt: skip
_ITERATORS = {type(iter(each)) for each in _ITERABLE} | {enumerate, zip, reversed, itertools.islice}
KINDS = _ITERATORS | {GeneratorType, collections.OrderedDict, bytearray, io.BytesIO, io.StringIO}  # each change of such an object
_CHANGING = {key for key, changes in ON_SORTED_LISTS.items() if changes} | {id(vars(collections)["_count_elements"])}  # by id
_NAMES: dict[type, str] = {
    list: "list", dict: "dict", set: "set", collections.deque: "deque", collections.OrderedDict: "OrderedDict",
    collections.defaultdict: "dict subclass", collections.Counter: "dict subclass",
}  # fmt: skip
_INSTRUCTIONS = {"CONTAINS_OP": "in", "LIST_EXTEND": "[*x]", "SET_UPDATE": "{*x}", "UNPACK_EX": "a, *b = x"}
_CALLED = {consumer for _, consumer in UNLOCKED} - LAZY


def by_instruction(name: str, holder: Any) -> bool:
    """Whether an instruction that is no call reads an object in several steps."""
    consumer = _INSTRUCTIONS.get(name)
    return consumer is not None and (_NAMES.get(type(holder)), consumer) in UNLOCKED


def by_call(callee: Any, holder: Any) -> bool:
    """Whether a call of something in C, or of `json.dumps`, reads or changes an object in several steps."""
    if id(callee) in _CHANGING or type(holder) in _ITERATORS:
        return True
    if type(callee) is FunctionType:
        return (_NAMES.get(type(holder)), "json.Encoder") in UNLOCKED
    owner = getattr(callee, "__objclass__", type(getattr(callee, "__self__", None)))
    module = getattr(callee, "__module__", None) or owner.__module__
    names = {f"x.{callee.__name__}", callee.__qualname__, f"{module}.{callee.__qualname__}"} & _CALLED
    return any((_NAMES.get(type(holder)), name) in UNLOCKED for name in names)
