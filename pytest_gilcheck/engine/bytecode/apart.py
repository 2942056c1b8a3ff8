"""Takes a call in C apart, where it is several steps without a GIL: in its middle, other threads can run.

`shared` does so for containers that the user has wrapped. Here the container is the program's own. Right before the instruction, an
operand of it on the frame's stack is replaced: an iterated container by an iterator over it that reports a switch point before each
further element, a method by a function that does the same in steps, a defaultdict by what stores a missing value in steps. The
elements come from the container's own iterator, so the effects of a change during iteration are CPython's own.

Only what is on the stack of one instruction is replaced, and only there. What C asks for the type of its operand, or reads without
iterating, is left alone: then it is known that the call is several steps, and not what these lead to (`trace.Trace.torn`).
"""

from __future__ import annotations

import collections
import sys
from collections.abc import Callable, Iterator
from operator import index
from types import FrameType, MethodDescriptorType, MethodType
from typing import Any

from ...core.classes import in_class, names_of
from ...core.lookup import looked_up
from . import switch_points, torn
from .at import At, callee_of
from .c_operations import UNLOCKED
from .operands import immutable
from .reach import reached
from .stack import NOTHING, replace_operand
from .torn import COUNT, ITERATORS, NAMES
from .touch import VIEWS, container_of

_MOST = 20  # elements of a container before which threads can switch
_EVERY = frozenset({  # consumers that go through all of their arguments; the others go through the first one, ...
    "set.union", "set.update", "set.intersection", "set.difference", "itertools.product", "math.sumprod",
})  # fmt: skip
_SECOND = frozenset({"functools.reduce", "array.array"})  # ... or the second
_NOT_BY_ITERATION = frozenset({  # they ask the container itself
    "repr", "==", "len", "in", "reversed", "x.copy", "x * 1", "x.index", "x.count", "x[:]", "x + []", "x | {}", "x | base",
    "x & base", "x - base", "json.Encoder", "pickle.dumps", "marshal.dumps", "object.__reduce_ex__", "copy.copy",
    "collections.deque.__copy__",
})  # fmt: skip
_BY_KEYS = frozenset({"dict", "dict.update"})  # of a mapping
_OPERANDS = {"CONTAINS_OP": 1, "LIST_EXTEND": 1, "SET_UPDATE": 1, "UNPACK_EX": 1, "STORE_SLICE": 4, "BINARY_OP": 1}  # by place


_MISSING = names_of(collections.defaultdict)["__missing__"]


class ApartCall:
    """A call that is taken apart.

    Attributes:
        point: at which it begins, if the run is recorded.
    """

    __slots__ = ("point",)

    def __init__(self) -> None:
        self.point = 0

    def goes_on(self) -> None:
        """Another thread may run."""
        switch_points.reach(switch_points.IN_PARTS, self)


def taken_apart(frame: FrameType, name: str, argument: int, value: Any, call: ApartCall) -> list[Any] | None:
    """Take apart what the instruction at which a frame is does in C; None if it stays one step.

    Args:
        name, argument, value: ``opname``, ``arg`` and ``argval`` of the instruction.

    Returns:
        The objects of which nothing is left in one step that is several without a GIL.
    """
    at = At(frame, name, argument, value, lambda file: False)
    if name in ("CALL", "CALL_KW"):
        return _of_call(at, call)
    if name == "CALL_FUNCTION_EX":
        return _replaced_iterable(frame, 1 + (argument & 1), frozenset({"f(*x)"}), at, call)
    if name == "BINARY_SUBSCR":
        return _subscript(at, call)
    if name not in _OPERANDS or (name == "BINARY_OP" and at.sign != "+="):
        return None
    doer = torn.of_instruction(name, at.sign)
    changed = {"BINARY_OP": 2, "STORE_SLICE": 3}.get(name)
    if changed is not None and ((found := at.top(changed)) is None or type(found[0]) is not list or found[0] is found[-1]):
        return None
    return _replaced_iterable(frame, _OPERANDS[name], doer.names, at, call, searched=name == "CONTAINS_OP")


def _replaced_iterable(
    frame: FrameType, place: int, consumers: frozenset[str], at: At, call: ApartCall, *, searched: bool = False
) -> list[Any] | None:
    """Replace the operand at this place, counted from the top, by an iterator with switch points, if it is read in steps."""
    found = at.top(place)
    if found is None or (steps := _in_steps(found[0], consumers, call, searched=searched)) is None:
        return None
    return steps[1] if replace_operand(frame, place, steps[0]) else None


def _in_steps(thing: Any, consumers: frozenset[str], call: ApartCall, *, searched: bool = False) -> tuple[Any, list[Any]] | None:
    """An iterator over this for one of these consumers, and the containers that it goes through; None if that is one step."""
    kind = type(thing)
    if not searched:
        consumers -= _NOT_BY_ITERATION
    if not consumers:
        return None
    if kind in ITERATORS:
        return _InSteps(thing, call), torn.sources_of(thing)
    name = looked_up(torn.VIEWS, kind) or looked_up(NAMES, kind)
    if name is None or not any((name, consumer) in UNLOCKED for consumer in consumers):
        return None
    if kind not in VIEWS and issubclass(kind, dict) and not consumers.isdisjoint(_BY_KEYS):
        return None
    return _InSteps(iter(thing), call, begun=False), [] if len(thing) > _MOST else torn.sources_of(thing)


class _InSteps:
    """An iterator with a switch point before each element.

    Args:
        begun: whether it is there before the call, which then begins with the first element; otherwise C makes it first.
    """

    __slots__ = ("_call", "_left", "_real")

    def __init__(self, real: Iterator[Any], call: ApartCall, *, begun: bool = True) -> None:
        self._real, self._call, self._left = real, call, _MOST + begun

    def __iter__(self) -> Iterator[Any]:
        return self

    def __next__(self) -> Any:
        if 0 < self._left <= _MOST:
            self._call.goes_on()
        self._left -= 1
        return next(self._real)


def _of_call(at: At, call: ApartCall) -> list[Any] | None:
    frame, found, count = at.frame, callee_of(at), at.argument
    operands = at.top(count + 2 + (at.name == "CALL_KW"))
    if found is None or operands is None:
        return None
    names = operands[-1] if at.name == "CALL_KW" else ()
    above = len(operands) - 2 - count
    callee, given = found
    place = count + 1 + above if operands[0] is NOTHING else count + 2 + above
    if (function := _in_python(callee, given, call)) is not None:
        new, covered = function
        return covered if replace_operand(frame, place, new) else None
    if type(callee) not in torn.IN_C:
        return None
    doer = torn.of_call(callee, given)
    by_position = count - len(names) if names or sys.version_info >= (3, 13) else 1
    which = range(by_position) if doer.names & _EVERY else [1] if doer.names & _SECOND else [0]
    if not doer.reads or (doer.names & {"min", "max"} and by_position > 1):  # of several arguments, it goes through none
        return None
    covered, done = [], False
    arguments = operands[2 : 2 + count]
    for each in which:
        if each >= len(arguments) or any(arguments[each] is own for own in (doer.owner, callee)):
            continue
        if (steps := _in_steps(arguments[each], doer.names, call)) is not None:
            done = replace_operand(frame, above + count - each, steps[0]) or done
            covered += steps[1]
    return covered if done else None


def _in_python(callee: Any, given: list[Any], call: ApartCall) -> tuple[Any, list[Any]] | None:
    """A function that does in steps what this one in C does, and of which objects nothing is left in one step."""
    if callee is COUNT:
        read = _in_steps(given[-1], frozenset({"collections._count_elements"}), call) if given else None
        return _counting(call), [] if read is None else read[1]
    if callee is print:
        streams = torn.streams_of(given)
        return (_printing(call), [each.holder for each in reached(streams, owns=True, guess=True)]) if len(streams) == 1 else None
    owner = given[0] if type(callee) is MethodDescriptorType and given else getattr(callee, "__self__", None)
    method = looked_up(_METHODS, (type(owner), getattr(callee, "__name__", "")))
    if method is None or (type(callee) is not MethodDescriptorType and type(callee) is not torn.IN_C[0]):
        return None
    function = method(call)
    rows: Any = owner
    return function if type(callee) is MethodDescriptorType else MethodType(function, rows), [rows] if len(rows) <= _MOST else []


def _counting(call: ApartCall) -> Callable[..., None]:
    """What ``Counter.update`` does in C: it reads each count, and stores it one higher."""

    def count_elements(mapping: Any, iterable: Any) -> None:
        for place, element in enumerate(iterable):
            if 0 < place < _MOST:
                call.goes_on()
            count = mapping.get(element, 0) + 1
            if place < _MOST:
                call.goes_on()
            mapping[element] = count

    return count_elements


def _printing(call: ApartCall) -> Callable[..., None]:
    """What `print` does in C: it writes each value, what separates them, and the end, one after the other."""

    def in_pieces(*values: Any, sep: Any = None, end: Any = None, file: Any = None, flush: Any = False) -> None:
        if not (isinstance(sep, str | None) and isinstance(end, str | None)) or file is None or len(values) > _MOST:
            print(*values, sep=sep, end=end, file=file, flush=flush)
            return
        for place, value in enumerate(values):
            if place:
                file.write(" " if sep is None else sep)
                call.goes_on()
            file.write(str(value))
            call.goes_on()
        file.write("\n" if end is None else end)
        if flush:
            file.flush()

    return in_pieces


def _index(call: ApartCall) -> Callable[..., int]:
    def index_of(rows: list[Any], value: Any, start: Any = 0, stop: Any = sys.maxsize) -> int:
        size = len(rows)
        start, stop = (max(0, limit + size) if limit < 0 else limit for limit in (index(start), index(stop)))
        for at, found in enumerate(_InSteps(iter(rows), call)):
            if at >= stop:
                break
            if at >= start and (found is value or found == value):
                return at
        raise ValueError(f"{value!r} is not in list")

    return index_of


def _count(call: ApartCall) -> Callable[..., int]:
    def count(rows: list[Any], value: Any) -> int:
        number = 0
        for found in _InSteps(iter(rows), call):
            number += found is value or found == value
        return number

    return count


def _copy_of_deque(call: ApartCall) -> Callable[..., Any]:
    def copy(queue: collections.deque[Any]) -> collections.deque[Any]:
        return collections.deque(_InSteps(iter(queue), call), queue.maxlen)

    return copy


_METHODS: dict[tuple[type, str], Callable[[ApartCall], Callable[..., Any]]] = {
    (list, "index"): _index,
    (list, "count"): _count,
    (collections.deque, "copy"): _copy_of_deque,
    (collections.deque, "__copy__"): _copy_of_deque,
}


def _subscript(at: At, call: ApartCall) -> list[Any] | None:
    """The value of a missing key, which a defaultdict makes and then stores."""
    found = at.top(2)
    if found is None:
        return None
    table, key = found
    kind = type(table)
    if container_of(kind) is not collections.defaultdict or not immutable(key):
        return None
    if in_class(kind, "__missing__") is not _MISSING or in_class(kind, "__getitem__") is not in_class(dict, "__getitem__"):
        return None
    return [table] if replace_operand(at.frame, 2, _MakingMissing(table, call)) else None


class _MakingMissing:
    """A defaultdict of which an element is read."""

    __slots__ = ("_call", "_table")

    def __init__(self, table: collections.defaultdict[Any, Any], call: ApartCall) -> None:
        self._table, self._call = table, call

    def __getitem__(self, key: Any) -> Any:
        table = self._table
        if dict.__contains__(table, key):
            return dict.__getitem__(table, key)
        if table.default_factory is None:
            raise KeyError(key)
        value = table.default_factory()
        self._call.goes_on()
        table[key] = value
        return value
