"""Rules over the syntax tree of one Python module. They know what is module state, what is local, and where a lock is held.

Precision comes before completeness: a rule speaks where the pattern itself is there (a test and a change of the same state, without
a lock), and not wherever state is shared. What does not work: reporting every write to a module variable; most are made at import.
"""

from __future__ import annotations

import ast
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from itertools import pairwise

from ...core.source import no_warnings_of_the_compiler
from .pattern import Pattern
from .survey import SharedNames, is_lock, makes_lock, survey
from .syntax import (
    MUTABLE_NODES,
    FunctionNode,
    acquires,
    bodies,
    call_name,
    catches_errors,
    dotted,
    ends_elsewhere,
    ends_with_return,
    escapes,
    is_locked_by_decorator,
    last_name,
    locals_of,
    made_object,
    made_resource,
    memberships,
    method_of,
    module_statements,
    parameters,
    required,
    stores_into,
    targets,
    tested_as_empty,
    tested_as_filled,
    tested_as_set,
    tested_as_unset,
)
from .vocabulary import CHANGES, LOCK_CALLS, ONCE, PROCESS_WIDE, STREAMS

_UNLOCKED = "without a lock"


@dataclass
class FunctionScope:
    """A function that is being walked."""

    node: FunctionNode
    name: str
    owner: str  # the class, or empty
    globals: set[str]
    locals: set[str]
    fresh_locks: set[str] = field(default_factory=set)


def scan(text: str, file: str) -> Iterator[Pattern]:
    """The patterns of one module.

    Raises:
        SyntaxError, ValueError: it is no Python source of this version.
    """
    with no_warnings_of_the_compiler():
        tree = ast.parse(text)
    module = survey(tree)
    walker = _Walker(module, file)
    walker.visit(tree)
    seen: set[tuple[str, int, str]] = set()
    for one in sorted([*_at_module_level(tree, module, file), *walker.found], key=lambda each: each.line):
        if (key := (one.code, one.line, one.variable)) not in seen:
            seen.add(key)
            yield one


def _at_module_level(tree: ast.Module, module: SharedNames, file: str) -> Iterator[Pattern]:
    for statement in module_statements(tree.body):
        for target in targets(statement):
            if isinstance(target, ast.Attribute) and isinstance(target.value, ast.Name) and target.value.id in module.locals:
                name = f"{target.value.id}.{target.attr}"
                yield Pattern("GA309", file, statement.lineno, f"{name} is set in the importing thread alone", "", name)


class _Walker(ast.NodeVisitor):
    """Walks a module with its functions, classes and locks."""

    def __init__(self, module: SharedNames, file: str) -> None:
        self.module, self.file = module, file
        self.found: list[Pattern] = []
        self.scopes: list[FunctionScope] = []
        self.classes: list[str] = []
        self.locked = 0
        self.tries = 0
        self.filtering = 0
        self.after: dict[ast.stmt, list[ast.stmt]] = {}  # what follows an `if`, in the same body

    # -- scopes ------------------------------------------------------------------------------------------------------------------

    def visit_ClassDef(self, node: ast.ClassDef) -> None:
        self.classes.append(node.name)
        self.generic_visit(node)
        self.classes.pop()

    def visit_FunctionDef(self, node: ast.FunctionDef) -> None:
        self._function(node)

    def visit_AsyncFunctionDef(self, node: ast.AsyncFunctionDef) -> None:
        self._function(node)

    def _function(self, node: FunctionNode) -> None:
        outer = self.scopes[-1] if self.scopes else None
        owner = self.classes[-1] if self.classes and outer is None else outer.owner if outer else ""
        name = ".".join([*self.classes, node.name]) if outer is None else f"{outer.name}.<locals>.{node.name}"
        declared = {one for inner in ast.walk(node) if isinstance(inner, ast.Global) for one in inner.names}
        hidden = locals_of(node) | (outer.locals if outer else set())
        scope = FunctionScope(node, name, owner, declared, hidden - declared)
        held, self.locked = self.locked, int(acquires(node) or is_locked_by_decorator(node))
        self.scopes.append(scope)
        self._decorated(node)
        self._whole_function(node)
        for inner in node.body:
            self.visit(inner)
        self.scopes.pop()
        self.locked = held

    def _say(self, code: str, line: int, message: str, variable: str = "") -> None:
        scope = self.scopes[-1] if self.scopes else None
        plain = scope is not None and not scope.owner and "<locals>" not in scope.name and not required(scope.node)
        usable = plain and scope is not None and isinstance(scope.node, ast.FunctionDef)
        self.found.append(Pattern(code, self.file, line, message, scope.name if scope else "", variable, usable))

    # -- rules about whole functions ---------------------------------------------------------------------------------------------

    def _decorated(self, node: FunctionNode) -> None:
        for decorator in node.decorator_list:
            name = last_name(decorator.func if isinstance(decorator, ast.Call) else decorator)
            if name in ("lru_cache", "cache") and not parameters(node) and (made := made_object(node)):
                self._say("GA305", node.lineno, f"{node.name}() stands for one object of {made}", node.name)
            if name == "cached_property" and (made := made_resource(node)):
                self._say("GA312", node.lineno, f"{node.name} makes {made}: two threads may make two", node.name)

    def _whole_function(self, node: FunctionNode) -> None:
        scope = self.scopes[-1]
        self._publication(node, scope)
        self._early_return(node.body, scope)
        for body in bodies(node):
            self.after.update({one: body[place + 1 :] for place, one in enumerate(body) if isinstance(one, ast.If)})
        for statement in ast.walk(node):
            if (
                isinstance(statement, ast.Assign)
                and isinstance(statement.value, ast.Call)
                and makes_lock(statement.value, self.module)
            ):
                for target in statement.targets:
                    if isinstance(target, ast.Name) and target.id in scope.locals and not escapes(node, target.id):
                        scope.fresh_locks.add(target.id)

    def _publication(self, node: FunctionNode, scope: FunctionScope) -> None:
        """``global X; X = Thing(); X.part = ...``: others see X before it is whole."""
        for body in bodies(node):
            published: dict[str, int] = {}
            for statement in body:
                if self._takes_lock(statement):
                    continue
                for name, line in published.items():
                    if stores_into(statement, name) and not self.locked:
                        self._say("GA306", line, f"{name} is assigned here and filled in line {statement.lineno}", name)
                        published = {key: value for key, value in published.items() if key != name}
                        break
                for target in targets(statement):
                    if isinstance(target, ast.Name) and target.id in scope.globals:
                        value = getattr(statement, "value", None)
                        published.pop(target.id, None)
                        if isinstance(value, (ast.Call, *MUTABLE_NODES)) and call_name(value) not in LOCK_CALLS:
                            published[target.id] = statement.lineno

    def _early_return(self, body: list[ast.stmt], scope: FunctionScope) -> None:
        """``if X is not None: return X`` and then ``X = ...``."""
        if self.locked:
            return
        waiting: dict[str, int] = {}
        for statement in body:
            if isinstance(statement, ast.If) and ends_with_return(statement.body) and not statement.orelse:
                name = tested_as_set(statement.test)
                if name in scope.globals and name is not None:
                    waiting[name] = statement.lineno
            for target in targets(statement):
                if isinstance(target, ast.Name) and target.id in waiting:
                    name = target.id
                    self._say("GA301", waiting.pop(name), f"{name} is set in line {statement.lineno}, {_UNLOCKED}", name)

    # -- rules about statements --------------------------------------------------------------------------------------------------

    def visit_With(self, node: ast.With) -> None:
        self._with(node)

    def visit_AsyncWith(self, node: ast.AsyncWith) -> None:
        self._with(node)

    def _with(self, node: ast.With | ast.AsyncWith) -> None:
        locks = 0
        for item in node.items:
            expression = item.context_expr
            if isinstance(expression, ast.Call) and makes_lock(expression, self.module):
                self._say("GA308", node.lineno, f"with {dotted(expression.func)}(): nobody else can hold this lock")
                continue
            if isinstance(expression, ast.Name) and self.scopes and expression.id in self.scopes[-1].fresh_locks:
                self._say("GA308", node.lineno, f"{expression.id} is made in this call: nobody else can hold it", expression.id)
                continue
            locks += is_lock(expression, self.module)
        catches = any(call_name(item.context_expr) == "catch_warnings" for item in node.items)
        self.locked += locks
        self.filtering += catches
        self.generic_visit(node)
        self.locked -= locks
        self.filtering -= catches

    def visit_If(self, node: ast.If) -> None:
        if self.scopes and not self.locked:
            self._lazy(node)
            self._check_then_act(node)
        self.generic_visit(node)

    def _takes_lock(self, statement: ast.stmt) -> bool:
        """Whether it is a ``with`` of a lock."""
        items = statement.items if isinstance(statement, (ast.With, ast.AsyncWith)) else []
        return any(is_lock(one.context_expr, self.module) for one in items)

    def _lazy(self, node: ast.If) -> None:
        scope = self.scopes[-1]
        name = tested_as_unset(node.test)
        if name is None:
            return
        shared = name in scope.globals
        if "." in name:
            owner, _, attribute = name.rpartition(".")
            owner = scope.owner if owner == "cls" else owner
            shared = owner in self.module.classes and attribute in self.module.classes[owner]
        if shared and (line := self._assigns_unlocked(node.body, name)):
            self._say("GA301", node.lineno, f"{name} is tested here and set in line {line}, {_UNLOCKED}", name)

    def _assigns_unlocked(self, body: list[ast.stmt], name: str) -> int | None:
        for place, statement in enumerate(body):
            if self._takes_lock(statement):
                continue
            if isinstance(statement, (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)):
                continue
            value = getattr(statement, "value", None)
            if place == 0 and isinstance(value, (ast.Constant, ast.Name)):
                continue  # whoever comes second stores the same
            if any(dotted(target) == name for target in targets(statement)):
                return statement.lineno
            for inner in bodies(statement):
                if (line := self._assigns_unlocked(inner, name)) is not None:
                    return line
        return None

    def visit_While(self, node: ast.While) -> None:
        if self.scopes and not self.locked:
            self._tested_and_emptied(node, tested_as_filled(node.test), node.body)
        self.generic_visit(node)

    def _check_then_act(self, node: ast.If) -> None:
        otherwise = self.after.get(node, []) if ends_elsewhere(node.body) and not node.orelse else node.orelse
        for name, present in memberships(node.test):
            if not self._is_shared(name):
                continue
            absent, there = (otherwise, node.body) if present else (node.body, otherwise)
            if line := self._stores_unlocked(absent, name):
                self._say("GA302", node.lineno, _looked_for(name, "stored", line), name)
            elif line := self._removes_unlocked(there, name):
                self._say("GA302", node.lineno, _looked_for(name, "removed", line), name)
        self._tested_and_emptied(node, tested_as_filled(node.test), node.body)
        self._tested_and_emptied(node, tested_as_empty(node.test), otherwise)
        value = tested_as_unset(node.test)
        if value and (container := self._got_from(value, node)) and (line := self._stores_unlocked(node.body, container)):
            self._say(
                "GA302", node.lineno, f"a key is looked for in {container} and stored in line {line}, without a lock", container
            )

    def _tested_and_emptied(self, node: ast.If | ast.While, names: Iterable[str], body: list[ast.stmt]) -> None:
        """A container is tested, and something is taken out of it where it was not empty."""
        for name in names:
            if self._is_shared(name) and (line := self._removes_unlocked(body, name)):
                self._say("GA302", node.lineno, f"{name} is tested here and emptied in line {line}, {_UNLOCKED}", name)

    def _got_from(self, local: str, node: ast.If) -> str | None:
        """The shared dictionary that a local variable was taken from by ``get`` just before."""
        for body in bodies(self.scopes[-1].node):
            for before, after in pairwise(body):
                if after is node and isinstance(before, ast.Assign) and isinstance(before.value, ast.Call):
                    call = before.value
                    if isinstance(call.func, ast.Attribute) and call.func.attr == "get" and dotted(before.targets[0]) == local:
                        name = dotted(call.func.value)
                        return name if self._is_shared(name) else None
        return None

    def _is_shared(self, name: str) -> bool:
        """Whether it is a mutable object of the module, or of a class."""
        scope = self.scopes[-1]
        if name in self.module.mutables:
            return name not in scope.locals
        owner, dot, attribute = name.rpartition(".")
        owner = scope.owner if owner in ("self", "cls") else owner
        return bool(dot) and self.module.classes.get(owner, {}).get(attribute) == "mutable"

    def _unlocked(self, body: list[ast.stmt], *, tried: bool = True) -> Iterator[ast.AST]:
        """What is done without a lock; without ``tried``, what raises an error that is caught is left out."""
        for statement in body:
            if self._takes_lock(statement):
                continue
            if isinstance(statement, (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef, ast.Raise)):
                continue
            inner = bodies(statement)
            if inner:
                for each in inner:
                    if tried or not (isinstance(statement, ast.Try) and each is statement.body and catches_errors(statement)):
                        yield from self._unlocked(each, tried=tried)
                for child in ast.iter_child_nodes(statement):
                    if isinstance(child, ast.expr):
                        yield from ast.walk(child)
            else:
                yield from ast.walk(statement)

    def _stores_unlocked(self, body: list[ast.stmt], name: str) -> int | None:
        for node in self._unlocked(body):
            if isinstance(node, ast.Subscript) and isinstance(node.ctx, ast.Store) and dotted(node.value) == name:
                return node.lineno
            if isinstance(node, ast.Call) and method_of(node, name) in ("append", "add", "insert", "update", "extend"):
                return node.lineno
        return None

    def _removes_unlocked(self, body: list[ast.stmt], name: str) -> int | None:
        for node in self._unlocked(body, tried=False):
            if isinstance(node, ast.Subscript) and isinstance(node.ctx, ast.Del) and dotted(node.value) == name:
                return node.lineno
            if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and dotted(node.func.value) == name:
                removes = node.func.attr in ("remove", "popitem", "popleft") or (node.func.attr == "pop" and len(node.args) < 2)
                if removes and not self.tries:
                    return node.lineno
        return None

    def visit_Try(self, node: ast.Try) -> None:
        if self.scopes and not self.locked:
            read = {
                dotted(inner.value) for statement in node.body for inner in ast.walk(statement)
                if isinstance(inner, ast.Subscript) and isinstance(inner.ctx, ast.Load)
            }  # fmt: skip
            for handler in node.handlers:
                if handler.type is None or "KeyError" not in ast.unparse(handler.type):
                    continue
                for name in sorted(read):
                    if name and self._is_shared(name) and (line := self._stores_unlocked(handler.body, name)):
                        self._say(
                            "GA302",
                            node.lineno,
                            f"a key is looked for in {name} here and stored in line {line}, without a lock",
                            name,
                        )
        catches = catches_errors(node)
        self.tries += catches
        for statement in node.body:
            self.visit(statement)
        self.tries -= catches
        for part in (*node.handlers, *node.orelse, *node.finalbody):
            self.visit(part)

    def visit_AugAssign(self, node: ast.AugAssign) -> None:
        if self.scopes and not self.locked:
            target = node.target
            name = dotted(target.value) if isinstance(target, ast.Subscript) else dotted(target)
            if isinstance(target, ast.Name):
                shared = target.id in self.scopes[-1].globals
            elif isinstance(target, ast.Subscript):
                shared = self._is_shared(name)
            else:
                shared = self._is_class_attribute(name)
            if shared:
                self._say("GA307", node.lineno, f"{ast.unparse(target)} is read, changed and written back without a lock", name)
        self.generic_visit(node)

    def _is_class_attribute(self, name: str) -> bool:
        owner, dot, attribute = name.rpartition(".")
        owner = self.scopes[-1].owner if owner == "cls" else owner
        return bool(dot) and attribute in self.module.classes.get(owner, {})

    def visit_Assign(self, node: ast.Assign) -> None:
        if self.scopes and not self.locked:
            for target in node.targets:
                name = dotted(target)
                if (
                    isinstance(target, ast.Name)
                    and name in self.scopes[-1].globals
                    and isinstance(node.value, ast.BinOp)
                    and any(dotted(side) == name for side in (node.value.left, node.value.right))
                ):
                    self._say("GA307", node.lineno, f"{name} is read, changed and written back without a lock", name)
        if self.scopes:
            for target in node.targets:
                if self._is_in_environment(target):
                    self._process_wide(node.lineno, "os.environ[...] = ...")
                if (full := self.module.full(dotted(target))) in STREAMS:
                    self._process_wide(node.lineno, f"{full} = ...")
        self.generic_visit(node)

    def visit_Delete(self, node: ast.Delete) -> None:
        for target in node.targets if self.scopes else ():
            if self._is_in_environment(target):
                self._process_wide(node.lineno, "del os.environ[...]")
        self.generic_visit(node)

    def _is_in_environment(self, target: ast.expr) -> bool:
        return isinstance(target, ast.Subscript) and self.module.full(dotted(target.value)) == "os.environ"

    def visit_For(self, node: ast.For) -> None:
        if self.scopes and not self.locked:
            iterated: ast.expr = node.iter
            if (
                isinstance(iterated, ast.Call)
                and isinstance(iterated.func, ast.Attribute)
                and iterated.func.attr in ("items", "values", "keys")
            ):
                iterated = iterated.func.value
            name = dotted(iterated)
            if name in self.module.changed and name not in self.scopes[-1].locals:
                self._say("GA310", node.lineno, f"{name} is iterated over here, and other functions change it", name)
            if self._is_shared_iterator(name):
                self._say("GA304", node.lineno, f"{name} is one iterator for all callers", name)
        self.generic_visit(node)

    def _is_shared_iterator(self, name: str) -> bool:
        if name in self.module.iterators:
            return name not in self.scopes[-1].locals
        owner, dot, attribute = name.rpartition(".")
        owner = self.scopes[-1].owner if owner in ("self", "cls") else owner
        return bool(dot) and self.module.classes.get(owner, {}).get(attribute) == "iterator"

    def visit_Call(self, node: ast.Call) -> None:
        if self.scopes:
            self._call(node)
        self.generic_visit(node)

    def _call(self, node: ast.Call) -> None:
        name = dotted(node.func)
        full = self.module.full(name)
        own_filters = full.startswith("warnings.") and self.filtering  # from 3.14 on, catch_warnings is the thread's own
        if full in PROCESS_WIDE and not own_filters:
            self._process_wide(node.lineno, f"{full}(...)")
        if self.locked:
            return
        if name == "next" and node.args and self._is_shared_iterator(dotted(node.args[0])):
            self._say("GA304", node.lineno, f"{dotted(node.args[0])} is one iterator for all callers", dotted(node.args[0]))
        owner, _, attribute = name.rpartition(".")
        scope = self.scopes[-1]
        if attribute in ("send", "__next__") and self._is_shared_iterator(owner):
            self._say("GA304", node.lineno, f"{owner} is one generator for all callers", owner)
        base, dot, member = owner.rpartition(".")
        if dot and base == "self" and attribute in CHANGES and self.module.classes.get(scope.owner, {}).get(member) == "mutable":
            self._say(
                "GA303",
                node.lineno,
                f"{owner}.{attribute}(...) changes the one object of class {scope.owner}",
                f"{scope.owner}.{member}",
            )

    def visit_Subscript(self, node: ast.Subscript) -> None:
        if self.scopes and not self.locked and isinstance(node.ctx, ast.Store):
            owner, dot, member = dotted(node.value).rpartition(".")
            scope = self.scopes[-1]
            if dot and owner == "self" and self.module.classes.get(scope.owner, {}).get(member) == "mutable":
                self._say(
                    "GA303",
                    node.lineno,
                    f"self.{member}[...] = ... changes the one object of class {scope.owner}",
                    f"{scope.owner}.{member}",
                )
        self.generic_visit(node)

    def _process_wide(self, line: int, what: str) -> None:
        name = self.scopes[-1].node.name.lower()
        if not name.startswith(ONCE) and not name.endswith(ONCE):
            self._say("GA311", line, f"{what} is for all threads", what)


def _looked_for(name: str, what: str, line: int) -> str:
    return f"a key is looked for in {name} here and {what} in line {line}, {_UNLOCKED}"
