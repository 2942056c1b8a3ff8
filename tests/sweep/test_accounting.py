"""Causes, the baseline and the account of a sweep, from what its tests report."""

import os

import pytest

from pytest_gilcheck.core.evidence import asserted_violated
from pytest_gilcheck.sweep.accounting import SweepAccount, SweepGoal
from pytest_gilcheck.sweep.baseline import BadBaseline, Baseline, entry_of
from pytest_gilcheck.sweep.causes import Whose, causes_of
from pytest_gilcheck.sweep.remembered import Remembered
from pytest_gilcheck.sweep.swept import Failed, SweepOutcome, Swept

KNOWN = """
[[known]]
lines = ['shop.py: before = TOTAL["n"]', 'shop.py: TOTAL["n"] = before + 1']
tests = ["test_shop.py::test_sell"]
reason = "one process sells"
"""


def broken(test, places, preemptions=1, symptom="exception", **fields):
    found = {"symptom": symptom, "kind": "GIL-MASKED", "code": "GC506", "token": "gil1_x", "story": "T0"}
    failed = Failed(cause=tuple(places), preemptions=preemptions, **found)
    return Swept(test=test, outcome=SweepOutcome.BROKEN, reason="exception: 2 == 1", failed=failed, **fields)


def held(test, outcome=SweepOutcome.NOTHING, **fields):
    return Swept(test=test, outcome=outcome, **fields)


@pytest.fixture
def shop(tmp_path):
    """The places of a race in the package ``shop``; its folder is that of the suite."""
    (tmp_path / "shop.py").write_text('def sell():\n    before = TOTAL["n"]\n    TOTAL["n"] = before + 1\n')
    return [(str(tmp_path / "shop.py"), 2), (str(tmp_path / "shop.py"), 3)]


@pytest.fixture
def account(tmp_path):
    """The account of these tests: ``account(tests, baseline text, least)``."""

    def account(tests, baseline=None, least=None, stored=None):
        goal = SweepGoal(baseline and Baseline("known.toml", baseline), least, Remembered(stored))
        made = SweepAccount(str(tmp_path), goal)
        for test in tests:
            made.add(Swept.unpacked(test.packed()))  # as it comes from another process
        return made

    return account


def test_tests_that_meet_the_same_lines_are_one_cause_shown_by_the_smallest_schedule(shop, tmp_path):
    tests = [broken("a", shop, 2), broken("b", shop, 1), broken("c", shop[:1])]
    one, other = causes_of(tests, str(tmp_path))
    assert (len(one.tests), one.smallest.test, str(one)) == (2, "b", "shop.py:2 and shop.py:3")
    assert len(other.tests) == 1


def test_what_a_search_says_takes_the_place_of_what_was_said_when_it_was_put_off(account, shop):
    waits = held("a", SweepOutcome.CUT_SHORT, reason="the run ended before", put_off=True)
    lines = list(account([waits, held("b")]).lines())
    assert (lines[0], lines[2]) == ("1 of 2 tests swept, 0 of them with threads of their own", "    1 cut short")
    lines = list(account([waits, held("b"), broken("a", shop)]).lines())
    assert lines[0].startswith("2 of 2 tests swept")
    assert not any("cut short" in line for line in lines)
    lines = list(account([waits, waits, broken("a", shop)]).lines())
    assert lines[0].startswith("1 of 2 tests swept"), "a rerun that was not searched stays cut short"


@pytest.mark.parametrize(
    ("file", "whose"),
    [
        ("shop.py", Whose.PACKAGE),
        ("contest.py", Whose.PACKAGE),
        ("test_shop.py", Whose.TESTS),
        ("tests/helpers.py", Whose.TESTS),
        ("conftest.py", Whose.TESTS),
        (pytest.__file__, Whose.DEPENDENCY),
        (os.__file__, Whose.DEPENDENCY),
        (None, Whose.UNKNOWN),
    ],
)
def test_a_cause_is_in_the_package_in_a_dependency_or_in_the_tests(tmp_path, file, whose):
    places = [] if file is None else [(str(tmp_path / file), 1)]
    (cause,) = causes_of([broken("t", places)], str(tmp_path))
    assert cause.whose is whose
    assert cause.fails_the_run == (whose in (Whose.PACKAGE, Whose.UNKNOWN))


@pytest.mark.parametrize(
    ("file", "whose"),
    [("test/shop/till.py", Whose.PACKAGE), ("shop/tests/helpers.py", Whose.TESTS), ("test/shop/test_till.py", Whose.TESTS)],
)
def test_a_file_outside_of_the_root_is_of_the_tests_by_its_own_folder_alone(tmp_path, file, whose):
    (cause,) = causes_of([broken("t", [(str(tmp_path / file), 1)])], str(tmp_path / "suite"))
    assert cause.whose is whose


def test_a_new_cause_fails_the_run_and_a_known_one_passes_with_its_reason(account, shop):
    tests = [broken("test_shop.py::test_sell", shop)]
    new = account(tests)
    assert new.failures == ["cause in your package: shop.py:2 and shop.py:3"]
    known = account(tests, KNOWN)
    assert known.failures == []
    assert any("known.toml:2: one process sells" in line for line in known.lines())


def test_a_known_cause_stays_known_when_lines_move_and_a_changed_line_is_new(account, shop):
    file = shop[0][0]
    with open(file, "w") as moved:
        moved.write('\n\ndef sell():\n    before = TOTAL["n"]\n    TOTAL["n"] = before + 2\n')
    assert account([broken("test_shop.py::test_sell", [(file, 4)])], KNOWN).failures == []
    assert len(account([broken("test_shop.py::test_sell", [(file, 4), (file, 5)])], KNOWN).failures) == 1


def test_a_gone_cause_is_told_if_its_tests_were_swept_and_only_then(account):
    assert any(line.startswith("gone: known.toml:2: ") for line in account([held("test_shop.py::test_sell")], KNOWN).lines())
    undecided = held("test_shop.py::test_sell", SweepOutcome.CUT_SHORT)
    for tests in ([undecided], [held("test_shop.py::test_other")]):
        assert not any("gone" in line for line in account(tests, KNOWN).lines())


def test_the_entry_that_is_printed_makes_its_cause_known(account, shop, tmp_path):
    tests = [broken('test_shop.py::test_sell["\\n\u2028\U000e0001]', shop)]
    entry = "\n".join(entry_of(causes_of(tests, str(tmp_path))[0])).replace('reason = ""', 'reason = "why"')
    assert account(tests, entry).failures == []
    assert Baseline("known.toml", entry).known[0].tests == (tests[0].test,)


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("[[known]]\nlines = [", "known.toml:2: not TOML"),
        ("# nothing\n[known]\nlines = ['a']", "known.toml:2: expected each cause as a [[known]] table"),
        ("\nbudget = 3", "known.toml:2: 'budget' is not known"),
        (KNOWN.replace('reason = "one process sells"', ""), "known.toml:2: reason is missing: say why this cause stays"),
        (KNOWN.replace('"one process sells"', '" "'), "known.toml:2: reason is missing"),
        (KNOWN.replace("lines = ", "line = "), "known.toml:2: 'line' is not known"),
        (KNOWN.replace('["test_shop.py::test_sell"]', "[]"), "known.toml:2: tests is missing or no list"),
    ],
)
def test_what_is_no_baseline_is_refused_with_its_file_and_line(text, words):
    with pytest.raises(BadBaseline) as caught:
        Baseline("known.toml", text)
    assert words in str(caught.value)


def test_a_test_that_does_not_exist_is_refused_unless_its_file_was_not_collected(tmp_path):
    (tmp_path / "test_shop.py").write_text("")
    baseline = Baseline("known.toml", KNOWN)
    baseline.check_tests({"test_shop.py::test_sell"}, {"test_shop.py"}, tmp_path)
    baseline.check_tests({"test_b.py::test_b"}, {"test_b.py"}, tmp_path)
    with pytest.raises(BadBaseline, match=r"known\.toml:4: there is no test 'test_shop\.py::test_sell'"):
        baseline.check_tests({"test_shop.py::test_other"}, {"test_shop.py"}, tmp_path)
    (tmp_path / "test_shop.py").unlink()
    with pytest.raises(BadBaseline, match=r"known\.toml:4"):
        baseline.check_tests({"test_b.py::test_b"}, {"test_b.py"}, tmp_path)


def test_a_sweep_of_too_few_tests_fails_and_tests_that_do_not_pass_plainly_do_not_count(account):
    tests = [held("a"), held("b", SweepOutcome.REFUSED), held("c", SweepOutcome.NOT_PASSED)]
    assert account(tests, least=50).failures == []
    assert account(tests, least=51).failures == ["1 of 2 tests that passed were swept, and at least 51% have to be"]
    assert account([held("c", SweepOutcome.NOT_PASSED)], least=100).failures == []


def test_a_sweep_just_below_its_limit_says_so_without_rounding(account):
    tests = [*(held(f"{number}") for number in range(199)), held("not", SweepOutcome.REFUSED)]
    assert account(tests, least=99.5).failures == []
    (told,) = account(tests, least=99.6).failures
    assert told == "199 of 200 tests that passed were swept, and at least 99.6% have to be"


def test_each_cause_and_the_whole_sweep_are_on_record(account, shop):
    tests = [broken("test_shop.py::test_sell", shop), broken("test_shop.py::test_two", shop), held("test_shop.py::test_c")]
    (cause, file, line), (whole, _, _) = account(tests, least=100).records()
    assert (file, line) == shop[0]
    assert (cause["verdict"], cause["code"], cause["token"], cause["figures"]["tests"]) == ("violated", "GC506", "gil1_x", 2)
    assert cause["details"]["met_by"] == ["test_shop.py::test_sell", "test_shop.py::test_two"]
    assert not asserted_violated(cause)
    assert (whole["verdict"], whole["figures"]["swept"], whole["figures"]["broken"]) == ("holds", 3, 2)
    assert [each["test"] for each in whole["details"]["tests"]] == [test.test for test in tests]


def test_what_does_not_fail_the_run_is_on_record_as_told(account, shop):
    (cause, _, _), (whole, _, _) = account([broken("test_shop.py::test_sell", shop)], KNOWN).records()
    assert asserted_violated(cause)
    assert whole["verdict"] is None


def test_a_test_that_was_not_searched_meets_the_cause_of_the_one_that_was_and_is_no_proof(account, shop):
    like = {"outcome": SweepOutcome.MET, "reason": "like it"}
    tests = [
        broken("test_shop.py::test_sell", shop),
        held("b", **like, like="test_shop.py::test_sell"),
        held("c", **like, like="d"),
    ]
    lines = list(account(tests).lines())
    assert lines[0] == "3 of 3 tests swept, 0 of them with threads of their own, 2 by what another one meets"
    assert "  met by 2 tests (1 not searched themselves): test_shop.py::test_sell, b" in lines
    assert any("2 meets only what another test met" in line for line in lines)
    assert account(tests, least=100).failures == ["cause in your package: shop.py:2 and shop.py:3"]
    unproved = account([held("test_shop.py::test_sell", **like, like="d")], KNOWN)
    assert not any("gone" in line for line in unproved.lines())


def test_c_code_of_tests_that_share_nothing_else_is_listed_by_module_with_what_to_do(account):
    tests = [
        held("a", reason="fast._c"),
        held("b", reason="fast._c, other"),
        held("c"),
        held("d", SweepOutcome.HOLDS, reason="held"),
    ]
    lines = list(account(tests).lines())
    begin = lines.index("of these, calls into C code, whose steps are not seen:")
    assert lines[begin + 1].startswith(
        "        2 fast._c (a, ...): on a free-threaded build, --gilcheck-sweep=stress runs them for real; 'gilcheck audit fast'"
    )
    assert lines[begin + 2].startswith("        1 other (b): ")
    assert not any("C code" in line for line in account(tests[2:]).lines())


def test_an_opt_out_without_which_a_test_shares_nothing_is_listed(account):
    marked = {"outcome": SweepOutcome.LEFT_OUT, "opt_out": "it has the mark thread_unsafe"}
    assert any("it has the mark thread_unsafe (a)" in line for line in account([held("a", **marked, needless=True)]).lines())
    assert not any("opt-outs" in line for line in account([held("a", **marked)]).lines())


def test_a_race_of_the_last_sweep_is_tried_first_and_told_as_gone_once_all_its_tests_are_decided(account, shop):
    stored = account([broken("a", shop), broken("b", shop), held("c", SweepOutcome.MET, like="a")]).to_remember()
    assert [Remembered(stored).token(test) for test in "abc"] == ["gil1_x", "gil1_x", ""]
    gone = "gone since the last sweep: no schedule breaks a, b at shop.py: before = "
    cut = [held("a"), held("b", SweepOutcome.CUT_SHORT)]
    assert any(line.startswith(gone) for line in account([held("a"), held("b")], stored=stored).lines())
    for tests in ([held("a")], cut, [held("a"), held("b", SweepOutcome.MET, like="a")], [held("a"), broken("b", shop)]):
        assert not any(line.startswith("gone") for line in account(tests, stored=stored).lines())
    assert account([held("a"), held("b")], stored=stored).to_remember() == []
    left = Remembered(account(cut, stored=stored).to_remember())
    assert [left.token(test) for test in "ab"] == ["", "gil1_x"]
    elsewhere = [broken("a", shop[:1]), broken("b", [(__file__, 1)])]
    assert any(line.startswith("gone") for line in account([*elsewhere[1:], held("a")], stored=stored).lines())


@pytest.mark.parametrize("stored", [None, 3, {}, [3], [{}], [{"lines": 3, "tests": {}}], [{"lines": ["a"], "tests": ["b"]}]])
def test_what_is_no_memory_counts_as_nothing(account, stored):
    assert Remembered(stored).token("a") == ""
    assert not any(line.startswith("gone") for line in account([held("a")], stored=stored).lines())
