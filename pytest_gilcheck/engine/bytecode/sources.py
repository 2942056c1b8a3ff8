"""What the source of code under test says of names: which it stores, defines or may compute, and what it may do to names unseen.

A file is read once in a process, as a whole: its syntax tree is walked once, and of its code objects only the store instructions
are looked at. (A program on a large library starts code of hundreds of files in its first run, so this is what that run waits for.)
"""

from __future__ import annotations

import ast
import functools
import re
import sys
from collections.abc import Iterator, Mapping, Set
from dataclasses import dataclass, field
from inspect import CO_OPTIMIZED
from types import CodeType

from ...core.classes import file_of_module
from ...core.lookup import looked_up
from ...core.own_builtins import PutBack
from ...core.source import file_text, no_warnings_of_the_compiler, with_nested
from .code_facts import OfCode, instructions_of, stores_of
from .step_rule import GENERATOR, loads_a_method

STORING = frozenset(  # code that has one of these names may store attributes, globals or cells without a store instruction
    {
        "setattr", "delattr", "__setattr__", "__delattr__", "__dict__", "vars", "__setstate__", "__class__", "__bases__",
        "globals", "__globals__", "__builtins__", "builtins", "f_globals", "f_locals", "f_builtins", "cell_contents", "exec",
        "eval", "modules", "reload", "import_module", "patch", "mock", "monkeypatch", "Mock", "MagicMock", "ctypes", "pythonapi",
        "pickle", "_pickle", "cPickle", "Unpickler", "new_class",
    }
)  # fmt: skip
CALLS_A_SETTER = "setattr()"  # among the words of code that does so in steps of its own, which say what they store
_SETTERS = frozenset({"setattr", "delattr", "__setattr__", "__delattr__"})
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
MAKERS = frozenset({"FunctionType", "LambdaType", "CellType", "__code__"})  # variables of what these make may have other names
_ALIASING = frozenset(  # what a module may leave to others when it is imported: a dictionary of names, or what stores one
    {CALLS_A_SETTER, *_SETTERS, "__dict__", "vars", "globals", "__globals__", "f_globals", "f_locals"}
)
MAY_ALIAS = re.compile("setattr|delattr|__dict__|vars|globals|f_locals|locals")  # in the text of such a module
# These keep a bytearray from changing its size, up to their end:
_BUFFERS = re.compile(r"\b(iter_unpack|finditer|scanner|__buffer__)\b")
_SPACES = {"ATTR": ".", "GLOBAL": "global ", "NAME": "global ", "DEREF": "cell "}  # by the end of an instruction's name
_NAMING = frozenset({"set_name", "setName"})  # of these, the methods that change it
_PLAIN_DEFAULTS = frozenset({"field"})  # a class attribute made by these is an instance attribute's default, and no descriptor
_HELD_BY_ONE = frozenset({"contextmanager", "asynccontextmanager", "fixture"})
CATCHERS = frozenset({"__getattr__", "__getattribute__"})


@dataclass
class SourceFacts:
    """What a source file says of names.

    Attributes:
        attributes: those that it stores, or that its classes and itself define with a plain value.
        methods: the functions that it defines without a decorator.
        computed: names of its classes that may be descriptors.
        words: all names in its code that may matter.
        of_ends: whether it may notice the end of a thread: it may make a `threading.local`, or ask whether a thread is alive.
        of_threads: whether it mentions what a thread keeps for itself, or its number.
        aliases: whether it may have given a dictionary of names to others when it was imported, or an object that stores any.
    """

    attributes: set[str] = field(default_factory=set)
    methods: set[str] = field(default_factory=set)
    computed: set[str] = field(default_factory=set)
    words: set[str] = field(default_factory=set)
    of_ends: bool = False
    of_threads: bool = False
    aliases: bool = False


@OfCode
def of_code(code: CodeType) -> tuple[frozenset[str], frozenset[str]]:
    """The names that a code object stores; all names in it that may matter.

    What is nested in it starts by itself.
    """
    stores = {_SPACES[opname.rpartition("_")[2]] + name for opname, name in stores_of(code)}
    read = {name for name in _STORED_TO if not any(store.endswith(name) for store in stores)}  # which stores nothing
    if not _NAMING.isdisjoint(code.co_names):
        stores.add(".name")
    texts = set(_texts(code))
    spelled = _SPELLED & {word for text in texts for word in _WORD.findall(text)}  # getattr(x, "__dict__")
    if not _STORING_IF_CALLED.isdisjoint((*code.co_names, *texts)):
        loaded = {each.argval for each in instructions_of(code) if each.opname.startswith("LOAD_") and type(each.argval) is str}
        if not _STORING_IF_CALLED.isdisjoint(loaded):
            spelled |= {"__setstate__"}
    words = {*code.co_names, *spelled} - read
    if not _SETTERS.isdisjoint(words) and _calls_its_setters(code):
        words = words - _SETTERS | {CALLS_A_SETTER}
    words |= {code.co_name} - _SETTERS  # such a method of a class makes steps
    return frozenset(stores), frozenset(words)


def _calls_its_setters(code: CodeType) -> bool:
    """Whether code hands no `setattr` on: each that it loads, it calls at once."""
    return all(
        loads_a_method(each.opname, each.arg or 0)
        for each in instructions_of(code)
        if each.argval in _SETTERS and each.opname.startswith("LOAD_")
    )


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
            found = _files[path] = SourceFacts() if path == _SHARED else _of_text(file_text(path))
    return found


@functools.lru_cache(maxsize=1000)  # a program may make the same code under a new name in each run
def _of_text(text: str) -> SourceFacts:
    found = SourceFacts()
    try:
        with no_warnings_of_the_compiler():
            tree = ast.parse(text)
            module = compile(tree, _SHARED, "exec", dont_inherit=True)
    except (SyntaxError, ValueError, RecursionError, MemoryError):  # what cannot be read may store anything
        return SourceFacts(words=set(STORING), of_ends=True, of_threads=True)
    found.of_ends = "threading.enumerate" in text
    codes = list(with_nested(module))
    for code in codes:
        found.of_ends = found.of_ends or not _OF_ENDS.isdisjoint(code.co_names)
        found.of_threads = found.of_threads or not _OF_THREADS.isdisjoint(code.co_names)
        stored, words = of_code(code)
        found.words |= words - {CALLS_A_SETTER}  # which matters when that code has started
        found.attributes |= {name[1:] for name in stored if name.startswith(".")}
        at_import = not code.co_flags & CO_OPTIMIZED
        found.aliases = found.aliases or ".__dict__" in stored or (at_import and bool(words & _ALIASING))
    if "locals" in module.co_names:  # there, it gives the globals
        found.words.add("globals")
        found.aliases = True
    if "bytearray" in text and _BUFFERS.search(text):
        found.words.add("__del__")
    _look_through(tree, codes, found)
    if found.computed & CATCHERS or found.attributes & CATCHERS:  # in C, perhaps: then any name may stand for what changes
        found.words.add("setattr")
    return found


def _look_through(tree: ast.Module, codes: list[CodeType], found: SourceFacts) -> None:
    """Take note of what the syntax tree says and code objects do not."""
    generators = {code.co_name for code in codes if code.co_flags & GENERATOR}
    by_one = _HELD_BY_ONE - {code.co_name for code in codes}  # a function of its own may do anything with the generator
    for node in ast.walk(tree):
        if isinstance(node, ast.Name):
            if node.id in CATCHERS and isinstance(node.ctx, ast.Store):
                found.attributes.add(node.id)
        elif isinstance(node, ast.alias):
            found.attributes |= CATCHERS & {node.asname or node.name}
        elif isinstance(node, (ast.Assign, ast.AnnAssign)):
            found.computed |= _stored_outside_of_self(node)
        elif isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef)):
            if node.name in generators and _ends_with_a_step(node, by_one):
                found.words.add("__del__")
        elif isinstance(node, (ast.ClassDef, ast.Module)):
            for statement in node.body:
                _defined(statement, found, in_class=isinstance(node, ast.ClassDef))


def _ends_with_a_step(function: ast.FunctionDef | ast.AsyncFunctionDef, by_one: Set[str]) -> bool:
    """Whether a generator function has a ``with`` or ``try``, which may go on where a generator ends.

    Those that make a context manager (decorators of the names ``by_one``) are left out: what holds such a generator is one
    thread's own.
    """
    if any(ast.unparse(each).rpartition(".")[2] in by_one for each in function.decorator_list):
        return False
    return any(isinstance(each, (ast.With, ast.AsyncWith, ast.Try, ast.TryStar)) for each in ast.walk(function))


def _stored_outside_of_self(node: ast.Assign | ast.AnnAssign) -> set[str]:
    """The attributes that are perhaps stored in a class, and may be descriptors: ``Job.status = property(...)``."""
    if node.value is None or _plain(node.value):
        return set()
    targets = node.targets if isinstance(node, ast.Assign) else [node.target]
    stored = [each for each in targets if isinstance(each, ast.Attribute)]
    return {each.attr for each in stored if not (isinstance(each.value, ast.Name) and each.value.id == "self")}


def _defined(statement: ast.AST, found: SourceFacts, *, in_class: bool) -> None:
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
        for inner in ast.iter_child_nodes(statement):
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
