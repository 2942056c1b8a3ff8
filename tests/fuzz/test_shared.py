"""What `shared` simulates, driven by the table of what C operations do: the two cannot drift apart."""

import collections
import copy
import functools
import itertools
import json
import linecache
import pickle
import statistics
import types
from collections import Counter, OrderedDict, defaultdict, deque

import pytest

from pytest_gilcheck import Kind, gilcheck
from pytest_gilcheck.core.errors import BadValue
from pytest_gilcheck.engine.bytecode import switch_points
from pytest_gilcheck.engine.bytecode.c_operations import CONTAINERS, READINGS, UNLOCKED, Effect
from pytest_gilcheck.engine.bytecode.shared import shared

from ..quality import c_trials
from ..slow import one_in

PLAIN = [
    [3, 1, 2], {"a": 1, "b": 2}, {1, 2}, deque([1, 2], 5), OrderedDict(a=1, b=2), defaultdict(list, a=[1]), Counter("aab"),
]  # fmt: skip
SIMULATED = [reading for reading in READINGS if reading.container in ("list", *(name for name, _ in UNLOCKED))]
NUMBERS = itertools.count()
SEEN_BY_THE_ENGINE = "for"  # its steps are in the code under test
OTHER_OUTCOMES = ("pickle.dumps", "marshal.dumps", "repr", "str.join", "bytes.join")  # with the type in it, or a set's order


@pytest.fixture
def seen(monkeypatch):
    """Every point, while the test runs."""
    calls = []
    monkeypatch.setattr(switch_points, "hook", lambda kind, name: calls.append((kind, name)))
    return calls


@pytest.fixture
def with_source(monkeypatch):
    """Statements of the table get source text, as those of a program have it."""

    def function(statements, names, arguments="x", result="None"):
        file = f"{__file__}.{next(NUMBERS)}"
        text = f"def tried({arguments}):\n    {statements}\n    return {result}\n"
        linecache.cache[file] = len(text), None, text.splitlines(True), file
        exec(compile(text, file, "exec"), names)
        return names["tried"]

    monkeypatch.setattr(c_trials, "function", function)


def tried(reading, wrapped):
    trial = c_trials.Trial(reading, wrapped)
    if trial.legal[0] == "AttributeError":
        pytest.skip(f"{reading.consumer} is of a later version")
    return trial


@pytest.mark.parametrize("reading", SIMULATED, ids=lambda reading: f"{reading.container}: {reading.statement}")
def test_switch_points_are_where_the_table_has_them(reading, seen, with_source):
    trial, plain = tried(reading, shared), tried(reading, lambda plain: plain)
    counts = []

    def read(subject):
        seen.clear()
        try:
            return trial.read(subject)
        finally:
            counts.append(len(seen))

    for write, plainly in zip(trial.writes, plain.writes, strict=True):  # in one of the two states it may end at the first element
        write(trial.subject)
        plainly(plain.subject)
        made = c_trials.outcome(read, trial.subject)
        if reading.consumer not in OTHER_OUTCOMES:
            assert made == c_trials.outcome(plain.read, plain.subject)
    assert any(counts) == (reading.simulated and reading.consumer != SEEN_BY_THE_ENGINE)


def test_the_table_names_containers_that_there_are():
    assert {container for container, _ in UNLOCKED} <= set(CONTAINERS)
    assert {effect for reading in READINGS if reading.simulated for effect in [reading.effect]} <= {Effect.TORN, Effect.RAISES}


@pytest.mark.parametrize("plain", PLAIN, ids=lambda plain: type(plain).__name__)
class TestSharedIsLikeThePlainOne:
    def test_in_what_it_is(self, plain):
        made = shared(plain)
        assert isinstance(made, type(plain))
        assert made is not plain
        assert made == plain
        assert type(made).__name__ == type(plain).__name__
        assert repr(made) == (f"set({plain!r})" if isinstance(plain, set) else repr(plain))
        assert len(made) == len(plain)
        assert getattr(made, "maxlen", None) == getattr(plain, "maxlen", None)
        assert getattr(made, "default_factory", None) == getattr(plain, "default_factory", None)

    def test_and_stays_it_when_it_is_copied_or_pickled(self, plain, seen):
        made = shared(plain)
        for other in (copy.copy(made), copy.deepcopy(made), pickle.loads(pickle.dumps(made)), shared(made)):
            assert other == plain
            assert type(other) is type(made)
        assert made.copy() == plain

    def test_and_without_a_hook_too(self, plain):
        assert switch_points.hook is None
        assert list(shared(plain)) == list(plain)
        assert [*shared(plain)] == [*plain]
        assert max(shared(plain)) == max(plain)

    def test_and_it_is_the_plain_one_where_threads_run_for_real(self, plain, monkeypatch):
        made = shared(plain)
        monkeypatch.setattr(switch_points, "parallel", True)
        assert shared(plain) is plain
        assert list(made) == list(plain)


@pytest.mark.parametrize("plain", [(1, 2), frozenset({1}), "text", 7, type("Own", (list,), {})(), None, iter([1])])
def test_what_cannot_be_shared_is_refused(plain):
    with pytest.raises(BadValue, match=r"container=.*expected one of these types exactly: list, dict, set, deque, OrderedDict"):
        shared(plain)


class TestViews:
    def test_they_do_what_views_do(self, seen):
        made, plain = shared({1: "a", 2: "b"}), {1: "a", 2: "b"}
        assert made.keys() == plain.keys() == made.keys()
        assert made.items() == plain.items()
        assert made.keys() & {1, 5} == {1}
        assert {1, 5} - made.keys() == {5}
        assert made.keys() | made.keys() == {1, 2}
        assert made.keys() <= {1, 2, 3}
        assert made.keys().isdisjoint([7])
        assert repr(made.items()) == repr(plain.items())
        assert "b" in made.values()
        assert "c" not in made.values()
        assert (2, "b") in made.items()
        assert list(reversed(made.values())) == ["b", "a"]
        assert isinstance(made.keys(), collections.abc.KeysView)
        assert isinstance(made.values(), collections.abc.ValuesView)
        assert made.keys().mapping == plain

    @pytest.mark.parametrize("name", ["keys", "items", "values"])
    def test_they_run_no_code_of_the_library(self, name):
        kind = type(getattr(shared({}), name)())
        found = {each: next(base for base in kind.__mro__ if each in vars(base)) for each in dir(kind)}
        made = {each for each, base in found.items() if isinstance(vars(base)[each], types.FunctionType)}
        assert {each for each in made if found[each].__module__ == "collections.abc"} <= {"_hash"}

    def test_they_are_live(self):
        made = shared({1: "a"})
        values = made.values()
        made[2] = "b"
        assert list(values) == ["a", "b"]

    def test_a_dict_made_of_one_is_plain_and_made_in_one_step(self, seen):
        made = shared({1: "a"})
        assert type(dict(made)) is dict
        assert {**made} == {1: "a"} == made | {}
        assert json.dumps(made) == '{"1": "a"}'
        assert not seen


class TestSearchingAList:
    def test_each_way_of_it_is_a_call_and_then_reads(self, seen):
        x = shared([1, 2])
        x.index(2)
        assert seen == [("call", "list"), ("iterate", "list")]
        x.count(7)
        assert seen[2:] == [("call", "list"), ("iterate", "list"), ("iterate", "list")]
        seen.clear()
        assert 7 not in x
        assert seen == [("iterate", "list")] * 2

    def test_it_finds_what_a_list_finds(self):
        plain = [1, 2.0, None, 1, float("nan")]
        plain.append(plain[4])
        made = shared(plain)
        for value in (*plain, 7, "1"):
            assert (value in made) == (value in plain)
            assert made.count(value) == plain.count(value)
        for limits in ((), (1,), (-2,), (-99,), (0, 3), (0, -1), (1, 99), (-3, -1)):
            assert found(made, 1, limits) == found(plain, 1, limits)

    def test_it_refuses_what_a_list_refuses(self):
        with pytest.raises(ValueError, match="7 is not in list"):
            shared([1]).index(7)
        with pytest.raises(TypeError):
            shared([1]).index(1, None)


def found(container, value, limits):
    try:
        return container.index(value, *limits)
    except ValueError:
        return None


class TestWhoIterates:
    """Calls as programs write them."""

    def test_by_another_name(self, seen):
        total = sum
        assert total(shared([1, 2])) == 3
        assert seen

    def test_shadowed(self, seen):
        sum = list
        assert sum(shared([1, 2])) == [1, 2]
        assert not seen

    def test_in_an_assertion_that_pytest_rewrites(self, seen):
        x = shared([1, 2, 3])
        assert sum(x) == max(x, default=0) * 2 == 6
        assert len(seen) == 6

    def test_through_attributes_and_subscripts(self, seen):
        class State:
            __slots__ = ("cells", "rows")

        state = State()
        state.cells, state.rows = shared([1, 2]), {"a": [shared([3])]}
        assert sum(state.cells) + sum(state.rows["a"][0]) == 6
        assert len(seen) == 3
        seen.clear()
        assert list(state.cells) + sorted(state.rows["a"][0]) == [1, 2, 3]
        assert not seen

    def test_over_several_lines(self, seen):
        x = shared(["a", "b"])
        assert (
            "".join(
                x,
            )
            .upper()
            .join(
                tuple(
                    shared({"a": 1, "b": 2})
                    .keys()
                )
            )
        ) == "aABb"  # fmt: skip
        assert seen == [("iterate", "dict.keys")] * 2

    def test_the_result_of_a_function(self, seen):
        x = shared([1, 2])

        def made():
            return x

        assert sum(made()) == 3
        assert len(seen) == 2
        assert list(made()) == [1, 2]
        assert len(seen) == 2

    def test_a_bound_method_by_name(self, seen):
        update, extend = set().update, [].extend
        update(shared([1, 2]))
        assert len(seen) == 2
        extend(shared([1, 2]))
        assert len(seen) == 2

    def test_unpacked_arguments(self, seen):
        arguments = (shared([1, 2]), 10)
        assert sum(*arguments) == 13
        assert len(seen) == 2

    def test_partial_is_not_known_and_so_has_none(self, seen):
        assert functools.partial(sum, shared([1, 2]))() == 3
        assert not seen

    def test_what_a_lazy_iterator_copies_is_copied_in_one_step(self, seen):
        rows = [shared([1, 2]), shared([3])]
        assert sum(map(len, map(list, rows))) == 3
        assert sum(itertools.chain.from_iterable(map(sorted, rows))) == 6
        assert not seen

    def test_a_chain_reads_when_it_is_its_turn(self, seen):
        x, y = shared([1, 2]), shared({3: 4})
        assert list(itertools.chain(x, y.values())) == [1, 2, 4]
        assert seen == [("iterate", "list")] * 3 + [("iterate", "dict.values")] * 2
        chain = itertools.chain.from_iterable([x])
        seen.clear()
        assert sorted(chain) == [1, 2]
        assert seen

    def test_a_loop_under_test_has_steps_of_its_own(self, seen):
        x = shared([1, 2])
        assert [v for v in x] == [v for _, v in enumerate(x)] == [*map(abs, (v for v in x))]  # noqa: C416
        for _ in reversed(x):
            pass
        assert not seen

    def test_a_loop_of_the_standard_library_has_points(self, seen):
        assert statistics.mean(shared([1, 2, 3])) == 2
        assert seen
        seen.clear()
        copy.deepcopy(shared({1: 2}))
        assert set(seen) == {("loop", "dict.items")}

    def test_no_property_is_read_to_find_out(self, seen):
        read = []

        class State:
            @property
            def cells(self):
                read.append(1)
                return x

        x, state = shared([1, 2]), State()
        assert sum(state.cells) == 3
        assert len(read) == 1
        assert len(seen) == 2

    def test_no_object_is_asked_for_its_class(self, seen):
        asked = []

        class Proxy:
            @property
            def __class__(self):
                asked.append(1)
                return list

        proxy, x = Proxy(), shared([1])
        assert dict(zip([proxy], x, strict=True)) == {proxy: 1}
        assert list(filter(lambda _: proxy, x)) == [1]
        assert not asked

    def test_code_without_source_has_them_as_well(self, seen):
        assert eval("sum(x)", {"x": shared([1, 2])}) == 3
        assert len(seen) == 3
        assert eval("list(x)", {"x": shared([1, 2])}) == [1, 2]
        assert len(seen) == 3

    def test_of_an_argument_list_that_is_gone_when_the_call_begins(self, seen):
        x = shared([1, 2])

        def handed_out():
            return [x]

        assert list(zip(*handed_out(), strict=True)) == [(1,), (2,)]
        assert len(seen) == 3
        seen.clear()
        assert (lambda *each: each)(*x) == (1, 2)
        assert not seen  # a tuple of a list is made in one step
        assert (lambda *each: each)(*shared({1, 2})) == (1, 2)
        assert len(seen) == 2

    def test_the_first_element_is_read_in_the_step_of_the_call(self, seen):
        x = shared([1, 2])
        sum(x)
        assert len(seen) == 2  # the other element, and that there is no third
        it = iter(x)
        seen.clear()
        next(it)
        assert len(seen) == 1


class TestWhatOthersDoInBetween:
    """CPython's own iterators read, so what they make of it is theirs."""

    def at(self, monkeypatch, number, change):
        calls = []

        def hook(kind, name):
            calls.append(name)
            if len(calls) == number:
                change()

        monkeypatch.setattr(switch_points, "hook", hook)

    def test_a_sum_is_torn(self, monkeypatch):
        x = shared([5, 5, 0])

        def move():
            x[0] -= 5
            x[2] += 5

        self.at(monkeypatch, 1, move)
        assert sum(x) == 15

    def test_an_element_is_skipped(self, monkeypatch):
        x = shared([1, 2, 3])
        self.at(monkeypatch, 1, lambda: x.pop(0))
        assert max(x, key=lambda value: -value) == 1
        assert x == [2, 3]

    def test_an_element_that_is_always_there_is_not_found(self, monkeypatch):
        x = shared([1, 2, 3])
        self.at(monkeypatch, 2, lambda: x.__setitem__(slice(None), [3, 1, 2]))
        assert 3 not in x
        assert 3 in x

    @pytest.mark.parametrize(
        ("container", "change", "words"),
        [
            ({1: 2, 3: 4}, lambda x: x.pop(1), "dictionary changed size during iteration"),
            ({1, 2}, lambda x: x.add(3), "Set changed size during iteration"),
            (deque([1, 2]), lambda x: x.append(3), "deque mutated during iteration"),
            (OrderedDict({1: 2, 3: 4}), lambda x: x.move_to_end(1), "OrderedDict mutated during iteration"),
            (Counter({1: 2, 3: 4}), lambda x: x.clear(), "dictionary changed size during iteration"),
        ],
        ids=lambda value: type(value).__name__,
    )
    def test_or_it_raises(self, container, change, words, monkeypatch):
        x = shared(container)
        self.at(monkeypatch, 1, lambda: change(x))
        with pytest.raises(RuntimeError, match=words):
            sum(x)

    def test_an_exception_of_the_hook_goes_through(self, monkeypatch):
        class Over(BaseException):
            pass

        def hook(kind, name):
            raise Over

        monkeypatch.setattr(switch_points, "hook", hook)
        with pytest.raises(Over):
            max(shared([1, 2]))


def test_it_costs_nothing_without_a_check():
    x = shared([1, 2])
    assert type(iter(x)) is type(iter([]))
    assert type(iter(shared({}).values())) is type(iter({}.values()))


class State:
    def __init__(self):
        self.cells, self.accounts, self.seen = shared([5, 5]), shared({"a": 5, "b": 5}), []


def move(state):
    state.cells[:] = [10, 0]
    state.accounts.update(a=0, b=10)


def add(state):
    state.accounts["c"] = 0


@pytest.mark.parametrize(
    ("writer", "reader", "kind", "symptom"),
    one_in(
        5,
        [
            pytest.param(move, lambda state: state.seen.append(sum(list(state.cells))), None, None),
            pytest.param(move, lambda state: state.seen.append(sum(state.cells)), Kind.GIL_MASKED, "invariant"),
            pytest.param(move, lambda state: state.seen.append(sum(tuple(state.accounts.values()))), Kind.GIL_MASKED, "invariant"),
            pytest.param(add, lambda state: max(state.accounts), Kind.GIL_MASKED, "exception"),
            pytest.param(move, lambda state: state.seen.append(sum(list(state.accounts.values()))), None, None),
            pytest.param(move, lambda state: state.seen.append(sum(state.accounts.copy().values())), None, None),
            pytest.param(add, lambda state: sorted(state.accounts), None, None),
            pytest.param(add, lambda state: [*state.accounts.items()], None, None),
            pytest.param(add, lambda state: tuple(state.accounts.values()), Kind.GIL_MASKED, "exception"),
            pytest.param(add, lambda state: list(state.accounts.values()), None, None),
        ],
    ),
)
def test_the_engine_finds_what_only_a_build_without_a_gil_does(writer, reader, kind, symptom):
    result = gilcheck.fuzz(
        setup=State,
        threads=[writer, reader],
        invariant=lambda state: all(total == 10 for total in state.seen),
        seed=1,
        schedules=500,
    )
    assert (result.kind, result.symptom or None) == (kind, symptom), str(result)
    assert result.verdict == ("holds" if kind is None else "violated")
