"""Questions about the syntax of Python."""

from __future__ import annotations

import ast
from collections.abc import Iterator, Mapping, Set

from .vocabulary import CHANGES, REMOVALS, RESOURCES

MUTABLE_NODES = (ast.Dict, ast.List, ast.Set, ast.DictComp, ast.ListComp, ast.SetComp)
FunctionNode = ast.FunctionDef | ast.AsyncFunctionDef
_FILLED: Set[tuple[type[ast.cmpop], object]] = {(ast.Gt, 0), (ast.GtE, 1), (ast.NotEq, 0)}  # what a length is compared with
_EMPTY: Set[tuple[type[ast.cmpop], object]] = {(ast.Eq, 0), (ast.Lt, 1), (ast.LtE, 0)}
_TURNED: Mapping[type[ast.cmpop], type[ast.cmpop]] = {ast.Lt: ast.Gt, ast.LtE: ast.GtE, ast.Gt: ast.Lt, ast.GtE: ast.LtE}


def module_statements(body: list[ast.stmt]) -> Iterator[ast.stmt]:
    """Statements of a module's own level, those in its if, try and with statements included."""
    for statement in body:
        yield statement
        if isinstance(statement, (ast.If, ast.Try, ast.With, ast.For, ast.While)):
            for inner in bodies(statement):
                yield from module_statements(inner)


def bodies(node: ast.AST) -> list[list[ast.stmt]]:
    found = [value for name in ("body", "orelse", "finalbody") if isinstance(value := getattr(node, name, None), list) and value]
    found += [handler.body for handler in getattr(node, "handlers", ())]
    found += [case.body for case in getattr(node, "cases", ())]
    if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef)):
        for body in list(found):
            for statement in body:
                if not isinstance(statement, (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)):
                    found += all_bodies(statement)
    return found


def all_bodies(node: ast.stmt) -> list[list[ast.stmt]]:
    found = []
    for body in bodies(node):
        found.append(body)
        for statement in body:
            if not isinstance(statement, (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)):
                found += all_bodies(statement)
    return found


def targets(statement: ast.AST) -> list[ast.expr]:
    if isinstance(statement, ast.Assign):
        return [part for target in statement.targets for part in (target.elts if isinstance(target, ast.Tuple) else [target])]
    if isinstance(statement, ast.AnnAssign) and statement.value is not None:
        return [statement.target]
    return []


def assigned(statement: ast.AST) -> Iterator[tuple[str, ast.expr]]:
    value = getattr(statement, "value", None)
    for target in targets(statement):
        if isinstance(target, ast.Name) and value is not None:
            yield target.id, value


def dotted(node: ast.AST) -> str:
    parts = []
    while isinstance(node, ast.Attribute):
        parts.append(node.attr)
        node = node.value
    if not isinstance(node, ast.Name):
        return ""
    return ".".join([node.id, *reversed(parts)])


def last_name(node: ast.AST) -> str:
    if isinstance(node, ast.Call):
        node = node.func
    return node.attr if isinstance(node, ast.Attribute) else node.id if isinstance(node, ast.Name) else ""


def call_name(value: ast.expr) -> str:
    return last_name(value.func) if isinstance(value, ast.Call) else ""


def locals_of(node: FunctionNode) -> set[str]:
    names = {one.arg for one in (*node.args.posonlyargs, *node.args.args, *node.args.kwonlyargs)}
    names |= {one.arg for one in (node.args.vararg, node.args.kwarg) if one is not None}
    declared: set[str] = set()
    waiting: list[ast.AST] = list(node.body)
    while waiting:
        inner = waiting.pop()
        if isinstance(inner, ast.Global):
            declared |= set(inner.names)
        elif isinstance(inner, ast.Name) and isinstance(inner.ctx, ast.Store):
            names.add(inner.id)
        elif isinstance(inner, (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)):
            names.add(inner.name)
            continue
        waiting += ast.iter_child_nodes(inner)
    return names - declared


def changes_in(node: FunctionNode) -> Iterator[tuple[str, bool]]:
    """Names of objects that a function changes, and whether it removes something."""
    for inner in ast.walk(node):
        if isinstance(inner, ast.Subscript) and isinstance(inner.ctx, (ast.Store, ast.Del)):
            yield dotted(inner.value), isinstance(inner.ctx, ast.Del)
        elif isinstance(inner, ast.Call) and isinstance(inner.func, ast.Attribute) and inner.func.attr in CHANGES:
            yield dotted(inner.func.value), inner.func.attr in REMOVALS


def acquires(node: FunctionNode) -> bool:
    return any(
        isinstance(one, ast.Call) and isinstance(one.func, ast.Attribute) and one.func.attr == "acquire" for one in ast.walk(node)
    )


def is_locked_by_decorator(node: FunctionNode) -> bool:
    return any(
        any(word in ast.unparse(one).lower() for word in ("lock", "synchronized", "threadsafe")) for one in node.decorator_list
    )


def yields(node: FunctionNode) -> bool:
    waiting: list[ast.AST] = list(node.body)
    while waiting:
        inner = waiting.pop()
        if isinstance(inner, (ast.Yield, ast.YieldFrom)):
            return True
        if not isinstance(inner, (ast.FunctionDef, ast.AsyncFunctionDef, ast.Lambda, ast.ClassDef)):
            waiting += ast.iter_child_nodes(inner)
    return False


def parameters(node: FunctionNode) -> int:
    arguments = node.args
    return (
        len(arguments.posonlyargs)
        + len(arguments.args)
        + len(arguments.kwonlyargs)
        + bool(arguments.vararg)
        + bool(arguments.kwarg)
    )


def required(node: FunctionNode) -> int:
    arguments = node.args
    positional = len(arguments.posonlyargs) + len(arguments.args) - len(arguments.defaults)
    return positional + sum(default is None for default in arguments.kw_defaults)


def made_object(node: FunctionNode) -> str:
    """The class of the object that a function makes and returns, by its name; empty where it returns something else."""
    made = {
        target.id: last_name(statement.value.func)
        for statement in ast.walk(node) if isinstance(statement, ast.Assign) and isinstance(statement.value, ast.Call)
        for target in statement.targets if isinstance(target, ast.Name)
    }  # fmt: skip
    for statement in ast.walk(node):
        if isinstance(statement, ast.Return) and statement.value is not None:
            value = statement.value
            name = last_name(value.func) if isinstance(value, ast.Call) else made.get(dotted(value), "")
            if (
                name[:1].isupper()
                and not (len(name) > 1 and name.isupper())
                and name not in ("Path", "PurePath", "Version", "Decimal", "Fraction")
            ):
                return name
    return ""


def made_resource(node: FunctionNode) -> str:
    for statement in ast.walk(node):
        if isinstance(statement, ast.Call) and last_name(statement.func) in RESOURCES:
            return f"{dotted(statement.func) or last_name(statement.func)}(...)"
    return ""


def escapes(node: FunctionNode, name: str) -> bool:
    """Whether a local name is seen by anybody else: returned, yielded, passed, stored, or captured by an inner function."""
    for inner in ast.walk(node):
        if isinstance(inner, (ast.FunctionDef, ast.AsyncFunctionDef, ast.Lambda)) and inner is not node and mentions(inner, name):
            return True
        parts: list[ast.AST | None] = []
        if isinstance(inner, (ast.Return, ast.Yield, ast.YieldFrom)):
            parts = [inner.value]
        elif isinstance(inner, ast.Call):
            parts = [*inner.args, *(one.value for one in inner.keywords)]
        elif isinstance(inner, ast.Assign):
            parts = [inner.value] if not isinstance(inner.value, ast.Call) else []
        elif isinstance(inner, (ast.List, ast.Tuple, ast.Dict, ast.Set)):
            parts = list(ast.iter_child_nodes(inner))
        elif isinstance(inner, (ast.Global, ast.Nonlocal)) and name in inner.names:
            return True
        if any(mentions(part, name) for part in parts if part is not None):
            return True
    return False


def tested_as_unset(test: ast.expr) -> str | None:
    """``X is None``, ``not X``, ``X is _missing``: the name X."""
    if isinstance(test, ast.BoolOp) and isinstance(test.op, ast.Or):
        return next((name for part in test.values if (name := tested_as_unset(part))), None)
    if isinstance(test, ast.UnaryOp) and isinstance(test.op, ast.Not):
        return dotted(test.operand) or None
    if isinstance(test, ast.Compare) and len(test.ops) == 1 and isinstance(test.ops[0], (ast.Is, ast.Eq)):
        right = test.comparators[0]
        sentinel = isinstance(right, ast.Name) and isinstance(test.ops[0], ast.Is)
        if (isinstance(right, ast.Constant) and right.value is None) or sentinel:
            return dotted(test.left) or None
    return None


def tested_as_set(test: ast.expr) -> str | None:
    """``X is not None``, ``X``: the name X."""
    if isinstance(test, ast.Name):
        return test.id
    if isinstance(test, ast.Compare) and len(test.ops) == 1 and isinstance(test.ops[0], ast.IsNot):
        return dotted(test.left) or None
    return None


def memberships(test: ast.expr) -> Iterator[tuple[str, bool]]:
    """Containers of ``k in X`` (True) and ``k not in X`` (False)."""
    for part in test.values if isinstance(test, ast.BoolOp) else [test]:
        if isinstance(part, ast.UnaryOp) and isinstance(part.op, ast.Not):
            yield from ((name, not present) for name, present in memberships(part.operand))
        elif (
            isinstance(part, ast.Compare)
            and len(part.ops) == 1
            and isinstance(part.ops[0], (ast.In, ast.NotIn))
            and (name := dotted(part.comparators[0]))
        ):
            yield name, isinstance(part.ops[0], ast.In)


def tested_as_filled(test: ast.expr) -> Iterator[str]:
    """``X``, ``len(X)``, ``len(X) > 0``, or one of several of which all must hold: the names X."""
    if isinstance(test, ast.BoolOp) and isinstance(test.op, ast.And):
        for part in test.values:
            yield from tested_as_filled(part)
    elif name := _measured(test, _FILLED) or _length_of(test) or dotted(test):
        yield name


def tested_as_empty(test: ast.expr) -> Iterator[str]:
    """``not X``, ``not len(X)``, ``len(X) == 0``, or one of several of which one is enough: the names X."""
    if isinstance(test, ast.BoolOp) and isinstance(test.op, ast.Or):
        for part in test.values:
            yield from tested_as_empty(part)
    elif isinstance(test, ast.UnaryOp) and isinstance(test.op, ast.Not):
        yield from tested_as_filled(test.operand)
    elif name := _measured(test, _EMPTY):
        yield name


def _measured(test: ast.expr, comparisons: Set[tuple[type[ast.cmpop], object]]) -> str:
    """The name X of a comparison of ``len(X)`` with a number, on either side, if it is one of these."""
    if not isinstance(test, ast.Compare) or len(test.ops) > 1:
        return ""
    left, op, right = test.left, type(test.ops[0]), test.comparators[0]
    if isinstance(left, ast.Constant):
        left, op, right = right, _TURNED.get(op, op), left
    return _length_of(left) if isinstance(right, ast.Constant) and (op, right.value) in comparisons else ""


def _length_of(node: ast.expr) -> str:
    """The name X of ``len(X)``."""
    return dotted(node.args[0]) if isinstance(node, ast.Call) and dotted(node.func) == "len" and len(node.args) == 1 else ""


def catches_errors(node: ast.Try) -> bool:
    return any(
        handler.type is None or any(word in ast.unparse(handler.type) for word in ("Error", "Exception"))
        for handler in node.handlers
    )


def ends_elsewhere(body: list[ast.stmt]) -> bool:
    """Whether what follows a statement with this body is not reached from it."""
    return bool(body) and isinstance(body[-1], (ast.Return, ast.Raise, ast.Continue, ast.Break))


def ends_with_return(body: list[ast.stmt]) -> bool:
    return bool(body) and isinstance(body[-1], ast.Return)


def stores_into(statement: ast.stmt, name: str) -> bool:
    """Whether a statement stores into the object behind a name, or calls a method of it that does."""
    for inner in ast.walk(statement):
        if isinstance(inner, (ast.Attribute, ast.Subscript)) and isinstance(inner.ctx, ast.Store) and dotted(inner.value) == name:
            return True
        method = method_of(inner, name)
        if method in CHANGES or method.startswith(("set_", "add_", "load", "init", "register")):
            return True
    return False


def mentions(node: ast.AST, name: str) -> bool:
    """Whether a plain name occurs in a node."""
    return any(isinstance(one, ast.Name) and one.id == name for one in ast.walk(node))


def method_of(node: ast.AST, name: str) -> str:
    """The method that a call calls on the object of that name; empty for anything else."""
    if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and dotted(node.func.value) == name:
        return node.func.attr
    return ""
