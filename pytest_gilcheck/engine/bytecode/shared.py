"""Containers that are read as a build without a GIL reads them: other threads can interrupt `sum(x)`, `max(d)` at each element.

To the engine a C call is one step, and with a GIL it is one. Without a GIL, `sum(x)` reads a list element by element while other
threads change it. A container made by `shared` has an `__iter__` in Python, which reports a switch point before each element, but
only to operations that are known to read like that (`c_operations`). Operations that hold the container's lock throughout, such as
`list(x)`, `sorted(x)` and `dict(d)`, stay one step. `consumer` finds out which operation iterates; an unknown one gets no switch
points.

The elements come from the container's own iterator. So the effects of a change during iteration (skipped and repeated elements,
"changed size during iteration") are CPython's own.

This does not simulate operations that read the container without iterating: `x.sort()`, in which other threads see an empty list,
`==` of two dicts' keys, `repr` of a deque. The table has them, and they get no switch points. Neither do containers of classes that
the program derives from these types.

Where threads run at the same time, `shared` returns its argument: a subclass of `list` does not have the locks of a `list`.
"""

from __future__ import annotations

import sys
from collections import Counter, OrderedDict, defaultdict, deque
from collections.abc import Callable, ItemsView, Iterator, KeysView, Mapping, ValuesView
from operator import index, length_hint
from types import FrameType
from typing import Any, ClassVar, TypeVar

from ...core.errors import BadValue
from ...core.lookup import looked_up
from . import switch_points
from .c_operations import UNLOCKED
from .consumer import Consumer, consumer

C = TypeVar("C")


def shared(container: C) -> C:
    """A container with the same elements, whose iteration other threads can interrupt where a free-threaded build lets them.

    It is a subclass: `isinstance`, `==`, `repr` and `json` treat it as the plain one; `type(x) is list` and `marshal` do not.
    `copy`, `deepcopy` and `pickle` make another of its kind; slices, `x.copy()` and operators make what they make of any subclass.
    Use it where the state is made, in ``setup`` or in a fixture, because stress mode takes the plain container there.

    Args:
        container: a list, dict, set, deque, OrderedDict, defaultdict or Counter, not of a subclass of these.

    Raises:
        BadValue: it is of another type.
    """
    if switch_points.parallel or is_shared(type(container)):
        return container
    make = looked_up(_MAKERS, type(container))
    if make is None:
        names = ", ".join(kind.__name__ for kind in _MADE)
        raise BadValue("container", container, f"one of these types exactly: {names}")
    made: C = make(container)
    return made


def is_shared(kind: type) -> bool:
    """Whether `shared` makes containers of this class."""
    return kind in _MADE.values()


class _Steps:
    """An iterator with a switch point before each element."""

    __slots__ = ("_fresh", "_kind", "_name", "_real")

    def __init__(self, real: Iterator[Any], name: str, who: Consumer) -> None:
        self._real, self._name, self._fresh = real, name, who.fresh
        self._kind = switch_points.LOOP if who.loop else switch_points.ITERATE

    def __iter__(self) -> Iterator[Any]:
        return self

    def __next__(self) -> Any:
        if self._fresh:
            self._fresh = False
        else:
            switch_points.reach(self._kind, self._name)
        return next(self._real)

    def __length_hint__(self) -> int:
        return length_hint(self._real)


class _Iterated:
    """A container, or a view of one, that finds out which operation iterates."""

    __slots__ = ()
    _name: Any  # of the container, as `c_operations` has it

    def __iter__(self) -> Iterator[Any]:
        if switch_points.parallel:
            return self._copied()
        return self._read(self._elements(), sys._getframe(1)) if switch_points.hook is not None else self._elements()

    def _read(self, real: Iterator[Any], frame: FrameType, asked: str = "") -> Iterator[Any]:
        """The iterator for the operation that iterates in this frame: the real one, or one with switch points.

        Args:
            asked: the only operation that can have asked; empty if there are several.
        """
        who = consumer(frame, self, self._owner())
        if asked and (who is None or who.name != asked):
            who = Consumer(asked, lazy=True)
        if who is None or who.seen or ((self._owner() if who.whole else self)._name, who.name) not in UNLOCKED:
            return real
        return iter(_Steps(real, self._name, who))

    def _owner(self) -> Any:
        return self

    def _elements(self) -> Iterator[Any]:
        """The container's own iterator."""
        raise NotImplementedError

    def _copied(self) -> Iterator[Any]:
        """An iterator over the elements of one moment, where possible; `list` of a subclass takes no lock against other threads."""
        return self._elements()


class _Reversible(_Iterated):
    __slots__ = ()

    def __reversed__(self) -> Iterator[Any]:
        backwards: Iterator[Any] = self._backwards()
        return self._read(backwards, sys._getframe(1), "reversed") if switch_points.hook is not None else backwards

    def _backwards(self) -> Any:
        raise NotImplementedError


class _Shared(_Iterated):
    __slots__ = ()
    _base: ClassVar[Any]

    def _elements(self) -> Iterator[Any]:
        found: Iterator[Any] = self._base.__iter__(self)
        return found


class _SharedReversible(_Shared, _Reversible):
    __slots__ = ()

    def _backwards(self) -> Any:
        return self._base.__reversed__(self)


class SharedList(_SharedReversible, list[Any]):
    __slots__ = ()
    _base, _name = list, "list"

    def __contains__(self, value: object) -> bool:
        return any(found is value or found == value for found in self._searched("in"))

    def count(self, value: Any) -> int:
        switch_points.reach(switch_points.CALL, "list")
        return sum(found is value or found == value for found in self._searched("x.count"))

    def index(self, value: Any, start: Any = 0, stop: Any = sys.maxsize) -> int:
        switch_points.reach(switch_points.CALL, "list")
        size = len(self)
        start, stop = (max(0, limit + size) if limit < 0 else limit for limit in (index(start), index(stop)))
        for at, found in enumerate(self._searched("x.index")):
            if at >= stop:
                break
            if at >= start and (found is value or found == value):
                return at
        raise ValueError(f"{value!r} is not in list")

    def _searched(self, how: str) -> Iterator[Any]:
        if switch_points.hook is None:
            return list.__iter__(self)
        return iter(_Steps(list.__iter__(self), "list", Consumer(how, fresh=True)))

    def __copy__(self) -> SharedList:
        return SharedList(list.copy(self))  # one step, as the copy of a list is

    def _copied(self) -> Iterator[Any]:
        return iter(list.copy(self))


class SharedSet(_Shared, set[Any]):
    __slots__ = ()
    _base, _name = set, "set"

    def _copied(self) -> Iterator[Any]:
        return set.__iter__(set.copy(self))


class SharedDeque(_SharedReversible, deque[Any]):
    __slots__ = ()
    _base, _name = deque, "deque"


class _SharedMapping(_SharedReversible):
    __slots__ = ()

    def keys(self: Any) -> Any:
        return _Keys(self)

    def values(self: Any) -> Any:
        return _Values(self)

    def items(self: Any) -> Any:
        return _Items(self)


class SharedDict(_SharedMapping, dict[Any, Any]):
    __slots__ = ()
    _base, _name = dict, "dict"

    def _copied(self) -> Iterator[Any]:
        return iter(list(dict.keys(self)))

    def __copy__(self) -> SharedDict:
        return SharedDict(dict.copy(self))


class SharedOrderedDict(_SharedMapping, OrderedDict[Any, Any]):
    _base, _name = OrderedDict, "OrderedDict"


class SharedDefaultDict(_SharedMapping, defaultdict[Any, Any]):
    __slots__ = ()
    _base, _name = defaultdict, "dict subclass"


class SharedCounter(_SharedMapping, Counter[Any]):
    _base, _name = Counter, "dict subclass"


class _View(_Reversible):
    """A view of a dict. Everything but iteration is left to the real view.

    No method of `collections.abc` is left to be called: that is code under test, whose steps a view in C does not have, and
    ``list(d.values())`` asks for a length.
    """

    __slots__ = ()
    _mapping: Any
    _attribute: ClassVar[str]

    def __init__(self, mapping: Any) -> None:
        self._mapping = mapping

    def __len__(self) -> int:
        return len(self._real)

    @property
    def _real(self) -> Any:
        return getattr(self._mapping._base, self._attribute)(self._mapping)

    @property
    def _name(self) -> str:
        return "OrderedDict" if self._mapping._name == "OrderedDict" else f"dict.{self._attribute}"

    @property
    def mapping(self) -> Mapping[Any, Any]:
        found: Mapping[Any, Any] = self._real.mapping
        return found

    def _owner(self) -> Any:
        return self._mapping

    def _elements(self) -> Iterator[Any]:
        return iter(self._real)

    def _backwards(self) -> Any:
        return reversed(self._real)

    def _copied(self) -> Iterator[Any]:
        return iter(list(self._real))

    def __contains__(self, value: object) -> bool:
        return value in self._real

    def __repr__(self) -> str:
        return repr(self._real)


def _left_to_the_real(name: str) -> Callable[[Any, object], Any]:
    def method(self: Any, other: object) -> Any:
        return getattr(self._real, name)(other._real if isinstance(other, _View) else other)

    method.__name__ = name
    return method


class _Keys(_View, KeysView[Any]):
    _attribute = "keys"


class _Items(_View, ItemsView[Any, Any]):
    _attribute = "items"


class _Values(_View, ValuesView[Any]):
    _attribute = "values"

    def __contains__(self, value: object) -> bool:
        if switch_points.hook is None or (self._name, "in") not in UNLOCKED:
            return value in self._real
        return any(found is value or found == value for found in _Steps(iter(self._real), self._name, Consumer("in", fresh=True)))


for _kind in (_Keys, _Items):
    for _operator in (
        "and", "or", "sub", "xor", "rand", "ror", "rsub", "rxor", "eq", "ne", "lt", "le", "gt", "ge",
    ):  # fmt: skip
        setattr(_kind, f"__{_operator}__", _left_to_the_real(f"__{_operator}__"))
    _kind.isdisjoint = _left_to_the_real("isdisjoint")  # type: ignore[method-assign]

_MADE: dict[type, type[Any]] = {
    list: SharedList,
    dict: SharedDict,
    set: SharedSet,
    deque: SharedDeque,
    OrderedDict: SharedOrderedDict,
    defaultdict: SharedDefaultDict,
    Counter: SharedCounter,
}
_MAKERS: dict[type, Callable[[Any], Any]] = {
    **_MADE,
    deque: lambda plain: SharedDeque(plain, plain.maxlen),
    defaultdict: lambda plain: SharedDefaultDict(plain.default_factory, plain),
}
for _base, _type in _MADE.items():
    _type.__name__ = _base.__name__  # for their representations and error messages
