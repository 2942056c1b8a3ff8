"""What belongs to the process, and so cannot be two clients' own: seen by fixture, by call and by what the test's code stores.

Two clients that change the working directory, the environment or a name of a module disturb each other. That is no fault of what
they test. So a check with a client's own fixtures (`sweep_clients`) refuses such a test in one line.

What does not work: to compare the state before and after a client. A test that puts everything back would not be seen.
"""

from __future__ import annotations

import contextlib
import dis
import gc
import importlib
import locale
import os
import signal
import sys
import warnings
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from functools import wraps
from itertools import pairwise
from pathlib import Path
from types import CodeType, FrameType, FunctionType, ModuleType
from typing import Any

import pytest

from ..core.classes import file_of_module, is_a, name_of_class, names_of, names_of_module
from ..core.origin import module_of, of_user, ours, standard
from ..core.source import code_position, frame_place, innermost
from ..engine.running import controlling

FIXTURES = {  # what each gives is of the process
    **dict.fromkeys(("capsys", "capsysbinary", "capteesys"), "captures sys.stdout and sys.stderr"),
    **dict.fromkeys(("capfd", "capfdbinary"), "captures the descriptors 1 and 2"),
    "caplog": "collects the log records of the process",
    "recwarn": "collects the warnings of the process",
    **dict.fromkeys(("pytester", "testdir"), "changes the working directory"),
    "subtests": "reports to the pytest of the process",
}  # fmt: skip
CALLS_BODIES = str(Path(__file__).with_name("sweep_clients.py"))
INSTEAD = "which both clients share: it cannot be two clients"
_CALLS: tuple[tuple[Any, tuple[str, ...], str], ...] = (
    (os, ("chdir", "fchdir"), "changes the working directory"),
    (os, ("umask",), "changes the umask"),
    (type(os.environ), ("__setitem__", "__delitem__"), "changes the environment"),
    (os, ("putenv", "unsetenv"), "changes the environment"),
    (signal, ("signal", "setitimer", "alarm", "set_wakeup_fd"), "changes the handling of signals"),
    (locale, ("setlocale",), "changes the locale"),
    (gc, ("enable", "disable", "set_threshold"), "changes the garbage collection"),
    (warnings, ("simplefilter", "filterwarnings", "resetwarnings"), "changes the filters of warnings"),
    (warnings.catch_warnings, ("__enter__",), "changes the filters of warnings"),
    (contextlib._RedirectStream, ("__enter__",), "redirects a stream of sys"),
    (importlib, ("reload",), "reloads a module"),
    (sys, ("setswitchinterval", "set_int_max_str_digits"), "changes a limit of the interpreter"),
)
_IF_LOADED = (
    ("time", "", ("tzset",), "changes the time zone"),
    ("random", "", ("seed", "setstate"), "sets the state of the random numbers"),
    ("unittest._log", "_AssertLogsContext", ("__enter__",), "changes the handlers of a logger"),
)
_LATE = {"unittest._log": "unittest.case"}  # imported by the call that is refused, and by which module
_TABLE = "changes a table of the process"
_TABLES = {  # functions of the standard library that change what it keeps for the process, in one step, which no record sees
    "asyncio": ("set_event_loop_policy",),
    "codecs": ("register", "unregister", "register_error"),
    "copyreg": ("pickle", "add_extension", "remove_extension"),
    "csv": ("register_dialect", "unregister_dialect", "field_size_limit"),
    "doctest": ("register_optionflag", "set_unittest_reportflags"),
    "email.charset": ("add_charset", "add_alias", "add_codec"),
    "fileinput": ("input", "close"),
    "gettext": ("textdomain", "bindtextdomain", "install"),
    "logging": ("addLevelName", "setLogRecordFactory", "setLoggerClass", "disable", "captureWarnings", "basicConfig"),
    "logging.config": ("dictConfig", "fileConfig"),
    "mimetypes": ("init", "add_type"),
    "multiprocessing": ("set_start_method",),
    "socket": ("setdefaulttimeout",),
    "threading": ("settrace", "setprofile"),
    "urllib.request": ("install_opener", "urlcleanup"),
    "webbrowser": ("register",),
}
_MOCK = "unittest.mock"
_PATCHERS = ("setattr", "delattr", "setitem", "delitem")  # of monkeypatch
_SHARED = (type, ModuleType, FunctionType, type(os.environ))
_STORES = ("STORE_ATTR", "DELETE_ATTR")
_STORE_CODES = frozenset(dis.opmap[name] for name in _STORES)
_LOADS = ("LOAD_GLOBAL", "LOAD_NAME")
_LOAD_CODES = frozenset(dis.opmap[name] for name in _LOADS)
_CACHE = dis.opmap.get("CACHE", 0)
client: ContextVar[int | None] = ContextVar("gilcheck_client", default=None)  # which client's set-up or body runs


class _Patched:
    """What the clients of the present run have patched, by id, each with the clients that have."""

    def __init__(self) -> None:
        self._of: dict[int, tuple[Any, set[int | None]]] = {}

    def begin(self) -> None:
        """A run begins."""
        self._of.clear()

    def is_shared(self, target: Any) -> bool:
        """Whether a client that patches this changes what another one sees."""
        if is_a(target, _SHARED) or any(target is names_of_module(module) for module in list(sys.modules.values())):
            return True
        clients = self._of.setdefault(id(target), (target, set()))[1]
        clients.add(client.get())
        return len(clients) > 1


patched = _Patched()


def by_fixture(names: Iterable[str]) -> str | None:
    """Why a test with these fixtures cannot be two clients; None if it can."""
    return next((f"its fixture {name!r} {FIXTURES[name]}, {INSTEAD}" for name in names if name in FIXTURES), None)


def is_process_wide(reason: str) -> bool:
    """Whether a test was refused for that, which no other process would see otherwise."""
    return reason.endswith(INSTEAD)


def by_its_code(functions: Iterable[Callable[..., Any]]) -> str | None:
    """Why a test cannot be two clients of which one of these functions stores an attribute of a module or class; None if none."""
    for function in functions:
        code = getattr(function, "__code__", None)
        if code is not None and of_user(code.co_filename):
            for found in _stored(code, getattr(function, "__globals__", {})):
                return found
    return None


def _stored(code: CodeType, names: dict[str, Any]) -> Iterator[str]:
    holder: Any = None
    for each in dis.get_instructions(code) if _stores_in_a_global(code) else ():  # which takes 2 ms, and most tests do not
        if each.opname in _STORES and holder is not None:
            line = code_position(code, each.offset).line
            what = f"sets {name_of_shared(holder)}.{each.argval}"
            yield f"it {what} at {code.co_filename}:{line} ({code.co_qualname}), {INSTEAD}"
        if each.opname != "CACHE":
            loaded = names.get(each.argval) if each.opname in _LOADS and isinstance(each.argval, str) else None
            holder = loaded if is_a(loaded, (type, ModuleType)) else None
    for constant in code.co_consts:
        if isinstance(constant, CodeType):
            yield from _stored(constant, names)


def _stores_in_a_global(code: CodeType) -> bool:
    """Whether an instruction that stores an attribute comes right after one that loads a global name."""
    opcodes = [each for each in code.co_code[::2] if each != _CACHE]
    return any(each in _STORE_CODES and before in _LOAD_CODES for before, each in pairwise(opcodes))


def name_of_shared(target: Any) -> str:
    """A module, class, function or instance by its name, for a message."""
    if is_a(target, ModuleType):
        return str(names_of_module(target).get("__name__", "a module"))
    if is_a(target, type):
        return name_of_class(target)
    return "os.environ" if target is os.environ else f"a {name_of_class(type(target))}"


@contextmanager
def refused(clients: int) -> Iterator[None]:
    """While these calls end a run of the engine, if one of several clients makes them in its set-up or its body."""
    if clients == 1:
        yield
        return
    undo: list[Callable[[], object]] = []

    def put(owner: Any, name: str, made: Callable[[Any], Any]) -> None:
        before = names_of(owner).get(name) if is_a(owner, type) else getattr(owner, name, None)
        if before is None:
            return
        after = made(before)
        setattr(owner, name, after)
        undo.append(lambda: setattr(owner, name, before))
        for names in _names_of_users() if is_a(owner, ModuleType) else ():
            for alias in [alias for alias, value in names.items() if value is before]:
                names[alias] = after
                undo.append(lambda names=names, alias=alias: names.__setitem__(alias, before))  # type: ignore[misc]

    try:
        for owner, functions, what in (*_CALLS, *_loaded()):
            for name in functions:
                put(owner, name, lambda before, what=what: _refusing(before, what))  # type: ignore[misc]
        for name in _PATCHERS:
            put(
                pytest.MonkeyPatch,
                name,
                lambda before: _patching(before, lambda *given: given[1] if len(given) > 1 else None),
            )
        put(pytest.MonkeyPatch, "syspath_prepend", lambda before: _refusing(before, "changes sys.path"))
        if (mock := sys.modules.get(_MOCK)) is not None:
            put(mock._patch, "__enter__", lambda before: _patching(before, lambda patch: patch.getter()))
            dictionary = mock._patch_dict
            put(dictionary, "_patch_dict", lambda before: _patching(before, _dictionary_of))
        yield
    finally:
        while undo:
            undo.pop()()


def loaded() -> frozenset[str]:
    """Of the modules of which calls are refused, those that are loaded: what is loaded later is not refused."""
    return frozenset({*(module for module, *_ in _IF_LOADED), *_TABLES, _MOCK} & sys.modules.keys())


def _loaded() -> Iterator[tuple[Any, tuple[str, ...], str]]:
    for late, by in _LATE.items():
        if by in sys.modules:
            importlib.import_module(late)
    for module, owner, names, what in _IF_LOADED:
        if module in sys.modules:
            yield getattr(sys.modules[module], owner) if owner else sys.modules[module], names, what
    for module, functions in _TABLES.items():
        for name in functions if module in sys.modules else ():
            yield sys.modules[module], (name,), f"{_TABLE} by {module}.{name}()"


def _names_of_users() -> list[dict[str, Any]]:
    """The names of the user's modules: one may have imported a function by its own name."""
    files = ((module, file_of_module(module)) for module in list(sys.modules.values()))
    return [names_of_module(module) for module, file in files if file is not None and of_user(file)]


def _dictionary_of(patch: Any) -> Any:
    return importlib.import_module(patch.in_dict) if isinstance(patch.in_dict, str) else patch.in_dict


def _end(what: str) -> None:
    """End the run, if a client is at work."""
    engine = controlling.active
    if engine is None or not engine.in_run or engine.current() is None or not (client.get() is not None or engine.exploring):
        return
    frame = innermost(sys._getframe(2), _decides)
    if frame is not None and of_user(frame.f_code.co_filename):
        engine.refuse(f"it {what} at {frame_place(frame)}, {INSTEAD}")
    if frame is not None and frame.f_code.co_filename == CALLS_BODIES:
        engine.refuse(f"a decorator of it ({_decorator(frame)}) {what}, {INSTEAD}")


def _decorator(calls_body: FrameType) -> str:
    """The module of what runs around the test's body: a library's, if there is one, otherwise the standard library's."""
    inner: list[str] = []
    frame: FrameType | None = sys._getframe(2)
    while frame is not None and frame is not calls_body:
        inner.insert(0, frame.f_code.co_filename)
        frame = frame.f_back
    files = [file for file in inner if not ours(file)]
    return module_of(next((file for file in files if not standard(file)), files[0] if files else "?"))


def _decides(file: str) -> bool:
    """Whether this is the user's code; or what calls a plugin, or the check itself, which have done it by themselves then."""
    return of_user(file) or ours(file) or module_of(file).startswith("pluggy")


def refuse(why: str | None) -> None:
    """End the present run for this reason, if there is one.

    Raises:
        Uncontrolled: there is one.
    """
    if why is not None and controlling.active is not None:
        controlling.active.refuse(why)


def _refusing(function: Any, what: str) -> Any:
    @wraps(function)
    def called(*given: Any, **named: Any) -> Any:
        if not (what.startswith(_TABLE) and standard(sys._getframe(1).f_code.co_filename)):  # which makes a table at its first use
            _end(what)
        return function(*given, **named)

    return called


def _patching(function: Any, target_of: Callable[..., Any]) -> Any:
    @wraps(function)
    def called(*given: Any, **named: Any) -> Any:
        engine = controlling.active
        if engine is not None and engine.in_run:
            target = target_of(*given)
            if isinstance(target, str) or patched.is_shared(target):
                _end(f"patches {target if isinstance(target, str) else name_of_shared(target)}")
        return function(*given, **named)

    return called
