import pytest

from pytest_gilcheck.core.errors import BadValue
from pytest_gilcheck.report.regressions import conditions, findings

from .records import NO_GIL, entry

SECOND = [1.0, 1.01, 0.99, 1.02, 0.98, 1.0]


def times(factor):
    return [factor * second for second in SECOND]


def found(text, new, old):
    return [(finding.decided, finding.words) for finding in findings(conditions(text), new, old)]


@pytest.mark.parametrize(
    "text", ["", "slow", "slower", "slower:", "slower:ten%", "slower:-1%", "violated:10%", "slower:10", "violated,,"]
)
def test_a_condition_that_does_not_exist_is_refused(text):
    with pytest.raises(BadValue, match="fail-on"):
        conditions(text)


def test_conditions_read_as_they_are_written():
    assert [str(each) for each in conditions("violated, slower:10%,speedup-lost:2.5%")] == [
        "violated",
        "slower:10%",
        "speedup-lost:2.5%",
    ]


@pytest.mark.parametrize(
    ("condition", "before", "now", "decided"),
    [
        ("violated", "holds", "violated", True),
        ("inconclusive", "holds", "inconclusive", True),
        ("verdict-changed", "violated", "holds", True),
        ("regressed", "holds", "violated", True),
        ("regressed", "holds", "inconclusive", False),
    ],
)
def test_what_a_verdict_condition_finds(condition, before, now, decided):
    [(was_decided, words)] = found(condition, [entry(verdict=now)], [entry(verdict=before)])
    assert was_decided is decided
    assert "because" in words


@pytest.mark.parametrize(
    ("condition", "before", "now"),
    [
        ("violated", "violated", "holds"),
        ("verdict-changed", "holds", "holds"),
        ("regressed", "violated", "holds"),
        ("regressed", "violated", "violated"),
    ],
)
def test_what_a_verdict_condition_lets_pass(condition, before, now):
    assert found(condition, [entry(verdict=now)], [entry(verdict=before)]) == []


def test_a_violated_claim_that_its_test_asserts_is_not_found():
    assert found("violated", [entry(verdict="violated") | {"outcome": "failed"}], [])
    assert found("violated", [entry(verdict="violated") | {"outcome": "passed"}], []) == []
    assert found("violated", [entry(verdict="violated") | {"outcome": "xfailed"}], []) == []


def test_slower_is_found_only_when_all_of_its_interval_is_beyond_the_limit():
    base = [entry(one_thread=SECOND)]
    assert found("slower:10%", [entry(one_thread=times(1.3))], base)[0][0] is True
    assert found("slower:10%", [entry(one_thread=times(1.12))], base)[0][0] is False  # cannot be told: no pass, and no failure
    assert found("slower:10%", [entry(one_thread=times(1.05))], base) == []
    assert found("slower:10%", [entry(one_thread=[1.3, 1.3])], base)[0][0] is False


def test_a_lost_speedup_needs_intervals_apart():
    base = [entry(speedup=2.0, low=1.9, high=2.1)]
    assert found("speedup-lost:10%", [entry(speedup=1.2, low=1.1, high=1.3)], base)[0][0] is True
    assert found("speedup-lost:10%", [entry(speedup=1.7, low=1.4, high=2.0)], base)[0][0] is False
    assert found("speedup-lost:10%", [entry(speedup=1.9, low=1.8, high=2.0)], base) == []


def test_a_check_that_is_gone_is_missing_and_a_new_one_is_not():
    [(decided, words)] = found("missing", [entry("b")], [entry("a"), entry("b")])
    assert decided
    assert "did not run" in words
    assert found("missing", [entry("a"), entry("b")], [entry("a")]) == []


def test_another_patch_release_has_a_counterpart_and_another_build_has_none():
    assert found("regressed", [entry(verdict="violated", version="3.13.7")], [entry(version="3.13.0")])
    only = found("regressed", [entry(verdict="violated", python=NO_GIL), entry("b")], [entry(), entry("b")])
    assert only == []


def test_a_baseline_of_something_else_altogether_proves_nothing():
    [(decided, words)] = found("regressed", [entry("a")], [entry("b")])
    assert not decided
    assert "no check that these have" in words
    assert found("violated", [entry("a")], [entry("b")]) == []
