"""Which process answers for a test: an older one, in which nothing has run, or the fork from before the test's own body.

An older process is colder: what earlier tests have made once has not been made there. It installs once for many tests. It can be
asked as long as the same wider fixtures are set up, which it has from the fork. It knows nothing of what earlier tests have left,
nor of what hooks of a ``conftest.py`` have done for this test. So where a client fails there or the process dies, the fork from
before the test's own body is asked; if that can tell, later tests are asked there.
"""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import pytest

from ..core.origin import of_user
from ..sweep.contended import Met
from ..sweep.swept import SweepOutcome, Swept
from .sweep_course import Course, Order
from .sweep_fork import WaitingFork
from .sweep_process_wide import is_process_wide, loaded
from .sweep_server import SweepServer

_UNSURE = (SweepOutcome.NOT_REPEATABLE, SweepOutcome.REFUSED)  # as what earlier tests have left may be missing
_MOST = 5  # that are kept: fixtures have as many scopes
_HOOKS = ("pytest_runtest_protocol", "pytest_runtest_logstart", "pytest_runtest_setup")  # before a test's body


@dataclass(frozen=True)
class _Around:
    """What is set up around a test.

    Attributes:
        wider: the finalizers of what is wider than the test: each set-up of a fixture has one of its own.
        filters: of warnings, which a mark may change.
        refused: the modules of which calls are refused.
    """

    wider: tuple[Any, ...]
    filters: tuple[Any, ...]
    refused: frozenset[str]

    @classmethod
    def of(cls, item: pytest.Function) -> _Around:
        stack = item.session._setupstate.stack
        wider = (each for node, (finalizers, _) in stack.items() if node is not item for each in finalizers[1:])  # after its own
        return cls(tuple(wider), tuple(warnings.filters), loaded())

    def same(self, other: _Around) -> bool:
        return (self._ids, self.filters, self.refused) == (other._ids, other.filters, other.refused)

    def has(self, other: _Around) -> bool:
        """Whether what was set up around another test still is."""
        return other._ids <= self._ids

    @property
    def _ids(self) -> set[int]:
        return set(map(id, self.wider))


class SweepServers:
    """The processes of a sweep.

    Args:
        items: the tests of this run.
        met: what tests contend for; those that are searched are added.
    """

    def __init__(self, items: Sequence[pytest.Item], met: Met) -> None:
        self._items, self._met = list(items), met
        self._numbers = {id(item): number for number, item in enumerate(self._items)}
        self._kept: list[tuple[_Around, WaitingFork]] = []
        self._here: WaitingFork | None = None  # from before the body of the present test
        self._around: _Around | None = None

    def fork(self, item: pytest.Function) -> None:
        """Before the body of a test.

        Raises:
            NoFork: the system refuses it.
        """
        self.leave()
        around = _Around.of(item)
        for each in [each for each in self._kept if not (each[1].lives and around.has(each[0]))]:
            self._drop(each)
        self._here, self._around = WaitingFork(lambda: SweepServer([*self._items, item]).answer), around

    def sweep(self, item: pytest.Function, order: Order) -> Swept:
        """What becomes of the test whose body has run. A Ctrl-C ends the process that is asked.

        Raises:
            CanaryMissed: the order was to look for what is planted, and it was not found.
        """
        here, around = self._here, self._around
        assert here is not None
        assert around is not None
        if _has_hooks(item):
            return self._swept(here, -1, item, order)
        older = next((each for each in reversed(self._kept) if each[0].same(around)), None)
        if older is None:
            self._keep(around, here)
        elif not order.threads and (number := self._numbers.get(id(item))) is not None:
            swept = self._swept(older[1], number, item, order)
            if swept.outcome not in _UNSURE or is_process_wide(swept.reason):
                return swept
        swept = self._swept(here, -1, item, order)
        if older is not None and swept.decided and here.lives:
            self._drop(older)
            self._keep(around, here)
        return swept

    def _swept(self, server: WaitingFork, number: int, item: pytest.Function, order: Order) -> Swept:
        return Course(server, number, item.nodeid, order, self._met).run()

    def leave(self) -> None:
        """The present test is over: end what only it needs."""
        if self._here is not None and all(self._here is not server for _, server in self._kept):
            self._here.end()
        self._here = None

    def end(self) -> None:
        """End all of them."""
        self.leave()
        for each in list(self._kept):
            self._drop(each)

    def _keep(self, around: _Around, server: WaitingFork) -> None:
        if len(self._kept) == _MOST:
            self._drop(self._kept[0])
        self._kept.append((around, server))

    def _drop(self, each: tuple[_Around, WaitingFork]) -> None:
        self._kept.remove(each)
        each[1].end()


def _has_hooks(item: pytest.Function) -> bool:
    """Whether code of the user does something for each test before its body."""
    plugins = item.config.pluginmanager
    implementations = (each for name in _HOOKS for each in getattr(plugins.hook, name).get_hookimpls())
    return any(of_user(each.function.__code__.co_filename) for each in implementations if hasattr(each.function, "__code__"))
