"""Which names may change while the threads run: attributes, globals and closure cells.

A load of a name that nothing stores needs no step. So for each name the question is whether any code that has started beside the
threads stores it. The answer comes from the code objects themselves: the engine reports each one when it first starts in a run that
is explored, whoever's code it is, and its store instructions are read. Code that has never run beside the threads has stored
nothing there. If a later run starts new code that stores a name which counted as constant, the step tables made so far are void
(`Changing.grown`), and a search begins anew. Up to that moment nothing had been stored, so nothing was missed.

Names can be stored without a store instruction: by ``setattr``, through ``__dict__`` or ``globals()``, by ``exec``, by a library
that patches. `sources.STORING` has the names that such code needs. Where one of them occurs, every load is a step. A file under
test is searched as a whole, because it may do with such a dictionary later what it likes; of the standard library, the code that
runs.

A name counts as constant only if it is known: as an attribute that code under test stores or defines, as a plain method, or as a
method of a built-in container. Anything else may be computed by a descriptor in C, which leaves no trace.
"""

from __future__ import annotations

import _io
import ast
import builtins
import collections
import functools
import re
import sys
from collections.abc import Iterable, Set
from types import CodeType, MethodWrapperType, SimpleNamespace, WrapperDescriptorType
from typing import Any

from ...core.classes import bases_of, names_of
from ...core.source import file_text
from ..schedule import checksum
from .computed import computed_by, computed_elsewhere, is_borrowed, kept_in_c, of_the_library
from .library import partly_stepped
from .sources import CALLS_A_SETTER, CATCHERS, MAKERS, MAY_ALIAS, STORING, of_code, of_file

_ENDING = frozenset(  # code that has one of these names may notice when an object ends
    {
        "weakref", "_weakref", "WeakSet", "WeakKeyDictionary", "WeakValueDictionary", "WeakMethod", "finalize", "proxy",
        "__del__", "open", "fdopen", "popen", "Popen", "memoryview", "tempfile", "NamedTemporaryFile", "TemporaryFile",
        "TemporaryDirectory", "SpooledTemporaryFile", "shelve", "Shelf", "Finalize", "TextIOWrapper", "BufferedWriter",
        "BufferedRWPair", "BufferedRandom", "gzip", "bz2", "lzma", "zipfile", "tarfile", "wave", "socket", "create_connection",
        "mmap", "sqlite3", "gc", "getweakrefcount", "getbuffer",
    }
)  # fmt: skip
_LOOKING_IN = frozenset(  # code that has one of these names may see the locals and the stack of another thread's frame, or change
    # what a call reads that is no step
    {
        "_current_frames", "_current_exceptions", "settrace", "setprofile", "get_objects", "get_referrers", "get_referents",
        "getrefcount", "gi_frame", "cr_frame", "ag_frame", "monitoring", "__kwdefaults__",
    }
)  # fmt: skip
_OF_CALLS = frozenset({".__code__", ".__defaults__", ".__kwdefaults__", ".__call__"})  # each call reads them, and is no step
_CLOSED_AT_END = _io._IOBase  # where an instance ends, it calls its method `close`
_WEAK_MODULES = ("weakref.py", "_weakrefset.py")  # who starts code of theirs may notice when an object ends
_CONTAINERS = (
    list, dict, set, frozenset, tuple, str, bytes, bytearray, int, float, collections.deque, collections.OrderedDict,
    collections.defaultdict, collections.Counter,
)  # fmt: skip
_CONTAINER_METHODS = frozenset(
    name for kind in _CONTAINERS for name in dir(kind) if callable(getattr(kind, name)) and not name.startswith("__")
)
_INITIALISED = (BaseException, AttributeError, StopIteration, collections.deque, collections.defaultdict)  # again, up to 3.11
_SETTERS = frozenset({"__setattr__", "__delattr__"})
_KEEPING = (SimpleNamespace, ast.AST)  # ``__init__`` stores what it is called with by name
_FLAGS = ("anything", "by_setters", "ends_matter", "looked_into", "all_visible")
MISSING = object()


class Changing:
    """What is known of names, for one check.

    Attributes:
        grown: whether a name may change that was taken for constant.
        anything: whether any name may change, by what nobody sees.
        by_setters: whether any attribute may, by a call of `setattr`, which is a step.
        ends_matter: whether code under test may notice when an object ends.
        looked_into: whether code under test may look into frames, so that every instruction is visible.
        all_visible: whether every instruction is visible for another reason.
        thread_ends_matter: whether code under test may notice when a thread ends.
        thread_matters: whether code under test may do with what a thread keeps for itself, or with its number.
    """

    def __init__(self) -> None:
        self.grown = False
        self.anything = self.by_setters = self.ends_matter = self.looked_into = self.all_visible = False
        self.thread_matters = self.thread_ends_matter = False
        self._stored: set[str] = set()  # ".x", "global x", "cell x"
        self._taken_for_constant: set[str] = set()
        self._known: set[str] = set()
        self._methods: set[str] = set(_CONTAINER_METHODS)
        self._computed: set[str] = set()
        self._seen: set[str] = set()
        self._used: set[str] = set()
        self._at_first: set[str] = set()
        self._learnt: frozenset[int] = frozenset()
        self._values: dict[tuple[int, str], tuple[dict[str, Any], str, object]] = {}
        self._apart: set[str] = set()

    def file(self, path: str) -> None:
        """Take note of a file whose code is under test; of the standard library only the code that runs counts."""
        if path in self._seen or partly_stepped(path):
            return
        self._seen.add(path)
        found = of_file(path)
        before = len(self._computed)
        self._known |= found.attributes
        self._methods |= found.methods
        self._computed |= found.computed
        self.thread_matters = self.thread_matters or found.of_threads
        self.thread_ends_matter = self.thread_ends_matter or found.of_ends
        self._words(found.words)
        if len(self._computed) != before:
            self._void_if(found.computed)

    def started(self, code: CodeType, *, under_test: bool, asked_by_test: bool = False) -> bool:
        """Take note of code that has started beside the threads.

        Args:
            under_test: whether it is code under test.
            asked_by_test: whether code under test has called it.

        Returns:
            Whether another start of it would tell no more.
        """
        stored, words = of_code(code)
        self._store(stored)
        if under_test and not partly_stepped(code.co_filename):
            self.file(code.co_filename)
            if CALLS_A_SETTER in words:
                self._set("by_setters")
            if sys.version_info < (3, 12):  # from there on, each call says what it calls (`called`)
                text = file_text(code.co_filename)
                if "__init__" in code.co_names or ".__init__" in text:
                    self._store(frozenset(f".{name}" for kind in _INITIALISED for name in kept_in_c(kind)))
                    if "SimpleNamespace" in text:
                        self._set("by_setters")
            if code.co_filename.startswith("<"):  # there is no source to read
                self._words(words)
            return True
        self._words(words & STORING)
        if CALLS_A_SETTER in words:
            self._set("anything")
        if not code.co_filename.endswith(_WEAK_MODULES):
            return True
        asked = asked_by_test or under_test
        if asked:
            self._set("ends_matter")
        return asked

    @property
    def ends_noticed(self) -> bool:
        """Whether code under test may notice when an object ends, or look at what refers to it."""
        return self.ends_matter or self.looked_into

    def has_file(self, path: object) -> bool:
        """Whether this is a file under test of which code has started."""
        return path in self._seen

    def mention(self, pattern: re.Pattern[str]) -> bool:
        """Whether the text of a file under test has this."""
        return any(pattern.search(file_text(path)) for path in self._seen)

    def imported(self, path: str) -> None:
        """Take note of a file under test which was imported by one whose code has started, and of which no code need ever start."""
        if path not in self._seen and MAY_ALIAS.search(file_text(path)) and of_file(path).aliases:
            self._set("anything")

    def in_classes(self, kinds: Iterable[type]) -> None:
        """Take note of the attributes of these classes that a descriptor computes, however it has come there."""
        found: set[str] = set()
        for kind in {id(kind): kind for kind in kinds}.values():  # no set: a metaclass may hash classes its own way
            if of_the_library(kind):
                continue
            if any("__del__" in names_of(base) or base is _CLOSED_AT_END for base in bases_of(kind)):
                self._set("ends_matter")
            found.update(computed_by(kind))
            if any(is_borrowed(names_of(kind).get(name), kind) for name in CATCHERS):
                self._set("anything")  # any name may stand for what changes
        self._store(frozenset(f".{name}" for name in found))

    def called(self, callee: object) -> None:
        """Take note of what code under test calls: C may store attributes of which no instruction has the name."""
        while type(callee) is functools.partial:
            callee = callee.func
        if callee is setattr or callee is delattr:
            self._set("by_setters")
        elif type(callee) is WrapperDescriptorType or type(callee) is MethodWrapperType:
            kind, name = callee.__objclass__, callee.__name__
            if name in _SETTERS or (name == "__init__" and any(kind is each for each in _KEEPING)):
                self._set("by_setters")
            elif name == "__init__" and kind is not object:
                self._store(frozenset(f".{name}" for name in kept_in_c(kind)))

    def _store(self, stored: frozenset[str]) -> None:
        if new := stored - self._stored:
            self._stored |= new
            if new & _OF_CALLS:
                self._set("looked_into")
            if new & self._taken_for_constant:
                self.grown = True

    def _words(self, words: Set[str]) -> None:
        if words & STORING or words & MAKERS:
            self._set("anything")
        if words & _ENDING:
            self._set("ends_matter")
        if words & _LOOKING_IN:
            self._set("looked_into")

    def _set(self, what: str) -> None:
        if not getattr(self, what):
            setattr(self, what, True)
            self.grown = True

    def _void_if(self, names: set[str]) -> None:
        if any(f".{name}" in self._taken_for_constant for name in names):
            self.grown = True

    def begin(self) -> None:
        """Take note that from here on a search teaches more, which a replay of what it finds has to be told (`learnt`)."""
        self._at_first = self._stored | self._flags()

    def show_everything(self, wanted: bool) -> None:
        """From here on every instruction is visible, or no longer each one."""
        if wanted is not self.all_visible:
            self.all_visible, self.grown = wanted, True
            self._used.discard("all_visible")

    def take_apart(self, call: str) -> bool:
        """Have a call in C be several steps from here on (`apart`); returns whether it was one before."""
        if self.is_apart(call):
            return False
        self._apart.add(call)
        self._used.add(call)
        self.grown = True
        return True

    @property
    def takes_apart(self) -> bool:
        """Whether any call in C may be several steps."""
        return bool(self._apart or self._learnt)

    def is_apart(self, call: str) -> bool:
        return call in self._apart or (bool(self._learnt) and checksum(call) in self._learnt)

    def learnt(self) -> tuple[int, ...]:
        """Checksums of what has been learnt since `begin`, as far as a step table depends on it."""
        return tuple(sorted({checksum(fact) for fact in self._used - self._at_first}))

    def all_learnt(self) -> tuple[int, ...]:
        """Checksums of all that step tables depend on: `learnt`, for a process in which no code of the program has started."""
        return tuple(sorted({checksum(fact) for fact in self._used}))

    def unforeseen(self) -> tuple[int, ...]:
        """Checksums of what has made step tables void that were made before it was known: `learnt`, for a run that begins anew."""
        changed = {name for name in self._taken_for_constant if name in self._stored or name.removeprefix(".") in self._computed}
        return tuple(sorted({checksum(fact) for fact in changed | self._flags()}))

    @property
    def facts_used(self) -> int:
        """The number of facts that step tables depend on; `learnt` changes when it does."""
        return len(self._used)

    def learn(self, facts: Iterable[int]) -> None:
        """Take over what an earlier check has `learnt`."""
        self._learnt = frozenset(facts)
        for flag in _FLAGS:
            if checksum(flag) in self._learnt:
                setattr(self, flag, True)
        self.grown = self.grown or bool(self._learnt)

    def learn_before_any_run(self, facts: Iterable[int]) -> None:
        """The same where there are no step tables yet, so that none is void."""
        self.learn(facts)
        self.grown = False

    def _flags(self) -> set[str]:
        return {flag for flag in _FLAGS if getattr(self, flag)}

    def attribute_changes(self, name: str, *, method: bool) -> bool:
        if self._changes(f".{name}", f"global {name}") or name in self._computed:
            return True
        known = name in self._methods or name in self._known if method else name in self._known
        return not known or name in computed_elsewhere() or not self._constant(f".{name}")

    def global_changes(self, name: str) -> bool:
        return self._changes(f"global {name}", f".{name}") or not self._constant(f"global {name}", f".{name}")

    def cell_changes(self, name: str) -> bool:
        return self._changes(f"cell {name}") or not self._constant(f"cell {name}")

    def _changes(self, *names: str) -> bool:
        """Whether one of these may change, as far as known: a global is also an attribute of its module."""
        stored = [name for name in names if name in self._stored or (self._learnt and checksum(name) in self._learnt)]
        self._used.update(stored, self._flags())
        return self.anything or self.by_setters or bool(stored)

    def _constant(self, *names: str) -> bool:
        """Take these names for constant."""
        self._taken_for_constant.update(names)
        return True

    def value_of(self, namespace: dict[str, Any], name: str) -> object:
        """The value of a global, if nothing is known to rebind it; otherwise `MISSING`."""
        if self.global_changes(name):
            return MISSING
        value = _value(namespace, name)
        self._values.setdefault((id(namespace), name), (namespace, name, value))
        return value

    def rebound(self, names: Iterable[str]) -> None:
        """Take note of built-in names that a run has replaced. `check_values` finds these as they were before."""
        self._store(frozenset(f"global {name}" for name in names))

    def check_values(self) -> None:
        """Look whether a global has been rebound that was taken for constant, by whatever means."""
        for key, (namespace, name, value) in list(self._values.items()):
            if _value(namespace, name) is not value:
                del self._values[key]
                self._stored.add(f"global {name}")
                self.grown = True


def _value(namespace: dict[str, Any], name: str) -> object:
    return namespace[name] if name in namespace else getattr(builtins, name, MISSING)  # no ``get``: see `looked_up`
