"""Which process answers for a test.

Each is a fork from before the body of some test, with all that was set up and left behind until then. The *present* one is as the
plain process was before the body of the test that is asked for: its state is that of earlier tests too, as long as they have shared
nothing that was seen. What such a test changes, it makes itself. After any other test, there is a new fork.

An *older* one is colder: what earlier tests have made once has not been made there, and all is installed for many tests. It is
asked first, as long as the same wider fixtures are set up. Where a client fails there, it may lack what earlier tests have left, so
the present one is asked; if that can tell, it is the older one from then on. What is shared there is shared, whatever else is seen.

While a thread runs that a fork would lose, there is no present one. An older one is from before that thread, and
is asked as always; where the present one would have been asked, the test is refused.

What does not work: a fork for each test, which takes as long as a record. A fork from after the body: there, what only a first run
makes has been made.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from inspect import isgeneratorfunction
from pathlib import Path
from typing import Any
from unittest import TestCase

import pytest

from ..core.fork_safety import NoFork, can_fork
from ..core.origin import of_user
from ..sweep.contended import Met
from ..sweep.swept import SweepOutcome, Swept
from . import read_ahead
from .guard import make_temporary_folder
from .sweep_course import UNSURE, Course, Order
from .sweep_fork import Answer, WaitingFork
from .sweep_process_wide import is_process_wide, loaded
from .sweep_searches import Searches
from .sweep_server import SweepServer

_NEEDS = "its clients need what earlier tests have left, and no process has that from before its first run"
_NO_OLDER = "no process from before has what is set up around this test"
_UNSURE_OLDER = "a process from before cannot tell, as it may lack what earlier tests have left"
_OWN_THREADS = "a test with threads of its own needs a process from just before it"
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
        given: the finalizers of wider fixtures that only give what is there, such as `tmp_path_factory`.
        asks: whether the test may ask for fixtures in its body, where two clients would race for the first set-up.
    """

    wider: tuple[Any, ...]
    filters: tuple[Any, ...]
    refused: frozenset[str]
    given: tuple[Any, ...]
    asks: bool

    @classmethod
    def of(cls, item: pytest.Function) -> _Around:
        stack = item.session._setupstate.stack
        around = ((node, each) for node, (finalizers, _) in stack.items() if node is not item for each in finalizers[1:])  # its own
        found = [(node, each) for node, each in around if not _is_empty_set_up(node, each)]
        wider = tuple(each for _, each in found if not _only_gives(each))
        given = tuple(each for _, each in found if _only_gives(each))
        return cls(wider, tuple(warnings.filters), loaded(), given, _may_ask(item))

    def fits(self, forked: _Around) -> bool:
        """Whether a process that was forked with that around it may answer for a test that has this around it."""
        given = not self.asks or set(map(id, self.given)) == set(map(id, forked.given))
        return given and (self._ids, self.filters, self.refused) == (forked._ids, forked.filters, forked.refused)

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


def _only_gives(finalizer: Any) -> bool:
    """Whether this is of a fixture of pytest's own that sets nothing up: each process has what it gives."""
    fixture = _fixture_of(finalizer)
    return _of_pytest(fixture) and not isgeneratorfunction(fixture.func)


def _of_pytest(fixture: Any) -> bool:
    return str(getattr(getattr(fixture, "func", None), "__module__", "")).startswith("_pytest.")


def _may_ask(item: pytest.Function) -> bool:
    """Whether the test, or a fixture that is not pytest's own, has a request, by which it may ask for fixtures later."""
    definitions = (each for found in item._fixtureinfo.name2fixturedefs.values() for each in found)
    asked = (each.argnames for each in definitions if not _of_pytest(each))
    return any("request" in names for names in (item._fixtureinfo.argnames, *asked))


def _fixture_of(finalizer: Any) -> Any:
    return getattr(getattr(finalizer, "func", None), "__self__", None)


def _is_empty_set_up(node: Any, finalizer: Any) -> bool:
    """Whether this is of the fixture that pytest makes for every class of `unittest`, and this one has nothing to set up."""
    fixture = _fixture_of(finalizer)
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
    """A process, with the test before whose body it was forked, what was set up around that, and its number."""

    def __init__(self, item: pytest.Function, items: Sequence[pytest.Item], number: int) -> None:
        self.item, self.around, self.number = item, _Around.of(item), number
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
        self._around: _Around | None = None  # of the test that is asked for
        self._no_fork = ""  # why there is no present one for it
        self._forked = 0  # how many there were
        for each in self._items[:1]:
            make_temporary_folder(each.config, self._items)

    def before(self, item: pytest.Function) -> str | None:
        """Before the body of a test: why no process can be asked for it; None if one can."""
        around, present = _Around.of(item), self._present
        self._around, self._no_fork = around, can_fork() or ""
        for each in [each for each in self._older if not (each.lives and around.has(each.around))]:
            self._older.remove(each)
            self._retire(each)
        alone = item.path in self._with_forks or _has_hooks(item)
        is_good = present is not None and present.lives and item is self._next and around.fits(present.around)
        if is_good and not alone and not self._no_fork:
            return None
        self._leave()
        if not self._no_fork:
            try:
                self._present = _Server(item, self._items, self._forked + 1)
                self._forked += 1
                return None
            except NoFork as error:
                self._no_fork = str(error)
        if self._older_one is not None and id(item) in self._numbers and not _has_hooks(item):
            return None
        return f"{self._no_fork}; {_NO_OLDER}" if self._forked else self._no_fork

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
        present, older = self._present, self._older_one
        if present is None:
            return self._without_present(item, order, older)
        if _has_hooks(item):
            return self._asked(present, item, order)[0]
        if older is None:
            self._older = [*self._older, present]
            if len(self._older) > _MOST:
                self._retire(self._older.pop(0))
        if order.dear and id(item) in self._numbers and item.path not in self._with_forks:
            return self._put_off(older or present, item, order)
        if older is not None and older is not present and not order.threads and id(item) in self._numbers:
            swept, final = self._asked(older, item, order)
            if final:
                return swept
        swept, final = self._asked(present, item, order)
        if older is not None and older is not present and not order.threads and (swept.decided or swept.put_off):
            self._older[self._older.index(older)] = present
            self._retire(older)
        if present.lives and not final and present.item is not item and not order.threads:
            return self._after_its_run(item, swept)
        return swept

    def _put_off(self, server: _Server, item: pytest.Function, order: Order) -> Swept:
        """Have the record made later, by a process that stays."""
        course = Course(server, self._number(item), item.nodeid, order, self._met)
        self._searches.add(server, course, self._another(item))
        return course.put_off()

    @property
    def _older_one(self) -> _Server | None:
        """The older one with what is set up around the test; it may be the present one too."""
        around = self._around
        assert around is not None, "`before` comes first"
        return next((each for each in reversed(self._older) if around.fits(each.around)), None)

    def _without_present(self, item: pytest.Function, order: Order, older: _Server | None) -> Swept:
        """What becomes of a test for which there can be no present one."""
        why = _OWN_THREADS if order.threads else _NO_OLDER
        if older is not None and not order.threads:
            swept, final = self._asked(older, item, order)
            if final:
                return swept
            why = _UNSURE_OLDER
        outcome, reason = SweepOutcome.REFUSED, f"{self._no_fork}; {why}"
        if order.opt_out:
            outcome, reason = SweepOutcome.LEFT_OUT, order.opt_out
        return Swept(test=item.nodeid, outcome=outcome, reason=reason, threads=order.threads > 0, opt_out=order.opt_out)

    def _after_its_run(self, item: pytest.Function, swept: Swept) -> Swept:
        """What was found, unless a fork from now finds something else: it has all that the set-up and earlier tests have left.

        If the clients pass there, nothing is claimed, because their first run was not seen.
        """
        self._with_forks.add(item.path)
        try:
            if no_fork := can_fork():
                return replace(swept, outcome=SweepOutcome.REFUSED, reason=f"{no_fork}; {_UNSURE_OLDER}")
            late = _Server(item, self._items, self._forked + 1)
        except NoFork as error:
            return replace(swept, outcome=SweepOutcome.REFUSED, reason=f"{error}; {_UNSURE_OLDER}")
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
            self._searches.add(server, course, self._another(item))
            return course.put_off(), True
        swept = swept or course.search(order.budget)
        final = course.shares or course.is_gone or swept.outcome not in UNSURE or is_process_wide(swept.reason)
        return swept, final  # of one that has ended it is not known what is shared there, and a warmer one may not see it

    def _another(self, item: pytest.Function) -> Callable[[], _Server | None]:
        """What gives another process for the search of this test: one that is there, and was forked before its body ran."""
        around, forked = self._around, self._forked
        if around is None or id(item) not in self._numbers or item.path in self._with_forks or _has_hooks(item):
            return lambda: None

        def another() -> _Server | None:
            there = sorted((*self._only_present, *self._kept, *self._older), key=lambda each: -each.number)
            return next((each for each in there if each.lives and each.number <= forked and around.fits(each.around)), None)

        return another

    @property
    def put_off(self) -> int:
        """How many searches are still to be made."""
        return len(self._searches)

    def due(self, item: pytest.Item, following: pytest.Item | None, left: Callable[[], float], parts: float) -> Iterator[Swept]:
        """Before the teardown of a test: make the searches that cannot wait any longer; all of them after the last test.

        Args:
            following: the test after it.
            left: seconds for searches.
            parts: into so many, at least, these are divided, as there are searches to come.
        """
        if following is None:
            yield from self._searches.made(lambda server: True, left)
            return
        due = [each for each in (*self._older, *self._kept, *self._only_present) if not each.around.stays(item, following)]
        if due:
            yield from self._searches.made(lambda server: any(server is each for each in due), left, parts)
        self._let_go()
        while len(self._kept) > _MOST_KEPT:  # what a first try does not decide stays for a second one, as long as there is room
            untried = next((each for each in self._kept if self._searches.untried(each)), None)
            yield from self._made_by(untried or self._kept[0], left, parts, further=untried is None)
            self._let_go()

    def _made_by(self, one: _Server, left: Callable[[], float], parts: float, *, further: bool) -> Iterator[Swept]:
        return self._searches.made(lambda server: server is one, left, parts, further=further)

    def _let_go(self) -> None:
        """End the processes that are only there for searches, and have none to make."""
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
