"""What one run of a program changes for all that come after it: the races of its making are in none of them."""

import collections.abc
import enum
import functools
import logging
import os
import random
import sys
import threading

import pytest

from pytest_gilcheck import gilcheck
from pytest_gilcheck.core.source import code_position
from pytest_gilcheck.core.verdict import Verdict
from pytest_gilcheck.engine.running.covered import Covered
from pytest_gilcheck.fuzz import check, draws
from pytest_gilcheck.search.harness import explorer_for

from ..slow import one_in
from .programs import counted, plan


class Schema:
    compiled, made = None, 0

    def __init__(self):
        self.seen = None

    def use(self):
        kind = type(self)
        if kind.compiled is None:
            kind.made += 1
            kind.compiled = [1]
        self.seen = kind.compiled


class Anew(Schema):
    def __init__(self):
        super().__init__()
        type(self).compiled, type(self).made = None, 0


class Shared:
    __slots__ = ("opened",)

    def __init__(self):
        self.opened = None


class Held:
    """An object with slots, a class and a default that live longer than a run."""

    shared = Shared()

    def __init__(self):
        self.schema, self.seen = Schema, 0

    def of_slots(self):
        if self.shared.opened is None:
            self.shared.opened = True
            self.seen += 1

    def of_default(self, cache={}):  # noqa: B006
        if "rows" not in cache:
            cache["rows"] = True
            self.seen += 1

    def of_environment(self):
        if "GILCHECK_OF_A_TEST" not in os.environ:
            os.environ["GILCHECK_OF_A_TEST"] = "1"
            self.seen += 1

    def of_function(self):
        connect(self)

    def of_cached(self):
        self.seen += load()


def connect(held):
    if not hasattr(connect, "pool"):
        connect.pool = []
        held.seen += 1


LOADED = []


@functools.cache
def load():
    LOADED.append(1)
    return len(LOADED)


@pytest.mark.parametrize("name", one_in(3, ["of_slots", "of_default", "of_environment", "of_function", "of_cached"]))
def test_what_only_the_first_run_makes_is_no_pass_wherever_it_is_kept(name, monkeypatch):
    monkeypatch.delenv("GILCHECK_OF_A_TEST", raising=False)
    use = getattr(Held, name)
    result = counted(use, use, setup=Held, invariant=lambda held: held.seen <= 2, schedules=100)
    assert result.verdict is Verdict.INCONCLUSIVE, str(result)
    assert result.why == "not repeatable"
    assert result.told.startswith("the first run changed")
    os.environ.pop("GILCHECK_OF_A_TEST", None)


@pytest.mark.slow
def test_what_the_class_of_the_state_keeps_is_no_pass_and_a_setup_that_makes_it_anew_decides():
    result = counted(Schema.use, Schema.use, setup=Schema, invariant=lambda schema: type(schema).made == 1, schedules=100)
    assert result.verdict is Verdict.INCONCLUSIVE, str(result)
    assert "class Schema" in result.reason
    found = counted(Anew.use, Anew.use, setup=Anew, invariant=lambda schema: type(schema).made == 1, schedules=100)
    assert found.verdict is Verdict.VIOLATED, str(found)


FALLBACK = [False]


class Feed:
    def __init__(self):
        self.at, self.torn = 0, False

    def write(self):
        for at in range(1, 12):
            self.at = at

    def read(self):
        if FALLBACK[0]:
            return
        at = self.at
        if at == 10:
            FALLBACK[0] = True
        if at == 9:
            self.torn = True


class FeedAnew(Feed):
    def __init__(self):
        super().__init__()
        FALLBACK[0] = False


@pytest.mark.slow
def test_a_path_that_one_of_the_runs_turns_off_is_no_pass():
    FALLBACK[0] = False
    result = counted(Feed.write, Feed.read, setup=Feed, invariant=lambda feed: not feed.torn, schedules=500)
    assert result.verdict is Verdict.INCONCLUSIVE or result.verdict is Verdict.VIOLATED, str(result)
    found = counted(FeedAnew.write, FeedAnew.read, setup=FeedAnew, invariant=lambda feed: not feed.torn, schedules=500)
    assert found.verdict is Verdict.VIOLATED, str(found)


@functools.lru_cache
def connection():
    return object()


class Kept:
    """What is kept where no look at the program's objects finds it."""

    seen = 0

    def __init__(self):
        self.seen = 0

    def of_a_handler(self):
        if not LOG.handlers:
            LOG.addHandler(logging.NullHandler())
            self.seen += 1

    def of_a_cache(self):
        connection()
        self.seen += 1

    def of_a_path(self):
        if PATH not in sys.path:
            sys.path.append(PATH)
            self.seen += 1


class HandlerAnew(Kept):
    def __init__(self):
        super().__init__()
        LOG.handlers.clear()


class CacheAnew(Kept):
    def __init__(self):
        super().__init__()
        connection.cache_clear()


class PathAnew(Kept):
    def __init__(self):
        super().__init__()
        sys.path[:] = [path for path in sys.path if path != PATH]


LOG, PATH = logging.getLogger("gilcheck.of_a_test"), "/of/a/test"


@pytest.mark.parametrize(
    ("work", "anew", "broken"),
    [
        (Kept.of_a_handler, HandlerAnew, True),
        pytest.param(Kept.of_a_cache, CacheAnew, False, marks=pytest.mark.slow),
        pytest.param(Kept.of_a_path, PathAnew, True, marks=pytest.mark.slow),
    ],
)
def test_a_place_to_which_only_the_first_run_comes_is_no_pass_wherever_its_state_is(work, anew, broken):
    HandlerAnew(), CacheAnew(), PathAnew()
    result = counted(work, work, setup=Kept, schedules=60)
    assert result.verdict is Verdict.INCONCLUSIVE, str(result)
    assert result.why == "not repeatable"
    assert result.told.startswith("only the first run came to")
    assert f"{work.__name__})" in result.reason or "(connection)" in result.reason
    made_anew = counted(work, work, setup=anew, invariant=lambda kept: kept.seen < 2 or not broken, schedules=200)
    assert made_anew.verdict is (Verdict.VIOLATED if broken else Verdict.HOLDS), str(made_anew)


def test_the_place_of_a_first_run_has_a_line_although_the_first_instruction_of_a_closure_has_none():
    kept = []

    def closure():
        return kept

    first, code = Covered(), closure.__code__
    first.add(code, 0)
    assert code_position(code, 0).line is None
    assert first.beyond(Covered()) == f"{__file__}:{code.co_firstlineno} ({code.co_qualname})"


@pytest.mark.slow
@pytest.mark.parametrize(("new", "verdict"), [(Kept, Verdict.INCONCLUSIVE), (CacheAnew, Verdict.HOLDS)])
def test_further_draws_of_chance_are_none_of_a_first_run(new, verdict):
    def draw_and_cache(kept):
        kept.drawn = random.random() + random.random()
        connection()

    CacheAnew()
    result = counted(draw_and_cache, draw_and_cache, setup=new, schedules=300)
    assert " other draws of its random numbers" in result.coverage, str(result)
    assert result.verdict is verdict, str(result)
    assert (result.why == "not repeatable") is (verdict is Verdict.INCONCLUSIVE)


@pytest.mark.slow
def test_further_draws_of_chance_do_not_begin_the_budget_again():
    def draw(kept):
        kept.drawn = random.random()

    made = check.program([draw, draw], Kept, None, None)
    with explorer_for(made, plan(schedules=100), lambda label: None) as explorer:
        sequential = explorer.sequential()
        before = explorer.ready, explorer.first_path
        drawn = draws.search_all_draws(explorer, plan(schedules=100), sequential, explorer.ready + 60)
        assert drawn.further
        assert (explorer.ready, explorer.first_path) == before


class Bag:
    def __iter__(self):
        return iter(())


def ask_whether_iterable(state):
    state.append(isinstance(Bag(), collections.abc.Iterable))


@pytest.mark.slow
def test_what_an_abstract_class_of_the_library_remembers_is_nothing_that_a_run_leaves():
    result = counted(ask_whether_iterable, ask_whether_iterable, setup=list, schedules=20)
    assert result.verdict == "holds", str(result)


class Rights(enum.Flag):
    READ = 1
    WRITE = 2


def test_a_combination_of_flags_that_is_made_once_is_nothing_that_a_run_leaves():
    lock = threading.Lock()

    def work():
        with lock:
            assert Rights.READ | Rights.WRITE

    result = gilcheck.fuzz(threads=[work, work], schedules=60)
    result.assert_holds()
