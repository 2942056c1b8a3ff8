"""The names of a module's own level, by what they are: shared mutable objects, iterators, locks, thread-local objects."""

from __future__ import annotations

import ast
from dataclasses import dataclass, field

from .syntax import MUTABLE_NODES, assigned, changes_in, dotted, last_name, locals_of, module_statements, yields
from .vocabulary import ITERATOR_CALLS, LOCK_CALLS, LOCK_MODULES, LOCK_WORDS, MUTABLE_CALLS


@dataclass
class SharedNames:
    """Names of the module's own level, by what they are."""

    names: set[str] = field(default_factory=set)
    mutables: set[str] = field(default_factory=set)
    locals: set[str] = field(default_factory=set)
    iterators: set[str] = field(default_factory=set)
    locks: set[str] = field(default_factory=set)
    generators: set[str] = field(default_factory=set)
    classes: dict[str, dict[str, str]] = field(default_factory=dict)  # class -> attribute -> mutable, iterator, none
    changed: set[str] = field(default_factory=set)  # mutables that functions change without a lock
    removed_from: set[str] = field(default_factory=set)
    imports: dict[str, str] = field(default_factory=dict)  # name -> the dotted name of what it was imported from

    def full(self, name: str) -> str:
        """A dotted name as the importing module would have it without ``from`` and ``as``."""
        first, dot, rest = name.partition(".")
        return self.imports.get(first, first) + dot + rest


def survey(tree: ast.Module) -> SharedNames:
    module = SharedNames()
    for node in ast.walk(tree):
        if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef)) and yields(node):
            module.generators.add(node.name)
        elif isinstance(node, ast.Import):
            module.imports.update({one.asname: one.name for one in node.names if one.asname})
        elif isinstance(node, ast.ImportFrom) and not node.level:
            module.imports.update({one.asname or one.name: f"{node.module}.{one.name}" for one in node.names})
    for statement in module_statements(tree.body):
        for name, value in assigned(statement):
            module.names.add(name)
            what = kind_of(value, module)
            if what == "mutable":
                module.mutables.add(name)
            elif what == "iterator":
                module.iterators.add(name)
            elif what == "lock":
                module.locks.add(name)
            elif what == "local":
                module.locals.add(name)
        if isinstance(statement, ast.ClassDef):
            attributes = {}
            for inner in statement.body:
                for name, value in assigned(inner):
                    attributes[name] = kind_of(value, module)
            own = {
                node.attr for node in ast.walk(statement)
                if isinstance(node, ast.Attribute) and isinstance(node.ctx, ast.Store) and dotted(node.value) == "self"
            }  # fmt: skip
            plain = [last_name(one) for one in (*statement.bases, *statement.decorator_list)]
            if any(
                word in ("Enum", "TypedDict", "NamedTuple", "Protocol", "dataclass", "Structure", "Model", "BaseModel")
                for word in plain
            ):
                own |= set(attributes)
            module.classes[statement.name] = {name: what for name, what in attributes.items() if name not in own}
    for node in ast.walk(tree):
        if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef)):
            hidden = locals_of(node)
            for name, removes in changes_in(node):
                if name in module.mutables and name not in hidden:
                    module.changed.add(name)
                    if removes:
                        module.removed_from.add(name)
    return module


def kind_of(value: ast.expr, module: SharedNames) -> str:
    if isinstance(value, MUTABLE_NODES):
        return "mutable"
    if isinstance(value, ast.GeneratorExp):
        return "iterator"
    if isinstance(value, ast.Call):
        name, whole = last_name(value.func), dotted(value.func)
        if whole in ("threading.local", "local", "_threading_local.local"):
            return "local"
        if name in LOCK_CALLS:
            return "lock"
        if name in MUTABLE_CALLS:
            return "mutable"
        if name in ITERATOR_CALLS and (whole == name or whole.startswith(("itertools.", "csv.", "re."))):
            return "iterator"
        if whole in module.generators:
            return "iterator"
    return "none"


def makes_lock(call: ast.Call, module: SharedNames) -> bool:
    """Whether this makes a new lock, which only its maker has.

    A lock of a file, a key or a server is of another module, where its class may be called ``Lock`` too. A condition may be given
    its lock.
    """
    name = module.full(dotted(call.func))
    if "." not in name and (whole := module.imports.get("*")) is not None:
        name = whole.removesuffix("*") + name
    home, _, kind = name.rpartition(".")
    if home not in LOCK_MODULES or kind not in LOCK_CALLS:
        return False
    return kind.endswith("Semaphore") or not (call.args or call.keywords)


def is_lock(expression: ast.expr, module: SharedNames) -> bool:
    name = dotted(expression.func if isinstance(expression, ast.Call) else expression)
    return name in module.locks or any(word in ast.unparse(expression).lower() for word in LOCK_WORDS)
