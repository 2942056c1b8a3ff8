"""Parameters of a marked test: a container is copied for each schedule, and what no copy can stand for is named."""

import itertools
import json
from collections import OrderedDict, defaultdict, deque

import pytest

from pytest_gilcheck.adaptors.parameters import Parameters

KNOWN = {"a": [1]}
CASES = [([3, 1, 2], 3)]


def knows():
    return KNOWN


@pytest.mark.parametrize(
    "value",
    [[1, [2]], {"a": {"b": [1]}}, {1, 2}, bytearray(b"ab"), ([1],), deque([[1]], 3), defaultdict(list, a=[1]), OrderedDict(a=[1])],
    ids=lambda value: type(value).__name__,
)
def test_a_container_is_copied_with_those_in_it(value):
    parameters = Parameters({"x": value}, [knows])
    made = parameters.anew()["x"]
    assert made == value
    assert type(made) is type(value)
    assert made is not value
    assert made is not parameters.anew()["x"]
    assert parameters.is_made_anew("x")


class Account:
    balance = 0


@pytest.mark.parametrize("value", [1, "a", (1, ("b", None)), Account(), iter([1]), KNOWN, [0] * 20_000])
def test_what_cannot_change_or_may_be_known_elsewhere_is_not_copied(value):
    assert Parameters({"x": value}, [knows]).anew() == {}


def test_what_parameters_share_their_copies_share():
    rows, account = [1], Account()
    rows.append(rows)
    made = Parameters({"x": rows, "y": {"rows": rows, "account": account}}, [knows]).anew()
    assert made["x"] is made["y"]["rows"] is made["x"][1]
    assert made["x"] is not rows
    assert made["y"]["account"] is account


def test_a_table_of_a_module_is_known_elsewhere_only_to_code_that_names_it():
    def names_it():
        return CASES

    assert Parameters({"x": CASES[0][0]}, [knows]).renewed
    assert not Parameters({"x": CASES[0][0]}, [names_it]).renewed


@pytest.mark.parametrize(
    ("value", "use", "words"),
    [
        ([Account()], lambda value: setattr(value[0], "balance", 1), "the parameter 'x' (a list with a Account in it)"),
        ((each for each in "ab"), next, "the parameter 'x' (a generator)"),
        (itertools.count(), next, "the parameter 'x' (a count)"),
        (KNOWN, lambda value: value.update(b=1), "the parameter 'x' (a dict)"),
        ([Account()], repr, ""),
        ((each for each in "ab"), repr, ""),
        ([1], lambda value: value.append(2), ""),
    ],
)
def test_a_parameter_that_was_changed_and_has_no_copy_is_named(value, use, words):
    parameters = Parameters({"x": value}, [knows])
    use(value)
    used_up = parameters.used_up()
    assert used_up.startswith(f"a schedule has changed {words}, ") if words else not used_up


def test_each_schedule_gets_parameters_as_they_were(run, pytester):
    result = run(
        """
import pytest

@pytest.fixture
def holder(xs):
    return [xs]

@pytest.mark.gil_fuzz(schedules=12)
@pytest.mark.parametrize("xs", [[3, 1, 2]])
def test_copied(holder, xs):
    xs.pop()
    assert holder[0] is xs

class TestMethod:
    @pytest.mark.gil_fuzz(schedules=12)
    @pytest.mark.parametrize("ns", [{"n": 2}])
    def test_racy(self, ns):
        before = ns["n"]
        ns["n"] = before + 1
        assert ns["n"] == before + 1
""",
        "--gilcheck-json=e.json",
    )
    result.assert_outcomes(passed=1, failed=1)
    verdicts = [record["verdict"] for record in json.loads((pytester.path / "e.json").read_text())["records"]]
    assert verdicts == ["holds", "violated"]


@pytest.mark.slow
def test_an_error_of_what_a_schedule_has_used_up_is_none_of_the_program(run):
    result = run(
        """
import pytest

class Account:
    balance = 3

@pytest.mark.gil_fuzz(schedules=2)
@pytest.mark.parametrize("account", [Account()])
def test_instance(account):
    account.balance -= 1
    assert account.balance > 0

@pytest.mark.gil_fuzz(schedules=2)
@pytest.mark.parametrize("xs", [iter("abcd")])
def test_iterator(xs):
    next(xs)
    next(xs)
"""
    )
    result.assert_outcomes(skipped=2)
    for named in ("'account' (a Account)", "'xs' (a *iterator)"):
        result.stdout.fnmatch_lines([f"*not repeatable: a schedule has changed the parameter {named}, *"])
