"""Which names may change while the threads run: attributes, globals and closure cells.

A load of a name that nothing stores needs no step. So for each name the question is whether any code that has started beside the
threads stores it. The answer comes from the code objects themselves: the engine reports each one when it first starts in a run that
is explored, whoever's code it is, and its store instructions are read. Code that has never run beside the threads has stored
nothing there. If a later run starts new code that stores a name which counted as constant, the step tables made so far are void
(`Changing.grown`), and a search begins anew. Up to that moment nothing had been stored, so nothing was missed.

Names can be stored without a store instruction: by ``setattr``, through ``__dict__`` or ``globals()``, by ``exec``, by a library
that patches. `_STORING` has the names that such code needs. Where one of them occurs, every load is a step. A file under test is
searched as a whole, because it may do with such a dictionary later what it likes; of the standard library, the code that runs.

A name counts as constant only if it is known: as an attribute that code under test stores or defines, as a plain method, or as a
method of a built-in container. Anything else may be computed by a descriptor in C, which leaves no trace.
"""

from __future__ import annotations

import _io
import ast
import builtins
import collections
import functools
import itertools
import re
import sys
from collections.abc import Iterable, Iterator, Set
from dataclasses import dataclass, field
from inspect import CO_OPTIMIZED
from types import BuiltinFunctionType, CodeType, FunctionType, GetSetDescriptorType, MemberDescriptorType
from typing import Any

from ...core.classes import bases_of, derived_from, in_class, module_of_class, names_of
from ...core.lookup import looked_up
from ...core.source import file_text
from ..schedule import checksum
from .instructions import MOST_KNOWN, instructions_of
from .library import STEPPED
from .namespaces import uses_of

_STORING = frozenset(  # code that has one of these names may store attributes, globals or cells without a store instruction
    {
        "setattr", "delattr", "__setattr__", "__delattr__", "__dict__", "vars", "__setstate__", "__class__", "__bases__",
        "globals", "__globals__", "__builtins__", "builtins", "f_globals", "f_locals", "f_builtins", "cell_contents", "exec",
        "eval", "modules", "reload", "import_module", "patch", "mock", "monkeypatch", "Mock", "MagicMock", "ctypes", "pythonapi",
        "pickle", "_pickle", "cPickle", "Unpickler",
    }
)  # fmt: skip
_SPELLED = frozenset(  # of these and of `_LOOKING_IN`, those that it may have as a text, also as a part of one: "box.__dict__"
    {
        "__dict__", "__setattr__", "__delattr__", "__setstate__", "__globals__", "__builtins__", "f_globals", "f_locals",
        "f_builtins", "cell_contents", "__kwdefaults__", "gi_frame", "cr_frame", "ag_frame", "_current_frames",
    }
)  # fmt: skip
_STORING_IF_CALLED = frozenset(  # a class may well define them; the last ones give the dictionary of an object
    {"__set__", "__delete__", "__getstate__", "__reduce__", "__reduce_ex__"}
)
_STORED_TO = frozenset({"__class__", "__bases__"})  # of these, those that only code which stores them may use so
_ENDING = frozenset(  # code that has one of these names may notice when an object ends
    {
        "weakref", "_weakref", "WeakSet", "WeakKeyDictionary", "WeakValueDictionary", "WeakMethod", "finalize", "proxy", "__del__",
        "open", "fdopen", "popen", "Popen", "memoryview", "tempfile", "NamedTemporaryFile", "TemporaryFile", "TemporaryDirectory",
        "SpooledTemporaryFile", "socket", "create_connection", "mmap", "sqlite3", "gc", "getweakrefcount", "getbuffer",
    }
)  # fmt: skip
_LOOKING_IN = frozenset(  # code that has one of these names may see the locals and the stack of another thread's frame, or change
    # what a call reads that is no step
    {
        "_current_frames", "_current_exceptions", "settrace", "setprofile", "get_objects", "get_referrers", "get_referents",
        "getrefcount", "gi_frame", "cr_frame", "ag_frame", "monitoring", "__kwdefaults__",
    }
)  # fmt: skip
_CHANGED_IN_C = frozenset(  # attributes of types of the standard library that are written in C, and change without a store
    {
        "closed", "value", "raw", "contents", "buffer", "gi_running", "gi_suspended", "gi_yieldfrom", "cr_running", "cr_suspended",
        "cr_await", "ag_running", "ag_suspended", "ag_await", "f_lineno", "f_lasti", "tb_next", "tb_lineno", "needs_input", "eof",
        "pending", "unused_data", "unconsumed_tail", "session", "session_reused", "nbytes", "shape", "strides", "readonly",
        "timeout", "encoding", "errors", "newlines", "line_buffering", "write_through", "in_transaction", "total_changes",
        "lastrowid", "rowcount", "description", "characters_written", "obj", "__traceback__", "__context__", "__cause__",
        "__suppress_context__", "__notes__", "timezone", "altzone", "daylight", "tzname",
    }
)  # fmt: skip
_CONSTANT_IN_C = frozenset(  # those that do not change, and that much code uses for its own
    {
        "name", "mode", "path", "type", "size", "offset", "args", "kwargs", "proto", "family", "digest_size", "block_size",
        "typecode", "itemsize", "var", "old_value", "connection", "pattern", "version", "default", "indent", "strict", "dialect",
        "id", "time", "closefd", "delimiter", "check", "protocol", "server_side", "server_hostname", "ident",
    }
)  # fmt: skip
_CONSTANT_MODULES = frozenset(  # of types in C, whose attributes do not change, or are in `_CHANGED_IN_C`
    {"builtins", "datetime", "re", "_struct", "decimal", "functools", "operator", "_operator", "types", "collections", "itertools"}
)
_ALIASING = frozenset(  # what a module may leave to others when it is imported: a dictionary of names, or what stores one
    {"setattr", "delattr", "__setattr__", "__delattr__", "__dict__", "vars", "globals", "__globals__", "f_globals", "f_locals"}
)
_MAY_ALIAS = re.compile("|".join(sorted(_ALIASING | {"locals"})))  # in the text of such a module
_OF_CALLS = frozenset({".__code__", ".__defaults__", ".__kwdefaults__", ".__call__"})  # each call reads them, and is no step
_CLOSED_AT_END = _io._IOBase  # where an instance ends, it calls its method `close`
_BUFFERS = re.compile(r"\b(iter_unpack|finditer)\b")  # these keep a bytearray from changing its size, up to their end
_WEAK_MODULES = ("weakref.py", "_weakrefset.py")  # who starts code of theirs may notice when an object ends
_STORES = {"STORE_ATTR": ".", "DELETE_ATTR": ".", "STORE_GLOBAL": "global ", "DELETE_GLOBAL": "global ", "STORE_NAME": "global "}
_STORES |= {"DELETE_NAME": "global ", "STORE_DEREF": "cell ", "DELETE_DEREF": "cell "}
_CONTAINERS = (
    list, dict, set, frozenset, tuple, str, bytes, bytearray, int, float, collections.deque, collections.OrderedDict,
    collections.defaultdict, collections.Counter,
)  # fmt: skip
_CONTAINER_METHODS = frozenset(
    name for kind in _CONTAINERS for name in dir(kind) if callable(getattr(kind, name)) and not name.startswith("__")
)
_IMMUTABLE = frozenset(  # modules and classes in Python whose properties do not change
    {
        "pathlib", "enum", "inspect.Parameter", "inspect.Signature", "ipaddress", "fractions", "uuid", "typing", "statistics",
        "urllib.parse", "ast", "types", "numbers", "zoneinfo", "importlib.metadata", "importlib.resources", "importlib.abc",
        "annotationlib", "dis", "dataclasses", "tokenize", "operator", "functools", "abc", "re", "socket", "asyncio",
        "http.HTTPStatus", "platform", "bz2", "lzma",
    }
)  # fmt: skip
_CONSTANT_IN_PYTHON = frozenset({"name"})  # a property of threads and log handlers, which much code uses for its own
_NAMING = frozenset({"set_name", "setName"})  # of these, the methods that change it
_OF_METHODS = frozenset({functools.partialmethod, functools.singledispatchmethod})
_BOUND = frozenset({FunctionType, BuiltinFunctionType, classmethod, staticmethod, MemberDescriptorType})  # they compute nothing
_PLAIN_DEFAULTS = frozenset({"field"})  # a class attribute made by these is an instance attribute's default, and no descriptor
WRAPPING = functools.update_wrapper.__code__
_FLAGS = ("anything", "ends_matter", "looked_into", "all_visible")
MISSING = object()


@dataclass
class _File:
    """What a source file says of names.

    Attributes:
        attributes: those that it stores, or that its classes and itself define with a plain value.
        methods: the functions that it defines without a decorator.
        computed: names of its classes that may be descriptors.
        words: all names in its code that may matter.
        dictionaries: whether its code uses dictionaries of names, or stores names that are computed.
        keeps_keywords: whether it may have objects that store keyword arguments as attributes.
        aliases: whether it may have given a dictionary of names to others when it was imported, or an object that stores any.
    """

    attributes: set[str] = field(default_factory=set)
    methods: set[str] = field(default_factory=set)
    computed: set[str] = field(default_factory=set)
    words: set[str] = field(default_factory=set)
    dictionaries: bool = False
    keeps_keywords: bool = False
    aliases: bool = False


class Changing:
    """What is known of names, for one check.

    Attributes:
        grown: whether a name may change that was taken for constant.
        anything: whether any name may change.
        dictionaries: whether a name may be read or stored through a dictionary, or by a call, even if it is known which.
        ends_matter: whether code under test may notice when an object ends.
        looked_into: whether code under test may look into frames, so that every instruction is visible.
        all_visible: whether every instruction is visible for another reason.
    """

    def __init__(self) -> None:
        self.grown = False
        self.anything = self.ends_matter = self.looked_into = self.dictionaries = self.all_visible = False
        self._stored: set[str] = set()  # ".x", "global x", "cell x"
        self._taken_for_constant: set[str] = set()
        self._known: set[str] = set()
        self._methods: set[str] = set(_CONTAINER_METHODS)
        self._computed: set[str] = set()
        self._seen: set[str] = set()
        self._used: set[str] = set()
        self._at_first: set[str] = set()
        self._learnt: frozenset[int] = frozenset()
        self._values: dict[tuple[int, str], tuple[dict[str, Any], str, object]] = {}

    def file(self, path: str) -> None:
        """Take note of a file whose code is under test; of the standard library only the code that runs counts."""
        if path in self._seen or path in STEPPED:
            return
        self._seen.add(path)
        found = _of_file(path)
        before = len(self._computed)
        self._known |= found.attributes
        self._methods |= found.methods
        self._computed |= found.computed
        self.dictionaries = self.dictionaries or found.dictionaries
        self._words(found.words)
        if len(self._computed) != before:
            self._void_if(found.computed)

    def started(self, code: CodeType, *, under_test: bool, asked_by_test: bool = False) -> bool:
        """Take note of code that has started beside the threads.

        Args:
            under_test: whether it is code under test.
            asked_by_test: whether code under test has called it.

        Returns:
            Whether another start of it would tell no more.
        """
        stored, words, called = _of_code(code)
        self._store(stored)
        self.dictionaries = self.dictionaries or _uses_dictionaries(code)
        if under_test and code.co_filename not in STEPPED:
            self.file(code.co_filename)
            if sys.version_info < (3, 12):  # from there on, each call says which name it stores (`set_by_call`)
                self._words(called)
                if "__init__" in code.co_names:
                    self._store(frozenset({".args"}))
                    if _of_file(code.co_filename).keeps_keywords:
                        self._set("anything")
            if code.co_filename.startswith("<"):  # there is no source to read
                self._words(words - called if sys.version_info >= (3, 12) else words)
            return True
        self._words(words & _STORING)
        if not code.co_filename.endswith(_WEAK_MODULES):
            return True
        if asked_by_test:
            self._set("ends_matter")
        return asked_by_test

    def has_file(self, path: object) -> bool:
        """Whether this is a file under test of which code has started."""
        return path in self._seen

    def imported(self, path: str) -> None:
        """Take note of a file under test which was imported by one whose code has started, and of which no code need ever start."""
        if path not in self._seen and _MAY_ALIAS.search(file_text(path)) and _of_file(path).aliases:
            self._set("anything")

    def in_classes(self, kinds: Iterable[type]) -> None:
        """Take note of the attributes of these classes that a descriptor computes, however it has come there."""
        found: set[str] = set()
        for kind in {id(kind): kind for kind in kinds}.values():  # no set: a metaclass may hash classes its own way
            if module_of_class(kind).partition(".")[0] in sys.stdlib_module_names:
                continue
            if any("__del__" in names_of(base) or base is _CLOSED_AT_END for base in bases_of(kind)):
                self._set("ends_matter")
            found.update(_computed(kind))
            if any(_is_borrowed(names_of(kind).get(name), kind) for name in _CATCHERS):
                self._set("anything")  # any name may stand for what changes
        self._store(frozenset(f".{name}" for name in found))

    def set_by_call(self, name: str | None) -> None:
        """Take note of an attribute that a call is about to store; None for one of which the name is not known."""
        if name is None or name in _STORING:
            self._set("anything")
        else:
            self._store(frozenset({f".{name}"}))

    def wraps(self, wrapped: object, assigned: object, updated: object) -> bool:
        """Take note of a call of `functools.update_wrapper`; returns whether all that it stores is known."""
        as_usual = assigned is functools.WRAPPER_ASSIGNMENTS and updated is functools.WRAPPER_UPDATES
        if not as_usual or type(wrapped) is not FunctionType:
            return False
        names = (*functools.WRAPPER_ASSIGNMENTS, "__wrapped__", *wrapped.__dict__)
        self._store(frozenset(f".{name}" for name in names))
        return True

    def _store(self, stored: frozenset[str]) -> None:
        if new := stored - self._stored:
            self._stored |= new
            if new & _OF_CALLS:
                self._set("looked_into")
            if new & self._taken_for_constant:
                self.grown = True

    def _words(self, words: Set[str]) -> None:
        if words & _STORING:
            self._set("anything")
        if words & _ENDING:
            self._set("ends_matter")
        if words & _LOOKING_IN:
            self._set("looked_into")

    def _set(self, what: str) -> None:
        if not getattr(self, what):
            setattr(self, what, True)
            self.grown = True

    def _void_if(self, names: set[str]) -> None:
        if any(f".{name}" in self._taken_for_constant for name in names):
            self.grown = True

    def begin(self) -> None:
        """Take note that from here on a search teaches more, which a replay of what it finds has to be told (`learnt`)."""
        self._at_first = self._stored | self._flags()

    def show_everything(self, wanted: bool) -> None:
        """From here on every instruction is visible, or no longer each one."""
        if wanted is not self.all_visible:
            self.all_visible, self.grown = wanted, True
            self._used.discard("all_visible")

    def learnt(self) -> tuple[int, ...]:
        """Checksums of what has been learnt since `begin`, as far as a step table depends on it."""
        return tuple(sorted({checksum(fact) for fact in self._used - self._at_first}))

    @property
    def facts_used(self) -> int:
        """The number of facts that step tables depend on; `learnt` changes when it does."""
        return len(self._used)

    def learn(self, facts: Iterable[int]) -> None:
        """Take over what an earlier check has `learnt`."""
        self._learnt = frozenset(facts)
        for flag in _FLAGS:
            if checksum(flag) in self._learnt:
                setattr(self, flag, True)
        self.grown = self.grown or bool(self._learnt)

    def _flags(self) -> set[str]:
        return {flag for flag in _FLAGS if getattr(self, flag)}

    def attribute_changes(self, name: str, *, method: bool) -> bool:
        if self._changes(f".{name}", f"global {name}") or name in self._computed:
            return True
        known = name in self._methods or name in self._known if method else name in self._known
        return not known or name in _computed_elsewhere() or not self._constant(f".{name}")

    def global_changes(self, name: str) -> bool:
        return self._changes(f"global {name}", f".{name}") or not self._constant(f"global {name}", f".{name}")

    def cell_changes(self, name: str) -> bool:
        return self._changes(f"cell {name}") or not self._constant(f"cell {name}")

    def _changes(self, *names: str) -> bool:
        """Whether one of these may change, as far as known: a global is also an attribute of its module."""
        stored = [name for name in names if name in self._stored or (self._learnt and checksum(name) in self._learnt)]
        self._used.update(stored, self._flags())
        return self.anything or bool(stored)

    def _constant(self, *names: str) -> bool:
        """Take these names for constant."""
        self._taken_for_constant.update(names)
        return True

    def value_of(self, namespace: dict[str, Any], name: str) -> object:
        """The value of a global, if nothing is known to rebind it; otherwise `MISSING`."""
        if self.global_changes(name):
            return MISSING
        value = _value(namespace, name)
        self._values.setdefault((id(namespace), name), (namespace, name, value))
        return value

    def check_values(self) -> None:
        """Look whether a global has been rebound that was taken for constant, by whatever means."""
        for key, (namespace, name, value) in list(self._values.items()):
            if _value(namespace, name) is not value:
                del self._values[key]
                self._stored.add(f"global {name}")
                self.grown = True


def _value(namespace: dict[str, Any], name: str) -> object:
    return namespace.get(name, getattr(builtins, name, MISSING))


_codes: dict[CodeType, tuple[frozenset[str], frozenset[str], frozenset[str]]] = {}


def _of_code(code: CodeType) -> tuple[frozenset[str], frozenset[str], frozenset[str]]:
    """The names that a code object stores; all names in it that may matter; those that matter only when this code runs.

    What is nested in it starts by itself.
    """
    known = looked_up(_codes, code)
    if known is None:
        if len(_codes) >= MOST_KNOWN:
            _codes.clear()
        stores = {
            _STORES[instruction.opname] + str(instruction.argval)
            for instruction in instructions_of(code)
            if instruction.opname in _STORES
        }
        if "import_star" in str(code.co_consts):
            stores.add("global *")
        read = {name for name in _STORED_TO if not any(store.endswith(name) for store in stores)}  # which stores nothing
        uses = uses_of(code, instructions_of(code))
        stores |= {f".{name}" for name in uses.stored}
        if not _NAMING.isdisjoint(code.co_names):
            stores.add(".name")
        texts = set(_texts(code))
        spelled = _SPELLED & {word for text in texts for word in _WORD.findall(text)}  # getattr(x, "__dict__")
        if not _STORING_IF_CALLED.isdisjoint((*code.co_names, *texts)):
            loaded = {each.argval for each in instructions_of(code) if each.opname.startswith("LOAD_") and type(each.argval) is str}
            if not _STORING_IF_CALLED.isdisjoint(loaded):
                spelled |= {"__setstate__"}
        words = frozenset((*(name for name in code.co_names if name not in uses.harmless), *spelled, code.co_name)) - read
        known = _codes[code] = frozenset(stores), words, uses.called - {code.co_name}
    return known


_WORD = re.compile(r"\w+")


def _texts(code: CodeType) -> Iterator[str]:
    """The texts of code that may be names, or contain some: not those with white space, such as docstrings."""
    constants = list(code.co_consts)
    for constant in constants:
        if type(constant) is str and not any(map(str.isspace, constant)):
            yield constant
        elif type(constant) in (tuple, frozenset) and "__slots__" not in code.co_names:
            constants += constant


def _uses_dictionaries(code: CodeType) -> bool:
    """Whether code reads or stores names without an instruction for it, be it known which names."""
    return bool(code.co_names and _STORING.intersection(code.co_names) - _STORED_TO)


# What dataclasses and `exec` compile has this name. From 3.13 on `linecache` has the text of `python -c` under it, which is not
# theirs: in each worker of pytest-xdist that text uses `eval`, and no program with a dataclass was proved there.
_SHARED = "<string>"
_files: dict[str, _File] = {}


def files_read() -> list[str]:
    """The files whose source has been read in this process: of its own or of the processes that it is a fork of."""
    return list(_files)


def read_ahead(paths: Iterable[str]) -> None:
    """Read the source of those of these files that are modules of this process, so that its forks need not do it again."""
    modules = {getattr(module, "__file__", None) for module in list(sys.modules.values())}
    for path in paths:
        if path in modules:
            _of_file(path)


def _of_file(path: str) -> _File:
    found = looked_up(_files, path)
    if found is None:
        found = _files[path] = _read(path)
    return found


def _read(path: str) -> _File:
    return _File() if path == _SHARED else _of_text(file_text(path))


@functools.lru_cache(maxsize=1000)  # a program may make the same code under a new name in each run
def _of_text(text: str) -> _File:
    found = _File(keeps_keywords="SimpleNamespace" in text)
    try:
        tree = ast.parse(text)
        module = compile(tree, _SHARED, "exec", dont_inherit=True)
    except (SyntaxError, ValueError):
        return _File(words=set(_STORING))
    for code in _with_nested(module):
        stored, words, called = _of_code(code)
        found.words |= words - called
        found.dictionaries = found.dictionaries or _uses_dictionaries(code)
        found.attributes |= {name[1:] for name in stored if name.startswith(".")}
        found.aliases = found.aliases or ".__dict__" in stored or bool(_at_import(code) & (words - called) & _ALIASING)
    for node in ast.walk(tree):
        if isinstance(node, (ast.ClassDef, ast.Module)):
            for statement in node.body:
                _defined(statement, found, in_class=isinstance(node, ast.ClassDef))
    if "locals" in module.co_names:  # there, it gives the globals
        found.words.add("globals")
        found.aliases = True
    if any(map(_ends_with_a_step, ast.walk(tree))) or ("bytearray" in text and _BUFFERS.search(text)):
        found.words.add("__del__")
    if any(map(_renames, ast.walk(tree))):
        found.words.add("setattr")
    found.computed |= _stored_in_classes(tree)
    if found.computed & _CATCHERS or found.attributes & _CATCHERS:  # in C, perhaps: then any name may stand for what changes
        found.words.add("setattr")
    return found


@functools.lru_cache(maxsize=10_000)
def imports_of(path: str) -> frozenset[str]:
    """The modules that a file may import, as its statements name them: ``.jobs``. It is not parsed, which takes much longer."""
    found = set()
    for module, names in _FROM.findall(file_text(path)):
        found.add(module)
        found.update(f"{module}{'' if module.endswith('.') else '.'}{name}" for name in _WORD.findall(names))
    for names in _IMPORT.findall(file_text(path)):
        found.update(name.split()[0] for name in names.split(",") if name.strip())
    return frozenset(found)


_IMPORT = re.compile(r"^[ \t]*import[ \t]+([\w., \t]+)", re.MULTILINE)
_FROM = re.compile(r"^[ \t]*from[ \t]+([\w.]+)[ \t]+import[ \t]+(\([^)]*\)|[^\n#]*)", re.MULTILINE)


def _at_import(code: CodeType) -> Set[str]:
    """The names and texts in code that runs when a module is imported: not that of a function."""
    return frozenset() if code.co_flags & CO_OPTIMIZED else _of_code(code)[1]


def _is_borrowed(method: object, kind: type) -> bool:
    """Whether a method is no function, and not what a class in C has of its own."""
    return method is not None and type(method) is not FunctionType and getattr(method, "__objclass__", None) is not kind


_HELD_BY_ONE = frozenset({"contextmanager", "asynccontextmanager", "fixture"})


def _ends_with_a_step(node: ast.AST) -> bool:
    """Whether this is a generator function with a ``yield`` inside of a ``with`` or ``try``, which goes on where a generator ends.

    Those that make a context manager are left out: what holds such a generator is one thread's own.
    """
    if not isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef)):
        return False
    if any(ast.unparse(each).rpartition(".")[2] in _HELD_BY_ONE for each in node.decorator_list):
        return False
    return any(any(map(_yields, _guarded_by(block))) for block in _within_function(node))


def _guarded_by(block: ast.AST) -> list[ast.stmt]:
    """The statements of a block after which, or after an exception in which, code of the same block runs."""
    if isinstance(block, (ast.With, ast.AsyncWith)):
        return block.body
    if not isinstance(block, (ast.Try, ast.TryStar)):
        return []
    others = [*block.orelse, *itertools.chain.from_iterable(handler.body for handler in block.handlers)]
    return [*block.body, *(others if block.finalbody else ())]


def _renames(node: ast.AST) -> bool:
    """Whether this makes a function or a cell of parts: its variables may have other names, or be in a dict that others change."""
    if not isinstance(node, ast.Call):
        return False
    callee = node.func
    name = callee.attr if isinstance(callee, ast.Attribute) else getattr(callee, "id", "")
    return name in ("FunctionType", "LambdaType", "CellType")


def _yields(statement: ast.stmt) -> bool:
    return any(isinstance(each, _SUSPENDING) for each in (statement, *_within_function(statement)))


_SUSPENDING = (ast.Yield, ast.YieldFrom, ast.Await, ast.AsyncFor, ast.AsyncWith)


def _within_function(node: ast.AST) -> Iterator[ast.AST]:
    """All nodes inside of this one that are not in a function of their own."""
    for child in ast.iter_child_nodes(node):
        if not isinstance(child, (ast.FunctionDef, ast.AsyncFunctionDef, ast.Lambda, ast.ClassDef)):
            yield child
            yield from _within_function(child)


_CATCHERS = frozenset({"__getattr__", "__getattribute__"})


def _stored_in_classes(tree: ast.Module) -> set[str]:
    """The attributes that are perhaps stored in a class, and may be descriptors: ``Job.status = property(...)``."""
    functions = (ast.FunctionDef, ast.AsyncFunctionDef, ast.Lambda)
    inside = {id(node) for function in ast.walk(tree) if isinstance(function, functions) for node in ast.walk(function)}
    classes = {node.name for node in ast.walk(tree) if isinstance(node, ast.ClassDef)} | _NAMES_OF_CLASSES
    found = set()
    for node in ast.walk(tree):
        if not isinstance(node, (ast.Assign, ast.AnnAssign)) or node.value is None or _plain(node.value):
            continue
        for target in node.targets if isinstance(node, ast.Assign) else [node.target]:
            if isinstance(target, ast.Attribute):
                base = ast.unparse(target.value)
                if id(node) not in inside or base in classes or "__class__" in base or base.startswith("type("):
                    found.add(target.attr)
    return found


_NAMES_OF_CLASSES = frozenset({"cls", "klass", "kls", "owner", "class_", "type_", "mcs", "mcls", "metacls"})  # of arguments


def _defined(statement: ast.stmt, found: _File, *, in_class: bool) -> None:
    """Take note of what a statement of a class or module defines."""
    if isinstance(statement, (ast.FunctionDef, ast.AsyncFunctionDef)):
        (found.computed if statement.decorator_list and in_class else found.methods).add(statement.name)
    elif isinstance(statement, ast.ClassDef):
        found.attributes.add(statement.name)
    elif isinstance(statement, (ast.Assign, ast.AnnAssign)):
        targets = statement.targets if isinstance(statement, ast.Assign) else [statement.target]
        names = {node.id for target in targets for node in ast.walk(target) if isinstance(node, ast.Name)}
        plain = not in_class or statement.value is None or _plain(statement.value)
        (found.attributes if plain else found.computed).update(names)
    elif in_class and isinstance(statement, (ast.If, ast.For, ast.While, ast.Try, ast.With)):
        for inner in itertools.chain.from_iterable(ast.iter_child_nodes(part) for part in (statement,)):
            if isinstance(inner, ast.stmt):
                _defined(inner, found, in_class=in_class)


def _plain(value: ast.expr) -> bool:
    """Whether the value of an expression cannot be a descriptor."""
    if isinstance(value, ast.Call):
        callee = value.func
        return (callee.attr if isinstance(callee, ast.Attribute) else getattr(callee, "id", "")) in _PLAIN_DEFAULTS
    return isinstance(
        value,
        (ast.Constant, ast.List, ast.Dict, ast.Set, ast.Tuple, ast.UnaryOp, ast.BinOp, ast.JoinedStr, ast.ListComp, ast.DictComp),
    )


def _computed(kind: type) -> Iterator[str]:
    """The names under which a class has a descriptor that may compute something."""
    for name, value in list(names_of(kind).items()):
        renamed = type(value) is MemberDescriptorType and value.__name__ != name  # a slot that is stored under another name
        if not name.startswith("__") and (renamed or (type(value) not in _BOUND and in_class(type(value), "__get__") is not None)):
            yield name


def _computed_in_python(kind: type) -> Iterator[str]:
    """Those whose value is computed by Python code."""
    for name in _computed(kind):
        value = names_of(kind)[name]
        if type(value) is property or (type(value) not in _OF_METHODS and type(in_class(type(value), "__get__")) is FunctionType):
            yield name


def _computed_elsewhere() -> frozenset[str]:
    """The names of attributes that a type in C, or a class of the standard library, computes from a state that changes.

    No store instruction changes them, and no step is made when they are read.
    """
    return _computed_in_modules(len(sys.modules))  # a module that is imported later brings types of its own


@functools.lru_cache(maxsize=1)
def _computed_in_modules(modules: int) -> frozenset[str]:
    found = set(_CHANGED_IN_C)
    for kind in derived_from(object):
        names = names_of(kind)
        module = module_of_class(kind).partition(".")[0]
        standard = module in sys.stdlib_module_names
        if standard and not _is_immutable(kind):
            found |= {name for name in _computed_in_python(kind) if name not in _CONSTANT_IN_PYTHON}
        if "__slots__" in names or (standard and (module in _CONSTANT_MODULES or issubclass(kind, (tuple, BaseException)))):
            continue  # of Python, or it does not change
        members = {name for name, value in list(names.items()) if type(value) in (GetSetDescriptorType, MemberDescriptorType)}
        found |= members - _CONSTANT_IN_C if standard else members
    return frozenset(found)


def _is_immutable(kind: type) -> bool:
    """Whether a class of the standard library, or a module that it is in, is among those whose properties do not change."""
    parts = (*module_of_class(kind).split("."), kind.__name__)
    return any(".".join(parts[:count]) in _IMMUTABLE for count in range(1, len(parts) + 1))


def _with_nested(code: CodeType) -> Iterator[CodeType]:
    yield code
    for constant in code.co_consts:
        if isinstance(constant, CodeType):
            yield from _with_nested(constant)
