"""Operations in C: called in a step of their own by a schedule; by real threads, inferred as those in Python are."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from .inferred import PROTOCOL, Inferred, Strategies, ends_it, values_of
from .operations import WRITTEN, OperationKind
from .result import IN_C

_PARAMETERS: Mapping[str, Sequence[Any]] = {  # as functions in C name theirs
    "b": (b"a", b"bc"), "bb": ([1], [2, 1]), "buffer": (bytearray(b"ab"),), "lines": ([b"a"], [b"b", b"c"]), "list": ([1], [2, 1]),
    "other": ({1}, {1, 2}), "others": ({1}, {1, 2}),
}  # fmt: skip


def in_a_step(name: str, positional: int, named: Sequence[str]) -> Callable[..., Any]:
    """A function that calls a method that is in C: the call is a step then, of which the engine knows what it touches.

    It calls it as a report writes it: ``__iter__`` is ``list(x)``, which a container may do in one step.
    """
    values, keywords = [f"a{index}" for index in range(positional)], [f"{each}={each}" for each in named]
    written = WRITTEN.get(name) if not named else None
    expression = f"x.{name}({', '.join([*values, *keywords])})" if written is None else written.format(*values, x="x", all="")
    body = expression if expression.startswith("del ") or " = " in expression else f"return {expression}"
    namespace: dict[str, Any] = {}
    exec(compile(f"def {name}({', '.join(['x', *values, *named])}): {body}", f"<operation {name}>", "exec"), namespace)
    made: Callable[..., Any] = namespace[name]
    return made


def inferred_in_c(found: Inferred, cls: type, strategies: Strategies, known: Mapping[str, Sequence[Any]]) -> None:
    """Add the operations of a class that are in C, where their signatures are known."""
    keys = {} if hasattr(cls, "keys") else {"key": (0, 1)}  # a sequence
    values = {**_PARAMETERS, **keys, **known}
    for name in dir(cls):
        member = inspect.getattr_static(cls, name)
        public = not name.startswith("_") or name in PROTOCOL
        in_c = found.left_out.get(name, "").startswith(IN_C)
        if not public or not in_c or not callable(member) or ends_it(name) or (name == "__iter__" and hasattr(cls, "__next__")):
            continue
        given = values_of(member, 1, values)
        if isinstance(given, str):
            why = "its signature is not known" if given == "..." else f"no value for parameter {given!r}"
            found.left_out[name] = f"{why}: ops={{{name!r}: [...]}} calls it"
            continue
        positional, named = given
        found.left_out.pop(name, None)
        call = in_a_step(name, len(positional), tuple(named))
        by_name = {key: strategies(each) for key, each in named.items()}
        found.kinds.append(OperationKind(name, tuple(map(strategies, positional)), by_name, call))
