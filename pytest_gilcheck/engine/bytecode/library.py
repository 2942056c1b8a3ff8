"""Code of the standard library that makes steps of its own: it works on what it is given, in many steps, and without a lock.

The rest of the standard library is one step for each call, unless a check includes it, and a check that holds says so
(`one_step`). This code is searched always, because programs share its objects: ``Counter.subtract`` and
``UserDict.setdefault`` read before they write, ``copy.deepcopy`` and ``json.dump`` go through what others may change meanwhile,
``Path.write_text`` empties a file before it writes. Not the callbacks of ``weakref``: they run wherever an object ends, also one
that has nothing to do with the program.

What these files say of names is not taken for the program's (`changing`): only what of their code runs counts.
"""

from __future__ import annotations

from types import CodeType

from ...core.lookup import looked_up
from ...core.origin import module_of, standard

_WHOLE = ("",)
_OF_PATHS = ("write_", "read_", "touch", "mkdir", "glob", "rglob", "iterdir", "walk", "copy", "move", "_rmtree", "_delete")
_STEPPED: dict[str, tuple[str, ...]] = {  # by module, how the qualified names of the code begin, with a full stop at their end
    **dict.fromkeys(
        (
            "_collections_abc", "bz2", "collections", "configparser", "copy", "csv", "dataclasses", "dbm.dumb", "email.message",
            "graphlib", "gzip", "heapq", "http.cookies", "lzma", "random", "shelve", "shutil", "string", "wsgiref.headers",
            "xml.dom.minidom", "xml.etree.ElementTree",
        ),
        _WHOLE,
    ),
    "glob": ("glob.", "iglob.", "_glob", "_iglob.", "_rlistdir.", "_listdir.", "_iterdir."),
    "json": ("dump.",),  # not `dumps`, which does no more than call what is in the next line, or C
    "json.encoder": ("_make_iterencode.",),
    "os": ("makedirs.", "removedirs.", "renames.", "walk.", "_walk.", "fwalk.", "_fwalk."),
    **dict.fromkeys(
        ("pathlib", "pathlib._local", "pathlib._abc", "pathlib._os", "pathlib.types"),
        tuple(f"{kind}.{name}" for kind in ("Path", "PathBase", "_ReadablePath", "_WritablePath") for name in _OF_PATHS),
    ),
    "reprlib": ("recursive_repr.",),
    "weakref": tuple(
        f"{kind}.{name}."
        for kind, references in (("WeakValueDictionary", "valuerefs"), ("WeakKeyDictionary", "keyrefs"))
        for name in ("setdefault", "update", "copy", "items", "keys", "values", references)
    ),
}  # fmt: skip
_KNOWN = frozenset(  # modules that the search knows, or whose functions look at values alone, or that work on what they make
    {
        "threading", "queue", "contextlib", "functools", "enum", "abc", "typing", "types", "operator", "keyword",
        "re", "textwrap", "struct", "base64", "html", "decimal", "_pydecimal", "fractions", "numbers", "datetime",
        "_pydatetime", "calendar", "uuid", "hashlib", "hmac", "secrets", "ipaddress", "pathlib", "os", "posixpath", "genericpath",
        "ntpath", "stat", "fnmatch", "glob", "codecs", "encodings", "locale", "unicodedata", "inspect", "ast", "dis", "tokenize",
        "token", "traceback", "linecache", "warnings", "importlib", "_frozen_importlib", "colorsys",
        "time", "unittest", "doctest", "site", "zipimport", "runpy",
    }
)  # fmt: skip
_NAMED = {  # in a known module, the code that works on what others may hold as well, by how its qualified name begins
    "ast": ("NodeTransformer.", "NodeVisitor.", "fix_missing_locations", "increment_lineno"),
    "codecs": ("StreamReader", "StreamWriter", "StreamRecoder"),
    "contextlib": ("ExitStack.", "AsyncExitStack.", "_BaseExitStack."),
    "functools": ("singledispatch.",),  # its cache is filled in the first run, which no later one could repeat
    "html": ("HTMLParser.",),
    "inspect": ("BoundArguments.",),
    "unittest": ("Base.", "NonCallableMock.", "CallableMixin.", "MagicMixin.", "AsyncMockMixin.", "_patch"),
}
_of_files: dict[str, tuple[str, ...]] = {}  # what is in `_STEPPED`, by file


def makes_steps_always(code: CodeType) -> bool:
    """Whether this is code of the standard library that makes steps of its own in each check."""
    return f"{code.co_qualname}.".startswith(_beginnings(code.co_filename))


def wholly_stepped(file: str) -> bool:
    """Whether all code of a file makes steps of its own in each check."""
    return _beginnings(file) is _WHOLE


def partly_stepped(file: str) -> bool:
    """Whether any code of a file of the standard library makes steps of its own in each check."""
    return bool(_beginnings(file))


def _beginnings(file: str) -> tuple[str, ...]:
    found = looked_up(_of_files, file)
    if found is None:
        found = _of_files[file] = looked_up(_STEPPED, module_of(file)) or () if standard(file) else ()
    return found


def one_step(code: CodeType) -> str:
    """The module of code of the standard library which may work on shared objects in one step; empty if it does not."""
    file = code.co_filename
    top = module_of(file).partition(".")[0] if standard(file) and not wholly_stepped(file) else ""
    if top in _KNOWN and not code.co_qualname.startswith(looked_up(_NAMED, top) or ()):
        return ""
    return top
