"""What clients share of the standard library and the process without harm: a list, with a reason each.

A cause is told as harmless if all its places are in such code. What is contended for is no reason to search a test if it is such a
thing, or if it is touched in such code alone. A place in the user's package, or in a dependency, is in no such code.
`threading.local` and context variables are not here: the engine knows that each thread has its own.
"""

from __future__ import annotations

import gc
import re
import sys
from collections.abc import Iterable, Iterator, Sequence
from types import CodeType, FunctionType, ModuleType
from typing import Any

from ..core.classes import is_a, name_of_class
from ..core.origin import module_of, of_user, standard
from ..core.source import code_position, first_line_text
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
_MOST = 500  # objects that make up the streams
_LOGGING = re.compile(r"\.(debug|info|warning|warn|error|exception|critical|fatal|log|isEnabledFor|getEffectiveLevel)\(")
Spot = tuple[CodeType, int]


def reason_of(places: Iterable[Place], symptom: str) -> str:
    """Why a cause at these places is harmless; empty if it is not known to be."""
    reasons = [_of_code(file) for file, _ in places]
    return reasons[0] if reasons and all(reasons) and symptom in _SYMPTOMS else ""


def is_in_code(spot: Spot | None) -> bool:
    """Whether an instruction is in such code."""
    return spot is not None and bool(_of_code(spot[0].co_filename))


def _of_code(file: str) -> str:
    return _CODE.get(module_of(file).partition(".")[0], "") if standard(file) else ""


class Harmless:
    """Tells which of the things that clients contend for are harmless; for one run."""

    def __init__(self) -> None:
        self._of_streams: dict[int, Any] = {}
        self._of_loggers: dict[int, Any] = {}

    def look(self, state: object = None) -> None:
        """Look at what there is when the clients begin: their teardown may remove handlers."""
        handlers = _handlers()
        harmless = [each for each in handlers if _is_harmless(each)]
        self._of_streams = {id(each): each for each in _parts_of([*_streams(), *harmless])}
        if len(harmless) == len(handlers):  # a test may read what another handler has written
            self._of_loggers = {id(each): each for logger in _loggers() for each in (logger, vars(logger), *vars(logger).values())}

    def is_one(self, thing: Any, uses: Sequence[tuple[Spot | None, bool]]) -> bool:
        """Whether this is known to be harmless.

        Args:
            thing: the object; None if it has ended.
            uses: the instructions that touch it, each with whether it changes it.
        """
        known = [spot for spot, _ in uses if spot is not None]
        if known and all(map(is_in_code, known)):
            return True
        if thing is sys.modules:  # imported by whoever comes first; the other one waits
            return len(known) == len(uses) and all(instruction_at(*spot)[0] in _IMPORTS for spot in known)
        if id(thing) in self._of_loggers:
            return all(not changes or (spot is not None and _logs(*spot)) for spot, changes in uses)
        return id(thing) in self._of_streams or _is_cache_of_the_library(thing) or _is_a_sentinel(thing)


def _logs(code: CodeType, offset: int) -> bool:
    """Whether an instruction is a call that logs a message, which changes no logger but for what it keeps of its levels."""
    return bool(_LOGGING.search(first_line_text(code.co_filename, code_position(code, offset))))


def _loggers() -> list[Any]:
    logging: Any = sys.modules.get("logging")
    if logging is None:
        return []
    manager = logging.Logger.manager
    known = (logging.Logger, logging.RootLogger, logging.Manager, logging.PlaceHolder)
    return [each for each in [manager, logging.root, *list(manager.loggerDict.values())] if type(each) in known]


def _handlers() -> list[Any]:
    return [handler for logger in _loggers() for handler in vars(logger).get("handlers") or ()]


def _is_harmless(handler: Any) -> bool:
    """Whether this is of a test tool, which only tests that are refused look at, or writes to a standard stream, if at all."""
    file = _file_of_class(type(handler))
    if not standard(file):
        return not of_user(file)
    logging = sys.modules["logging"]
    stream = vars(handler).get("stream")
    return type(handler) is logging.NullHandler or any(stream is each for each in _streams())


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


def _streams() -> Iterator[Any]:
    """The standard streams: tests only write to them, because those that read captured output are refused."""
    for name in _STREAMS:
        stream = getattr(sys, name, None)
        if stream is not None and not of_user(_file_of_class(type(stream))):
            yield stream


def _parts_of(things: list[Any]) -> Iterator[Any]:
    """These, and what they are made of, as far as it is not the user's."""
    seen = {id(each) for each in things}
    for each in things:
        yield each
        for inner in gc.get_referents(each):
            plain = is_a(inner, (type, ModuleType, FunctionType)) or of_user(_file_of_class(type(inner)))
            if id(inner) not in seen and not plain and len(things) < _MOST:
                seen.add(id(inner))
                things.append(inner)


def _file_of_class(kind: type) -> str:
    module = sys.modules.get(str(kind.__module__))
    return getattr(module, "__file__", None) or "<built-in>"
