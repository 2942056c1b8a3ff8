"""A plugin for a pytest of its own (`linear/from_tests.py`): records with which arguments its tests call the methods of one class.

Each new value is written at once, a line of JSON in a file of this process: tests may hang, crash or exit, and xdist runs them in
several processes. Only calls that returned count. A value is copied before the call, which may change it.

Only what compares by value and can be copied without running code of the program is recorded: each run of a drawn program gets a
new copy. Everything else is noted once for its parameter, with its type.
"""

from __future__ import annotations

import base64
import functools
import importlib
import inspect
import json
import os
import pickle
import sys
import threading
from collections.abc import Callable
from enum import Enum
from types import FunctionType
from typing import Any

RECORDS = "GILCHECK_RECORDS"  # environment: the folder, and MODULE:CLASS behind a colon
_MOST_VALUES = 20  # of a parameter of one method
_MOST_CALLS = 1000  # of one method that are looked at
_LONGEST = 4000  # bytes of a copy
_PROTOCOL = ("__init__", "__getitem__", "__setitem__", "__delitem__", "__contains__", "__call__")
_ATOMS = ("int", "float", "complex", "bool", "str", "bytes", "bytearray", "NoneType", "ellipsis", "range", "slice")
_PATHS = ("PosixPath", "WindowsPath", "PurePosixPath", "PureWindowsPath")
_IMMUTABLE = {
    "datetime": ("datetime", "date", "time", "timedelta", "timezone"), "decimal": ("Decimal",), "fractions": ("Fraction",),
    "uuid": ("UUID",), "pathlib": _PATHS, "pathlib._local": _PATHS,
}  # fmt: skip


def pytest_configure() -> None:
    """Begin to record; a class that cannot be imported yet is tried again after the collection."""
    _RECORDER.begin()


def pytest_collection_finish() -> None:
    """See `pytest_configure`."""
    _RECORDER.begin()


class _Recorder:
    def __init__(self) -> None:
        self._folder, _, self._target = os.environ.get(RECORDS, "").partition(":")
        self._known: dict[tuple[str, str], set[bytes]] = {}
        self._left_out: set[str] = set()
        self._lock = threading.Lock()

    def begin(self) -> None:
        if not self._target:
            return
        module, _, path = self._target.partition(":")
        sys.path.insert(0, "")
        try:
            found: Any = importlib.import_module(module)
            for name in path.split("."):
                found = getattr(found, name)
        except Exception:
            return
        finally:
            sys.path.remove("")
        self._target = ""
        for name in dir(found):
            member = inspect.getattr_static(found, name)
            if isinstance(member, FunctionType) and (name in _PROTOCOL or not name.startswith("_")):
                try:
                    setattr(found, name, self._recording(name, member))
                except (AttributeError, TypeError):
                    pass  # a class that lets nobody set its attributes

    def _recording(self, name: str, function: FunctionType) -> Callable[..., Any]:
        signature, calls = inspect.signature(function), 0

        @functools.wraps(function)
        def recorded(*arguments: Any, **named: Any) -> Any:
            nonlocal calls
            calls += 1
            copies = self._copied(name, signature, arguments, named) if calls <= _MOST_CALLS else []
            result = function(*arguments, **named)
            for each in copies:
                self._write(each)
            return result

        return recorded

    def _copied(self, method: str, signature: inspect.Signature, arguments: Any, named: Any) -> list[dict[str, str]]:
        """What there is to write of a call, if it returns."""
        found: list[dict[str, str]] = []
        if not self._lock.acquire(blocking=False):  # another thread's call, or one that copying makes
            return found
        try:
            bound = list(signature.bind(*arguments, **named).arguments.items())[1:]
            for parameter, value in bound:
                if signature.parameters[parameter].kind in (inspect.Parameter.VAR_POSITIONAL, inspect.Parameter.VAR_KEYWORD):
                    continue
                known = self._known.setdefault((method, parameter), set())
                if len(known) >= _MOST_VALUES:
                    continue
                copy = pickle.dumps(value) if is_plain(value) else b""
                if not copy or len(copy) > _LONGEST:
                    if parameter not in self._left_out:
                        self._left_out.add(parameter)
                        found.append({"parameter": parameter, "left_out": type(value).__name__})
                elif copy not in known:
                    known.add(copy)
                    found.append({"parameter": parameter, "method": method, "copy": base64.b64encode(copy).decode()})
        except Exception:  # of code of the value: the test is not to notice
            pass
        finally:
            self._lock.release()
        return found

    def _write(self, record: dict[str, str]) -> None:
        try:
            with open(os.path.join(self._folder, f"{os.getpid()}.jsonl"), "a") as file:
                file.write(json.dumps(record) + "\n")
        except (OSError, ValueError):  # a file system of a test
            pass


def is_plain(value: Any) -> bool:
    """Whether a value can be copied without running code of the program, and compares by value."""
    kind = type(value)
    if kind.__module__ == "builtins" and kind.__name__ in _ATOMS:
        return True
    if kind in (list, tuple, set, frozenset):
        return all(map(is_plain, value))
    if kind is dict:
        return all(is_plain(key) and is_plain(each) for key, each in value.items())
    if isinstance(value, (type, FunctionType)):
        return "<" not in value.__qualname__ and value.__module__ != "__main__"
    return isinstance(value, Enum) or kind.__name__ in _IMMUTABLE.get(kind.__module__, ())


_RECORDER = _Recorder()
