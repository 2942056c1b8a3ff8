"""A new check, added as ARCHITECTURE describes: a package and an entry in the table give it a marker, evidence and reports."""

import json

import pytest

CHECK = """
    import sys, types
    from dataclasses import dataclass
    from typing import Any

    from pytest_gilcheck import checks
    from pytest_gilcheck.core.arguments import Argument
    from pytest_gilcheck.core.prepared import Prepared
    from pytest_gilcheck.core.values import whole
    from pytest_gilcheck.core.verdict import Judged, Verdict


    @dataclass(frozen=True, kw_only=True)
    class ParityResult(Judged):
        workload: str
        remainder: int | None = None

        def figures(self): return {"remainder": self.remainder}
        def details(self): return {}


    def prepare(work, name, given):
        def run(progress):
            progress("the only call")
            remainder = work() % given.get("modulus", 2)
            verdict = Verdict.VIOLATED if remainder else Verdict.HOLDS
            return ParityResult(conclusion=verdict, reason=f"the remainder is {remainder}", workload=name, remainder=remainder)
        return Prepared(
            run=run,
            undecided=lambda reason: ParityResult(conclusion=Verdict.INCONCLUSIVE, reason=reason, workload=name),
            plainly=work,
            claim={"text": "divides evenly"},
            parameters={"modulus": given.get("modulus", 2)},
            longest_phase=10.0,
        )


    PARITY = checks.Check(
        name="parity",
        marker="gil_parity",
        question="Is it even?",
        marker_help="fail if what the test returns is odd",
        arguments=(
            Argument("modulus", whole(2), "what to divide by (2)"),
            Argument("seed", whole(0), "not used", setting=True),
        ),
        wing="parity",
        figure=checks.MainFigure(("remainder",), "1", noun="left over"),
        properties=("remainder",),
        exclusive=False,
    )
    entry = types.ModuleType("pytest_gilcheck.parity.entry")
    entry.prepare = prepare
    sys.modules["pytest_gilcheck.parity"] = types.ModuleType("pytest_gilcheck.parity")
    sys.modules["pytest_gilcheck.parity.entry"] = entry
    checks.CHECKS["parity"] = PARITY
    checks.MARKERS["gil_parity"] = (PARITY,)
"""


@pytest.fixture
def with_parity(pytester, run):
    pytester.makeconftest(CHECK)
    return run


TESTS = """
    import pytest
    @pytest.mark.gil_parity
    def test_even(): return 4
    @pytest.mark.gil_parity(modulus=3)
    def test_odd(): return 4
    @pytest.mark.gil_parity(modulo=3)
    def test_misspelt(): return 3
    @pytest.mark.gil_parity(modulus=1)
    def test_bad(): return 3
"""


def test_its_marker_runs_and_its_evidence_is_in_the_file_the_summary_and_junit(with_parity, pytester):
    result = with_parity(TESTS, "--strict-markers", "--gilcheck-json=e.json", "--junit-xml=j.xml", "--gilcheck-seed=7")
    result.assert_outcomes(passed=1, failed=3)
    result.stdout.fnmatch_lines(
        [
            "violated: the remainder is 1",
            "gilcheck: gil_parity: unknown argument 'modulo', did you mean 'modulus'[?] (*.py:6)",
            "gilcheck: modulus=1 (from marker gil_parity): expected a whole number, at least 2, at most 1,000,000,000 (*.py:8)",
            "holds *parity*0 left over*test_even",
            "violated *parity*1 left over*test_odd",
        ]
    )
    records = json.loads((pytester.path / "e.json").read_text())["records"]
    assert [(record["check"], record["verdict"]) for record in records][:2] == [("parity", "holds"), ("parity", "violated")]
    assert 'name="gilcheck.remainder" value="1"' in (pytester.path / "j.xml").read_text()


@pytest.mark.slow
def test_it_is_listed_selected_and_disabled_like_every_other_check(with_parity, pytester):
    with_parity("", "--markers").stdout.fnmatch_lines(["@pytest.mark.gil_parity(modulus=, seed=): fail if *"])
    with_parity(TESTS, "-m", "gilcheck", "-k", "even").assert_outcomes(passed=1, deselected=3)
    result = with_parity(TESTS.replace("return 4", "pass"), "--gilcheck-disable", "--gilcheck-json=e.json", "-k", "even or odd")
    result.assert_outcomes(passed=2, deselected=2)
    records = json.loads((pytester.path / "e.json").read_text())["records"]
    assert {record["verdict"] for record in records} == {"inconclusive"}
