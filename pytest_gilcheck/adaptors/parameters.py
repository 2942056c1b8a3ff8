"""The values of `parametrize`: containers are copied for each schedule, so that none finds what another has done to them.

Only containers are copied, with the containers in them. What else they hold is the same in each schedule: an instance, a lock or an
iterator may be known elsewhere too, and a copy would be another one. Nor is a container copied that the test, its fixtures or the
code that these refer to can reach by name, such as a table of a module: they would change the one, and the test look at the other.

What does not work: `copy.deepcopy`, which copies instances too, and makes steps.
"""

from __future__ import annotations

import copy
import enum
import inspect
from array import array
from collections import Counter, OrderedDict, defaultdict, deque
from collections.abc import Callable, Iterable, Iterator, Mapping
from itertools import islice
from types import BuiltinFunctionType, FunctionType, GeneratorType, ModuleType, NoneType
from typing import Any

import pytest

from ..core.changes import Looked, held_by
from ..core.classes import in_class, is_a, name_of_class
from ..fuzz.shared_values import reached_by_name

_MAPPINGS = (dict, OrderedDict, defaultdict, Counter)
_CONTAINERS = frozenset({list, set, tuple, deque, bytearray, array, *_MAPPINGS})
CONSTANT = (int, float, complex, str, bytes, type, FunctionType, NoneType)  # no test changes them
_KNOWN = (*CONSTANT, BuiltinFunctionType, ModuleType, enum.Enum, range, slice, frozenset)
_FLAT = (bytearray, array)
_MOST, _MOST_FLAT = 10_000, 1_000_000  # objects in the containers of a value, items of a flat one: more take longer than a schedule
_MOST_REACHED = 50_000  # objects that are looked at behind the names that the code refers to; behind more could be any container
_MOST_SAME = 200  # objects of one parameter of which it is looked whether they have changed


class Parameters:
    """The parameters of one test that are made anew with it, by name.

    Args:
        values: as pytest has collected them.
        functions: the test, its fixtures, and what else runs with them.

    Attributes:
        values: those that all schedules begin with: copies, where there can be one.
        renewed: the names of these.
    """

    def __init__(self, values: Mapping[str, Any], functions: Iterable[Callable[..., Any]]) -> None:
        parts = {name: list(_walk(value)) for name, value in values.items()}
        few = {name: value for name, value in values.items() if _are_few(parts[name])}
        changeable = any(type(part) in _CONTAINERS and type(part) is not tuple for name in few for part in parts[name])
        named = _named_containers(functions) if changeable else {}
        few = {} if named is None else few
        self._kept = named or {}  # by id: kept alive, and not copied
        self.values = {**values, **self._copied(few)}
        self.renewed = frozenset(name for name, value in values.items() if self.values[name] is not value)
        self._same = [
            (name, value, Looked(part))
            for name, value in values.items()
            for part in islice(filter(_may_change, parts[name]), _MOST_SAME)
            if type(part) not in _CONTAINERS or id(part) in self._kept or name not in few
        ]

    def anew(self) -> dict[str, Any]:
        """Copies of those that can be copied, for one schedule. What is in two of them is so in their copies."""
        return self._copied({name: self.values[name] for name in self.renewed})

    def is_made_anew(self, name: str) -> bool:
        """Whether nothing of this parameter can keep what a schedule does to it."""
        return not any(name == other for other, _, _ in self._same)

    def used_up(self) -> str:
        """Which parameters a schedule has changed that are not copied, in words; empty if none."""
        found = {_in_words(name, value, looked.value): None for name, value, looked in self._same if _is_used(looked)}
        if not found:
            return ""
        advice = "make it in a function-scoped fixture, which is set up for each schedule"
        return f"a schedule has changed {' and '.join(list(found)[:3])}, of which there can be no copy: {advice}"

    def _copied(self, values: Mapping[str, Any]) -> dict[str, Any]:
        memo = dict(self._kept)
        return {name: _copy(value, memo) for name, value in values.items()}


def _copy(value: Any, memo: dict[int, Any]) -> Any:
    """A container with copies of the containers in it; anything else as it is.

    Args:
        memo: the copies so far, by the id of what they are copies of.
    """
    kind = type(value)
    if kind not in _CONTAINERS or id(value) in memo:
        return memo.get(id(value), value)
    if kind is tuple:
        parts = tuple([_copy(each, memo) for each in value])
        made = parts if any(one is not other for one, other in zip(parts, value, strict=True)) else value
        return memo.setdefault(id(value), made)
    made = memo[id(value)] = copy.copy(value)
    if kind in _MAPPINGS:
        for key, each in value.items():
            dict.__setitem__(made, key, _copy(each, memo))
    elif kind in (list, deque):
        for index, each in enumerate(value):
            made[index] = _copy(each, memo)
    return made


def _may_change(part: Any) -> bool:
    return not is_a(part, _KNOWN)


def _are_few(parts: list[Any]) -> bool:
    """Whether these containers, and what is in them, can be copied for each schedule."""
    containers = [part for part in parts if type(part) in _CONTAINERS]
    small = all(len(part) <= _MOST_FLAT for part in containers if type(part) in _FLAT)
    return small and sum(len(part) for part in containers if type(part) not in _FLAT) <= _MOST


def _walk(value: Any) -> Iterator[Any]:
    """The value, the containers in it, and what these hold, each once."""
    seen, waiting = {id(value)}, [value]
    while waiting:
        each = waiting.pop()
        yield each
        if type(each) not in _CONTAINERS or type(each) in _FLAT:
            continue
        for part in [*each, *each.values()] if type(each) in _MAPPINGS else each:
            if id(part) not in seen:
                seen.add(id(part))
                waiting.append(part)


def _named_containers(functions: Iterable[Callable[..., Any]]) -> dict[int, Any] | None:
    """The containers behind the names that these functions refer to, by id, but not those of a marker; None for too many."""
    waiting = [value for name, value in reached_by_name(tuple(functions)) if not name.startswith("attribute 'pytestmark'")]
    seen: dict[int, Any] = {}
    while waiting:
        if len(seen) == _MOST_REACHED:
            return None
        each = waiting.pop()
        if id(each) in seen or is_a(each, (*_KNOWN, pytest.Mark, pytest.MarkDecorator)):
            continue
        seen[id(each)] = each
        waiting += held_by(each)
    return {key: each for key, each in seen.items() if type(each) in _CONTAINERS}


def _is_used(looked: Looked) -> bool:
    """Whether a run has changed this; of an iterator nobody can tell, so it has."""
    thing = looked.value
    if type(thing) is GeneratorType:
        return inspect.getgeneratorstate(thing) != inspect.GEN_CREATED
    return in_class(type(thing), "__next__") is not None or looked.changed()


def _in_words(name: str, value: Any, part: Any) -> str:
    """A parameter, by its name and type, and by the type of the part of it that is meant."""
    inside = "" if part is value else f" with a {name_of_class(type(part))} in it"
    return f"the parameter {name!r} (a {name_of_class(type(value))}{inside})"
