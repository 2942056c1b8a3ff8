"""Step tables that are made before any code of the program has started, for the forks in which its first run is searched."""

import sys

import pytest

from pytest_gilcheck.core.build_flags import FREE_THREADED_BUILD
from pytest_gilcheck.engine.bytecode.visible import Visibility
from pytest_gilcheck.engine.program import Program
from pytest_gilcheck.search.harness import explorer_for
from pytest_gilcheck.search.plan import FuzzPlan

from .shop import Shop, sell

lists_functions = pytest.mark.skipif(
    FREE_THREADED_BUILD and sys.version_info < (3, 14), reason="this build tells of no function once a thread has started"
)
PROGRAM = Program((sell, sell), Shop, None)


def first_run(monkeypatch, prepare=lambda events: None):
    """The steps of a first run, the code that started in it, and the names of the functions of which a table was made in it."""
    made = []
    real = Visibility.table

    def table(self, code, namespace):
        made.append(code.co_name)
        return real(self, code, namespace)

    with explorer_for(PROGRAM, FuzzPlan(), lambda label: None) as explorer, monkeypatch.context() as patched:
        prepare(explorer.events)
        patched.setattr(Visibility, "table", table)
        run, failure = explorer.in_order()
        assert failure is None
        return run.points, explorer.events.codes, made


@pytest.mark.slow
@lists_functions
def test_code_whose_tables_are_foreseen_makes_the_same_steps_and_needs_no_more_tables(monkeypatch):
    points, codes, made = first_run(monkeypatch)
    assert made == ["sell", "sell", "sell_one"]
    again, same, none = first_run(monkeypatch, lambda events: events.foresee(codes, ()))
    assert (again, same, none) == (points, codes, [])


@pytest.mark.slow
@lists_functions
def test_code_that_is_not_foreseen_gets_its_table_when_it_starts(monkeypatch):
    points, codes, _ = first_run(monkeypatch)
    again, same, some = first_run(monkeypatch, lambda events: events.foresee(codes - {id(Shop.sell_one.__code__)}, ()))
    assert (again, same, some) == (points, codes, ["sell_one"])


@pytest.mark.slow
def test_tables_are_not_taken_from_before_names_became_more(monkeypatch):
    _, codes, made = first_run(monkeypatch)

    def grown(events):
        events.foresee(codes, ())
        events.names.called(setattr)

    _, same, anew = first_run(monkeypatch, grown)
    assert same == codes
    assert anew == made
