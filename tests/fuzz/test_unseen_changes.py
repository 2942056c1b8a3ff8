"""What no instruction shows: C that copies, asks or stores, functions that C enters, and code of the standard library.

Each broken program is found, and its twin with a lock around both threads holds.
"""

import sys
import types

import pytest

from pytest_gilcheck.fuzz import check
from pytest_gilcheck.search.search import Search

from ..slow import one_in
from . import unseen
from .programs import SETTLED, calls_of_one, counted, plan, under_the_lock

FOUND = unseen.PROGRAMS | unseen.ENTERED | unseen.LIBRARY


@pytest.mark.slow
@pytest.mark.parametrize("name", one_in(30, FOUND))
def test_a_conflict_that_no_instruction_shows_is_found_and_its_twin_with_a_lock_holds(name):
    setup, *threads, invariant = FOUND[name]
    result = counted(*threads, setup=setup, invariant=invariant, schedules=600)
    assert result.verdict == "violated", result.reason
    twin = counted(*map(under_the_lock, threads), setup=setup, invariant=invariant, schedules=60)
    assert twin.verdict == "holds", twin.reason


@pytest.mark.slow
@pytest.mark.parametrize("name", one_in(10, unseen.PROGRAMS))
def test_it_is_not_settled_either_where_nothing_tests_it(name, monkeypatch):
    monkeypatch.setattr(Search, "_passes_test", lambda *of: True)
    setup, *threads, invariant = unseen.PROGRAMS[name]
    result = counted(*threads, setup=setup, invariant=invariant, schedules=1000)
    assert result.bound not in SETTLED, result.reason


@pytest.mark.parametrize(
    ("waits", "too_late", "in_time"),
    [
        (unseen.wait_for_items, unseen.notify_too_early, unseen.notify_in_time),
        (unseen.wait_for_an_event, unseen.set_too_late, unseen.set_in_time),
    ],
)
@pytest.mark.slow
def test_a_wait_for_what_a_predicate_answers_is_lost_if_it_is_notified_too_early(waits, too_late, in_time):
    result = counted(waits, too_late, setup=unseen.Waiting, schedules=1000)
    assert result.verdict == "violated", result.reason
    assert counted(waits, in_time, setup=unseen.Waiting, schedules=300).verdict == "holds"


@pytest.mark.slow
def test_a_claim_names_the_library_code_that_was_one_step_and_with_it_included_the_race_is_found():
    threads = unseen.average_rows, unseen.append_row
    program = {"setup": unseen.Averaged, "invariant": lambda s: s.seen == 1}
    result = counted(*threads, **program, schedules=300, mode="gil")  # without a GIL, a loop in C over the rows is several steps
    assert result.verdict == "holds"
    assert "each call of Python code in statistics was one step: include=('statistics',) searches it too" in result.reason
    assert counted(*threads, **program, schedules=1000, include=("statistics",)).verdict == "violated"


@pytest.mark.slow
def test_a_claim_names_the_module_whose_import_was_one_step(tmp_path, monkeypatch):
    (tmp_path / "made_lazily.py").write_text("values = {}\nvalues['name'] = 1\n")
    monkeypatch.syspath_prepend(tmp_path)

    def use(state):
        import made_lazily

        state.append(made_lazily.values["name"])

    def not_yet():
        sys.modules.pop("made_lazily", None)
        return []

    result = counted(use, use, setup=not_yet, schedules=60)
    assert result.verdict == "holds", result.reason
    assert result.reason.endswith("; the import of made_lazily was one step")
    sys.modules["made_lazily"] = types.SimpleNamespace(values={"name": 1})
    assert "the import of" not in counted(use, use, setup=list, schedules=60).reason
    del sys.modules["made_lazily"]


@pytest.mark.skipif(sys.version_info < (3, 12), reason="before, nobody reports what is called, and each such call is a step")
def test_a_function_without_steps_that_instructions_call_has_none():
    made = check.program((calls_of_one,) * 2, None, None, None)
    assert check.fuzz(made, plan(schedules=50, seed=1)).steps <= 4
