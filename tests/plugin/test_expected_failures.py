"""What an xfail mark excuses: a violated claim, if it names the error of that; no misuse of a check, nor one that cannot tell."""

import json

import pytest

from pytest_gilcheck import cli

SOURCE = """
    import threading, pytest
    from pytest import mark

    LOCK = threading.Lock()
    FAIL = pytest.fail.Exception
    calls = []
    FUZZ = mark.gil_fuzz(schedules=20)

    @pytest.fixture
    def hits(): return [0]

    def lose(hits):
        before = hits[0]
        hits[0] = before + 1
        assert hits[0] == before + 1

    def keep(hits):
        with LOCK: lose(hits)

    def find(gilcheck):
        hits = [0]
        return gilcheck.fuzz(threads=[lambda: lose(hits)] * 2, schedules=20)

    # violated
    @mark.xfail
    @FUZZ
    def test_xfailed(hits): lose(hits)
    @mark.xfail(raises=FAIL, strict=True)
    @FUZZ
    def test_xfailed_with_its_error(hits): lose(hits)
    @mark.xfail(raises=AssertionError)
    def test_xfailed_assertion_of_a_call(gilcheck): find(gilcheck).assert_holds()
    @mark.xfail(raises=ValueError)
    def test_xfailed_after_reading(gilcheck):
        assert find(gilcheck).verdict == "violated"
        raise ValueError
    @mark.xfail(raises=ValueError)
    @FUZZ
    def test_failed_with_another_error(hits): lose(hits)
    @mark.xfail(False, reason="another system")
    @FUZZ
    def test_failed_without_the_condition(hits): lose(hits)
    @mark.xfail(raises=ValueError)
    def test_failed_and_not_judged(gilcheck): find(gilcheck)
    @mark.xfail(raises=ValueError)
    def test_failed_before_its_error(gilcheck):
        find(gilcheck)
        raise ValueError
    @mark.xfail(raises=ValueError)
    def test_failed_in_a_fixture(fixture_that_fails): pass
    @pytest.fixture
    def fixture_that_fails(gilcheck):
        find(gilcheck)
        raise ValueError
    @mark.xfail(raises=ZeroDivisionError)
    @mark.gil_scaling
    @FUZZ
    def test_failed_beside_an_error_of_the_body(hits):
        if not calls:
            calls.append(1)
            1 / 0  # in the first call, which is that of the other check
        lose(hits)
    # holds
    @mark.xfail(strict=True)
    @FUZZ
    def test_failed_for_it_holds(hits): keep(hits)
    @mark.xfail
    @FUZZ
    def test_xpassed(hits): keep(hits)
    # refused
    @mark.xfail
    @mark.gil_fuzz(unknown=1)
    def test_failed_for_its_argument(hits): lose(hits)
    @mark.xfail(raises=ValueError)
    def test_failed_for_a_value(gilcheck): gilcheck.fuzz(threads=[find, find], schedules=-1)
    # inconclusive
    @mark.xfail
    @FUZZ
    def test_undecided(): pass
    @mark.xfail(strict=True)
    @FUZZ
    def test_undecided_strictly(): pass
    @mark.xfail
    def test_undecided_call(gilcheck): gilcheck.fuzz(threads=[int, int], schedules=5)
    @mark.xfail
    @mark.gil_scaling
    @FUZZ
    def test_undecided_beside_a_violated_one(hits): lose(hits)
"""


def outcomes(run, pytester, *options):
    """The outcome of each test, and the evidence."""
    result = run(SOURCE, "-rA", "--gilcheck-json=evidence.json", "-W", "ignore", *options, name="test_it")
    shown = {}
    for line in result.outlines:
        word, _, rest = line.partition(" ")
        name = rest.rpartition("::")[2].partition(" ")[0]
        if word in ("FAILED", "ERROR", "XFAIL", "XPASS") and name.startswith("test_"):
            shown[name] = {"XFAIL": "xfailed", "XPASS": "xpassed"}.get(word, "failed")
    return shown, json.loads((pytester.path / "evidence.json").read_text())["records"]


def test_an_xfail_mark_excuses_a_violated_claim_alone_and_only_if_it_names_its_error(run, pytester, capsys):
    shown, records = outcomes(run, pytester)
    wrong = {name: word for name, word in shown.items() if "undecided" not in name and not name.startswith(f"test_{word}")}
    assert not wrong
    assert len(shown) == 15
    by_test = {record["subject"].rpartition("::")[2]: record for record in records}
    assert {name for name, record in by_test.items() if record["outcome"] == "skipped"} == {
        "test_undecided", "test_undecided_strictly", "test_undecided_call",
    }  # fmt: skip
    assert not [name for name, record in by_test.items() if record["verdict"] == "holds" and record["outcome"] == "xfailed"]
    assert (by_test["test_xfailed"]["verdict"], by_test["test_xfailed"]["outcome"]) == ("violated", "xfailed")

    def compared(*arguments):
        status = cli.main(["compare", str(pytester.path / "evidence.json"), *arguments])
        return status, capsys.readouterr().out

    status, out = compared("--fail-on", "violated")
    assert status == 1
    assert "::test_failed_with_another_error on" in out
    assert "::test_xfailed on" not in out, "known, and not found again"


@pytest.mark.slow
def test_strict_fails_an_undecided_check_although_its_test_is_expected_to_fail(run, pytester):
    shown, _ = outcomes(run, pytester, "--gilcheck-strict", "-k", "undecided or test_xfailed")
    assert {word for name, word in shown.items() if "undecided" in name} == {"failed"}
    assert {word for name, word in shown.items() if "undecided" not in name} == {"xfailed"}
    assert len(shown) == 8
