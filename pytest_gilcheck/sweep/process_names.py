"""Which name of a module or class is changed while other clients use it, and belongs to the process.

It does so if the tests' own code changes it: that is no fault of what they test. And if it is one of the standard library, such as
``sys.stdout``, whoever changes it. Of a store right in a test's body, the code tells it without a run; what a helper does, or the
package's, is only seen in a record. A global name of a module that its own code changes is not meant.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from types import CodeType
from typing import Any

from ..core.classes import file_of_module, is_a, module_of_class, name_of_class, names_of_module
from ..core.origin import standard
from ..core.source import code_position, place
from ..engine.bytecode.code_facts import instruction_at
from ..engine.bytecode.touch import ALL
from ..engine.running.record import Deed
from ..engine.touched.trace import Trace
from .contended import contended

_STORES = frozenset({"STORE_ATTR", "DELETE_ATTR"})
_CALLS = ("CALL", "PRECALL")  # of `setattr`


def set_in_process(trace: Trace, of_tests: Callable[[str], bool]) -> str:
    """The first such change, in words; empty if there is none.

    Args:
        of_tests: whether a file is of the tests.
    """
    return next(_changes(trace, of_tests), "")


def _changes(trace: Trace, of_tests: Callable[[str], bool]) -> Iterator[str]:
    found = contended(trace)
    alive = trace.objects.alive() if found else {}
    for number, points in found.items():
        for point in points:
            spot = trace.spots.get(point)
            if spot is None or point in trace.guessed or standard(spot[0].co_filename) or not _stores(*spot):
                continue
            for holder, part, deed in trace.parts[point]:
                if holder == number and deed is Deed.WRITE and part != ALL and (module := _module(alive.get(number))):
                    code, line = spot[0], code_position(*spot).line or 0
                    if of_tests(code.co_filename) or _is_of_library(module):
                        yield f"it sets {_name(alive[number])}.{part} at {place(code.co_filename, line, code.co_qualname)}"


def _stores(code: CodeType, offset: int) -> bool:
    name = instruction_at(code, offset)[0]
    return name in _STORES or name.startswith(_CALLS)


def _name(thing: Any) -> str:
    return name_of_class(thing) if is_a(thing, type) else _module(thing)


def _module(thing: Any) -> str:
    """The name of the module of a class, or of that whose names these are; empty if it is neither."""
    if is_a(thing, type):
        return module_of_class(thing)
    modules = list(sys.modules.items()) if type(thing) is dict else ()
    return next((name for name, module in modules if names_of_module(module) is thing), "")


def _is_of_library(module: str) -> bool:
    file = file_of_module(sys.modules.get(module))
    return standard(file) if file else module in sys.builtin_module_names
