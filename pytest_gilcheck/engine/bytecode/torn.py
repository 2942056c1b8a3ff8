"""Operations in C that are more than one step where there is no GIL: what threads do to the same object may come in the middle.

What goes through a whole container is one step only if trials say so (`c_operations`), for this container and this consumer. What
was not tried is several on a free-threaded build, of which a check says something; with a GIL only what trials have shown counts.
So is each change of an object whose changes hold no lock, and a sort, in the middle of which the list is empty. These were tried
on CPython 3.13.0 free-threaded: two threads that each made one call on each of 160,000 objects and more, on two cores.
``x[k] = v`` of an `OrderedDict` ends the process.

A call of which it is a guess what it touches reads at least the containers that are given to it (`call_effects`).
"""

from __future__ import annotations

import bisect
import collections
import gc
import heapq
import io
import itertools
import sys
from collections.abc import Iterable
from types import (
    BuiltinFunctionType,
    FunctionType,
    GeneratorType,
    MethodDescriptorType,
    MethodWrapperType,
    WrapperDescriptorType,
)
from typing import Any, NamedTuple

from ...core.build_flags import FREE_THREADED_BUILD
from ...core.classes import in_class, module_of_class
from ...core.lookup import looked_up
from .c_operations import LAZY, READINGS, UNLOCKED, Effect
from .shared import is_shared
from .touch import container_of

_ITERABLE: tuple[Any, ...] = (
    [], (), range(0), range(1 << 99), {}, {}.values(), {}.items(), set(), "", "\u0100", b"", bytearray(), collections.deque(),
    collections.OrderedDict(), reversed([]), reversed({}), reversed({}.values()), reversed({}.items()),
)  # fmt: skip
ITERATORS = {type(iter(each)) for each in _ITERABLE} | {enumerate, zip, reversed, map, filter} | {
    kind for kind in vars(itertools).values() if isinstance(kind, type) and kind is not itertools.count
}  # fmt: skip
_KINDS = ITERATORS | {GeneratorType, collections.OrderedDict, bytearray, io.BytesIO}
if FREE_THREADED_BUILD:
    _KINDS.add(io.StringIO)  # of which no trial has shown it
NAMES: dict[type, str] = {
    list: "list", dict: "dict", set: "set", collections.deque: "deque", collections.OrderedDict: "OrderedDict",
    collections.defaultdict: "dict subclass", collections.Counter: "dict subclass",
}  # fmt: skip
VIEWS = {type({}.keys()): "dict.keys", type({}.values()): "dict.values", type({}.items()): "dict.items"}
_ATOMIC = frozenset((each.container, each.consumer) for each in READINGS if each.effect is Effect.ATOMIC)
_TRIED = frozenset(each.consumer for each in READINGS)
_SEVERAL = frozenset((each.container, each.consumer) for each in READINGS if each.effect is not Effect.ATOMIC)
_OF_THE_CONTAINER = frozenset({"len", "in", "==", "x[:]", "x + []", "x * 1", "x | {}", "x | base", "x & base", "x - base", "repr"})
_INSTRUCTIONS = {  # the names of consumers; those that read an element, or a size, are one step and are not here
    "CONTAINS_OP": ("in",), "LIST_EXTEND": ("[*x]",), "SET_UPDATE": ("{*x}",), "UNPACK_EX": ("a, *b = x",), "UNPACK_SEQUENCE": (),
    "DICT_MERGE": ("{**x}",), "DICT_UPDATE": ("{**x}",), "BINARY_SLICE": ("x[:]",), "STORE_SLICE": ("y[:] = x",),
    "STORE_SUBSCR": ("y[:] = x",), "FORMAT_SIMPLE": ("repr",), "FORMAT_VALUE": ("repr",), "FORMAT_WITH_SPEC": ("repr",),
    "CONVERT_VALUE": ("repr",),
}  # fmt: skip
_OPERATORS = {
    "+": ("x + []",), "*": ("x * 1",), "|": ("x | {}", "x | base"), "&": ("x & base",), "-": ("x - base",), "+=": ("+=",),
    "|=": ("dict.update", "set.update"), "-=": ("x - base",), "&=": ("x & base",), "*=": ("x * 1",), "==": ("==",), "!=": ("==",),
}  # fmt: skip
OF_TWO = frozenset(  # operands
    {"BINARY_OP", "COMPARE_OP", "CONTAINS_OP", "BINARY_SUBSCR", "STORE_SUBSCR", "DELETE_SUBSCR", "LIST_EXTEND", "SET_UPDATE"}
)
_SPECIAL_METHODS = {"__contains__": "in", "__eq__": "==", "__ne__": "==", "__repr__": "repr", "__str__": "repr"}
COUNT: Any = vars(collections)["_count_elements"]
_CHANGING_IDS = {id(COUNT)} | {
    id(each)
    for name, each in (*vars(heapq).items(), *vars(bisect).items())
    if type(each) is BuiltinFunctionType and name.startswith(("heap", "insort"))
}


class Doer(NamedTuple):
    """What does something in C.

    Attributes:
        names: of the consumer, in the table of trials.
        owner: the object whose method it is, if it is one.
        reads: whether it may go through containers; otherwise it reads an element, a size, or nothing yet.
        changes: whether each of its changes is several steps, whatever it changes.
        arguments: what is given to it.
    """

    names: frozenset[str] = frozenset()
    owner: Any = None
    reads: bool = True
    changes: bool = False
    arguments: tuple[Any, ...] = ()


_IN_ONE_STEP = Doer(reads=False)


def of_instruction(name: str, sign: str) -> Doer:
    """What an instruction that is no call does.

    Args:
        sign: of an operator: ``"+="``.
    """
    if name in ("BINARY_OP", "COMPARE_OP") and sign != "[]":
        return Doer(frozenset(looked_up(_OPERATORS, sign) or ()))
    names = looked_up(_INSTRUCTIONS, name)
    return _IN_ONE_STEP if names is None else Doer(frozenset(names))


IN_C = (BuiltinFunctionType, MethodDescriptorType, MethodWrapperType, WrapperDescriptorType, type)


def of_call(callee: Any, arguments: Iterable[Any]) -> Doer:
    """What a call of something in C, or of a function of the library, does."""
    given = tuple(arguments)
    if type(callee) not in (*IN_C, FunctionType):  # another object may have code that finds its attributes
        return Doer(arguments=given)
    name = callee.__name__
    if callee is next or name in ("__next__", "__len__", "__iter__"):
        return _IN_ONE_STEP
    owner = getattr(callee, "__self__", None)
    kind = getattr(callee, "__objclass__", type(owner))
    if type(callee) in (MethodDescriptorType, WrapperDescriptorType) and given:
        owner, given = given[0], given[1:]
    qualified = callee.__qualname__
    module = getattr(callee, "__module__", None) or module_of_class(kind)
    names = {f"x.{name}", qualified, f"{module.lstrip('_')}.{qualified}", looked_up(_SPECIAL_METHODS, name) or ""}
    names |= {"json.Encoder"} if type(callee) is FunctionType and name == "dumps" else {"repr"} if callee is str else set()
    reads = names.isdisjoint(LAZY)
    changes = id(callee) in _CHANGING_IDS or qualified == "list.sort" or (callee is print and bool(streams_of(given)))
    return Doer(frozenset(names & _TRIED), owner, reads, changes, given)


def streams_of(arguments: Iterable[Any]) -> list[Any]:
    """The text streams in C among what `print` is given, which it writes to piece by piece. Nobody looks at the process's own.

    Tried on 3.13.5 free-threaded: of 200 `io.StringIO` to which two threads printed 20 lines each, 6 had a line of both.
    """
    kinds = ((each, in_class(type(each), "write")) for each in arguments if each is not sys.stdout and each is not sys.stderr)
    return [each for each, write in kinds if type(write) is MethodDescriptorType]


def changes_in_parts(doer: Doer, holder: Any) -> bool:
    """Whether a change of an object is several steps."""
    kind = container_of(type(holder))
    if kind is io.BytesIO and doer.owner is not holder and not FREE_THREADED_BUILD:
        return False  # a `TextIOWrapper` writes to it behind a lock
    return doer.changes or kind in _KINDS


def changes_many(doer: str, holder: Any, sources: tuple[Any, ...]) -> bool:
    """Whether an operator or a method changes several elements of a container, which others read without its lock meanwhile.

    Tried on 3.13.5 free-threaded, two threads with one call each on each of 150,000 containers and more: ``len`` saw a part of
    what ``update``, ``|=``, ``-=`` or ``extend`` did to a dict, a set or a deque in 1 of 18 to 841, and of ``list.extend("abc")``
    in 1 of 691; of ``list.extend`` with a list, a tuple or a dict never. A full deque that has a greatest length is longer for
    a moment, in 1 of 48. A second ``__init__`` empties what it fills: ``len`` saw that in 1 of 4 (a list) to 1 of 75 (a bytearray)
    of 200,000 and more.
    """
    base = container_of(type(holder))
    if doer == "__init__":
        return True
    if base is collections.deque and doer in _ADDING:
        most = _MOST_OF_DEQUE(holder)
        return most is not None and len(holder) >= most
    if doer not in _BULK or (base is list and len(sources) == 1 and type(sources[0]) in (list, tuple, dict)):
        return False
    return len(sources) != 1 or not _is_one(sources[0])


def _is_one(source: Any) -> bool:
    """Whether what is given to such a method has one element at most, or is the value of a keyword."""
    base: Any = container_of(type(source))
    if any(base is each for each in _SIZED):
        return int(base.__len__(source)) <= 1
    return any(base is each for each in (int, float, bool, type(None)))


_SIZED: tuple[Any, ...] = (*NAMES, tuple, frozenset, str, bytes, bytearray)
_ADDING = frozenset({"append", "appendleft", "insert"})
_BULK: frozenset[str] = frozenset({
    "update", "extend", "extendleft", "intersection_update", "difference_update", "symmetric_difference_update",
    "|=", "&=", "-=", "^=", "+=", "*=",
})  # fmt: skip
_MOST_OF_DEQUE: Any = vars(collections.deque)["maxlen"].__get__


def reads_in_parts(doer: Doer, holder: Any) -> bool:
    """Whether an object is gone through in several steps.

    An operator, or a method, of a class derived from a container is that of the container. What else goes through a dict knows the
    derived ones, and was tried with one; other containers were not tried with a derived class.
    """
    kind, base = type(holder), container_of(type(holder))
    if not doer.reads or base not in NAMES or (doer.owner is holder and not doer.names):  # a method holds the lock of its object
        return False
    if any(type(each) in ITERATORS for each in doer.arguments):  # which hold no lock while they are gone through
        return True
    name = NAMES[base]
    if kind is not base and not is_shared(kind) and doer.owner is not holder and doer.names.isdisjoint(_OF_THE_CONTAINER):
        name = "dict subclass" if issubclass(base, dict) and base is not collections.OrderedDict else ""
    names = [VIEWS[type(each)] for each in doer.arguments if type(each) in VIEWS] or [name]
    simulated = UNLOCKED if is_shared(kind) else frozenset[tuple[str, str]]()  # where a switch comes before each element
    if not FREE_THREADED_BUILD:
        return any((each, consumer) in _SEVERAL - simulated for consumer in doer.names for each in names)
    return not all(any((each, consumer) in _ATOMIC | simulated for consumer in doer.names) for each in names)


def sources_of(thing: Any) -> list[Any]:
    """The containers that are gone through with this: a container, a view, or an iterator of such, of iterators and so on."""
    found, waiting = [], [thing]
    for each in itertools.islice(waiting, _MOST_SOURCES):
        kind = type(each)
        if container_of(kind) in NAMES:
            found.append(each)
        elif kind in VIEWS or kind in ITERATORS or kind is tuple:
            waiting += gc.get_referents(each)
    return found


_MOST_SOURCES = 100


def is_iterator(thing: Any) -> bool:
    """Whether this is an iterator in C, or a generator: to advance it is several steps."""
    kind = type(thing)
    return kind is not itertools.count and type(in_class(kind, "__next__")) is WrapperDescriptorType
