"""What an object is to a step in C that is given it, and which others it leads to."""

from __future__ import annotations

import gc
import itertools
from _thread import _local
from collections.abc import Iterable
from contextvars import ContextVar
from functools import partial
from operator import attrgetter, methodcaller
from types import (
    BuiltinFunctionType,
    CellType,
    CodeType,
    FrameType,
    FunctionType,
    GeneratorType,
    MappingProxyType,
    MemberDescriptorType,
    MethodType,
    MethodWrapperType,
    ModuleType,
)
from typing import Any, NamedTuple

from ...core.classes import attributes_of, bases_of, made_at_run_time, module_of_class, names_of
from ...core.lookup import looked_up
from . import torn
from .known_calls import READING_METHODS, VALUES
from .touch import ALL, CHANGING, SCALARS, VIEWS, Touch, container_of

_MOST = 24  # objects, of what one step is given
_DEEP = 3  # containers in each other
_PLAIN = (*VALUES, FunctionType, ModuleType, CodeType, FrameType, type, ContextVar, _local)
_ASKED = (BuiltinFunctionType, MethodWrapperType, MethodType, MemberDescriptorType, partial, attrgetter, methodcaller)
_BY_NAME = (attrgetter, methodcaller)  # they ask an object for its attributes
_CALLING = (map, filter, itertools.starmap, itertools.accumulate, itertools.takewhile, itertools.dropwhile, itertools.groupby)
_OF_TUPLE = type(iter(()))
_THROUGH = (tuple, frozenset, slice, partial, MethodType, MappingProxyType, CellType, *VIEWS)


class Role(NamedTuple):
    """What objects of a class are to a step.

    Attributes:
        kind: the class, so that its id stays in use.
        plain: nothing of them can be touched.
        through: only what they lead to can.
        iterates: to go on with one changes it.
        container: a container that may change, from which the class is derived; or None.
        in_python: what C asks them for is code that makes steps, or looks at nothing.
        asked: special methods of the class that are in C: by name, what is called, or the slot that has it.
    """

    kind: type
    plain: bool
    through: bool
    iterates: bool
    container: type | None
    in_python: bool
    asked: tuple[tuple[str, Any], ...]

    @property
    def opaque(self) -> bool:
        """Whether it is an object in C of which nothing is known."""
        return self.container is None and not (self.plain or self.through or self.iterates or self.in_python)


_roles: dict[int, Role] = {}


def role_of(thing: Any) -> Role:
    key = id(type(thing))
    known = looked_up(_roles, key)
    if known is None:
        kind = type(thing)
        base, bases = container_of(kind), bases_of(kind)
        known = _roles[key] = Role(
            kind,
            base in SCALARS or any(each in bases for each in _PLAIN) or is_a_lock(kind),
            any(each in bases for each in _THROUGH),
            torn.is_iterator(thing) or kind is itertools.count,
            base if base in CHANGING else None,
            made_at_run_time(kind)
            and BaseException not in bases
            and any("__dict__" in names_of(each) or "__slots__" in names_of(each) for each in bases),
            _asked(bases),
        )
    return known


def _asked(bases: Iterable[type]) -> tuple[tuple[str, Any], ...]:
    names = (pair for each in bases if made_at_run_time(each) for pair in names_of(each).items())
    return tuple((name, value) for name, value in names if name.startswith("__") and type(value) in _ASKED)


def is_a_lock(kind: type) -> bool:
    """Whether this is the class of a lock, or the like of ours, which tells by itself what is done to it."""
    return kind is object or module_of_class(kind).partition(".")[0] in ("pytest_gilcheck", "_thread")


def reached(
    things: Iterable[Any], *, shallow: bool = False, changes: bool = False, owns: bool = False, guess: bool = False
) -> list[Touch]:
    """What a step touches that is given these: they, and what they lead to; of an object, what its attributes are.

    Of an iterator that is what it goes through as well, and of a method its object.

    Args:
        shallow: whether it only looks which elements they have.
        changes: whether it may change those that are given; of instances of Python classes, only an owner is changed.
        owns: whether it may change all of it.
        guess: whether to guess. Otherwise such instances are asked for nothing, or for methods that make steps.
    """
    found: list[Touch] = []
    seen: set[int] = set()
    waiting = [(each, 0, changes or owns) for each in things]
    taken_from = len(waiting) if shallow and not owns else 0  # what a tuple among these has never changes
    for place, (thing, level, changed) in enumerate(waiting):
        what = role_of(thing)
        if what.plain or id(thing) in seen:
            continue
        seen.add(id(thing))
        if len(seen) > _MOST:
            break
        for name, value in what.asked:
            if type(value) is MemberDescriptorType:
                found.append(Touch(thing, name, False, guess=guess))
            else:
                waiting.append((value, level, False))
        if type(thing) in (BuiltinFunctionType, MethodWrapperType):  # ``key=table.get``
            waiting.append((thing.__self__, level, thing.__name__ not in READING_METHODS))
        elif place < taken_from and container_of(type(thing)) is tuple:
            continue
        elif what.through:
            waiting += [(each, level, changed) for each in gc.get_referents(thing)]
        elif what.iterates:
            found.append(Touch(thing, ALL, not level or owns, guess=guess))
            ahead = type(thing) is not GeneratorType and (place >= taken_from or type(thing) is not _OF_TUPLE)
            inner = gc.get_referents(thing) if ahead else []
            guess = guess or any(type(each) in _BY_NAME for each in inner)
            shallow = shallow and type(thing) not in _CALLING
            waiting += [(each, level, owns or role_of(each).opaque) for each in inner]  # several `tee` share what they have read
        elif type(thing) is dict and "__builtins__" in thing and not changed:
            continue
        elif what.container or guess or not what.in_python:
            changes_it = owns or (changed and (what.container is not None or not what.in_python))
            found.append(Touch(thing, ALL, changes_it, guess=guess))
            if level < _DEEP and not (shallow and (what.container or what.in_python)):
                below = level + 1 if what.container else _DEEP
                waiting += [(each, below, owns) for each in itertools.islice(_parts(thing, what), _MOST)]
    return found


def _parts(thing: Any, what: Role) -> Iterable[Any]:
    of_instance = (value for _, value in attributes_of(thing)) if what.in_python else ()
    return itertools.chain(of_instance, gc.get_referents(thing) if what.container or not what.in_python else ())
