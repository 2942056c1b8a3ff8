"""The metadata in setup.cfg and setup.py. A setup.py is read as a syntax tree: what it computes is untold, and nothing is run."""

from __future__ import annotations

import ast
import configparser
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any, TypeGuard

from ..core.source import no_warnings_of_the_compiler
from .release import BARE, BadMetadata

FIELDS = ("name", "version", "classifiers", "requires-python", "dependencies")
LISTS = ("classifiers", "dependencies")
_KEYWORDS = {  # of setup(), by field
    "name": "name",
    "version": "version",
    "classifiers": "classifiers",
    "requires-python": "python_requires",
    "dependencies": "install_requires",
}
_OPTIONS = {  # of setup.cfg, by field: the section, and the names that setuptools takes
    "name": ("metadata", ("name",)),
    "version": ("metadata", ("version",)),
    "classifiers": ("metadata", ("classifiers", "classifier")),
    "requires-python": ("options", ("python_requires", "python-requires")),
    "dependencies": ("options", ("install_requires", "install-requires")),
}


@dataclass
class Statements:
    """What one file says.

    Attributes:
        file: its name.
        values: by field: a list of texts for those of `LISTS`, else a text; fields that it does not speak of are left out.
        untold: fields that it has and that cannot be read, each with the file and the reason.
        lines: where the fields are.
    """

    file: str
    values: dict[str, Any] = field(default_factory=dict)
    untold: dict[str, str] = field(default_factory=dict)
    lines: dict[str, int] = field(default_factory=dict)


def is_texts(value: object) -> TypeGuard[list[str] | tuple[str, ...]]:
    """Whether it is a list of texts."""
    return isinstance(value, (list, tuple)) and all(isinstance(one, str) for one in value)


def of_setup_cfg(text: str) -> Statements:
    """What a setup.cfg says.

    Raises:
        BadMetadata: it is none.
    """
    parser = configparser.RawConfigParser()
    parser.optionxform = str  # type: ignore[assignment, method-assign]
    try:
        parser.read_string(text)
    except configparser.Error as error:
        raise BadMetadata(f"setup.cfg: {error}") from None
    said = Statements("setup.cfg")
    for name, (section, options) in _OPTIONS.items():
        for option in options:
            if not parser.has_option(section, option):
                continue
            value = parser.get(section, option).strip()
            if value.startswith(("attr:", "file:", "find:")):
                said.untold[name] = f"setup.cfg: {option} = {value[:60]}"
            else:
                lines = value.splitlines() if "\n" in value or name != "classifiers" else value.split(",")
                said.values[name] = [one.strip() for one in lines if one.strip()] if name in LISTS else value
            said.lines[name] = _line(text, option)
    _note_claim(said, text)
    return said


def of_setup_py(text: str) -> Statements:
    """What the call of setup() in a setup.py says as literals; all fields are untold where the call cannot be read."""
    said = Statements("setup.py")
    try:
        with no_warnings_of_the_compiler():
            tree = ast.parse(text)
        call = _call_of_setup(tree)
        given = dict(_given(call, tree))
    except _Untold as why:
        said.untold = dict.fromkeys(FIELDS, f"setup.py: {why}")
        return said
    except (SyntaxError, ValueError, RecursionError, MemoryError) as error:
        said.untold = dict.fromkeys(FIELDS, f"setup.py: {type(error).__name__}: {error}")
        return said
    for name, keyword in _KEYWORDS.items():
        if keyword not in given:
            continue
        said.lines[name] = given[keyword].lineno
        try:
            value = _value(given[keyword], tree)
        except _Untold as why:
            said.untold[name] = f"setup.py: {keyword}: {why}"
            continue
        if value is None:
            continue
        if is_texts(value) if name in LISTS else isinstance(value, str):
            said.values[name] = value
        else:
            said.untold[name] = f"setup.py: {keyword} is no {'list of texts' if name in LISTS else 'text'}"
    _note_claim(said, text)
    return said


class _Untold(Exception):
    """Only running the file would tell; the message says why."""


def _call_of_setup(tree: ast.Module) -> ast.Call:
    """The one call of a function ``setup`` that is imported."""
    imported = {one.asname or one.name for node in ast.walk(tree) if isinstance(node, ast.ImportFrom) for one in node.names}
    own = {name for name in _bound(tree, imports=False) if name == "setup"}
    calls = [node for node in ast.walk(tree) if isinstance(node, ast.Call) and _called(node) == "setup"]
    if len(calls) != 1:
        raise _Untold(f"{len(calls) or 'no'} calls of setup(); one can be read")
    if own or (isinstance(calls[0].func, ast.Name) and "setup" not in imported):
        raise _Untold("its setup() is not the one of setuptools")
    return calls[0]


def _called(call: ast.Call) -> str:
    return call.func.id if isinstance(call.func, ast.Name) else call.func.attr if isinstance(call.func, ast.Attribute) else ""


def _given(call: ast.Call, tree: ast.Module) -> Iterator[tuple[str, ast.expr]]:
    """The keyword arguments, those of a ``**`` included whose dict is written out."""
    if call.args:
        raise _Untold("setup() has arguments without a keyword")
    for one in call.keywords:
        if one.arg is not None:
            yield one.arg, one.value
            continue
        whole = _written(one.value, tree)
        if isinstance(whole, ast.Dict) and all(isinstance(key, ast.Constant) for key in whole.keys):
            yield from zip((str(key.value) for key in whole.keys if isinstance(key, ast.Constant)), whole.values, strict=True)
        elif isinstance(whole, ast.Call) and isinstance(whole.func, ast.Name) and whole.func.id == "dict" and not whole.args:
            yield from _given(whole, tree)
        else:
            raise _Untold("setup() is called with ** of what cannot be read")


def _value(node: ast.expr, tree: ast.Module) -> Any:
    """The value of a literal, of a sum of literals, or of a name that stands for one."""
    node = _written(node, tree)
    if isinstance(node, ast.BinOp) and isinstance(node.op, ast.Add):
        left, right = _value(node.left, tree), _value(node.right, tree)
        if type(left) is type(right) and isinstance(left, (list, tuple, str)):
            return left + right
    try:
        return ast.literal_eval(node)
    except (ValueError, TypeError, SyntaxError, RecursionError, MemoryError):
        raise _Untold("it is computed when the file runs") from None


def _written(node: ast.expr, tree: ast.Module) -> ast.expr:
    """What a name stands for that is bound once, at the module's own level, and used once: nothing can have changed it between."""
    if not isinstance(node, ast.Name):
        return node
    values = [
        one.value for one in tree.body
        if isinstance(one, ast.Assign) and len(one.targets) == 1 and isinstance(one.targets[0], ast.Name)
        and one.targets[0].id == node.id
    ]  # fmt: skip
    uses = sum(isinstance(one, ast.Name) and one.id == node.id for one in ast.walk(tree))
    bound = list(_bound(tree))
    if len(values) != 1 or uses != 2 or node.id in bound or "*" in bound:
        raise _Untold(f"what {node.id} is when the file runs cannot be read")
    return values[0]


def _bound(tree: ast.Module, imports: bool = True) -> Iterator[str]:
    """Names that are bound by other than an assignment."""
    for node in ast.walk(tree):
        if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)):
            yield node.name
        elif isinstance(node, ast.arg):
            yield node.arg
        elif isinstance(node, (ast.ExceptHandler, ast.MatchAs, ast.MatchStar)) and node.name is not None:
            yield node.name
        elif isinstance(node, (ast.Global, ast.Nonlocal)):
            yield from node.names
        elif imports and isinstance(node, (ast.Import, ast.ImportFrom)):
            yield from (one.asname or one.name for one in node.names)


def _note_claim(said: Statements, text: str) -> None:
    if BARE in text:
        said.lines[BARE] = text.count("\n", 0, text.index(BARE)) + 1


def _line(text: str, option: str) -> int:
    """The line of an option of an ini file."""
    starts = tuple(option + between for between in ("=", ":", " ", "\t"))
    return next((number for number, line in enumerate(text.splitlines(), 1) if line.startswith(starts)), 1)
