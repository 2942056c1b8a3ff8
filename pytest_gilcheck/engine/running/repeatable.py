"""What makes a program do something else each time although its schedule is the same, brought under control for a check.

- Random numbers: every run begins with the same seed, which the name of the program decides: two tests whose names of files or
  rows are made of random numbers make different ones. So does each generator that the run makes without a seed, and
  ``os.urandom``, on which ``uuid`` and ``secrets`` build. Not the names that ``tempfile`` makes: each process would begin with the
  same, and try one after the other of those that checks before it have left behind.
- The order of sets: objects without a hash of their own are hashed by address. The instances that a run makes of classes under
  test, futures, threads and locks are hashed by their number in it.

What chance gives to a run is its *draw*. All runs of one draw are given the same. That fails a correct program which names by
random numbers what a run leaves behind: the name exists when the next run makes it. So a program that fails in order is run
again with random bytes that differ from run to run (`Chance.renew`), because few programs decide by them what to do; if it failed
only when it ran again, then with other random numbers too.

An object from before the check keeps its hash, because it may be in a set already.
"""

from __future__ import annotations

import builtins
import gc
import os
import random
import sys
import tempfile
import threading
import weakref
import zlib
from collections.abc import Callable, Iterable
from functools import partial
from itertools import compress
from typing import Any

from ...core.build_flags import FREE_THREADED_BUILD
from ...core.classes import derived_from, in_class, is_a, module_of_class, names_of
from ...core.lookup import looked_up
from ...core.source import line_text
from .generators import OfNumpy, OfRandom, SharedGenerator, numpy_module

_seed = random.Random.seed
REAL_URANDOM = os.urandom
_get_ident = threading.get_ident
_build_class = builtins.__build_class__
_Names: Any = vars(tempfile)["_RandomNameSequence"]
_next_name = _Names.__next__
_HASH = names_of(object)["__hash__"]
RENEWED = 256  # draws from here on give each run other bytes, and from twice this on, other numbers as well
_BYTES, _EVERYTHING = 1, 2
_KEEPS_APART = sys.version_info >= (3, 12) and not FREE_THREADED_BUILD  # before, no event tells of a setup that asks the collector


class Chance:
    """What an engine asks of the sources of chance; this one controls none.

    Attributes:
        draw: the draw of the runs that begin.
    """

    draw = 0

    def begin(self) -> None:
        """Begin a run."""

    def begin_program(self, name: str) -> None:
        """Begin the runs of the program of this name."""

    def pause(self) -> None:
        """From here on, chance is what it is outside of a check, until `resume`."""

    def resume(self) -> None:
        """What follows belongs to the check again."""

    @property
    def drawn(self) -> bool:
        """Whether any run has used chance so far. Threads do not count, because `threading` itself keeps them in a set."""
        return False

    @property
    def gave_bytes(self) -> bool:
        """Whether the present run has asked for random bytes, or may draw what no other run does: no step shows that."""
        return False

    def find_older(self) -> None:
        """Look for the objects from before the check, and let the collector see them."""

    def renew(self, numbers: bool) -> bool:
        """From here on, give each run other random bytes.

        Args:
            numbers: whether the next thing to renew may be all random numbers.

        Returns:
            Whether the last run may have gone another way so: it has drawn from what is given anew now.
        """
        return False

    def next_number(self, counts: bool = True) -> int:
        """The hash of a new object.

        Args:
            counts: whether the program uses chance by it.
        """
        return 0


class Repeatable(Chance):
    """The sources of chance of one check.

    Args:
        controlled: whether the calling thread is controlled.
        may_change: whether a class, by the name of its module, is under test.
        name: of the program.
    """

    def __init__(self, controlled: Callable[[], bool], may_change: Callable[[str], bool], name: str) -> None:
        self._controlled, self._may_change = controlled, may_change
        self._name = name
        self._generators: list[SharedGenerator] = [OfRandom()]
        self._draw = -1
        self._seed = seed_of(name, 0)
        self._drawn_bytes, self._used = random.Random(), False
        self._draws = False
        self._numpy_found = False
        self._made = 0  # generators of this run
        self._objects = 0
        self._numbers: dict[int, int] = {}  # by id
        self._references: dict[int, Any] = {}
        self._kept: dict[int, Any] = {}  # objects without weak references
        self._changed: list[type] = []
        self._changed_last: list[type] = []  # of those, whose instances from before have not been looked for
        self._keeps_apart: bool | None = None  # whether all objects from before are frozen; None if they never were
        self._before: dict[int, Callable[[], Any]] = {}  # objects from before the check, which may end during it: weak references
        self._paused_in: int | None = None  # the thread that has called `pause`

    def begin_program(self, name: str) -> None:
        self._name, self.draw, self._draw, self._draws = name, 0, -1, False
        for generator in self._generators:
            generator.forget()

    def pause(self) -> None:
        self._paused_in = _get_ident()
        self.find_older()  # what runs now may ask the collector for them
        for generator in self._generators:
            generator.restore()

    def resume(self) -> None:
        self._paused_in = None
        for generator in self._generators:
            generator.take()

    def begin(self) -> None:
        self._made = self._objects = 0
        if self._kept:
            for key in self._kept:
                self._forget(key)
            self._kept.clear()
        if self.draw != self._draw or self.draw >= RENEWED * _EVERYTHING:
            self._choose()
        if self._used:
            self._used = False
            _seed(self._drawn_bytes, self._seed)
        if not self._numpy_found and (numpy := numpy_module()) is not None:
            self._numpy_found = True
            self._generators.append(OfNumpy(numpy))
        for generator in self._generators:
            if generator.begin(self._seed):
                self._draws = True

    @property
    def drawn(self) -> bool:
        self._draws = self._draws or any(generator.used for generator in self._generators)
        return self._draws

    @property
    def gave_bytes(self) -> bool:
        return self._used or self.draw >= RENEWED

    def renew(self, numbers: bool) -> bool:
        level = self.draw // RENEWED
        if level < _BYTES and self._used:
            self.draw += RENEWED * _BYTES
        elif numbers and level < _EVERYTHING and (self._made or any(generator.used for generator in self._generators)):
            self.draw += RENEWED * (_EVERYTHING - level)
        else:
            return False
        return True

    def _choose(self) -> None:
        """Begin with another draw."""
        self._draw = self.draw
        self._seed = seed_of(self._name, self.draw)
        if self.draw >= RENEWED * _EVERYTHING:
            self._seed = int.from_bytes(REAL_URANDOM(4))
        self._used = True

    def end(self) -> None:
        """End the check: everything is as it was."""
        if self._keeps_apart:
            gc.unfreeze()
        for generator in self._generators:
            generator.restore()
        for kind in self._changed:
            type.__delattr__(kind, "__hash__")
        self._changed.clear()
        self._before.clear()

    def hash_by_number(self, kinds: Iterable[type]) -> None:
        """Hash the instances that these classes will have by their number. Those that are there keep their hash.

        Threads are known. Others are looked for once a program asks for a hash (`find_older`), which most never do: to look at all
        objects takes 20 to 200 ms, because a fork gets a copy of each page. Until then the collector keeps them apart.
        """
        self.find_older()
        self._changed_last = [kind for kind in kinds if self._change(kind)]
        if _KEEPS_APART and self._keeps_apart is None and not gc.get_freeze_count():
            gc.freeze()
            self._keeps_apart = True
            for thread in list(vars(threading)["_dangling"]):  # all that there are, begun or not
                self._keeps_hash(thread)
        else:
            self.find_older()

    def find_older(self) -> None:
        kinds, self._changed_last = self._changed_last, []
        made = set[int]()
        if self._keeps_apart:
            self._keeps_apart = False
            made = set(map(id, gc.get_objects()))
            gc.unfreeze()
        concerned = {id(each) for kind in kinds for each in derived_from(kind)}
        # A hundred thousand objects, or millions beside a large test suite, so all of this is C; isinstance would ask the thing.
        # What does not work: gc.get_referrers, which compares each reference of each object with each of these classes.
        if concerned:
            gc.unfreeze()  # what is frozen is in no list of the collector's
        things = gc.get_objects() if concerned else []
        for thing in compress(things, map(concerned.__contains__, map(id, map(type, things)))):
            if id(thing) not in made:
                self._keeps_hash(thing)

    def _keeps_hash(self, thing: Any) -> None:
        try:
            self._before[id(thing)] = weakref.ref(thing)
        except TypeError:  # another object could come to its address: keep it
            self._before[id(thing)] = partial(_itself, thing)

    def _change(self, kind: type) -> bool:
        if in_class(kind, "__hash__") is not _HASH or "__hash__" in names_of(kind):
            return False
        if in_class(kind, "_is_protocol") is True:  # `isinstance` asks for every name of a protocol, which no class would have then
            return False
        numbered = self._number

        def __hash__(self: Any) -> int:
            return numbered(self)

        try:
            type.__setattr__(kind, "__hash__", __hash__)  # a metaclass of the program must not notice
        except (AttributeError, TypeError):  # it cannot be changed
            return False
        self._changed.append(kind)
        return True

    def _number(self, thing: Any) -> int:
        key = id(thing)
        if (number := looked_up(self._numbers, key)) is not None:
            return number
        # What is hashed while the check is paused is hashed by number as well: it may be hashed again by a run.
        if not (self._controlled() or self._paused_in == _get_ident()):
            return object.__hash__(thing)
        thread = is_a(thing, threading.Thread)
        if self._changed_last and not thread:
            self.find_older()
        if (before := looked_up(self._before, key)) is not None and before() is thing:
            return object.__hash__(thing)
        number = self._numbers[key] = self.next_number(not thread)
        try:
            self._references[key] = weakref.ref(thing, lambda _: self._forget(key))
        except TypeError:  # it could die, and another object be at its address: keep it for this run
            self._kept[key] = thing
        return number

    def next_number(self, counts: bool = True) -> int:
        self._objects += 1
        self._draws = self._draws or counts
        draw = self.draw % RENEWED
        return hash((draw, self._objects)) if draw else self._objects

    def _forget(self, key: int) -> None:
        self._numbers.pop(key, None)
        self._references.pop(key, None)

    def replacements(self) -> list[tuple[Any, str, Any]]:
        """(target, name, value) of what is to be replaced for the time of the check."""

        def seed(self_: random.Random, a: Any = None, version: int = 2) -> None:
            if a is None and self._controlled():
                self._made += 1
                self._draws = True
                a = self._seed + self._made
            _seed(self_, a, version)

        def build_class(*arguments: Any, **keywords: Any) -> Any:
            made = _build_class(*arguments, **keywords)
            ours = self._controlled() and is_a(made, type) and self._may_change(module_of_class(made))
            if ours and not _decorated(arguments):
                self._change(made)
            return made

        def next_name(self_: Any) -> Any:
            if not self._controlled():
                return _next_name(self_)
            characters = _Names.characters
            return "".join(characters[byte % len(characters)] for byte in REAL_URANDOM(8))

        return [(random.Random, "seed", seed), (builtins, "__build_class__", build_class), (_Names, "__next__", next_name)]

    def urandom(self, size: int) -> bytes:
        if not self._controlled():
            return REAL_URANDOM(size)
        self._used = self._draws = True
        if self.draw >= RENEWED:
            return REAL_URANDOM(size)
        return self._drawn_bytes.getrandbits(8 * size).to_bytes(size, "little")  # `randbytes` would be steps of the program


def seed_of(name: str, draw: int) -> int:
    """With which of the 32 bits that all generators take the program of this name begins in the runs of a draw."""
    return (zlib.crc32(name.encode(errors="surrogatepass")) + 1_000_003 * (draw % RENEWED)) & 0xFFFF_FFFF


def _decorated(arguments: tuple[Any, ...]) -> bool:
    """Whether a class is decorated, by the arguments of `__build_class__`; or may be, where there is no source.

    `dataclass` and its like look for a ``__hash__`` of the class itself, and make none where they find one.
    """
    code = getattr(arguments[0], "__code__", None) if arguments else None
    return code is None or not line_text(code.co_filename, code.co_firstlineno).startswith("class")


def _itself(thing: Any) -> Any:
    return thing
