"""A signal that is handled in code which a line enters ends that line, be it library code or what the program has made."""

import ast
import collections
import enum
import fractions
import io
import json
import os
import pathlib
import textwrap
import tokenize
from dataclasses import dataclass

import pytest

from pytest_gilcheck import gilcheck
from tests.slow import one_in


@dataclass(frozen=True)
class Key:
    number: int


class Colour(enum.Flag):
    RED = 1
    BLUE = 2


class Account:
    """Both sides are 100 together; ``between`` is what happens after the first half of a transfer."""

    def __init__(self, between):
        self.left, self.right, self.between = 100, 0, between

    def transfer_in_halves(self):
        self.left -= 10
        self.between(self)
        self.right += 10

    def transfer_at_once(self):
        self.between(self)
        self.left, self.right = self.left - 10, self.right + 10

    def intact(self):
        return self.left + self.right == 100


def stores(container, key):
    def between(account):
        container[key] = 1

    return between


def imports(account):
    import wave  # noqa: F401


BETWEEN = {
    "a dataclass as a key": lambda: stores({}, Key(1)),
    "a container in Python": lambda: stores(collections.UserDict(), 1),
    "a comparison of dataclasses": lambda: lambda account: Key(1) == Key(2),
    "a flag": lambda: lambda account: Colour.RED | Colour.BLUE,
    "a missing key": lambda: lambda account: collections.Counter()["x"],
    "a fraction": lambda: lambda account: fractions.Fraction(1, 3) + 1,
    "an import": lambda: imports,
    "a module of which there is a frozen copy": lambda: lambda account: os.environ.update(GILCHECK_TEST="1"),
    "a tree": lambda: lambda account: ast.increment_lineno(ast.parse("x = 1"), 1),
}


@pytest.mark.slow
@pytest.mark.parametrize("name", one_in(len(BETWEEN), BETWEEN))
def test_library_code_that_an_operator_enters_is_no_place_where_no_signal_can_come(name):
    between = BETWEEN[name]()
    account = Account(between)

    def in_halves():
        account.left -= 10
        between(account)
        account.right += 10

    found = gilcheck.interrupt(in_halves, inject="every-step", invariant=account.intact)
    found.assert_violated()
    whole = Account(between)
    gilcheck.interrupt(whole.transfer_at_once, inject="every-step", invariant=whole.intact).assert_holds()


@pytest.mark.slow
def test_each_entry_of_a_library_is_tried_and_not_the_first_ones_alone():
    folder, state = pathlib.Path("a"), Account(None)

    def fourth():
        for index in range(4):
            if index == 3:
                state.left -= 10
            _ = folder / "b"
            if index == 3:
                state.right += 10

    gilcheck.interrupt(fourth, inject="every-step", invariant=state.intact).assert_violated()


@pytest.mark.slow
def test_a_generator_of_a_library_that_goes_on_is_entered_again():
    state = Account(None)

    def tokens():
        found = tokenize.generate_tokens(io.StringIO("a b").readline)
        next(found)
        return found

    def in_halves():
        rest = tokens()
        state.left -= 10
        _, *_ = rest
        state.right += 10

    found = gilcheck.interrupt(in_halves, inject="every-step", invariant=state.intact)
    found.assert_violated()
    assert "called from `_, *_ = rest`" in found.reason, found.reason


@pytest.mark.slow
def test_what_only_an_operator_enters_is_reached():
    state, key, prices = Account(None), Key(1), {}

    def by_operator():
        state.left -= 10
        prices[key] = 1
        state.right += 10

    found = gilcheck.interrupt(by_operator, inject="every-step", invariant=state.intact)
    found.assert_violated()
    assert "called from `prices[key] = 1`" in found.reason

    def by_c():
        state.left -= 10
        prices[1] = 1
        state.right += 10

    gilcheck.interrupt(by_c, inject="every-step", invariant=state.intact).assert_holds()


MADE = {}
exec(
    textwrap.dedent(
        """
        def transfer(account):
            account.left -= 10
            len(str(account.left))
            account.right += 10

        def transfer_at_once(account):
            account.left, account.right = account.left - 10, account.right + 10
        """
    ),
    MADE,
)


@pytest.mark.slow
@pytest.mark.parametrize("name", ["transfer", "transfer_at_once"])
def test_code_that_exec_has_made_is_stepped_through(name):
    account = Account(None)
    result = gilcheck.interrupt(lambda: MADE[name](account), inject="every-step", invariant=account.intact)
    assert result.verdict == ("holds" if name == "transfer_at_once" else "violated"), str(result)
    assert "defect of" not in result.reason


@pytest.mark.slow
def test_a_call_of_library_code_that_does_two_things_is_found():
    stock = collections.Counter(a=5, b=5)

    def order():
        stock.subtract({"a": 1, "b": 1})

    gilcheck.interrupt(order, inject="every-step", invariant=lambda: stock["a"] == stock["b"]).assert_violated()
    out = io.StringIO()

    def whole():
        return out.getvalue() == "" or json.loads(out.getvalue())

    gilcheck.interrupt(lambda: json.dump({"a": [1, 2]}, out), inject="every-step", invariant=whole).assert_violated()
    gilcheck.interrupt(lambda: out.write(json.dumps({"a": [1, 2]})), inject="every-step", invariant=whole).assert_holds()


@pytest.mark.slow
@pytest.mark.parametrize("include", [None, ("os", "_collections_abc")])
def test_a_module_of_which_the_interpreter_has_a_frozen_copy_is_stepped_through(include):
    def sets_two():
        os.environ.update(GILCHECK_TEST_A="1", GILCHECK_TEST_B="2")

    def both_or_none():
        return ("GILCHECK_TEST_A" in os.environ) == ("GILCHECK_TEST_B" in os.environ)

    gilcheck.interrupt(sets_two, inject="every-step", invariant=both_or_none, include=include).assert_violated()
