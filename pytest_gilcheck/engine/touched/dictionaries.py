"""The dictionaries in which objects keep their attributes: an attribute and the element of its name are one thing.

Where code works on such a dictionary as a whole (``self.__dict__.update(...)``), no instruction names the object.
"""

from __future__ import annotations

from typing import Any

from ...core.classes import dictionary_of
from ...core.lookup import looked_up
from ..bytecode.touch import ALL
from .objects import Objects


class Dictionaries:
    """Numbers for what a step touches, the same for an object and its ``__dict__``, from the first use of an attribute on.

    Args:
        objects: gives the numbers. They go by the object: to keep its dictionary would keep what its attributes refer to.
    """

    def __init__(self, objects: Objects) -> None:
        self._objects = objects
        self._of_dictionary: dict[int, int] = {}  # the number of the object, by the id of its dictionary
        self._dictionary: dict[int, int] = {}  # the other way round
        self._merged: dict[int, int] = {}  # by the number of an object whose dictionary had one before: that

    def number(self, thing: Any, part: Any) -> tuple[int, Any]:
        """The number of what a step touches, and the part of it."""
        kind = type(thing)
        if kind is dict:
            known = looked_up(self._of_dictionary, id(thing))
            named = type(part) is str and part != ALL  # of a module
            return self._objects.number(thing) if known is None else known, (part,) if named else part
        number = self._objects.number(thing)
        if type(part) is not str or (kept := dictionary_of(thing)) is None:
            return self._merged.get(number, number), part
        before = looked_up(self._dictionary, number)
        if before != id(kept):  # the first use, or another dictionary has taken its place
            if before is not None and self._of_dictionary.get(before) == self._merged.get(number, number):
                del self._of_dictionary[before]
            if self._objects.knows(kept):
                self._merged[number] = self._objects.number(kept)
            self._dictionary[number] = id(kept)
            self._of_dictionary[id(kept)] = self._merged.get(number, number)
        return self._merged.get(number, number), ALL if part == ALL else (part,)
