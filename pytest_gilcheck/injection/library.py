"""Which library code is stepped through besides the code under test, and how its steps are told apart.

A signal is handled wherever the interpreter checks for it, also in the library code that a workload calls. ``with condition:``
runs Python code of `threading`; an exception between its ``acquire`` and its return leaves the lock held.

A step of the code under test is known by its number. The number of steps that library code takes varies from run to run: it waits,
retries and draws random names. So a step of a library is known by its place, the line of the code under test that
called it, and how often it came by on that line. Only the first visits are tried: a loop in a library would use up the budget. The
entry of a library from code under test is tried on each visit, as each step of that code is.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Iterable, Sequence
from types import FrameType

from ..core.errors import BadValue
from ..core.origin import module_of, ours, under_test
from ..core.source import frame_place, line_text
from ..core.steps import Step

VISITS = 2  # of a step of a library, for each line of the code under test that calls it

_PASSED = (  # modules of the standard library that make code or text of it, or schedule it, and keep no state for their caller
    "importlib", "_frozen_importlib", "_frozen_importlib_external", "zipimport", "re", "sre_compile", "sre_parse", "typing",
    "dataclasses", "enum", "inspect", "linecache", "tokenize", "token", "dis", "opcode", "abc", "_py_abc", "encodings", "locale",
    "gettext", "pdb", "bdb", "trace", "sysconfig", "_sysconfig", "platform", "site", "asyncio",
)  # fmt: skip
_OF_THESE_STEPPED = (
    # what a coroutine awaits; the event loop itself only schedules it
    "asyncio.locks", "asyncio.mixins", "asyncio.queues", "asyncio.streams", "asyncio.subprocess",
    "asyncio.taskgroups", "asyncio.tasks", "asyncio.threads", "asyncio.timeouts",
)  # fmt: skip


def chosen(include: Iterable[str] | None) -> Callable[[str], bool]:
    """The predicate for files of libraries that are stepped through.

    Args:
        include: names of modules and packages; None for all of the standard library that may leave something half done.

    Raises:
        BadValue: a module cannot be imported or is not written in Python.
    """
    names = None if include is None else tuple(include)
    for name in include or ():
        try:
            __import__(name)
        except ImportError as error:
            raise BadValue("include", name, f"a module that can be imported ({error})", "argument") from None
        file = getattr(sys.modules[name], "__file__", None) or ""
        if not file.endswith(".py"):
            raise BadValue("include", name, "a module written in Python: this one has no source file", "argument")
    known: dict[str, bool] = {}

    def stepped(file: str) -> bool:
        if file not in known:
            known[file] = not ours(file) and (made(file) or (_is_of_a_module(file) and _is_chosen(module_of(file), names)))
        return known[file]

    return stepped


def made(file: str) -> bool:
    """Whether code has no file because the program has made it: a method of a dataclass, what `exec` runs."""
    return file.startswith("<") and not file.startswith("<frozen ")


def _is_of_a_module(file: str) -> bool:
    """Whether code is of a file, or of a module of which the interpreter has a frozen copy (``os``, ``_collections_abc``)."""
    return os.path.isabs(file) or file.startswith("<frozen ")


def _is_chosen(module: str, names: Sequence[str] | None) -> bool:
    if names is not None:
        return _is_among(module, names)
    return not _is_among(module, _PASSED) or _is_among(module, _OF_THESE_STEPPED)


def _is_among(module: str, names: Iterable[str]) -> bool:
    return any(module == name or module.startswith(f"{name}.") for name in names)


def caller(frame: FrameType | None, stepped: Callable[[str], bool]) -> FrameType | None:
    """The innermost frame of code under test, from this one outwards.

    None if there is none before a frame that is not stepped through: what such code calls is no more examined than the code itself.
    """
    while frame is not None and not under_test(file := frame.f_code.co_filename):
        if not stepped(file):
            return None
        frame = frame.f_back
    return frame


def key(step: Step, called_from: FrameType) -> str:
    """What a step of a library is known by in all runs, but for the number of the visit."""
    line = f"{called_from.f_code.co_filename}:{called_from.f_lineno}"
    return f"{step.code.co_filename}:{step.code.co_qualname}:{step.offset} {line}"


def call_line(called_from: FrameType | None) -> str:
    """The line of the code under test that called a library: ```text` at place``; empty if there is none."""
    if called_from is None:
        return ""
    text = line_text(called_from.f_code.co_filename, called_from.f_lineno or 0)
    return f"`{text}` at {frame_place(called_from)}"
