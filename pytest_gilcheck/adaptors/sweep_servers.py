"""Which process answers for a test.

Each is a fork from before the body of some test, with all that was set up and left behind until then. The *present* one is as the
plain process was before the body of the test that is asked for: its state is that of earlier tests too, as long as they have shared
nothing that was seen. What such a test changes, it makes itself. After any other test, there is a new fork.

An *older* one is colder: what earlier tests have made once has not been made there, and all is installed for many tests. It is
asked first, as long as the same wider fixtures are set up. Where a client fails there, it may lack what earlier tests have left, so
the present one is asked; if that can tell, it is the older one from then on. What is shared there is shared, whatever else is seen.

What does not work: a fork for each test, which takes as long as a record. A fork from after the body: there, what only a first run
makes has been made.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any
from unittest import TestCase

import pytest

from ..core.origin import of_user
from ..sweep.contended import Met
from ..sweep.swept import SweepOutcome, Swept
from . import read_ahead
from .sweep_course import Course, Order
from .sweep_fork import Answer, WaitingFork
from .sweep_process_wide import is_process_wide, loaded
from .sweep_searches import Searches
from .sweep_server import SweepServer

_UNSURE = (SweepOutcome.NOT_REPEATABLE, SweepOutcome.REFUSED)  # as what earlier tests have left may be missing
_NEEDS = "its clients need what earlier tests have left, and no process has that from before its first run"
_ENDING = 5.0  # seconds for a process to end what it has started
_RECORD = 120.0  # seconds until a process that records hangs
_OF_TEST_CASES = "_unittest_setUpClass_fixture_"  # how the names of such fixtures begin
_MOST = 5  # older ones: fixtures have as many scopes
_MOST_KEPT = 8  # of those that are only there for searches that are put off: each keeps some memory
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
        found = ((node, each) for node, (finalizers, _) in stack.items() if node is not item for each in finalizers[1:])  # its own
        wider = (each for node, each in found if not _does_nothing(node, each))
        return cls(tuple(wider), tuple(warnings.filters), loaded())

    def same(self, other: _Around) -> bool:
        return (self._ids, self.filters, self.refused) == (other._ids, other.filters, other.refused)

    def stays(self, item: pytest.Item, following: pytest.Item | None) -> bool:
        """Whether all of this outlives the teardown of a test, and what the set-up of the next one ends."""
        if not self.wider:
            return True
        if following is None or _wider_parameters(item) != _wider_parameters(following):
            return False
        chain = following.listchain()
        kept = (each for node, (finalizers, _) in item.session._setupstate.stack.items() if node in chain for each in finalizers)
        return self._ids <= set(map(id, kept))

    def has(self, other: _Around) -> bool:
        """Whether what was set up around another test still is."""
        return other._ids <= self._ids

    @property
    def _ids(self) -> set[int]:
        return set(map(id, self.wider))


def _does_nothing(node: Any, finalizer: Any) -> bool:
    """Whether this is of the fixture that pytest makes for every class of `unittest`, and this one has nothing to set up."""
    fixture = getattr(getattr(finalizer, "func", None), "__self__", None)
    if not str(getattr(fixture, "argname", "")).startswith(_OF_TEST_CASES):
        return False
    found = ((getattr(node.obj, name, None), getattr(TestCase, name)) for name in ("setUpClass", "tearDownClass"))
    return all(getattr(own, "__func__", own) is default.__func__ for own, default in found)


def _wider_parameters(item: pytest.Item) -> dict[str, int]:
    """Of fixtures that are wider than the test: where the next test has another one, its set-up ends the fixture."""
    given = getattr(item, "callspec", None)
    if given is None:
        return {}
    return {name: index for name, index in given.indices.items() if str(given._arg2scope[name].value) != "function"}


class _Server(WaitingFork):
    """A process, with the test before whose body it was forked, and what was set up around that."""

    def __init__(self, item: pytest.Function, items: Sequence[pytest.Item]) -> None:
        self.item, self.around = item, _Around.of(item)
        self._asked = False
        read_ahead.before_fork(("gil_fuzz",))  # a fifth of a record's time, if each fork does it
        super().__init__(lambda: SweepServer([*items, item]).answer)

    def ask(self, order: Answer, limit: float) -> Answer | None:
        self._asked = True
        return super().ask(order, limit)

    def dismiss(self) -> None:
        """End it, and wait for what it has started, so that the system counts all of its time."""
        if self._asked and self.lives:
            self.ask({"do": "end", "test": 0}, _ENDING)
        self.end()


class SweepServers:
    """The processes of a sweep.

    Args:
        items: the tests of this run.
        met: what tests contend for; those that are searched are added.

    Attributes:
        proved: whether what is planted was found. A process that is killed does not say.
    """

    def __init__(self, items: Sequence[pytest.Item], met: Met) -> None:
        self._items, self._met = list(items), met
        self._numbers = {id(item): number for number, item in enumerate(self._items)}
        self.proved = False
        self._older: list[_Server] = []
        self._present: _Server | None = None
        self._kept: list[_Server] = []  # for searches that are put off
        self._searches = Searches()
        self._with_forks: set[Path] = set()  # files of tests that need a fork each
        self._next: pytest.Item | None = None  # for which the present one is still good

    def before(self, item: pytest.Function) -> None:
        """Before the body of a test.

        Raises:
            NoFork: the system refuses it.
        """
        around, present = _Around.of(item), self._present
        for each in [each for each in self._older if not (each.lives and around.has(each.around))]:
            self._older.remove(each)
            self._retire(each)
        alone = item.path in self._with_forks or _has_hooks(item)
        if not alone and present is not None and present.lives and item is self._next and present.around.same(around):
            return
        self._leave()
        self._present = _Server(item, self._items)

    def sweep(self, item: pytest.Function, order: Order, following: pytest.Item | None) -> Swept:
        """What becomes of the test whose body has run. A Ctrl-C ends the process that is asked.

        Args:
            following: the test after it.

        Raises:
            CanaryMissed: the order was to look for what is planted, and it was not found.
        """
        swept = self._swept(item, order)
        self._next = following if swept.outcome is SweepOutcome.NOTHING or swept.needless else None
        return swept

    def _swept(self, item: pytest.Function, order: Order) -> Swept:
        present = self._present
        assert present is not None, "`before` comes first"
        if _has_hooks(item):
            return self._asked(present, item, order)[0]
        older = next((each for each in reversed(self._older) if each.around.same(present.around)), None)
        if older is None:
            self._older = [*self._older, present]
            if len(self._older) > _MOST:
                self._retire(self._older.pop(0))
        elif older is not present and not order.threads and id(item) in self._numbers:
            swept, final = self._asked(older, item, order)
            if final:
                return swept
        swept, final = self._asked(present, item, order)
        if older is not None and older is not present and (swept.decided or swept.put_off):
            self._older[self._older.index(older)] = present
            self._retire(older)
        if present.lives and not final and present.item is not item and not order.threads:
            return self._after_its_run(item, swept)
        return swept

    def _after_its_run(self, item: pytest.Function, swept: Swept) -> Swept:
        """What was found, unless a fork from now finds something else: it has all that the set-up and earlier tests have left.

        If the clients pass there, nothing is claimed, because their first run was not seen.
        """
        self._with_forks.add(item.path)
        late = _Server(item, self._items)
        try:
            answer = late.ask({"do": "record", "test": self._number(item)}, _RECORD)
        finally:
            late.dismiss()
        if answer is None:
            return swept
        if answer["outcome"] in (None, SweepOutcome.NOTHING):
            return replace(swept, outcome=SweepOutcome.REFUSED, reason=_NEEDS)
        return replace(swept, outcome=SweepOutcome(answer["outcome"]), reason=answer["reason"])

    def _number(self, item: pytest.Item) -> int:
        return self._numbers.get(id(item), len(self._items))

    def _asked(self, server: _Server, item: pytest.Function, order: Order) -> tuple[Swept, bool]:
        """What a process says of a test; and whether no other one would know better."""
        course = Course(server, self._number(item), item.nodeid, order, self._met)
        swept = course.record()
        self.proved = self.proved or course.proved
        if swept is None and course.can_wait:
            self._searches.add(server, course)
            return course.put_off(), True
        swept = swept or course.search(order.budget)
        return swept, course.shares or swept.outcome not in _UNSURE or is_process_wide(swept.reason)

    @property
    def put_off(self) -> int:
        """How many searches are still to be made."""
        return len(self._searches)

    def due(self, item: pytest.Item, following: pytest.Item | None, left: Callable[[], float]) -> Iterator[Swept]:
        """Before the teardown of a test: make the searches that cannot wait any longer; all of them after the last test.

        Args:
            following: the test after it.
            left: seconds for searches.
        """
        if following is None:
            yield from self._searches.made(lambda server: True, left)
            return
        due = [each for each in (*self._older, *self._kept, *self._only_present) if not each.around.stays(item, following)]
        due += self._kept[: max(0, len(self._kept) - _MOST_KEPT)]
        if due:
            yield from self._searches.made(lambda server: any(server is each for each in due), left)
        for each in [each for each in self._kept if not self._searches.has(each)]:
            self._kept.remove(each)
            each.dismiss()

    @property
    def _only_present(self) -> list[_Server]:
        """The present one, unless it is one of the older ones too."""
        return [] if self._present is None or any(self._present is each for each in self._older) else [self._present]

    def _retire(self, server: _Server) -> None:
        """End a process that is not asked for another test, unless it has searches to make."""
        if server.lives and self._searches.has(server):
            self._kept.append(server)
        else:
            server.dismiss()

    def _leave(self) -> None:
        """The present one is not asked any more, unless it is one of the older ones too."""
        for each in self._only_present:
            self._retire(each)
        self._present = None

    def end(self) -> None:
        """End all of them."""
        for each in (*self._only_present, *self._older, *self._kept):
            each.dismiss()
        self._present, self._older, self._kept = None, [], []


def _has_hooks(item: pytest.Function) -> bool:
    """Whether code of the user does something for each test before its body."""
    plugins = item.config.pluginmanager
    implementations = (each for name in _HOOKS for each in getattr(plugins.hook, name).get_hookimpls())
    return any(of_user(each.function.__code__.co_filename) for each in implementations if hasattr(each.function, "__code__"))
