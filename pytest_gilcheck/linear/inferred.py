"""The operations of a class of which nobody gave any: its public methods, its properties, and the likes of ``__getitem__``.

A parameter takes what an earlier method has returned if its type hint says so, or if it is called like a handle and nothing else is
known of it: ``release(conn)`` after ``acquire()``. What cannot be inferred is left out, and listed with the line to write.
"""

from __future__ import annotations

import dis
import functools
import inspect
import re
import typing
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from types import FunctionType
from typing import Any

from .bundles import RESULTS, Earlier
from .operations import OperationKind
from .result import IN_C
from .values import is_handle, needed, said_by_default, values_for

PROTOCOL = frozenset(
    {"__getitem__", "__setitem__", "__delitem__", "__contains__", "__len__", "__iter__", "__next__", "__bool__", "__call__"}
)
_ENDS_IT = re.compile(r"^(a?close|stop|shutdown|join|start|run|fork|terminate|kill|serve_forever|main)$")


def ends_it(name: str) -> bool:
    """Whether a method of this name may end the object, so that nobody calls it unasked."""
    return bool(_ENDS_IT.match(name))


Strategies = Callable[[Sequence[Any]], Any]  # makes the strategy of some values
Returned = Callable[[str, Any], Sequence[Any] | None]  # values for a parameter, by name and type hint, of earlier results
_EARLIER = (Earlier(0), Earlier(1))


@dataclass
class Inferred:
    """What was inferred.

    Attributes:
        kinds: the operations.
        left_out: why others are none, with the line to write, by name.
    """

    kinds: list[OperationKind] = field(default_factory=list)
    left_out: dict[str, str] = field(default_factory=dict)


def function_of(member: Any) -> Callable[..., Any] | None:
    """The Python function behind a member of a class, decorators of the standard library aside; None if it is in C."""
    seen = 0
    while not isinstance(member, FunctionType) and seen < 5:
        seen += 1
        if isinstance(member, property):
            member = member.fget
        elif isinstance(member, functools.cached_property):
            member = member.func
        elif isinstance(member, (functools.partialmethod, staticmethod, classmethod)):
            member = getattr(member, "func", None) or getattr(member, "__func__", None)
        else:
            member = getattr(member, "__wrapped__", None)
    return member if isinstance(member, FunctionType) else None


def inferred(cls: type, strategies: Strategies, known: Mapping[str, Sequence[Any]]) -> Inferred:
    """The operations of a class, with strategies for their arguments.

    Args:
        known: values that somebody gave, by the name of the parameter.
    """
    found, methods = Inferred(), {}
    for name in dir(cls):
        if name.startswith("_") and name not in PROTOCOL:
            continue
        if name == "__iter__" and hasattr(cls, "__next__"):
            continue  # it is an iterator: to use it up is as many operations as it has elements
        member = inspect.getattr_static(cls, name)
        if member is getattr(object, name, None) or inspect.isclass(member):
            continue
        if isinstance(member, (property, functools.cached_property)):
            function = function_of(member)
            found.kinds.append(OperationKind(name, is_property=True, implemented=(function,) if function else ()))
        elif why := _no_operation(name, member):
            if why != _DATA:
                found.left_out[name] = why
        else:
            methods[name] = member
            _add_method(found, name, member, strategies, known)
    return _with_earlier(found, methods, strategies, known)


def _with_earlier(
    found: Inferred, methods: Mapping[str, Any], strategies: Strategies, known: Mapping[str, Sequence[Any]]
) -> Inferred:
    """The same with methods that take what others have returned, if there are such."""
    givers = {}
    for kind in found.kinds:
        if kind.name in methods and kind.name not in PROTOCOL and _gives(kind.implemented[0]):
            givers[kind.name] = _hints(kind.implemented[0]).get("return")

    def returned(name: str, hint: Any) -> Sequence[Any] | None:
        if isinstance(hint, type) and hint.__module__ != "builtins" and any(each is hint for each in givers.values()):
            return _EARLIER
        return _EARLIER if givers and values_for(name, hint) is None and is_handle(name) else None

    taking = [
        name
        for name, member in methods.items()
        if any(name not in known and returned(name, hint) for name, hint in _needed_hints(function_of(member)))
    ]
    if not taking:
        return found
    again = Inferred([kind for kind in found.kinds if kind.name not in taking], dict(found.left_out))
    for name in taking:
        again.left_out.pop(name, None)
        _add_method(again, name, methods[name], strategies, known, returned)
    again.kinds = [replace(kind, targets=(RESULTS,)) if kind.name in givers else kind for kind in again.kinds]
    again.kinds.sort(key=lambda kind: kind.name)
    return again


def _gives(function: Callable[..., Any]) -> bool:
    """Whether a function returns anything but None."""
    code = getattr(function, "__code__", None)
    if code is None or code.co_flags & (inspect.CO_GENERATOR | inspect.CO_COROUTINE):
        return False
    last = None
    for each in dis.get_instructions(code):
        if each.opname == "RETURN_CONST" and each.argval is not None:
            return True
        if each.opname == "RETURN_VALUE" and not (last is not None and last.opname == "LOAD_CONST" and last.argval is None):
            return True
        last = each
    return False


def _needed_hints(function: Callable[..., Any] | None) -> list[tuple[str, Any]]:
    """The parameters of a method that each call gives, with their type hints."""
    if function is None or (parameters := _parameters(function, 1)) is None:
        return []
    hints = _hints(function)
    return [(each.name, hints.get(each.name)) for each in needed(parameters)]


_DATA = "data"


def _no_operation(name: str, member: Any) -> str:
    """Why a member is no operation; empty if it may be one."""
    if not callable(member) and not isinstance(member, (staticmethod, classmethod, functools.partialmethod)):
        return _DATA
    if isinstance(member, (staticmethod, classmethod)):
        return f"of the class, and not of its objects: ops={{{name!r}: [...]}} calls it all the same"
    if ends_it(name):
        return f"it may end the object: ops={{{name!r}: []}} calls it, alone=[{name!r}] keeps others from it"
    function = function_of(member)
    if function is None:
        return f"{IN_C}: ops={{{name!r}: [...]}} calls it in one step"
    if inspect.iscoroutinefunction(function) or inspect.isasyncgenfunction(function):
        return "a coroutine function: an event loop calls it, and no thread"
    return ""


def _add_method(
    found: Inferred,
    name: str,
    member: Any,
    strategies: Strategies,
    known: Mapping[str, Sequence[Any]],
    returned: Returned = lambda name, hint: None,
) -> None:
    function = function_of(member)
    assert function is not None, "the caller has looked"
    given = values_of(function, 1, known, returned=returned)
    if isinstance(given, str):
        found.left_out[name] = f"no value for parameter {given!r}: ops={{{name!r}: {{{given!r}: st.sampled_from([...])}}}}"
        return
    positional, named = given
    optional = {each.name: values for each in _optional(function) if (values := known.get(each.name) or said_by_default(each))}
    found.kinds.append(
        OperationKind(
            name,
            tuple(map(strategies, positional)),
            {key: strategies(values) for key, values in named.items()},
            implemented=(function,),
            optional={key: strategies(values) for key, values in optional.items()},
        )
    )


def _optional(method: Callable[..., Any]) -> list[Any]:
    """The parameters of a method that a call may leave out, or give by name."""
    parameters = _parameters(method, 1) or []
    by_name = (inspect.Parameter.POSITIONAL_OR_KEYWORD, inspect.Parameter.KEYWORD_ONLY)
    return [each for each in parameters if each.default is not each.empty and each.kind in by_name]


def values_of(
    function: Callable[..., Any],
    skip: int,
    known: Mapping[str, Sequence[Any]],
    *,
    of_constructor: bool = False,
    returned: Returned = lambda name, hint: None,
) -> tuple[list[Sequence[Any]], dict[str, Sequence[Any]]] | str:
    """Values for each parameter that a function needs, by position and by name; the name of one without any.

    Args:
        skip: parameters that are given already, such as ``self``.
        known: values that somebody gave, by the name of the parameter.
        returned: says which parameters take earlier results.
    """
    if (parameters := _parameters(function, skip)) is None:
        return "..."
    hints = _hints(function)
    positional: list[Sequence[Any]] = []
    named: dict[str, Sequence[Any]] = {}
    for each in needed(parameters):
        hint = hints.get(each.name)
        values = known.get(each.name) or returned(each.name, hint) or values_for(each.name, hint, of_constructor=of_constructor)
        if values is None:
            return str(each.name)
        if each.kind is each.KEYWORD_ONLY:
            named[each.name] = values
        else:
            positional.append(values)
    return positional, named


def _parameters(function: Callable[..., Any], skip: int) -> list[inspect.Parameter] | None:
    """The parameters of a function after those that are given already; None if it has no signature."""
    try:
        return list(inspect.signature(function).parameters.values())[skip:]
    except (TypeError, ValueError):
        return None


def _hints(function: Callable[..., Any]) -> Mapping[str, Any]:
    try:
        return typing.get_type_hints(function)
    except Exception:  # a name that is only known to a type checker, or code of an annotation that fails
        return {}


def constructor_values(make: Callable[..., Any], known: Mapping[str, Sequence[Any]]) -> list[Sequence[Any]] | str:
    """Values for each argument with which an object can be made; the name of a parameter without any."""
    function, skip = make, 0
    if isinstance(make, type):
        init = function_of(inspect.getattr_static(make, "__init__", None))
        if init is None:
            new = function_of(inspect.getattr_static(make, "__new__", None))
            return [] if new is None else _only_positional(values_of(new, 1, known, of_constructor=True))
        function, skip = init, 1
    return _only_positional(values_of(function, skip, known, of_constructor=True))


def _only_positional(given: tuple[list[Sequence[Any]], dict[str, Sequence[Any]]] | str) -> list[Sequence[Any]] | str:
    if isinstance(given, str):
        return given
    positional, named = given
    return next(iter(named)) if named else positional
