"""Which C code of dependencies, or of the user, the clients of a test have called: its steps are not seen.

The record knows it by what it guesses: a call of a function in C touches that function, and one of a method its object. An object
that has ended when the record is read, and whose class is in C, is missed.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator
from importlib.machinery import EXTENSION_SUFFIXES
from types import BuiltinFunctionType
from typing import Any

from ..core.classes import is_a, made_at_run_time
from ..core.origin import ours, standard
from ..engine.touched.trace import Trace


def modules_in_c(trace: Trace) -> list[str]:
    """The modules of C code that a record shows, those of the standard library aside."""
    return sorted(set(_modules(trace)))


def _modules(trace: Trace) -> Iterator[str]:
    for thing in trace.objects.alive().values():
        if type(thing) is BuiltinFunctionType:
            name, always = str(thing.__module__), True
        else:
            kind: Any = thing if is_a(thing, type) else type(thing)
            name, always = str(kind.__module__), not made_at_run_time(kind)
        file = getattr(sys.modules.get(name), "__file__", None)
        if file and (always or file.endswith(tuple(EXTENSION_SUFFIXES))) and not standard(file) and not ours(file):
            yield name


def what_to_do(module: str) -> str:
    """For a reader, on a build without a GIL."""
    package = module.partition(".")[0]
    return f"on a free-threaded build, --gilcheck-sweep=stress runs them for real; 'gilcheck audit {package}' says what it claims"
