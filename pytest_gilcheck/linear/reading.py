"""Reads what the user gave for a class: its operations, the arguments of its constructor, and who may do what.

The strategy of an argument is one of hypothesis', or a list of values to choose from.
"""

from __future__ import annotations

import inspect
import sys
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from hypothesis import strategies as st

from ..core.arguments import Arguments
from ..core.origin import under_test
from . import inferred, machine
from .drawing import from_values, simplest
from .in_c import in_a_step, inferred_in_c
from .inferred import function_of
from .machine import ConcurrentMachine
from .operations import OperationKind, pairs_of
from .result import IN_C
from .subject import Subject

_ONE = "a strategy, or a list of values to choose from"


def subject_of(work: Any, name: str | None, given: Arguments) -> Subject:
    """What the campaign is about.

    Args:
        work: a class, or a function that makes the object.
        name: for reports; by default that of the class.

    Raises:
        BadValue: an argument that cannot be used.
    """
    threads = given.get("threads", 2)
    if isinstance(work, type) and issubclass(work, ConcurrentMachine):
        return _of_machine(work, name, given, threads)
    known = {name: _known_values(name, each, given) for name, each in given.get("values", {}).items()}
    init = tuple(_strategy(each, f"init[{index}]", given) for index, each in enumerate(given.get("init", ())))
    if "init" not in given:
        init = _inferred_init(work, given, known)
    made = _made(work, init, given)
    cls = work if isinstance(work, type) else type(made)
    found = inferred.inferred(cls, from_values, known)
    if given.get("stress"):
        inferred_in_c(found, cls, from_values, known)
    kinds = found.kinds if "ops" not in given else [_given_kind(op, each, cls, given) for op, each in given["ops"].items()]
    if "ops" in given:
        found.left_out.clear()
    kinds = [_with_rights(kind, given, threads) for kind in kinds]
    _refuse_unknown_names(kinds, given)
    return Subject(
        name=name or cls.__name__,
        make=work,
        kinds=tuple(kinds),
        init=init,
        threads=threads,
        model=given.get("model"),
        final=given.get("final"),
        rule=given.get("order", "linearizable"),
        waiting=given.get("waiting", "strict"),
        only_errors="only" in given,
        left_out=tuple(found.left_out.items()),
        untold=_untold(cls, kinds, found.left_out, threads, stress=given.get("stress", False)),
        modules=_modules(cls),
    )


def _of_machine(cls: type[ConcurrentMachine], name: str | None, given: Arguments, threads: int) -> Subject:
    for argument in ("init", "ops", "values", "model", "roles", "final"):
        if argument in given:
            raise given.refused(argument, f"nothing beside {cls.__name__}, whose rules, @role and invariants say so")
    try:
        kinds, first = machine.kinds_of(cls, threads), machine.first_kinds(cls)
    except machine.NotForThreads as error:
        raise given.refused("make", f"a machine for threads; {error}", cls) from None
    kinds = tuple(_with_rights(kind, given, threads) for kind in kinds)
    _refuse_unknown_names(kinds, given)
    return Subject(
        name=name or cls.__name__,
        make=cls,
        kinds=kinds,
        threads=threads,
        final=machine.look_at,
        rule=given.get("order", "linearizable"),
        waiting=given.get("waiting", "strict"),
        first=first,
        watched=machine.attributes,
        refuses=machine.refusal,
        only_errors="only" in given,
        untold="" if pairs_of(kinds, threads) else "it has no two rules that may overlap",
    )


def _untold(cls: type, kinds: Sequence[OperationKind], left_out: Mapping[str, str], threads: int, *, stress: bool) -> str:
    """Why nothing can be told of a class; empty if it can."""
    in_c = not stress and not any(kind.implemented for kind in kinds)
    if in_c and (kinds or left_out) and (kinds or all(why.startswith(IN_C) for why in left_out.values())):
        what = f"{cls.__name__} is in C, where no schedule switches, so it cannot be told"
        return f"{what}: on a free-threaded build, stress=True (--stress) runs it for real"
    return "" if pairs_of(kinds, threads) else _NOTHING


_NOTHING = "it has no two operations that may overlap: give them, such as ops={'get': [st.integers(0, 1)]}"


def _strategy(value: Any, name: str, given: Arguments) -> st.SearchStrategy[Any]:
    if isinstance(value, st.SearchStrategy):
        return value
    if isinstance(value, Sequence) and not isinstance(value, (str, bytes)) and value:
        return st.sampled_from(list(value))
    argument = name.partition("[")[0]
    raise given.refused(argument, f"{_ONE}, for {name}", value)


def _known_values(name: str, value: Any, given: Arguments) -> list[Any]:
    if not isinstance(value, (list, tuple)) or not value:
        raise given.refused("values", f"a list of values for each name of a parameter, and not for {name!r}", value)
    return list(value)


def _inferred_init(work: Any, given: Arguments, known: Mapping[str, list[Any]]) -> tuple[st.SearchStrategy[Any], ...]:
    values = inferred.constructor_values(work, known)
    if isinstance(values, str):
        what = f"a class of which an object can be made, and nothing says what its parameter {values!r} takes: {_advice(given)}"
        raise given.refused("make", what, work)
    return tuple(map(from_values, values))


def _advice(given: Arguments) -> str:
    """How the arguments of the constructor are given, here."""
    return "--init '(...)' or --from-tests TESTS" if given.source == "command line" else "init=[st.just(...)]"


def _made(work: Callable[..., Any], init: tuple[Any, ...], given: Arguments) -> Any:
    """An object, of which the class is looked at.

    Raises:
        BadValue: none can be made.
    """
    try:
        return work(*map(simplest, init))
    except Exception as error:
        raised = f"{type(error).__name__}: {error}"
        what = f"a class of which an object can be made: it raised {raised}; give it arguments: {_advice(given)}"
        raise given.refused("make", what, work) from None


def _given_kind(name: str, value: Any, cls: type, given: Arguments) -> OperationKind:
    """One of the given operations: a list of strategies, a mapping by parameter, or a function with one of these."""
    call: Callable[..., Any] | None = None
    if callable(value) and not isinstance(value, st.SearchStrategy):
        value = (value, [])
    if isinstance(value, tuple) and len(value) == 2 and callable(value[0]):
        call, value = value
    if isinstance(value, st.SearchStrategy) or not isinstance(value, (Sequence, Mapping)) or isinstance(value, (str, bytes)):
        raise given.refused("ops", f"for {name!r}: a list with {_ONE} for each argument, or (function, list)", value)
    member = inspect.getattr_static(cls, str(name), None) if call is None else None
    if call is None and member is None:
        raise given.refused("ops", f"names of methods and properties of {cls.__name__}, which has no {name!r}")
    function = call if call is not None else function_of(member)
    if function is not None and (inspect.iscoroutinefunction(function) or inspect.isasyncgenfunction(function)):
        raise given.refused("ops", f"functions that a thread can call, and {name!r} is a coroutine function")
    positional: tuple[Any, ...] = ()
    named: dict[str, Any] = {}
    if isinstance(value, Mapping):
        named = {key: _strategy(each, f"ops[{name!r}][{key!r}]", given) for key, each in value.items()}
    else:
        positional = tuple(_strategy(each, f"ops[{name!r}][{index}]", given) for index, each in enumerate(value))
    is_property = call is None and not callable(member) and hasattr(member, "__get__")
    if call is None and function is None and not is_property:
        call = in_a_step(str(name), len(positional), tuple(named))
        return OperationKind(str(name), positional, named, call, implemented=())
    return OperationKind(
        str(name),
        positional,
        named,
        call,
        is_property=is_property,
        implemented=(function,) if function else (),
        by_user=call is not None,
    )


def _with_rights(kind: OperationKind, given: Arguments, threads: int) -> OperationKind:
    """The operation with what `alone`, `weak` and `roles` say of it."""
    roles: Mapping[str, Sequence[str]] = given.get("roles", {})
    if len(roles) > threads:
        raise given.refused("roles", f"as many roles as threads at most, which are {threads}")
    lanes = frozenset(lane for lane, names in enumerate(roles.values(), 1) if kind.name in names)
    free = frozenset(range(len(roles) + 1, threads + 1))
    return kind.with_rights(
        alone=kind.alone or kind.name in given.get("alone", ()),
        weak=kind.name in given.get("weak", ()),
        lanes=lanes | free if roles else kind.lanes,
    )


def _refuse_unknown_names(kinds: Sequence[OperationKind], given: Arguments) -> None:
    known = {kind.name for kind in kinds}
    groups = [("alone", given.get("alone", ())), ("weak", given.get("weak", ()))]
    groups += [("roles", names) for names in given.get("roles", {}).values()]
    for argument, names in groups:
        if missing := [name for name in names if name not in known]:
            raise given.refused(argument, f"names of operations ({', '.join(sorted(known))}), and {missing[0]!r} is none")


def _modules(cls: type) -> tuple[str, ...]:
    """The modules of the class that are under test because the user asks about it, although they are the standard library's."""
    found: dict[str, None] = {}
    for kind in cls.__mro__[:-1]:
        file = getattr(sys.modules.get(kind.__module__), "__file__", None)
        if file is not None and file.endswith(".py") and not under_test(file):
            found[kind.__module__] = None
    return tuple(found)
