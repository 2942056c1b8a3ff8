"""Clients: one test several times, each with an instance, function-scoped fixtures, parameters and a context of its own.

A client is a copy of pytest's item. The copy has its own request, and its own definitions of function-scoped fixtures, also of
those that only ``getfixturevalue`` asks for. What is wider than the function is shared. The clients of a schedule are set up one
after the other, before its threads begin, each in a context of its own; the body and the teardown run in that context too.

What does not work: `item.from_parent`, which asks the plugins again, and loses the marks that hooks have added.
"""

from __future__ import annotations

import contextvars
import copy
import dataclasses
import sys
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import Any

import pytest
from _pytest.unittest import TestCaseFunction

from .sweep_process_wide import by_fixture, refuse
from .sweep_process_wide import client as current_client

_OF_ONE = ("_instance", "_obj", "_excinfo", "_request", "funcargs", "runtest", "setup")  # what a copy must not have of its original


class _OwnDefinitions(dict[str, Sequence[Any]]):
    """The fixtures of an item by name. Function-scoped definitions are copies, so that each client has a cache of its own.

    `FixtureRequest` asks by ``get``, also for the names that only ``getfixturevalue`` asks for.
    """

    def __init__(self, item: pytest.Function, alone: bool) -> None:
        super().__init__({name: _own(found) for name, found in item._fixtureinfo.name2fixturedefs.items()})
        self._item, self._alone = item, alone

    def get(self, name: str, default: Any = None) -> Any:
        if name not in self:
            refuse(None if self._alone else by_fixture([name]))
            found = self._item.session._fixturemanager.getfixturedefs(name, self._item)
            if found is None:
                return default
            self[name] = _own(found)
        return self[name]

    def copy(self) -> _OwnDefinitions:  # pytest 8.4 and 9.0 do so for each request
        return self


def _own(definitions: Sequence[Any]) -> Sequence[Any]:
    return tuple(each if each.scope != "function" else _unused(each) for each in definitions)


def _unused(definition: Any) -> Any:
    mine = copy.copy(definition)
    mine.cached_result, mine._finalizers = None, []
    return mine


class Client:
    """One client, before its set-up.

    Args:
        index: its number.
        item: of which it is a copy.
        alone: whether there is no other client.
        parameters: its own values of parameters, by name.
        context: of which its own is a copy.
    """

    def __init__(
        self, index: int, item: pytest.Function, alone: bool, parameters: Mapping[str, Any], context: contextvars.Context
    ) -> None:
        self.index = index
        mine: Any = copy.copy(item)
        mine.stash = copy.copy(item.stash)
        mine.stash._storage = dict(item.stash._storage)
        mine.user_properties, mine._report_sections = list(item.user_properties), []
        for name in _OF_ONE if item.cls is not None else (each for each in _OF_ONE if each != "_obj"):
            mine.__dict__.pop(name, None)
        if (given := getattr(item, "callspec", None)) is not None:
            mine.callspec = dataclasses.replace(given, params={**given.params, **parameters})
        mine._fixtureinfo = dataclasses.replace(item._fixtureinfo, name2fixturedefs=_OwnDefinitions(item, alone))
        mine._initrequest()
        if isinstance(item, TestCaseFunction):
            mine.addSubTest = partial(_add_subtest, mine)
        self.item: pytest.Function = mine
        self._context = context.copy()

    def set_up(self) -> None:
        """Set up its instance and fixtures.

        Raises:
            BaseException: what a fixture raised.
        """
        self.item.session._setupstate.stack[self.item] = ([self.item.teardown], None)
        self._context.run(self._set_up)

    def _set_up(self) -> None:
        current_client.set(self.index)
        if (decimal := sys.modules.get("decimal")) is not None:
            decimal.setcontext(decimal.getcontext().copy())  # it is a mutable value, which all copies of a context share
        _ = self.item.obj  # makes the instance, which the teardown of a `TestCase` expects
        self.item.setup()

    def body(self) -> Callable[[], object]:
        """The test's body with the values of this client."""
        item = self.item
        if isinstance(item, TestCaseFunction):
            return lambda: self._context.run(_run_test_case, item)
        function, values = item.obj, {name: item.funcargs[name] for name in item._fixtureinfo.argnames}
        return lambda: self._context.run(function, **values)

    def tear_down(self) -> None:
        """Tear down what was set up, the last first.

        Raises:
            BaseException: the first error; the rest is torn down all the same.
        """
        finalizers, _ = self.item.session._setupstate.stack.pop(self.item, ([], None))
        errors: list[BaseException] = []
        try:
            self._context.run(_finish, finalizers, errors)
        except RuntimeError:  # its body is still there, in a thread that has got stuck
            self._context.copy().run(_finish, finalizers, errors)
        if errors:
            raise errors[0]


def _finish(finalizers: list[Callable[[], object]], errors: list[BaseException]) -> None:
    current_client.set(None)
    while finalizers:
        try:
            finalizers.pop()()
        except KeyboardInterrupt:
            raise
        except BaseException as error:
            errors.append(error)


def _add_subtest(item: Any, case: Any, subtest: Any, error: Any) -> None:
    """A ``subTest`` has ended. pytest would report one that fails, and the test would pass; a schedule has to fail by it."""
    if isinstance(error, tuple):  # otherwise it has passed, or was skipped, which is there already
        item._addexcinfo(error)


def _run_test_case(item: Any) -> None:
    """Run a method of `unittest` with its ``setUp``, ``tearDown`` and cleanups, and raise what it has reported."""
    item.runtest()
    found = item.__dict__.pop("_excinfo", None)
    for each in found or ():
        raise each.value


class Clients:
    """The clients of a check, made anew for each schedule.

    Attributes:
        now: those of the present schedule.
    """

    def __init__(self, item: pytest.Function, count: int, parameters: Callable[[], Mapping[str, Any]]) -> None:
        self._item, self._count, self._parameters = item, count, parameters
        self.now: list[Client] = []
        self._context = contextvars.copy_context()

    def set_up(self) -> list[Callable[[], object]]:
        """Tear those of the schedule before down, set up new ones, and return the body of each."""
        self.tear_down()
        for index in range(self._count):
            self.now.append(Client(index, self._item, self._count == 1, self._parameters(), self._context))
            self.now[-1].set_up()
        return [each.body() for each in self.now]

    def tear_down(self) -> None:
        """Tear all of them down, the last first.

        Raises:
            BaseException: the first error.
        """
        errors: list[BaseException] = []
        while self.now:
            try:
                self.now.pop().tear_down()
            except KeyboardInterrupt:
                raise
            except BaseException as error:
                errors.append(error)
        if errors and isinstance(errors[0], pytest.fail.Exception):
            raise AssertionError(str(errors[0])) from errors[0]
        if errors:
            raise errors[0]
