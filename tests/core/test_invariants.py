"""Why an invariant is false: its text and the values in it."""

from types import SimpleNamespace

from pytest_gilcheck.core.invariants import standing_for, why_false

LIMIT = 3


class Refuses:
    def __repr__(self):
        raise RuntimeError("code of the program")

    @property
    def costly(self):
        raise RuntimeError("code of the program")


def test_a_lambda_is_quoted_with_the_values_of_its_arguments():
    counter = SimpleNamespace(value=1)
    assert why_false(lambda counter: counter.value == 2, (counter,)) == "counter.value == 2 is False (counter.value = 1)"


def test_a_function_is_quoted_with_globals_and_closures():
    seen = [4]

    def bounded():
        return seen[0] < LIMIT

    assert why_false(bounded) == "seen[0] < LIMIT is False (seen = [4], LIMIT = 3)"


def test_a_function_with_two_returns_is_not_guessed_at():
    def either(value):
        if value:
            return False
        return value

    assert why_false(either, (1,)) == "the invariant returned False"


def test_what_stands_for_an_invariant_shows_that_one():
    wrapped = standing_for(lambda: False, lambda total: total == 2, lambda: {"total": 1})
    assert why_false(wrapped) == "total == 2 is False (total = 1)"


def test_no_code_of_the_program_runs_to_make_the_text():
    assert why_false(lambda thing: thing is None, (Refuses(),)) == "thing is None is False"
    assert why_false(lambda thing: thing.costly, (Refuses(),)) == "thing.costly is False"


def test_a_builtin_has_no_source():
    assert why_false(bool, (0,)) == "the invariant returned False"
