"""What re-enabled the GIL of a free-threaded build: an import of an extension module that does not declare support for running
without.

From that import on the whole process has a GIL (PEP 703), and nothing switches it off again. While an extension module is
created, this module reads the interpreter's own warning, which names the module, and compares ``sys._is_gil_enabled()`` before
and after.

What does not work:

- ``sys.audit``: there are events for the import and for ``dlopen``, but none for the GIL.
- To record warnings: filters hide this one, ``error`` turns it into an exception that any code may catch, and ``catch_warnings``
  affects the whole process, in which other threads run. So an entry is inserted into the filters whose message "pattern" reads
  the message and never matches; the other filters decide as before.
- To compare before and after only: *every* creation of an extension module enables the GIL temporarily. So the harmless import of
  another thread looks as if it had re-enabled the GIL, or hides one that has. The comparison is used only where the warning was
  not read (a custom loader, or filters that another thread replaced at that moment), and then names all candidates.
- A lock around creations, to separate them: the import system has its own locks, and the two would deadlock.
- To replace ``exec_module``: the declaration is read when the module is created. Modules that a module imports while it executes
  are created through the same function.
"""

from __future__ import annotations

import json
import mmap
import os
import re
import sys
import threading
import warnings
from collections.abc import Callable, Iterable
from dataclasses import asdict, dataclass
from importlib.machinery import BuiltinImporter, ExtensionFileLoader
from types import FrameType
from typing import Any

from .classes import names_of_module
from .clocks import sleep
from .source import frame_place, innermost

_WARNING = re.compile(r"The global interpreter lock \(GIL\) has been enabled to load module '(.+?)', which")
_IMPORTLIB = os.path.dirname(sys.modules["importlib"].__file__ or "importlib") + os.sep
_SETTLED = 5  # readings, a millisecond apart, after which a GIL that is on is not on for one creation only
_SHOWN = 8  # candidates named in a message


class GilReenabledWarning(UserWarning):
    """The GIL of a free-threaded build was re-enabled during a run: everything after that ran with a GIL."""


@dataclass(frozen=True)
class GilReenabled:
    """The GIL was re-enabled in one process.

    Attributes:
        modules: the module that re-enabled it, if certain; otherwise all candidates; empty if there are none.
        certain: whether the one module is known to have re-enabled it.
        importer: the line that imported the module, ``FILE:LINE (function)``; empty if the import was not observed.
        thread: the name of the importing thread; empty for the main thread, and if the import was not observed.
        test: the test that ran at that time; empty if none ran, or if it is not known.
        place: what ran at that time, described for a message.
        forked: whether it happened in a forked child; this process then still has no GIL.
    """

    modules: tuple[str, ...]
    certain: bool = False
    importer: str = ""
    thread: str = ""
    test: str = ""
    place: str = ""
    forked: bool = False

    @classmethod
    def from_dict(cls, data: dict[str, Any]) -> GilReenabled:
        """Read the values of `as_dict`, which may have passed through JSON or execnet."""
        return cls(**{**data, "modules": tuple(data["modules"])})

    def as_dict(self) -> dict[str, Any]:
        """Return plain values, for `from_dict`."""
        return {**asdict(self), "modules": list(self.modules)}

    def __str__(self) -> str:
        """The message, in one line."""
        parts = [self._module_text()]
        if self.importer:
            parts.append(f"imported at {self.importer}")
        if self.thread:
            parts.append(f"in thread {self.thread!r}")
        if self.place:
            parts.append(self.place)
        if self.forked:
            parts.append("in a forked child only")
        return f"the GIL was re-enabled: {', '.join(parts)}"

    def _module_text(self) -> str:
        if self.certain:
            return f"extension module {self.modules[0]!r} does not declare that it runs without the GIL"
        if not self.modules:
            return "by an unknown module (all imported extension modules are of the standard library)"
        if len(self.modules) == 1:
            return f"probably by extension module {self.modules[0]!r} (the only candidate; the import was not observed)"
        names = ", ".join(repr(name) for name in self.modules[:_SHOWN])
        more = f" and {len(self.modules) - _SHOWN} more" if len(self.modules) > _SHOWN else ""
        return f"by one of the extension modules {names}{more} (the import was not observed)"


def can_reenable_gil() -> bool:
    """Whether this is a free-threaded build that may re-enable its GIL.

    ``PYTHON_GIL`` and ``-X gil`` decide for the whole process whether there is a GIL.
    """
    decided = sys._xoptions.get("gil") or (not sys.flags.ignore_environment and os.environ.get("PYTHON_GIL"))
    return "free-threading" in sys.version and not decided  # as Py_GIL_DISABLED says, without the import of sysconfig


REPEATED = "__gilcheck_repeats_imports__"
"""A global of a module that imports what a process before this one has imported, and reported."""


class Watch:
    """Observes the re-enabling of the GIL in this process and in its forks; needed where `can_reenable_gil`.

    Args:
        describe: called in the importing thread with the importing frame, during the import; returns `GilReenabled.test` and
            `GilReenabled.place`.
    """

    def __init__(self, describe: Callable[[FrameType | None], tuple[str, str]]) -> None:
        self._describe = describe
        self._pid = os.getpid()
        self._first = [True]  # the thread that pops it reports the event: atomic also without a GIL
        self._unreported: list[GilReenabled] = []
        self._candidates: list[str] = []  # the GIL was on after their creation, perhaps only for that of another module
        self._cleared: set[str] = set()  # modules after whose creation the GIL was off
        self._mailbox = _Mailbox()
        self.on = False  # whether the GIL was re-enabled here, reported or not

    def start(self) -> None:
        """Start to watch. If the GIL is on already, the next `look` returns what is still known about it."""
        _watches.append(self)
        _install()

    def stop(self) -> None:
        """Stop watching; may be called more than once. The last watch to stop restores the import system."""
        if self in _watches:
            _watches.remove(self)
        if not _watches:
            _restore()

    def look(self) -> list[GilReenabled]:
        """The events since the last look; cheap if there are none."""
        if sys._is_gil_enabled() == self.on and not self._unreported and not self._mailbox.waiting:  # type: ignore[attr-defined]
            return []
        if not self.on and _on_for_good():
            self._report(None, self._unseen())
        events = [self._unreported.pop(0) for _ in range(len(self._unreported))]
        self._mailbox.withdraw()  # what is reported here must not be reported by the parent again
        return list(dict.fromkeys(events + self._mailbox.read()))

    def created(self, creation: _ModuleCreation, frame: FrameType) -> None:
        """Decide whether a module re-enabled the GIL; called in the importing thread after its creation has ended or failed."""
        if self.on:
            return
        if creation.named:
            self._report(frame, ((creation.named,), True))
        elif not sys._is_gil_enabled():  # type: ignore[attr-defined]
            self._cleared.update((creation.name, *self._candidates))
            self._candidates.clear()
        elif not creation.before and not creation.beside and _on_for_good(creation):
            self._report(frame, ((creation.name,), True))
        else:  # another creation may have read the warning; if none has, the next look reports the candidates
            self._candidates.append(creation.name)

    def _report(self, frame: FrameType | None, found: tuple[tuple[str, ...], bool]) -> None:
        try:
            self._first.pop()
        except IndexError:  # another thread has reported it
            return
        modules, certain = found
        importer = _importer(frame)
        if importer is not None and REPEATED in importer.f_globals:
            self.on = True
            return
        try:
            test, place = self._describe(importer)
        except Exception:  # an import must not fail because its place cannot be described
            test, place = "", ""
        forked = os.getpid() != self._pid
        seen = importer is not None
        main = threading.current_thread() is threading.main_thread()
        event = GilReenabled(
            modules=modules,
            certain=certain,
            importer=frame_place(importer) if importer else "",
            thread=threading.current_thread().name if seen and not main else "",
            test=test,
            place=place,
            forked=forked,
        )
        if forked:
            self._mailbox.write(event)
        self._unreported.append(event)
        self.on = True  # last: a thread that reads it finds the rest

    def _unseen(self) -> tuple[tuple[str, ...], bool]:
        """The candidates for an import that was not observed, and whether the one is certain."""
        registry = vars(sys.modules["_frozen_importlib"]).get("__warningregistry__", {})
        for key in list(registry):  # warnings that were shown, unless the filters said "ignore" or "always"
            if isinstance(key, tuple) and (match := _WARNING.match(str(key[0]))):
                return (match[1],), True
        names = [*self._candidates, *_extension_modules()]
        return tuple(name for name in dict.fromkeys(names) if name not in self._cleared and not _standard(name)), False


class _ModuleCreation:
    """The creation of one module in this thread; every warning during it calls `match`, which reads it and returns False."""

    def __init__(self, name: str) -> None:
        self.name = name
        self.named = ""
        self.beside = False  # whether another module was created at the same time, in any thread
        self._thread = threading.get_ident()

    def __enter__(self) -> _ModuleCreation:
        others = _loading.copy()
        _loading[id(self)] = self
        for other in [*others.values(), *_loading.copy().values()]:  # of two concurrent creations, at least one sees the other
            if other is not self:
                other.beside = self.beside = True
        self._entry = ("default", self, RuntimeWarning, None, 0)
        self._filters = _filters()
        self._filters.insert(0, self._entry)
        self.before: bool = sys._is_gil_enabled()  # type: ignore[attr-defined]
        return self

    def __exit__(self, *error: object) -> None:
        try:
            self._filters.remove(self._entry)
        except ValueError:  # resetwarnings(), by another thread
            pass

    def match(self, text: str) -> bool:
        if threading.get_ident() == self._thread and (match := _WARNING.match(text)):
            self.named = self.named or match[1]
        return False


class _Mailbox:
    """Events of forked children, in shared memory: a child may crash, or its end may not be waited for.

    A pipe does not work: a test that closes all files would close it, and the next opened file would receive the events.
    """

    _SLOTS, _SIZE = (
        64,
        4096,
    )  # a child writes to the slot of its pid; if two write to one slot at once, only the name of the module is lost

    def __init__(self) -> None:
        self._memory = mmap.mmap(-1, self._SIZE * (self._SLOTS + 1))

    @property
    def waiting(self) -> bool:
        return self._memory[0] != 0

    def write(self, event: GilReenabled) -> None:
        text = json.dumps(event.as_dict()).encode()
        if len(text) > self._SIZE - 2:
            text = json.dumps(GilReenabled((), forked=True).as_dict()).encode()
        start = self._slot(os.getpid())
        self._memory[start + 2 : start + 2 + len(text)] = text
        self._memory[start : start + 2] = len(text).to_bytes(2)
        self._memory[0] = 1

    def withdraw(self) -> None:
        """Remove the event that this process has written."""
        start = self._slot(os.getpid())
        self._memory[start : start + 2] = bytes(2)

    def read(self) -> list[GilReenabled]:
        if not self.waiting:
            return []
        self._memory[0] = 0  # first: what is written from now on is read below or sets the flag again
        found = []
        for slot in range(self._SLOTS):
            start = self._slot(slot)
            if size := int.from_bytes(self._memory[start : start + 2]):
                self._memory[start : start + 2] = bytes(2)
                found.append(self._parsed(self._memory[start + 2 : start + 2 + size]))
        return found

    def _slot(self, number: int) -> int:
        return self._SIZE * (number % self._SLOTS + 1)

    def _parsed(self, text: bytes) -> GilReenabled:
        try:
            return GilReenabled.from_dict(json.loads(text))
        except (ValueError, TypeError, KeyError):  # two children wrote at once
            return GilReenabled((), forked=True)


_watches: list[Watch] = []  # several if pytest runs inside pytest
_loading: dict[int, _ModuleCreation] = {}
_PLACES = ((ExtensionFileLoader, "create_module"), (BuiltinImporter, "create_module"))
_replaced: list[tuple[type, str, object, object]] = []  # owner, name, original, replacement


def _install() -> None:
    if _replaced:
        return
    for owner, name in _PLACES:
        original = owner.__dict__[name]
        function = original.__func__ if isinstance(original, staticmethod) else original
        replacement: object = _observed(function)
        replacement = staticmethod(replacement) if isinstance(original, staticmethod) else replacement  # type: ignore[arg-type]
        setattr(owner, name, replacement)
        _replaced.append((owner, name, original, replacement))


def _restore() -> None:
    """Restore the original functions. If other code has replaced ours meanwhile, ours stays, and only calls the original."""
    if all(owner.__dict__.get(name) is replacement for owner, name, _, replacement in _replaced):
        for owner, name, original, _ in _replaced:
            setattr(owner, name, original)
        _replaced.clear()


def _observed(original: Callable[..., Any]) -> Callable[..., Any]:
    def create_module(*args: Any, **kwargs: Any) -> Any:
        __tracebackhide__ = True
        watches = [watch for watch in _watches if not watch.on]
        if not watches:
            return original(*args, **kwargs)
        creation = _ModuleCreation(str(getattr(kwargs["spec"] if "spec" in kwargs else args[-1], "name", "?")))
        try:
            with creation:
                return original(*args, **kwargs)
        finally:
            for watch in watches:
                watch.created(creation, sys._getframe(1))
            _loading.pop(id(creation), None)  # last: until then no other thread draws conclusions

    return create_module


def _filters() -> list[Any]:
    """The list of filters that a warning in this thread uses first; from 3.14 on it may be one of the context."""
    get = getattr(warnings, "_get_filters", None) or getattr(sys.modules.get("_py_warnings"), "_get_filters", None)
    found = warnings.filters if get is None else get()
    return found if isinstance(found, list) else []


def _on_for_good(but: _ModuleCreation | None = None) -> bool:
    """Whether the GIL is on, and not only during the creation of a module; ``but`` is a creation that has ended."""
    for _ in range(_SETTLED):
        if any(creation is not but for creation in _loading.copy().values()) or not sys._is_gil_enabled():  # type: ignore[attr-defined]
            return False
        sleep(0.001)
    return True


def _importer(frame: FrameType | None) -> FrameType | None:
    """The innermost frame outside the import system."""
    machinery = ("<frozen importlib", "<frozen zipimport", _IMPORTLIB)
    return innermost(frame, lambda file: not file.startswith(machinery) and file != __file__)


def _extension_modules() -> Iterable[str]:
    """The names of the imported extension modules."""
    for name, module in list(sys.modules.items()):
        spec = names_of_module(module).get("__spec__")
        if isinstance(getattr(spec, "loader", None), ExtensionFileLoader):
            yield name


def _standard(name: str) -> bool:
    """Whether a module is of the standard library; all of those declare that they run without the GIL."""
    return name.partition(".")[0] in sys.stdlib_module_names
