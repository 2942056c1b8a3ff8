"""Whether an invariant is broken: what it says, its text and the values in it."""

from types import SimpleNamespace

import pytest

from pytest_gilcheck.core.invariants import broken, standing_for

LIMIT = 3


class Refuses:
    def __repr__(self):
        raise RuntimeError("code of the program")

    @property
    def costly(self):
        raise RuntimeError("code of the program")


def test_a_lambda_is_quoted_with_the_values_of_its_arguments():
    counter = SimpleNamespace(value=1)
    assert broken(lambda counter: counter.value == 2, (counter,), False) == "counter.value == 2 is False (counter.value = 1)"


def test_a_function_is_quoted_with_globals_and_closures():
    seen = [4]

    def bounded():
        return seen[0] < LIMIT

    assert broken(bounded, (), False) == "seen[0] < LIMIT is False (seen = [4], LIMIT = 3)"


def test_a_function_with_two_returns_is_not_guessed_at():
    def either(value):
        if value:
            return False
        return value

    assert broken(either, (1,), False) == "the invariant returned False"


def test_what_stands_for_an_invariant_shows_that_one():
    wrapped = standing_for(lambda: False, lambda total: total == 2, lambda: {"total": 1})
    assert broken(wrapped, (), False) == "total == 2 is False (total = 1)"


def test_no_code_of_the_program_runs_to_make_the_text():
    assert broken(lambda thing: thing is None, (Refuses(),), False) == "thing is None is False"
    assert broken(lambda thing: thing.costly, (Refuses(),), False) == "thing.costly is False"


def test_a_builtin_has_no_source():
    assert broken(bool, (0,), False) == "the invariant returned False"


class NoTruth:
    def __bool__(self):
        return False


class bool_(NoTruth):
    """As that of numpy, which is called ``bool``."""


bool_.__name__ = "bool"


@pytest.mark.parametrize(
    ("answer", "told"),
    [(0, "0"), ([], "[]"), ("", "''"), (NoTruth(), "a false NoTruth"), (bool_(), f"a false {__name__}.bool")],
    ids=["number", "list", "text", "object", "bool"],
)
def test_what_is_false_and_not_none_breaks_an_invariant_as_false_does(answer, told):
    assert broken(lambda seen: seen, (3,), answer) == f"seen is {told} (seen = 3)"
    assert broken(len, ([],), answer) == f"the invariant returned {told}"


async def coroutine():
    pass


async def asynchronous_generator():
    yield


@pytest.mark.parametrize("made", [coroutine, asynchronous_generator, lambda: (each for each in [1])])
def test_what_nothing_runs_keeps_no_invariant(made):
    answer = made()
    assert (
        broken(made, (), answer)
        == f"the invariant returned a {type(answer).__name__}, which nothing runs: make it a plain function"
    )
    if made is coroutine:
        answer.close()


@pytest.mark.parametrize("answer", [(False, "text"), (), lambda: False, NoTruth().__bool__, [].append])
def test_what_is_true_whatever_is_in_it_keeps_no_invariant(answer):
    told = broken(lambda seen: seen, (3,), answer)
    assert told == f"the invariant returned a {type(answer).__name__}, which is true whatever is in it: make it one comparison"


@pytest.mark.parametrize("answer", [None, True, 1, [0]])
def test_none_and_what_is_true_keep_an_invariant(answer):
    assert broken(lambda seen: seen, (3,), answer) is None


def test_of_lambdas_in_one_line_the_right_one_is_quoted():
    first, second, third = lambda s: s == 1, lambda s: s == 2, lambda s: lambda s: (s ==
        3)  # fmt: skip
    assert [broken(each, (7,), False) for each in (first, second, third(0))] == [f"s == {n} is False (s = 7)" for n in (1, 2, 3)]
