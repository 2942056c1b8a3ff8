"""Every case of the catalogue: the right verdict, outcome and culprit."""

import pytest

from pytest_gilcheck import gilcheck
from pytest_gilcheck.core.interpreter import FREE_THREADED, build

from ..undecided import decided
from . import holder
from .catalogue import CASES, wrong


def representatives():
    """The first case of each class: its verdict, its outcomes, and whether it needs the GIL or the extension."""
    first = {}
    for case in CASES:
        first.setdefault((case.verdict, case.outcomes, case.lingers_without_gil, case.data is not None), case)
    return set(map(id, first.values()))


REPRESENTATIVES = representatives()
LONG = (  # with -m slow only
    "sorted_list",
    "sum_in_another_thread",
    "future_of_busy_workers",
    "extension_that_holds_in_another_thread",
    "caught_by_all",
)
PARAMETERS = [
    pytest.param(case, id=case.name, marks=() if id(case) in REPRESENTATIVES and case.name not in LONG else pytest.mark.slow)
    for case in CASES
]


@pytest.mark.parametrize("case", PARAMETERS)
def test_the_catalogue(case):
    if case.data is not None:
        case.data()
    result = decided(gilcheck.interrupt(case.work, repeats=3, over=0.2, exits_within=1.0), *case.outcomes)
    assert wrong(case, result, build() == FREE_THREADED) is None, str(result)


def test_the_catalogue_has_the_extension():
    if holder.compiler()[0] is None:
        pytest.skip(f"the extension cannot be built: {holder.compiler()[1]}")
    assert "extension_that_holds" in {case.name for case in CASES}


def test_the_check_of_the_catalogue_can_fail():
    deaf, fine = CASES[0], next(case for case in CASES if case.name == "time_sleep")
    result = decided(gilcheck.interrupt(fine.work, repeats=1, over=0.05))
    assert "instead of violated" in wrong(deaf, result, False)
    assert wrong(fine, result, False) is None
