"""Tells objects of a run apart without keeping them alive: when an object ends may be what the program is about.

An id has one meaning only as long as its object lives. An object that can be referred to weakly gets a new number when another one
is at its address. The others, such as lists, are kept, and let go as soon as nothing else refers to them, at the latest before the
next step of which somebody could see it. That runs the code of what ends with them at a moment that is not quite the right one,
and unobserved: then the run is not one to conclude from (`Objects.disturbed`).

What does not work: to keep all of them. Weak references stay valid then, ``__del__`` and the ``finally`` of generators do not run:
correct programs fail, and broken ones pass.
"""

from __future__ import annotations

import gc
import sys
import weakref
from collections.abc import Callable, Mapping
from sys import getrefcount
from types import AsyncGeneratorType, CoroutineType, GeneratorType
from typing import Any

from ...core.build_flags import FREE_THREADED_BUILD
from ...core.classes import bases_of, in_class, name_of_class
from ...core.lookup import looked_up

_MOST_LOOKED_AT = 10_000  # objects that end with one
_LOOKS = 32  # kept objects that are looked at for each step
_REFERABLE: Callable[[type], int] = vars(type)["__weakrefoffset__"].__get__  # 0: none of its objects can be referred to weakly
_SUSPENDED = (GeneratorType, CoroutineType, AsyncGeneratorType)
_PLAIN = frozenset({int, str, float, bool, bytes, type(None), complex})
Alive = Callable[[], Any]


class Objects:
    """Numbers for objects.

    Attributes:
        disturbed: what the program may have noticed of it that an object was kept; empty if nothing.
    """

    def __init__(self) -> None:
        self.disturbed = ""
        self._numbers: dict[int, tuple[int, Alive | None]] = {}  # by id; without a reference: it is kept
        self._kept: dict[int, Any] = {}
        self._last = self._waited = 0

    def number(self, thing: Any) -> int:
        """The number of an object; a new one, if it has none."""
        key, numbers = id(thing), self._numbers
        if key in numbers:  # no `looked_up`, and no `get`: this is asked for most of what a step touches
            known, alive = numbers[key]
            if alive is None or alive() is thing:
                return known
        self._last += 1
        if _REFERABLE(type(thing)):
            self._numbers[key] = self._last, weakref.ref(thing)
        else:
            self._numbers[key] = self._last, None
            self._kept[key] = thing
        return self._last

    def knows(self, thing: Any) -> bool:
        """Whether this object, not only one at its address, has a number."""
        key = id(thing)
        known = looked_up(self._numbers, key)
        return known is not None and (known[1] is None or known[1]() is thing)

    def alive(self) -> dict[int, Any]:
        """Those that still live, by number."""
        known = ((number, self._kept[key] if alive is None else alive()) for key, (number, alive) in self._numbers.items())
        return {number: thing for number, thing in known if thing is not None}

    def let_go(self, *, all_of_them: bool = True) -> None:
        """No longer keep what nothing else refers to.

        Args:
            all_of_them: whether to look at all that are kept. Otherwise, if they are many, once in so many calls.
        """
        kept = self._kept
        self._waited += 1
        late = len(kept) > _LOOKS
        if not kept or (late and not all_of_them and self._waited * _LOOKS < len(kept)):
            return
        self._waited = 0
        while ended := _only_kept(kept):
            for key in ended:
                if key not in kept:  # what has ended before it runs code of the program, whose steps come here too
                    continue
                if not self.disturbed and self._is_noticed(kept[key], late):
                    self.disturbed = f"the end of what a {name_of_class(type(kept[key]))} holds"
                del self._numbers[key], kept[key]

    def _is_noticed(self, thing: Any, late: bool) -> bool:
        """Whether code of the program runs when this object ends, or, if it ends late, could have seen it alive."""
        ending: list[Any] = [thing]
        references: dict[int, int] = {}  # no Counter: its code makes steps, and this runs beside the program
        for each in ending:
            if in_class(type(each), "__del__") is not None or type(each) in _SUSPENDED or len(ending) > _MOST_LOOKED_AT:
                return True
            if _REFERABLE(type(each)) and (weak := weakref.getweakrefs(each)):
                if (late and not self._only_ours(each, weak)) or any(reference.__callback__ is not None for reference in weak):
                    return True
                del weak
            found = [other for other in gc.get_referents(each) if type(other) not in _PLAIN and not _is_a_class(type(other))]
            times: dict[int, int] = {}
            for other in found:
                times[id(other)] = times.get(id(other), 0) + 1
            for other in {id(other): other for other in found}.values():
                references[id(other)] = references.get(id(other), 0) + times[id(other)]
                if getrefcount(other) - _LOOKED_AT - times[id(other)] <= references[id(other)]:
                    ending.append(other)
        return False

    def _only_ours(self, thing: Any, weak: list[Any]) -> bool:
        """Whether these weak references to an object are the one of its number, and nobody else has that one.

        The program gets the same one if it makes one without a callback.
        """
        known = looked_up(self._numbers, id(thing))
        return len(weak) == 1 and known is not None and known[1] is weak[0] and _references(weak) <= _OURS

    def outlasting(self) -> frozenset[int]:
        """The numbers of the objects that live although the threads have ended: they can be reached from what is not one thread's.

        What only a reference cycle keeps alive, such as a tree whose nodes know their parents, is collected before. An object that
        the collector does not know of is in no cycle, and one that is not young was there before the run. All objects of a process
        are many, so only those of a generation are looked at where the collector has generations.
        """
        self.let_go()
        kinds = {id(thing): type(thing) for thing in _of_generation(0) if id(thing) in self._kept}
        for key in kinds:
            del self._kept[key]
        gc.collect(0)
        for thing in _of_generation(1):
            if kinds.get(id(thing)) is type(thing):
                self._kept[id(thing)] = thing
        for key in kinds.keys() - self._kept.keys():
            del self._numbers[key]
        return frozenset(self.alive())


def _of_generation(number: int) -> list[Any]:
    """The objects that the collector has in this generation.

    All, on a free-threaded build, which has but one, and from 3.14 on, where releases differ in where they put what survives.
    """
    return gc.get_objects(number) if sys.version_info < (3, 14) and not FREE_THREADED_BUILD else gc.get_objects()


def _only_kept(kept: Mapping[int, Any]) -> list[int]:
    return [id(each) for each in kept.values() if getrefcount(each) <= _ONLY_KEPT]


def _is_a_class(kind: type) -> bool:
    return type in bases_of(kind)


def _references(weak: list[Any]) -> int:
    return getrefcount(weak[0])


def _measured() -> tuple[int, int, int]:
    """The references that `_only_kept`, `_is_noticed` and `_only_ours` see of an object, and of a weak reference, with no other,
    beside those that they count."""
    kept: dict[int, Any] = {0: []}
    only = [getrefcount(each) for each in kept.values()]
    found = gc.get_referents([[]])
    looked_at = [getrefcount(other) for other in {id(other): other for other in found}.values()]
    thing = Objects()
    number = 1, weakref.ref(thing)
    ours = _references(weakref.getweakrefs(number[1]()))
    return only[0], looked_at[0] - 1, ours  # one is in `found`, which is counted


_ONLY_KEPT, _LOOKED_AT, _OURS = _measured()
