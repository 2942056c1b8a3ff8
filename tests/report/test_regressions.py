import pytest

from pytest_gilcheck.core.errors import BadValue
from pytest_gilcheck.report.regressions import absent, conditions, findings

from .records import GIL_ON, NO_GIL, entry

SECOND = [1.0, 1.01, 0.99, 1.02, 0.98, 1.0]


def times(factor):
    return [factor * second for second in SECOND]


def found(text, new, old):
    return [(finding.decided, finding.message) for finding in findings(conditions(text), new, old)]


@pytest.mark.parametrize(
    "text",
    [
        "",
        "slow",
        "slower",
        "slower:",
        "slower:ten%",
        "slower:-1%",
        "violated:10%",
        "slower:10",
        "slower:\u0661\u0660%",
        "violated,,",
    ],
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
    assert found("slower:10%", [entry(one_thread=times(1.12))], base)[0][0] is False  # undecided: neither a pass nor a failure
    assert found("slower:10%", [entry(one_thread=times(1.05))], base) == []
    assert found("slower:2%", [entry(one_thread=times(1.01))], base)[0][0] is False  # it may be 3% slower
    assert found("slower:10%", [entry(one_thread=[1.3, 1.3])], base)[0][0] is False


def test_a_lost_speedup_needs_intervals_apart():
    base = [entry(speedup=2.0, low=1.9, high=2.1)]
    assert found("speedup-lost:10%", [entry(speedup=1.2, low=1.1, high=1.3)], base)[0][0] is True
    assert found("speedup-lost:10%", [entry(speedup=1.7, low=1.4, high=2.0)], base)[0][0] is False
    assert found("speedup-lost:10%", [entry(speedup=1.9, low=1.8, high=2.0)], base) == []
    assert found("speedup-lost:10%", [entry(speedup=1.9, low=0.5, high=2.5)], base)[0][0] is False


def test_a_check_that_did_not_run_is_missing_and_a_new_one_is_not():
    [(decided, words)] = found("missing", [entry("b")], [entry("a"), entry("b")])
    assert decided
    assert "did not run" in words
    assert found("missing", [entry("a"), entry("b")], [entry("a")]) == []


def test_another_patch_release_has_a_counterpart_and_another_build_or_platform_has_none():
    assert found("regressed", [entry(verdict="violated", version="3.13.7")], [entry(version="3.13.0")])
    for python in (NO_GIL, {"platform": "darwin-arm64"}):
        [(decided, words)] = found("regressed", [entry(verdict="violated", python=python), entry("b")], [entry(), entry("b")])
        assert not decided
        assert "1 of the baseline did not run: test_it.py::test_it on 3.13.0" in words


def test_a_free_threaded_build_whose_gil_is_on_now_is_found():
    before = [entry(python=NO_GIL)]
    assert found("regressed", [entry(python=GIL_ON)], before) == [(True, "was measured without a GIL; the GIL is on now")]
    both = [entry(python=NO_GIL), entry(python=GIL_ON)]  # a matrix that has it both ways
    assert found("regressed", both, before) == []


def test_a_check_of_the_baseline_that_did_not_run_is_no_pass():
    for condition in ("regressed", "verdict-changed"):
        [(decided, _)] = found(condition, [entry("a")], [entry("a"), entry("b")])
        assert not decided
    assert found("regressed", [entry("a")], [entry("a"), entry("b", verdict="violated")]) == []
    assert found("verdict-changed", [entry("a")], [entry("a"), entry("b", verdict="violated")])[0][0] is False
    timed = entry("b", one_thread=SECOND, speedup=2.0)
    for condition in ("slower:10%", "speedup-lost:10%"):
        same = entry("a", one_thread=SECOND, speedup=2.0, low=1.9, high=2.1)
        assert found(condition, [same], [same]) == []
        [(decided, _)] = found(condition, [same], [same, timed])
        assert not decided


def test_a_missing_figure_is_undecided_and_so_is_a_condition_without_any_figure():
    base = [entry(one_thread=SECOND, speedup=2.0, low=1.9, high=2.1)]
    for condition in ("slower:10%", "speedup-lost:10%"):
        [(decided, words)] = found(condition, [entry()], base)
        assert not decided
        assert "measured" in words
        [(decided, words)] = found(condition, [entry(check="latency")], [entry(check="latency")])
        assert not decided
        assert "this condition compares" in words


def test_what_was_inconclusive_and_is_violated_may_be_a_regression():
    [(decided, _)] = found("regressed", [entry(verdict="violated")], [entry(verdict="inconclusive")])
    assert not decided
    assert found("regressed", [entry(verdict="inconclusive")], [entry(verdict="inconclusive")]) == []


def test_another_claim_that_holds_is_not_the_same_that_held():
    loose = entry() | {"claim": {"text": "a smaller claim"}}
    [(decided, words)] = found("regressed", [loose], [entry()])
    assert (decided, "text was claim, is a smaller claim" in words) == (False, True)
    [(decided, words)] = found("verdict-changed", [entry(threads=8)], [entry(threads=2)])
    assert (decided, "threads was 2, is 8" in words) == (False, True)
    [(decided, words)] = found("speedup-lost:10%", [entry(speedup=2, low=2, threads=8)], [entry(speedup=2, threads=2)])
    assert (decided, "with 8 threads, before with 2" in words) == (False, True)


def test_of_two_records_of_one_check_the_newest_counts_as_in_the_table():
    first = entry(verdict="violated", recorded="2026-01-01T00:00:00Z")
    second = entry(verdict="holds", recorded="2026-01-01T00:00:09Z")
    assert found("violated", [first, second], []) == []
    assert len(found("violated", [first | {"file": "a"}, second | {"file": "b"}], [])) == 1


def test_records_without_a_verdict_pass_nothing():
    for records in ([], [entry(verdict=None, check="curve")]):
        [(decided, words)] = found("violated", records, [])
        assert (decided, "no check with a verdict" in words) == (False, True)


def test_an_undecided_check_is_found_whatever_its_test_made_of_it():
    assert found("inconclusive", [entry(verdict="inconclusive") | {"outcome": "passed"}], [])


def test_a_baseline_of_something_else_altogether_proves_nothing():
    [(decided, words)] = found("regressed", [entry("a")], [entry("b", verdict="violated")])
    assert not decided
    assert "no record of the same check" in words
    assert found("violated", [entry("a")], [entry("b")]) == []


@pytest.mark.parametrize(("high", "decided"), [(1.78, False), (1.60, True)], ids=["loss of 1%", "loss of 11%"])
def test_a_loss_of_speedup_is_certain_only_beyond_the_share_that_is_allowed(high, decided):
    old = entry(speedup=1.9, low=1.8, high=2.0, threads=2)
    new = entry(speedup=high - 0.05, low=high - 0.1, high=high, threads=2)
    [(was_decided, _)] = found("speedup-lost:10%", [new], [old])
    assert was_decided is decided


def missing(records, interpreters=(), checks=None):
    return [str(finding) for finding in absent(records, interpreters, checks)]


@pytest.mark.parametrize("verdict", ["holds", "violated"])
def test_a_check_that_holds_or_is_violated_is_one_that_was_required(verdict):
    assert missing([entry(verdict=verdict, version="3.13.5", python=NO_GIL)], ["3.13t", "3.13.5t"], 1) == []


def test_an_inconclusive_check_and_a_measurement_are_not_what_was_required():
    records = [
        entry("t::one", "inconclusive", reason="not run: --gilcheck-disable"),
        *(entry(f"t::n{number}", "inconclusive") for number in range(7)),
        entry("t::curve", None, check="curve"),
    ]
    said = "8 inconclusive: scaling of t::one (not run: --gilcheck-disable), scaling of t::n0, "
    assert [line.partition("scaling of t::n1")[0] for line in missing(records, ["3.13"], 1)] == [
        f"require-interpreter: 3.13 on 3.13: no check holds or is violated there; {said}",
        f"require-checks: all checks on 3.13.0: 0 hold or are violated, and 1 are required; {said}",
    ]
    assert missing(records, ["3.13"])[0].endswith("scaling of t::n4, 2 more")
    assert missing([*records, entry("t::two")], ["3.13"], 1) == []


def test_each_required_interpreter_is_asked_for_alone():
    records = [entry(), entry(verdict="inconclusive", python=NO_GIL), entry(version="3.14.0", python=GIL_ON)]
    lines = missing(records, ["3.13", "3.13t", "3.14t", "3.15"])
    assert [line.partition(":")[2].partition(";")[0].split()[0] for line in lines] == ["3.13t", "3.14t", "3.15"]
    assert "interpreters on record: 3.13.0, 3.13.0t, 3.14.0t GIL on" in lines[-1]


def test_a_check_in_two_files_is_one_of_those_required():
    once = [entry("t::one", file="a.json"), entry("t::one", file="b.json")]
    assert "1 hold or are violated, and 2 are required; none is inconclusive" in missing(once, checks=2)[0]
    assert missing([*once, entry("t::one", number=2, file="b.json")], checks=2) == []
    decided_in_one = [entry("t::one", "inconclusive", file="a.json"), entry("t::one", file="b.json")]
    assert missing(decided_in_one, ["3.13"], 1) == []
