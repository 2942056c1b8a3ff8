"""Keeps other values in places of the program for a while, and puts back what was there."""

from __future__ import annotations

import types
from collections import deque
from collections.abc import Callable
from functools import partial
from typing import Any

from ...core.classes import is_a


class Undoing:
    """The changes that were made, to be taken back in reverse."""

    def __init__(self) -> None:
        self._undo: list[Callable[[], object]] = []

    def then(self, undo: Callable[[], object]) -> None:
        """Have this called too."""
        self._undo.append(undo)

    def take_back(self) -> None:
        """Put everything back."""
        while self._undo:
            self._undo.pop()()

    def set_anywhere(self, place: Any, name: Any, value: Any) -> None:
        """Keep this value in a place instead, until the check is over; a place that cannot be changed is left as it is."""
        if is_a(place, (dict, list, deque)):
            self.set_item(place, name, value)
        elif is_a(place, partial):
            if name in ("func", "args"):
                self._undo.append(partial(self._set_part, place, name, getattr(place, name)))
                self._set_part(place, name, value)
        elif is_a(place, types.CellType):
            before = place.cell_contents
            place.cell_contents = value
            self._undo.append(lambda: setattr(place, "cell_contents", before))
        elif isinstance(name, str) and hasattr(place, name):
            self.set(place, name, value)

    @staticmethod
    def _set_part(place: partial[Any], name: str, value: Any) -> None:
        changed: Any = place
        parts = {"func": place.func, "args": place.args, name: value}
        changed.__setstate__((parts["func"], parts["args"], place.keywords, vars(place)))

    def set_item(self, place: Any, key: Any, value: Any) -> None:
        before = place[key]
        place[key] = value

        def undo() -> None:
            try:
                if place[key] is value:
                    place[key] = before
            except LookupError:  # the program removed it
                pass

        self._undo.append(undo)

    def set(self, target: Any, name: str, value: Any) -> None:
        of_class = is_a(target, type) and name in vars(target)  # looked up, a static method is a function
        before = vars(target)[name] if of_class else getattr(target, name)
        try:
            setattr(target, name, value)
        except (AttributeError, TypeError):  # read-only or frozen: it is left as it is
            try:
                object.__setattr__(target, name, value)
            except (AttributeError, TypeError):
                return
        self._undo.append(lambda: _restore(target, name, before))


def _restore(target: Any, name: str, before: Any) -> None:
    try:
        setattr(target, name, before)
    except (AttributeError, TypeError):
        object.__setattr__(target, name, before)
