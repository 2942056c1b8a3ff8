"""The random generators that a whole process shares: each begins every run with the same numbers.

To seed one takes as long as a fifth of the run of a small program. So it is done only where somebody has drawn from it, which its
memory shows: the position in its numbers, and the first of them.

What does not work: to draw a number and see whether it is the first one, because the generator must then be seeded all the same; to
ask for the state (``getstate`` takes as long as seeding, numpy's ``get_state`` ten times as long).
"""

from __future__ import annotations

import _random
import ctypes
import random
import sys
from collections.abc import Callable
from functools import partial
from operator import attrgetter
from typing import Any, Protocol

_WORDS = 624  # of 32 bits, in the state of a Mersenne Twister
_SHOWN = 16  # bytes of a state that are looked at: a seed, or the next round of numbers, changes them
_GENERATOR: Any = getattr(random, "_inst")  # noqa: B009 # the one behind the functions of the module
_reseed = _random.Random.seed


class SharedGenerator(Protocol):
    """A generator that the process shares."""

    def begin(self, seed: int) -> bool:
        """Begin a run: from here on, the numbers are those of this seed. Returns whether anybody has `used` it in the last one."""

    @property
    def used(self) -> bool:
        """Whether anybody has drawn from it, or seeded it, since the run began."""

    def restore(self) -> None:
        """The check is over, or interrupted: the generator goes on where it was."""

    def take(self) -> None:
        """The check goes on, and restores it later to where it is now."""

    def forget(self) -> None:
        """Nobody has drawn from it so far."""


class OfRandom:
    """That of ``random``."""

    def __init__(self) -> None:
        self._position = _position_of(_GENERATOR)
        self._fresh: object = None
        self.take()

    def take(self) -> None:
        self._before = random.getstate()
        self.forget()

    def forget(self) -> None:
        self._seed: int | None = None

    def begin(self, seed: int) -> bool:
        used = self.used
        if used or seed != self._seed:
            _reseed(_GENERATOR, seed)  # in C, because every run may do this
            self._seed, self._fresh = seed, self._position()
        _GENERATOR.gauss_next = None
        return used

    @property
    def used(self) -> bool:
        return self._seed is not None and self._position() != self._fresh

    def restore(self) -> None:
        random.setstate(self._before)


class OfNumpy:
    """That of ``numpy.random``.

    Args:
        module: ``numpy.random.mtrand``, once it is imported.
    """

    def __init__(self, module: Any) -> None:
        self._module = module
        self._generator = module._rand
        self._numbers = self._generator._bit_generator  # what makes its numbers; a program may exchange it
        self._fresh: object = None
        self.take()
        self._position: Callable[[], object] = lambda: repr(self._numbers.state)
        self._is_twister = type(self._numbers).__name__ == "MT19937"
        if self._is_twister:
            memory = (ctypes.c_char * (_SHOWN + 4)).from_address(self._numbers.ctypes.state_address + 4 * _WORDS - _SHOWN)
            told = self._before["state"]
            shown = told["key"].tobytes()[-_SHOWN:] + int(told["pos"]).to_bytes(4, sys.byteorder)
            if memory.raw == shown:  # as in all versions so far
                self._position = lambda: memory.raw  # the last numbers, and the position after them

    def take(self) -> None:
        self._before = self._generator.get_state(legacy=False)
        self.forget()

    def forget(self) -> None:
        self._seed: int | None = None

    def begin(self, seed: int) -> bool:
        used = self.used
        if seed == self._seed and not used:
            return False
        self._take_back()
        if self._is_twister:
            self._generator.seed(seed)
        else:
            self._generator.set_state(type(self._numbers)(seed).state)
        self._seed, self._fresh = seed, self._position()
        return used

    @property
    def used(self) -> bool:
        exchanged = self._generator._bit_generator is not self._numbers
        return self._seed is not None and (exchanged or self._position() != self._fresh)

    def restore(self) -> None:
        self._take_back()
        self._generator.set_state(self._before)

    def _take_back(self) -> None:
        if self._generator._bit_generator is not self._numbers:
            self._module.set_bit_generator(self._numbers)


def numpy_module() -> Any:
    """``numpy.random.mtrand``; None as long as it is not imported."""
    module = sys.modules.get("numpy.random.mtrand")
    return module if hasattr(module, "_rand") else None


def _position_of(generator: random.Random) -> Callable[[], object]:
    """A function that returns something else once anybody has drawn from a generator, or seeded it."""
    if _memory_shows_it():
        return partial(attrgetter("raw"), _memory(generator))  # in C, because every run asks
    return lambda: _random.Random.getstate(generator)


def _memory_shows_it() -> bool:
    """Whether the memory of a generator looks as expected, by one of our own: its position, and the first of its words."""
    if sys.implementation.name != "cpython" or _random.Random.__basicsize__ < object.__basicsize__ + 4 + 4 * _WORDS:
        return False
    made: Any = random.Random.__new__(random.Random)
    memory, seen = _memory(made), []
    for act in (lambda: _reseed(made, 1), lambda: made.getrandbits(32), made.random, lambda: _reseed(made, 2)):
        act()
        seen.append(memory.raw)
    positions = [int.from_bytes(each[:4], sys.byteorder) for each in seen]
    return positions == [_WORDS, 1, 3, _WORDS] and seen[0] != seen[3]


def _memory(generator: random.Random) -> Any:
    return (ctypes.c_char * _SHOWN).from_address(id(generator) + object.__basicsize__)
