"""Who brought the GIL back: on a free-threaded build, an import of an extension module that does not declare that it runs without.

From that import on the whole process has a GIL (PEP 703), and nothing switches it off again. While an extension module is being
created, we listen to the interpreter's own words on it, which name the module, and look at ``sys._is_gil_enabled()`` before and
after.

What does not work:

- ``sys.audit``: there are events for the import and for the ``dlopen``, and none for the GIL.
- Recording warnings: filters hide this one, ``error`` turns it into an exception that anybody may catch, and ``catch_warnings`` is
  for the whole process, in which other threads go on. So we put an entry among the filters whose message "pattern" listens and
  never matches: whatever the other filters decide stays decided.
- Before and after alone: *every* creation of an extension module has the GIL on for its own time, so another thread's harmless
  import looks like a return, and hides one. It is what remains where the words were not heard (a custom loader, filters that
  another thread replaced at that moment), and it names all who may have been.
- A lock around creations, so that they could be told apart: the import system has locks of its own, and would deadlock with it.
- ``exec_module``: the declaration is read when the module is created; what a module imports while it is executed is created
  through here, too.
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
from time import sleep  # bound now: a test may patch the module
from types import FrameType
from typing import Any

from .source import frame_place, innermost

_WORDS = re.compile(r"The global interpreter lock \(GIL\) has been enabled to load module '(.+?)', which")
_IMPORTLIB = os.path.dirname(sys.modules["importlib"].__file__ or "importlib") + os.sep
_SETTLED = 5  # looks, a millisecond apart, after which a GIL that is on is not on for one creation only
_SHOWN = 8  # candidates in a line


class GilReenabledWarning(UserWarning):
    """The GIL of a free-threaded build was switched on in the middle of a run: what came after it ran with a GIL."""


@dataclass(frozen=True)
class GilBack:
    """The GIL came back, in one process.

    Attributes:
        modules: who did it, where that is certain; else all who may have; empty where nobody can be named.
        certain: whether the (one) module is known to have done it.
        importer: the line that imported it, ``FILE:LINE (function)``; empty where that was not seen.
        thread: the importing thread's name; empty for the main thread, and where the import was not seen.
        test: the test whose phase it was; empty where there was none, or where it is not known.
        place: what was going on, in words.
        forked: whether it was in a forked child; this process then has no GIL still.
    """

    modules: tuple[str, ...]
    certain: bool = False
    importer: str = ""
    thread: str = ""
    test: str = ""
    place: str = ""
    forked: bool = False

    @classmethod
    def read(cls, data: dict[str, Any]) -> GilBack:
        """From what `written` made, after a journey as JSON or by execnet."""
        return cls(**{**data, "modules": tuple(data["modules"])})

    def written(self) -> dict[str, Any]:
        """Plain values."""
        return {**asdict(self), "modules": list(self.modules)}

    def __str__(self) -> str:
        """One line."""
        parts = [self._who()]
        if self.importer:
            parts.append(f"imported at {self.importer}")
        if self.thread:
            parts.append(f"in thread {self.thread!r}")
        if self.place:
            parts.append(self.place)
        if self.forked:
            parts.append("in a forked child, and there alone")
        return f"the GIL came back: {', '.join(parts)}"

    def _who(self) -> str:
        if self.certain:
            return f"extension module {self.modules[0]!r} does not declare that it runs without it"
        if not self.modules:
            return "by whom cannot be told (no extension module is imported that is not the standard library's)"
        if len(self.modules) == 1:
            return f"probably by extension module {self.modules[0]!r} (no other comes into question, but the import was not seen)"
        names = ", ".join(repr(name) for name in self.modules[:_SHOWN])
        more = f" and {len(self.modules) - _SHOWN} more" if len(self.modules) > _SHOWN else ""
        return f"by one of the extension modules {names}{more}; which one cannot be told"


def can_come_back() -> bool:
    """Whether this is a free-threaded build whose user has left the GIL to the interpreter: ``PYTHON_GIL`` or ``-X gil`` decide it
    for the whole process, either way."""
    decided = sys._xoptions.get("gil") or (not sys.flags.ignore_environment and os.environ.get("PYTHON_GIL"))
    return "free-threading" in sys.version and not decided  # as good as sysconfig's Py_GIL_DISABLED, and read already


class Watch:
    """Sees the GIL come back, in this process and in its forks; needed where `can_come_back`.

    Args:
        describe: called in the importing thread with the importing frame, while the import goes on; gives `GilBack.test` and
            `GilBack.place`.
    """

    def __init__(self, describe: Callable[[FrameType | None], tuple[str, str]]) -> None:
        self._describe = describe
        self._pid = os.getpid()
        self._first = [True]  # popped by the thread that may tell: atomic also without a GIL
        self._untold: list[GilBack] = []
        self._suspects: list[str] = []  # modules after whose creation the GIL was on, maybe for that of another one only
        self._innocent: set[str] = set()  # modules since whose creation the GIL was off
        self._mailbox = _Mailbox()
        self.on = False  # told, or to be told

    def start(self) -> None:
        """Begin to watch. If the GIL is on already, the next look tells what is still known of it."""
        _listeners.append(self)
        _install()

    def stop(self) -> None:
        """Stop watching; once the last watch has, the import system is as it was before the first. More than once is fine."""
        if self in _listeners:
            _listeners.remove(self)
        if not _listeners:
            _restore()

    def look(self) -> list[GilBack]:
        """What happened since the last look; costs next to nothing where that is nothing."""
        if sys._is_gil_enabled() == self.on and not self._untold and not self._mailbox.waiting:  # type: ignore[attr-defined]
            return []
        if not self.on and _on_for_good():
            self._tell(None, self._unseen())
        told = [self._untold.pop(0) for _ in range(len(self._untold))]
        self._mailbox.withdraw()  # what is told here need not be told by letter
        return list(dict.fromkeys(told + self._mailbox.read()))

    def created(self, load: _ModuleCreation, frame: FrameType) -> None:
        """A module was created, or could not be: was it the one? Called in the importing thread."""
        if self.on:
            return
        if load.heard:
            self._tell(frame, ((load.heard,), True))
        elif not sys._is_gil_enabled():  # type: ignore[attr-defined]
            self._innocent.update((load.name, *self._suspects))
            self._suspects.clear()
        elif not load.before and not load.beside and _on_for_good(load):
            self._tell(frame, ((load.name,), True))
        else:  # one of those beside it may have heard the words, or a look finds that nobody has
            self._suspects.append(load.name)

    def _tell(self, frame: FrameType | None, who: tuple[tuple[str, ...], bool]) -> None:
        try:
            self._first.pop()
        except IndexError:  # another thread has
            return
        modules, certain = who
        importer = _importer(frame)
        try:
            test, place = self._describe(importer)
        except Exception:  # an import must not fail because we cannot describe where it is
            test, place = "", ""
        forked = os.getpid() != self._pid
        seen = importer is not None
        main = threading.current_thread() is threading.main_thread()
        event = GilBack(
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
        self._untold.append(event)
        self.on = True  # last: whoever sees it finds the rest

    def _unseen(self) -> tuple[tuple[str, ...], bool]:
        """Who may have done it, from what an import that we did not see has left behind."""
        registry = vars(sys.modules["_frozen_importlib"]).get("__warningregistry__", {})
        for key in list(registry):  # what was warned of, unless filters said "ignore" or "always"
            if isinstance(key, tuple) and (match := _WORDS.match(str(key[0]))):
                return (match[1],), True
        names = [*self._suspects, *_extension_modules()]
        return tuple(name for name in dict.fromkeys(names) if name not in self._innocent and not _standard(name)), False


class _ModuleCreation:
    """The creation of one module, in this thread; its `match` is asked by every warning meanwhile, and says no."""

    def __init__(self, name: str) -> None:
        self.name = name
        self.heard = ""
        self.beside = False  # whether another was being created meanwhile, in whatever thread
        self._thread = threading.get_ident()

    def __enter__(self) -> _ModuleCreation:
        others = _loading.copy()
        _loading[id(self)] = self
        for other in [*others.values(), *_loading.copy().values()]:  # whoever comes at the same time sees us, or we see him
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
        if threading.get_ident() == self._thread and (match := _WORDS.match(text)):
            self.heard = self.heard or match[1]
        return False


class _Mailbox:
    """What forked children have to tell, in memory shared with them: a child may crash, or answer to nobody.

    Not a pipe: a test that closes every file would close it, and the next file opened would get our words.
    """

    _SLOTS, _SIZE = 64, 4096  # a child writes to the slot of its own pid; two at once in the same one cost a name, not the news

    def __init__(self) -> None:
        self._memory = mmap.mmap(-1, self._SIZE * (self._SLOTS + 1))

    @property
    def waiting(self) -> bool:
        return self._memory[0] != 0

    def write(self, event: GilBack) -> None:
        text = json.dumps(event.written()).encode()
        if len(text) > self._SIZE - 2:
            text = json.dumps(GilBack((), forked=True).written()).encode()
        start = self._slot(os.getpid())
        self._memory[start + 2 : start + 2 + len(text)] = text
        self._memory[start : start + 2] = len(text).to_bytes(2)
        self._memory[0] = 1

    def withdraw(self) -> None:
        """Take back what this process has written."""
        start = self._slot(os.getpid())
        self._memory[start : start + 2] = bytes(2)

    def read(self) -> list[GilBack]:
        if not self.waiting:
            return []
        self._memory[0] = 0  # first: what is written meanwhile is read now or announced again
        found = []
        for slot in range(self._SLOTS):
            start = self._slot(slot)
            if size := int.from_bytes(self._memory[start : start + 2]):
                self._memory[start : start + 2] = bytes(2)
                found.append(self._opened(self._memory[start + 2 : start + 2 + size]))
        return found

    def _slot(self, number: int) -> int:
        return self._SIZE * (number % self._SLOTS + 1)

    def _opened(self, text: bytes) -> GilBack:
        try:
            return GilBack.read(json.loads(text))
        except (ValueError, TypeError, KeyError):  # two wrote at once
            return GilBack((), forked=True)


_listeners: list[Watch] = []  # several where pytest runs in pytest
_loading: dict[int, _ModuleCreation] = {}
_PLACES = ((ExtensionFileLoader, "create_module"), (BuiltinImporter, "create_module"))
_replaced: list[tuple[type, str, object, object]] = []  # owner, name, what was there, what we put there


def _install() -> None:
    if _replaced:
        return
    for owner, name in _PLACES:
        original = owner.__dict__[name]
        function = original.__func__ if isinstance(original, staticmethod) else original
        ear: object = _listening(function)
        ear = staticmethod(ear) if isinstance(original, staticmethod) else ear  # type: ignore[arg-type]
        setattr(owner, name, ear)
        _replaced.append((owner, name, original, ear))


def _restore() -> None:
    """Put back what was there, unless somebody has put something on top: ours then stays below it, and hands on."""
    if all(owner.__dict__.get(name) is ear for owner, name, _, ear in _replaced):
        for owner, name, original, _ in _replaced:
            setattr(owner, name, original)
        _replaced.clear()


def _listening(original: Callable[..., Any]) -> Callable[..., Any]:
    def create_module(*args: Any, **kwargs: Any) -> Any:
        __tracebackhide__ = True
        listeners = [watch for watch in _listeners if not watch.on]
        if not listeners:
            return original(*args, **kwargs)
        load = _ModuleCreation(str(getattr(kwargs["spec"] if "spec" in kwargs else args[-1], "name", "?")))
        try:
            with load:
                return original(*args, **kwargs)
        finally:
            for watch in listeners:
                watch.created(load, sys._getframe(1))
            _loading.pop(id(load), None)  # last: until then nobody else draws conclusions

    return create_module


def _filters() -> list[Any]:
    """The list that a warning in this thread looks at first; from 3.14 on that may be one of its context."""
    get = getattr(warnings, "_get_filters", None) or getattr(sys.modules.get("_py_warnings"), "_get_filters", None)
    found = warnings.filters if get is None else get()
    return found if isinstance(found, list) else []


def _on_for_good(but: _ModuleCreation | None = None) -> bool:
    """Whether the GIL is on, and not only while some module is being created (but for that one, which has been)."""
    for _ in range(_SETTLED):
        if any(load is not but for load in _loading.copy().values()) or not sys._is_gil_enabled():  # type: ignore[attr-defined]
            return False
        sleep(0.001)
    return True


def _importer(frame: FrameType | None) -> FrameType | None:
    """The innermost frame outside the import system."""
    machinery = ("<frozen importlib", "<frozen zipimport", _IMPORTLIB)
    return innermost(frame, lambda file: not file.startswith(machinery) and file != __file__)


def _extension_modules() -> Iterable[str]:
    """Those imported."""
    for name, module in list(sys.modules.items()):
        spec = getattr(module, "__spec__", None)
        if isinstance(getattr(spec, "loader", None), ExtensionFileLoader):
            yield name


def _standard(name: str) -> bool:
    """Whether a module is the standard library's: all of those declare that they run without a GIL."""
    return name.partition(".")[0] in sys.stdlib_module_names
