"""Built-in names that a program replaces: ours do not change, and all others are put back when they have to be."""

import builtins

import pytest

from pytest_gilcheck.core.own_builtins import OWN, PutBack, Replaced

NAMES = vars(builtins)


@pytest.fixture
def real():
    before = dict(NAMES)
    yield before
    NAMES.clear()
    NAMES.update(before)


def test_in_the_block_the_names_are_the_real_ones_and_then_again_those_of_the_program(real):
    NAMES["divmod"] = None
    del NAMES["ascii"]
    with PutBack():
        found = builtins.divmod, builtins.ascii
    assert found == (OWN["divmod"], OWN["ascii"])
    assert builtins.divmod is None
    assert "ascii" not in NAMES


def test_between_the_runs_the_names_are_those_from_before_and_a_run_finds_what_the_last_has_left(real):
    fake = object()
    NAMES["open"] = fake  # for the time of a test
    replaced = Replaced()
    replaced.begin()
    assert not replaced.end()
    NAMES["divmod"] = None
    del NAMES["ascii"], NAMES["open"]
    assert replaced.end()
    assert (NAMES["divmod"], NAMES["ascii"], NAMES["open"]) == (real["divmod"], real["ascii"], fake)
    replaced.begin()
    assert NAMES["divmod"] is None
    assert not {"ascii", "open"} & NAMES.keys()
    NAMES.update(divmod=real["divmod"], ascii=real["ascii"], open=fake)
    assert not replaced.end()
    assert list(replaced.names) == ["ascii", "divmod", "open"]


@pytest.mark.parametrize(("count", "named"), [(1, "abs,"), (3, "abs, builtins.all, builtins.any,"), (4, "any and others,")])
def test_the_reason_names_the_first_three(real, count, named):
    replaced = Replaced()
    NAMES.update(dict.fromkeys(["abs", "all", "any", "ascii"][:count]))
    replaced.end()
    reason = replaced.explain("TypeError: no")
    assert f"builtins.{named}" in reason or named in reason
    assert "raised TypeError: no: have it taken back" in reason
