"""``gil_fuzz(fixtures="own")``: the program of a test whose threads are clients (`sweep_clients`)."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractContextManager
from functools import partial
from typing import Any, Protocol

import pytest

from ..core.classes import name_of_class
from ..core.errors import BadValue
from ..core.invariants import standing_for
from ..engine.program import Program
from . import explanations
from .parameters import Parameters
from .sweep_clients import Clients
from .sweep_process_wide import by_fixture, by_its_code, patched, refuse, refused

_AROUND = ("setUp", "tearDown", "setup_method", "teardown_method")  # what a class has around each of its tests


class _Fixtures(Protocol):
    """What `fuzz_marker` knows of a test's fixtures.

    Attributes:
        kept: the values that all schedules share, by name.
        parameters: those that are copied.
        reached: what the test can reach by its fixtures, by name.
    """

    kept: dict[str, Any]
    parameters: Parameters

    @property
    def reached(self) -> dict[str, Any]: ...


def program_of(
    item: pytest.Function, fixtures: _Fixtures, count: int, invariant: Any, source: str
) -> tuple[Program, Callable[[], AbstractContextManager[None]]]:
    """The program of so many clients; and what ends a run in which one of them changes what belongs to the process.

    Raises:
        BadValue: the invariant asks for a fixture of which there are several.
    """
    narrow = [definition for name in item.fixturenames for definition in item._fixtureinfo.name2fixturedefs.get(name, ())[-1:]]
    narrow = [definition for definition in narrow if definition.scope == "function"]
    functions = [item.obj, *(getattr(item.cls, name, None) for name in _AROUND), *(definition.func for definition in narrow)]
    functions = [getattr(inspect.unwrap(each), "__func__", inspect.unwrap(each)) for each in functions if each is not None]
    why = (by_fixture(item.fixturenames) or by_its_code(functions)) if count > 1 else None
    clients = Clients(item, count, fixtures.parameters.anew)

    def set_up() -> Sequence[Callable[[], object]]:
        refuse(why)
        patched.begin()
        return clients.set_up()

    program = Program(
        tuple(_client(index, item) for index in range(count)),
        setup=set_up,
        invariant=None if invariant is None else _of_all(invariant, {definition.argname for definition in narrow}, source),
        name=item.name,
        teardown=clients.tear_down,
        may_raise=False,
        calls=(item.obj,),
        reached=fixtures.reached,
        terse=explanations.none_from_here_on,
        used_up=fixtures.parameters.used_up,
        note=_shared_parameters(item, fixtures) if count > 1 else "",
    )
    return program, partial(refused, count)


def _client(index: int, item: pytest.Function) -> Callable[..., object]:
    def client(bodies: Sequence[Callable[[], object]]) -> object:
        return bodies[index]()

    client.__qualname__ = getattr(item.obj, "__qualname__", item.name)
    return client


def _of_all(invariant: Any, narrow: set[str], source: str) -> Callable[..., Any]:
    """The invariant as one that takes the clients; it may ask for wider fixtures alone."""
    function, named = getattr(invariant, "stands_for", (invariant, dict))
    if asked := [name for name in _names_of_arguments(function) if name in narrow]:
        raise BadValue("invariant", function, f"a function of wider fixtures: each client has its own {asked[0]!r}", source)
    check: Callable[..., Any] = standing_for(lambda bodies: invariant(), function, named)
    return check


def _names_of_arguments(function: Any) -> list[str]:
    try:
        return list(inspect.signature(function).parameters)
    except (TypeError, ValueError):  # a builtin without a signature
        return []


def _shared_parameters(item: pytest.Function, fixtures: _Fixtures) -> str:
    """The parameters that all clients share because there can be no copy, in words; empty if none."""
    given: Mapping[str, Any] = {} if (spec := getattr(item, "callspec", None)) is None else spec.params
    shared = [
        f"{name!r} (a {name_of_class(type(value))})" for name, value in given.items() if not fixtures.parameters.is_made_anew(name)
    ]
    if not shared:
        return ""
    return f"the clients share the parameter{'s' * (len(shared) > 1)} {' and '.join(shared[:3])}, of which there can be no copy"
