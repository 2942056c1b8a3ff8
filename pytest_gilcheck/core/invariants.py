"""Whether an invariant is broken, and why: its source text, and the values in it."""

from __future__ import annotations

import ast
import builtins
import functools
import inspect
from collections.abc import Callable, Mapping
from types import BuiltinFunctionType, CodeType, FunctionType, MethodType, ModuleType
from typing import Any

from .classes import is_a, is_unfinished, module_of_class, name_of_class
from .own_builtins import PutBack
from .source import file_text, syntax_tree

_ALWAYS_TRUE = frozenset({tuple, FunctionType, MethodType, BuiltinFunctionType})  # an empty tuple is no comparison either
_MOST_VALUES = 4
_LONGEST = 60  # characters of a value
_LONGEST_SOURCE = 120


def standing_for(call: Callable[..., Any], function: Callable[..., Any], named: Callable[[], Mapping[str, Any]]) -> Any:
    """Mark a function as one that calls ``function`` with the arguments that ``named`` returns; `broken` then looks there."""
    call.stands_for = (function, named)  # type: ignore[attr-defined] # functions take attributes
    return call


def broken(invariant: Callable[..., Any], arguments: tuple[Any, ...], answer: object) -> str | None:
    """What an invariant says that has just returned something false, such as ``counter.value == 2 is False (counter.value = 1)``.

    None if it is kept: it returned None, as a function of assertions does, or something true. A comparison need not give False: of
    arrays it gives ``numpy.False_``, and ``not seen or seen[-1]`` what was last seen.

    Args:
        invariant: the function, or one that stands for it.
        arguments: with which it was called.
        answer: what it returned. Whether that is true may be asked of code of the program, which may raise.
    """
    if is_unfinished(answer):
        return f"the invariant returned a {name_of_class(type(answer))}, which nothing runs: make it a plain function"
    if type(answer) in _ALWAYS_TRUE:
        return f"the invariant returned a {name_of_class(type(answer))}, which is true whatever is in it: make it one comparison"
    if answer is None or answer:
        return None
    told = "False" if answer is False else _shown(answer) or f"a false {_kind(type(answer))}"
    found = getattr(invariant, "stands_for", None)
    function = invariant if found is None else found[0]
    returned = f"the invariant returned {told}"
    try:
        with PutBack():
            code = inspect.unwrap(function).__code__
            if (expression := _returned(code)) is None:
                return returned
            named = inspect.signature(function).bind(*arguments).arguments if found is None else found[1]()
            closure = inspect.getclosurevars(function)
            known = {**closure.builtins, **closure.globals, **closure.nonlocals, **named}
            values = [f"{text} = {shown}" for text, value in _values(expression[1], known) if (shown := _shown(value))]
    except Exception:  # a signature that cannot be told, a variable without a value: the verdict matters, and not this text
        return returned
    return f"{expression[0]} is {told}" + (f" ({', '.join(values[:_MOST_VALUES])})" if values else "")


@functools.lru_cache(maxsize=64)
def _returned(code: CodeType) -> tuple[str, ast.expr] | None:
    """The expression that a function returns, as text and as a tree; None where it is not the only one, or has no source."""
    if (tree := syntax_tree(code.co_filename)) is None:
        return None
    names = code.co_varnames[: code.co_argcount + code.co_kwonlyargcount]
    bodies: list[ast.expr] = []
    for node in ast.walk(tree):
        if isinstance(node, ast.Lambda | ast.FunctionDef) and _begins(node) == code.co_firstlineno:
            given = node.args
            if tuple(each.arg for each in (*given.posonlyargs, *given.args, *given.kwonlyargs)) == names:
                bodies += [node.body] if isinstance(node, ast.Lambda) else _returns(node)
    if len(bodies) > 1:  # a call of a check in one line has a lambda for each thread, and they may look alike
        bodies = _innermost_around(code, bodies)
    if len(bodies) != 1:
        return None
    text = " ".join((ast.get_source_segment(file_text(code.co_filename), bodies[0]) or "").split())
    return (text, bodies[0]) if 0 < len(text) <= _LONGEST_SOURCE else None


def _innermost_around(code: CodeType, bodies: list[ast.expr]) -> list[ast.expr]:
    """The bodies, of those given, that have all instructions of the code in them, and no other such body.

    Several are left of a function with several returns, and all of them where the code does not know its columns.
    """
    known = [(line, column, end_line, end) for line, end_line, column, end in code.co_positions() if column is not None and end]
    if not known:
        return bodies
    begin, end = min(each[:2] for each in known), max(each[2:] for each in known)
    around = [each for each in bodies if _range(each)[0] <= begin and end <= _range(each)[1]]
    innermost = max((_range(each)[0] for each in around), default=None)
    return [each for each in around if _range(each)[0] == innermost]


def _range(node: ast.expr) -> tuple[tuple[int, int], tuple[int, int]]:
    return (node.lineno, node.col_offset), (node.end_lineno or node.lineno, node.end_col_offset or 0)


def _begins(node: ast.Lambda | ast.FunctionDef) -> int:
    decorators: list[ast.expr] = getattr(node, "decorator_list", [])
    return min(node.lineno, *(each.lineno for each in decorators)) if decorators else node.lineno


def _returns(function: ast.FunctionDef) -> list[ast.expr]:
    return [node.value for node in ast.walk(function) if isinstance(node, ast.Return) and node.value is not None]


def _values(expression: ast.expr, known: Mapping[str, Any]) -> list[tuple[str, Any]]:
    """The names and attributes in an expression, outermost attributes only, each with its value; functions are left out."""
    found: dict[str, Any] = {}

    def look(node: ast.AST) -> None:
        names: list[str] = []
        each = node
        while isinstance(each, ast.Attribute):
            names.append(each.attr)
            each = each.value
        if isinstance(each, ast.Name) and each.id in known:
            value = known[each.id]
            for name in reversed(names):
                value = inspect.getattr_static(value, name) if _computed(value, name) else getattr(value, name)
            if not callable(value) and not is_a(value, (property, ModuleType)):
                found.setdefault(ast.unparse(node), value)
            return
        for child in ast.iter_child_nodes(node):
            look(child)

    look(expression)
    return list(found.items())


def _computed(value: Any, name: str) -> bool:
    """Whether reading this attribute runs code of the program, which a message must not do."""
    return isinstance(inspect.getattr_static(value, name), property)


def _kind(kind: type) -> str:
    """The name of a class, with its module if a built-in class has the same name, as that of ``numpy.bool``."""
    name = name_of_class(kind)
    return name if getattr(builtins, name, kind) is kind else f"{module_of_class(kind)}.{name}"


def _shown(value: Any) -> str:
    """A value of plain data, in a few characters; empty for an object of the program, whose ``__repr__`` is code of the program."""
    if not _plain(value, 3):
        return ""
    text = repr(value)
    return text if len(text) <= _LONGEST else f"{text[: _LONGEST - 1]}…"


def _plain(value: Any, depth: int) -> bool:
    if type(value) in (int, float, complex, str, bytes, bool, type(None)):
        return True
    if depth == 0 or type(value) not in (list, tuple, set, frozenset, dict) or len(value) > _LONGEST:
        return False
    parts = [*value, *value.values()] if isinstance(value, dict) else value
    return all(_plain(part, depth - 1) for part in parts)
