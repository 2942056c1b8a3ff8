"""What the source of code under test says of names: which it stores, defines or may compute, and what it may do to names unseen.

A file is read once in a process, as a whole: its syntax tree is walked once, and of its code objects only the store instructions
are looked at. (A program on a large library starts code of hundreds of files in its first run, so this is what that run waits for.)
"""

from __future__ import annotations

import ast
import functools
import itertools
import re
import sys
from collections.abc import Iterator, Mapping, Set
from dataclasses import dataclass, field
from inspect import CO_OPTIMIZED
from types import CodeType
from typing import NamedTuple

from ...core.classes import file_of_module
from ...core.lookup import looked_up
from ...core.own_builtins import PutBack
from ...core.source import file_text, no_warnings_of_the_compiler, with_nested
from .code_facts import instructions_of, kept, stores_of
from .namespaces import SETTERS, uses_of

STORING = frozenset(  # code that has one of these names may store attributes, globals or cells without a store instruction
    {
        "setattr", "delattr", "__setattr__", "__delattr__", "__dict__", "vars", "__setstate__", "__class__", "__bases__",
        "globals", "__globals__", "__builtins__", "builtins", "f_globals", "f_locals", "f_builtins", "cell_contents", "exec",
        "eval", "modules", "reload", "import_module", "patch", "mock", "monkeypatch", "Mock", "MagicMock", "ctypes", "pythonapi",
        "pickle", "_pickle", "cPickle", "Unpickler", "new_class",
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
_ALIASING = frozenset(  # what a module may leave to others when it is imported: a dictionary of names, or what stores one
    {"setattr", "delattr", "__setattr__", "__delattr__", "__dict__", "vars", "globals", "__globals__", "f_globals", "f_locals"}
)
MAY_ALIAS = re.compile("|".join(sorted(_ALIASING | {"locals"})))  # in the text of such a module
# These keep a bytearray from changing its size, up to their end:
_BUFFERS = re.compile(r"\b(iter_unpack|finditer|scanner|__buffer__)\b")
_SPACES = {"ATTR": ".", "GLOBAL": "global ", "NAME": "global ", "DEREF": "cell "}  # by the end of an instruction's name
_NAMING = frozenset({"set_name", "setName"})  # of these, the methods that change it
_PLAIN_DEFAULTS = frozenset({"field"})  # a class attribute made by these is an instance attribute's default, and no descriptor
CATCHERS = frozenset({"__getattr__", "__getattribute__"})


@dataclass
class SourceFacts:
    """What a source file says of names.

    Attributes:
        attributes: those that it stores, or that its classes and itself define with a plain value.
        methods: the functions that it defines without a decorator.
        computed: names of its classes that may be descriptors.
        words: all names in its code that may matter.
        dictionaries: whether its code uses dictionaries of names, or stores names that are computed.
        keeps_keywords: whether it may have objects that store keyword arguments as attributes.
        initialises: whether it mentions an ``__init__`` other than to define one.
        of_ends: whether it may notice the end of a thread: it may make a `threading.local`, or ask whether a thread is alive.
        of_threads: whether it mentions what a thread keeps for itself, or its number.
        aliases: whether it may have given a dictionary of names to others when it was imported, or an object that stores any.
    """

    attributes: set[str] = field(default_factory=set)
    methods: set[str] = field(default_factory=set)
    computed: set[str] = field(default_factory=set)
    words: set[str] = field(default_factory=set)
    dictionaries: bool = False
    keeps_keywords: bool = False
    initialises: bool = False
    of_ends: bool = False
    of_threads: bool = False
    aliases: bool = False


_codes: dict[CodeType, tuple[frozenset[str], frozenset[str], frozenset[str]]] = {}


def of_code(code: CodeType) -> tuple[frozenset[str], frozenset[str], frozenset[str]]:
    """The names that a code object stores; all names in it that may matter; those that matter only when this code runs.

    What is nested in it starts by itself.
    """
    known = looked_up(_codes, code)
    if known is None:
        stores = {_SPACES[opname.rpartition("_")[2]] + name for opname, name in stores_of(code)}
        read = {name for name in _STORED_TO if not any(store.endswith(name) for store in stores)}  # which stores nothing
        uses = uses_of(code)
        stores |= {f".{name}" for name in uses.stored}
        if not _NAMING.isdisjoint(code.co_names):
            stores.add(".name")
        texts = set(_texts(code))
        spelled = _SPELLED & {word for text in texts for word in _WORD.findall(text)}  # getattr(x, "__dict__")
        if not _STORING_IF_CALLED.isdisjoint((*code.co_names, *texts)):
            loaded = {each.argval for each in instructions_of(code) if each.opname.startswith("LOAD_") and type(each.argval) is str}
            if not _STORING_IF_CALLED.isdisjoint(loaded):
                spelled |= {"__setstate__"}
        own = () if code.co_name in SETTERS else (code.co_name,)  # such a method of a class makes steps
        words = frozenset((*(name for name in code.co_names if name not in uses.harmless), *spelled, *own)) - read
        known = kept(_codes, code, (frozenset(stores), words, uses.called - {*own}))
    return known


_WORD = re.compile(r"\w+")
_OF_ENDS = frozenset({"local", "_local", "is_alive", "active_count", "activeCount", "current_thread", "currentThread", "_active"})
_OF_THREADS = _OF_ENDS | {
    "get_ident", "get_native_id", "ident", "native_id", "main_thread", "signal", "asyncio", "trio", "anyio", "sqlite3",
    "setprofile", "settrace", "getlocale", "setlocale", "faulthandler",
}  # fmt: skip


def _texts(code: CodeType) -> Iterator[str]:
    """The texts of code that may be names, or contain some: not those with white space, such as docstrings."""
    constants = list(code.co_consts)
    for constant in constants:
        if type(constant) is str and not any(map(str.isspace, constant)):
            yield constant
        elif type(constant) in (tuple, frozenset) and "__slots__" not in code.co_names:
            constants += constant


def uses_dictionaries(code: CodeType) -> bool:
    """Whether code reads or stores names without an instruction for it, be it known which names.

    A call of `setattr`, or of its like, is a step of which it is known what it stores.
    """
    return bool(code.co_names and STORING.intersection(code.co_names) - _STORED_TO - of_code(code)[2])


# What dataclasses and `exec` compile has this name. From 3.13 on `linecache` has the text of `python -c` under it, which is not
# theirs: in each worker of pytest-xdist that text uses `eval`, and no program with a dataclass was proved there.
_SHARED = "<string>"
_files: dict[str, SourceFacts] = {}
_kept = 0  # so many of them, the first ones, are known to each fork to come


def learnt() -> dict[str, SourceFacts]:
    """What this process has read by itself of files: not what it has from the process of which it is a fork (`keep`)."""
    paths = list(_files)[_kept:]
    return {path: _files[path] for path in paths}


def keep(facts: Mapping[str, object]) -> None:
    """Take over what a fork of this process has `learnt`, so that other forks need not read it again.

    Only of modules that this process has imported itself: of those the fork's program cannot have changed the file for it.
    """
    global _kept
    if not facts:
        return
    modules = {file_of_module(module) for module in list(sys.modules.values())}
    usable = {path: found for path, found in facts.items() if path in modules and isinstance(found, SourceFacts)}
    _files.update(usable)
    _kept = len(_files)


def of_file(path: str) -> SourceFacts:
    found = looked_up(_files, path)
    if found is None:
        with PutBack():
            found = _files[path] = _read(path)
    return found


def _read(path: str) -> SourceFacts:
    return SourceFacts() if path == _SHARED else _of_text(file_text(path))


@functools.lru_cache(maxsize=1000)  # a program may make the same code under a new name in each run
def _of_text(text: str) -> SourceFacts:
    found = SourceFacts(keeps_keywords="SimpleNamespace" in text, initialises=".__init__" in text)
    try:
        with no_warnings_of_the_compiler():
            tree = ast.parse(text)
            module = compile(tree, _SHARED, "exec", dont_inherit=True)
    except (SyntaxError, ValueError, RecursionError, MemoryError):  # what cannot be read may store anything
        return SourceFacts(words=set(STORING), of_ends=True, of_threads=True)
    found.of_ends = "threading.enumerate" in text
    for code in with_nested(module):
        found.of_ends = found.of_ends or not _OF_ENDS.isdisjoint(code.co_names)
        found.of_threads = found.of_threads or not _OF_THREADS.isdisjoint(code.co_names)
        stored, words, called = of_code(code)
        found.words |= words - called
        found.dictionaries = found.dictionaries or uses_dictionaries(code)
        found.attributes |= {name[1:] for name in stored if name.startswith(".")}
        found.aliases = found.aliases or ".__dict__" in stored or bool(_at_import(code) & (words - called) & _ALIASING)
    parts = _parts_of(tree)
    for scope in parts.scopes:
        for statement in scope.body:
            _defined(statement, found, in_class=isinstance(scope, ast.ClassDef))
    if "open" in found.words & found.attributes and _is_a_plain_attribute(tree, "open"):  # a door's, and no file's
        found.words.remove("open")
    if "locals" in module.co_names:  # there, it gives the globals
        found.words.add("globals")
        found.aliases = True
    by_one = _HELD_BY_ONE - found.methods  # a function of its own may do anything with the generator
    if any(_ends_with_a_step(each, by_one) for each in parts.generators) or ("bytearray" in text and _BUFFERS.search(text)):
        found.words.add("__del__")
    if parts.anything:
        found.words.add("setattr")
    found.computed |= _stored_in_classes(parts)
    if found.computed & CATCHERS or found.attributes & CATCHERS:  # in C, perhaps: then any name may stand for what changes
        found.words.add("setattr")
    return found


def _is_a_plain_attribute(tree: ast.Module, name: str) -> bool:
    """Whether a name is that of attributes alone, of which each store is that of a constant, and none is called."""
    nodes = list(ast.walk(tree))
    called = {id(node.func) for node in nodes if isinstance(node, ast.Call)}
    constant: set[int] = set()
    for node in nodes:
        if isinstance(node, (ast.Assign, ast.AnnAssign)):
            for target in node.targets if isinstance(node, ast.Assign) else [node.target]:
                constant |= _set_to_a_constant(target, node.value)
    for node in nodes:
        if isinstance(node, (ast.Attribute, ast.Name)):
            if (node.attr if isinstance(node, ast.Attribute) else node.id) != name or id(node) in constant:
                continue
            if isinstance(node, ast.Name) or isinstance(node.ctx, ast.Store) or id(node) in called:
                return False
        elif name in (getattr(node, "name", None), getattr(node, "asname", None), getattr(node, "arg", None)):
            return False
    return True


def _set_to_a_constant(target: ast.expr, value: ast.expr | None) -> set[int]:
    """The ids of the targets, in one target of an assignment, that become a constant."""
    if isinstance(target, ast.Tuple) and isinstance(value, ast.Tuple) and len(target.elts) == len(value.elts):
        return {key for one, other in zip(target.elts, value.elts, strict=True) for key in _set_to_a_constant(one, other)}
    return {id(target)} if isinstance(value, ast.Constant) else set()


_Function = ast.FunctionDef | ast.AsyncFunctionDef


class _Parts(NamedTuple):
    """The parts of a syntax tree that matter.

    Attributes:
        scopes: the module, and all classes.
        generators: functions that can be suspended in the middle: generators, and coroutines that await.
        assignments: each with whether it is inside of a function.
        anything: whether any name may change, without a word that says so: a function or a cell may be made of parts, so that its
            variables have other names, or are in a dict that others change; or something is bound to the name of a method that
            finds any attribute, and not by a definition.
    """

    scopes: list[ast.Module | ast.ClassDef]
    generators: list[_Function]
    assignments: list[tuple[ast.Assign | ast.AnnAssign, bool]]
    anything: bool


def _parts_of(tree: ast.Module) -> _Parts:
    scopes: list[ast.Module | ast.ClassDef] = [tree]
    generators: dict[int, _Function] = {}
    assignments: list[tuple[ast.Assign | ast.AnnAssign, bool]] = []
    anything = False
    makers = 0  # mentions of what makes functions, without those that only compare it with the class of something
    waiting: list[tuple[ast.AST, ast.AST | None, bool]] = [(tree, None, False)]  # node, its function, inside of any function
    while waiting:
        node, function, inside = waiting.pop()
        kind = type(node)
        if kind is ast.Name and node.id in _SPECIAL:  # type: ignore[attr-defined]
            makers += node.id in _MAKERS  # type: ignore[attr-defined]
            anything = anything or (node.id in CATCHERS and isinstance(node.ctx, ast.Store))  # type: ignore[attr-defined]
        elif kind is ast.alias:
            anything = anything or (node.asname or node.name) in CATCHERS  # type: ignore[attr-defined]
            anything = anything or (node.asname is not None and node.name in _MAKERS)  # type: ignore[attr-defined]
        if kind in _LEAVES:
            continue
        if _suspends(node) and isinstance(function, _Function):
            generators[id(function)] = function
        elif kind is ast.ClassDef:
            scopes.append(node)  # type: ignore[arg-type]
        elif kind is ast.Assign or kind is ast.AnnAssign:
            assignments.append((node, inside))  # type: ignore[arg-type]
        elif kind is ast.Attribute:
            makers += node.attr in _MAKERS  # type: ignore[attr-defined]
            anything = anything or (node.attr == "__code__" and isinstance(node.ctx, ast.Load))  # type: ignore[attr-defined]
        elif kind is ast.Call and getattr(node.func, "id", "") in _COMPARING:  # type: ignore[attr-defined]
            makers -= _mentions(node.args[1:])  # type: ignore[attr-defined]
        elif kind is ast.Compare:
            makers -= _mentions(node.comparators)  # type: ignore[attr-defined]
        if kind in _FUNCTIONS:
            function, inside = node, True
        elif kind is ast.ClassDef:
            function = None
        for name in node._fields:
            value = getattr(node, name, None)
            if type(value) is list:
                waiting += [(each, function, inside) for each in value if isinstance(each, ast.AST)]
            elif isinstance(value, ast.AST):
                waiting.append((value, function, inside))
    return _Parts(scopes, list(generators.values()), assignments, anything or makers > 0)


def _mentions(compared: list[ast.expr]) -> int:
    """How often these expressions mention what makes functions."""
    nodes = itertools.chain.from_iterable(map(ast.walk, compared))
    return sum((getattr(each, "attr", None) or getattr(each, "id", None)) in _MAKERS for each in nodes)


_LEAVES = frozenset({ast.Name, ast.Constant, ast.Load, ast.Store, ast.Del, ast.arg, ast.alias, ast.Pass, ast.Global, ast.Nonlocal})
_FUNCTIONS = frozenset({ast.FunctionDef, ast.AsyncFunctionDef, ast.Lambda})
_SUSPENDING = (ast.Yield, ast.YieldFrom, ast.Await, ast.AsyncFor, ast.AsyncWith)
_MAKERS = frozenset({"FunctionType", "LambdaType", "CellType"})
_COMPARING = frozenset({"isinstance", "issubclass"})
_SPECIAL = _MAKERS | CATCHERS


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
    return frozenset() if code.co_flags & CO_OPTIMIZED else of_code(code)[1]


_HELD_BY_ONE = frozenset({"contextmanager", "asynccontextmanager", "fixture"})


def _ends_with_a_step(function: _Function, by_one: Set[str]) -> bool:
    """Whether a generator function has a ``yield`` inside of a ``with`` or ``try``, which goes on where a generator ends.

    Those that make a context manager (decorators of the names ``by_one``) are left out: what holds such a generator is one
    thread's own.
    """
    if any(ast.unparse(each).rpartition(".")[2] in by_one for each in function.decorator_list):
        return False
    return any(any(map(_yields, _guarded_by(block))) for block in _within_function(function))


def _guarded_by(block: ast.AST) -> list[ast.stmt]:
    """The statements of a block after which, or after an exception in which, code of the same block runs."""
    if isinstance(block, (ast.With, ast.AsyncWith)):
        return block.body
    if not isinstance(block, (ast.Try, ast.TryStar)):
        return []
    others = [*block.orelse, *itertools.chain.from_iterable(handler.body for handler in block.handlers)]
    return [*block.body, *(others if block.finalbody else ())]


def _yields(statement: ast.stmt) -> bool:
    return any(map(_suspends, (statement, *_within_function(statement))))


def _suspends(node: ast.AST) -> bool:
    """Whether a generator or a coroutine is suspended here, or may be."""
    return isinstance(node, _SUSPENDING) or (isinstance(node, ast.comprehension) and bool(node.is_async))


def _within_function(node: ast.AST) -> Iterator[ast.AST]:
    """All nodes inside of this one that are not in a function of their own."""
    for child in ast.iter_child_nodes(node):
        if not isinstance(child, (ast.FunctionDef, ast.AsyncFunctionDef, ast.Lambda, ast.ClassDef)):
            yield child
            yield from _within_function(child)


def _stored_in_classes(parts: _Parts) -> set[str]:
    """The attributes that are perhaps stored in a class, and may be descriptors: ``Job.status = property(...)``."""
    classes = {scope.name for scope in parts.scopes if isinstance(scope, ast.ClassDef)} | _NAMES_OF_CLASSES
    found = set()
    for node, inside in parts.assignments:
        if node.value is None or _plain(node.value):
            continue
        for target in node.targets if isinstance(node, ast.Assign) else [node.target]:
            if isinstance(target, ast.Attribute):
                base = ast.unparse(target.value) if inside else ""
                if not inside or base in classes or "__class__" in base or base.startswith("type("):
                    found.add(target.attr)
    return found


_NAMES_OF_CLASSES = frozenset({"cls", "klass", "kls", "owner", "class_", "type_", "mcs", "mcls", "metacls"})  # of arguments


def _defined(statement: ast.stmt, found: SourceFacts, *, in_class: bool) -> None:
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
