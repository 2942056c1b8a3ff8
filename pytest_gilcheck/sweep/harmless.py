"""What clients share of the standard library and the process without harm: a list, with a reason each.

A cause is told as harmless if all its places are in such code. What is contended for is no reason to search a test if it is such a
thing, or if it is touched in such code alone. A place in the user's package, or in a dependency, is in no such code.
`threading.local` and context variables are not here: the engine knows that each thread has its own.
"""

from __future__ import annotations

import gc
import sys
from collections.abc import Iterable, Iterator
from types import CodeType, FunctionType, ModuleType
from typing import Any

from ..core.classes import is_a, name_of_class
from ..core.origin import module_of, of_user, standard
from ..engine.bytecode.code_facts import instruction_at
from .swept import Place

_CODE = {  # by module of the standard library; what is in a package counts for its modules
    "_py_abc": "the answers of isinstance() for abstract classes are kept: one that is lost is asked for again",
    "_strptime": "formats of dates are kept, behind a lock",
    "_threading_local": "each thread has values of its own",
    "_weakrefset": "the answers of isinstance() for abstract classes are kept: one that is lost is asked for again",
    "abc": "the answers of isinstance() for abstract classes are kept: one that is lost is asked for again",
    "copyreg": "the names of the slots of a class are kept: they are the same each time",
    "encodings": "codecs are kept: each time the same is found",
    "enum": "combinations of flags are kept by setdefault(): all get the same",
    "gettext": "translations are kept by setdefault(): all get the same",
    "importlib": "each module is imported once, behind a lock of its own",
    "linecache": "lines of source are kept: they are read twice at worst",
    "logging": "loggers and handlers have locks of their own",
    "re": "compiled patterns are kept: one is compiled twice at worst",
    "tokenize": "compiled patterns are kept: one is compiled twice at worst",
    "typing": "types with arguments are kept: equal ones are made twice at worst",
    "warnings": "which warnings were shown is kept: one is shown twice at worst",
}
_SYMPTOMS = frozenset({"exception", "invariant"})  # of a lost or doubled entry; what crashes or waits for ever is no such thing
_IMPORTS = frozenset({"IMPORT_NAME", "IMPORT_FROM"})
_STREAMS = ("stdout", "stderr", "__stdout__", "__stderr__")
_MOST = 200  # objects that make up a stream


def reason_of(places: Iterable[Place], symptom: str) -> str:
    """Why a cause at these places is harmless; empty if it is not known to be."""
    reasons = [_of_code(file) for file, _ in places]
    return reasons[0] if reasons and all(reasons) and symptom in _SYMPTOMS else ""


def is_in_code(spot: tuple[CodeType, int] | None) -> bool:
    """Whether an instruction is in such code."""
    return spot is not None and bool(_of_code(spot[0].co_filename))


def _of_code(file: str) -> str:
    return _CODE.get(module_of(file).partition(".")[0], "") if standard(file) else ""


class Harmless:
    """Tells which of the things that clients contend for are harmless; for one process."""

    def __init__(self) -> None:
        self._of_streams = {id(each): each for each in _of_streams()}

    def is_one(self, thing: Any, spots: Iterable[tuple[CodeType, int] | None]) -> bool:
        """Whether this is known to be harmless.

        Args:
            thing: the object; None if it has ended.
            spots: the instructions that touch it.
        """
        known = [spot for spot in spots if spot is not None]
        if known and all(map(is_in_code, known)):
            return True
        if thing is sys.modules:  # imported by whoever comes first; the other one waits
            return bool(known) and all(instruction_at(*spot)[0] in _IMPORTS for spot in known)
        return id(thing) in self._of_streams or _is_cache_of_the_library(thing) or _is_a_sentinel(thing)


def _is_cache_of_the_library(thing: Any) -> bool:
    """Whether this keeps what a function of the standard library returns, such as ``urlsplit``: equal values each time."""
    if name_of_class(type(thing)) != "_lru_cache_wrapper":
        return False
    wrapped = getattr(thing, "__wrapped__", None)
    return type(wrapped) is FunctionType and standard(wrapped.__code__.co_filename)


def _is_a_sentinel(thing: Any) -> bool:
    """Whether this is one of ``unittest.mock.sentinel``, which nothing changes."""
    mock = sys.modules.get("unittest.mock")
    return mock is not None and type(thing) is mock._SentinelObject


def _of_streams() -> Iterator[Any]:
    """What the standard streams are made of: tests only write to them, because those that read captured output are refused."""
    found: list[Any] = [stream for name in _STREAMS if (stream := getattr(sys, name, None)) is not None]
    found = [each for each in found if not of_user(_file_of_class(type(each)))]
    seen = {id(each) for each in found}
    for each in found:
        yield each
        for inner in gc.get_referents(each):
            kind = type(inner)
            plain = is_a(inner, (type, ModuleType, FunctionType)) or of_user(_file_of_class(kind))
            if id(inner) not in seen and not plain and len(found) < _MOST:
                seen.add(id(inner))
                found.append(inner)


def _file_of_class(kind: type) -> str:
    module = sys.modules.get(str(kind.__module__))
    return getattr(module, "__file__", None) or "<built-in>"
