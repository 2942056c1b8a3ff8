"""Code of the standard library that makes steps of its own: it works on what it is given, in many steps, and without a lock.

The rest of the standard library is one step for each call, unless a check includes it, and a check that holds says so
(`one_step`). These modules are searched always, because programs share their objects: ``Counter.subtract`` and
``UserDict.setdefault`` read before they write, ``copy.deepcopy`` and ``Template.substitute`` go through what others may change
meanwhile. Not ``weakref``: its callbacks run wherever an object ends, also one that has nothing to do with the program.

What these files say of names is not taken for the program's (`changing`): only what of their code runs counts.
"""

from __future__ import annotations

import _collections_abc
import collections
import copy
import dataclasses
import heapq
import random
import string
from types import CodeType, FunctionType

from ...core.origin import module_of, standard

_FUNCTIONS: tuple[FunctionType, ...] = (
    _collections_abc.MutableMapping.setdefault,
    collections.UserDict.copy,
    copy.deepcopy,
    dataclasses.asdict,
    heapq.merge,
    random.Random.shuffle,
    string.Template.substitute,
)  # type: ignore[assignment] # one of each file, whose code may be frozen and have another name than its module's file
STEPPED = frozenset(function.__code__.co_filename for function in _FUNCTIONS)
_KNOWN = frozenset(  # modules that the search knows, or whose functions look at values alone, or that work on what they make
    {
        "threading", "queue", "contextlib", "functools", "enum", "abc", "typing", "types", "operator", "keyword",
        "re", "textwrap", "struct", "base64", "html", "decimal", "_pydecimal", "fractions", "numbers", "datetime",
        "_pydatetime", "calendar", "uuid", "hashlib", "hmac", "secrets", "ipaddress", "pathlib", "os", "posixpath", "genericpath",
        "ntpath", "stat", "fnmatch", "codecs", "encodings", "locale", "unicodedata", "inspect", "ast", "dis", "tokenize",
        "token", "traceback", "linecache", "warnings", "importlib", "_frozen_importlib", "colorsys",
        "time", "unittest", "doctest", "site", "zipimport", "runpy",
    }
)  # fmt: skip
_OF_FILES = ("write_", "read_", "touch", "mkdir", "glob", "rglob", "iterdir", "walk", "copy", "move", "_rmtree", "_delete")
_KEEPING = {  # in a known module, the code that works on what others may hold as well, by how its qualified name begins
    "contextlib": ("ExitStack.", "AsyncExitStack.", "_BaseExitStack."),
    "functools": ("singledispatch",),
    "inspect": ("BoundArguments.",),
    "os": ("makedirs", "removedirs", "renames", "walk", "_walk", "fwalk", "_fwalk"),
    "pathlib": tuple(f"{kind}.{name}" for kind in ("Path", "PathBase", "ReadablePath", "WritablePath") for name in _OF_FILES),
    "unittest": ("Base.", "NonCallableMock.", "CallableMixin.", "MagicMixin.", "AsyncMockMixin.", "_patch"),
}


def one_step(code: CodeType) -> str:
    """The module of code of the standard library which may work on shared objects in one step; empty if it does not."""
    file = code.co_filename
    top = module_of(file).partition(".")[0] if standard(file) and file not in STEPPED else ""
    if top in _KNOWN and not code.co_qualname.startswith(_KEEPING.get(top, ())):
        return ""
    return top
