"""Every cause that a check can report has a code, and every code a page."""

import re
from pathlib import Path

import pytest

from pytest_gilcheck import findings
from pytest_gilcheck.core.codes import CODES, GROUPS, SITE, code_of, help_line, page_address
from pytest_gilcheck.core.verdict import ClaimViolated, Judged, Verdict
from pytest_gilcheck.engine.outcome import Symptom
from pytest_gilcheck.fuzz.result import FuzzResult, Kind, LockSensitivity
from pytest_gilcheck.interrupt.trial import SignalOutcome
from pytest_gilcheck.latency import culprit
from pytest_gilcheck.scaling.diagnosis import Cause

ROOT = Path(__file__).parents[2]
PAGES = {path.stem for path in (ROOT / "pytest_gilcheck" / "findings" / "pages").iterdir()}


def fuzz_result(**given):
    return FuzzResult(
        **{"conclusion": Verdict.VIOLATED, "reason": "", "workload": "", "interpreter": None, "mode": "search"} | given
    )


@pytest.mark.parametrize("cause", Cause)
def test_every_cause_of_a_speedup_has_a_code(cause):
    assert CODES[code_of("scaling", cause)].name == cause


@pytest.mark.parametrize("outcome", SignalOutcome)
def test_every_outcome_of_a_signal_has_a_code(outcome):
    assert CODES[code_of("interrupt", outcome)].name == outcome


@pytest.mark.parametrize("kind", [culprit.IN_C, culprit.BYTECODE, culprit.EITHER])
def test_every_holder_of_the_gil_has_a_code(kind):
    assert CODES[code_of("latency", kind)].name == kind


@pytest.mark.parametrize("kind", [*Kind, None])
@pytest.mark.parametrize("symptom", [*Symptom, None])
def test_every_failure_of_a_schedule_has_a_code(symptom, kind):
    assert fuzz_result(symptom=symptom and str(symptom), kind=kind).code in CODES


def test_what_only_another_build_shows_and_what_is_no_race_have_codes_of_their_own():
    assert fuzz_result(symptom="invariant", kind=Kind.GIL_MASKED).code == "GC507"
    assert fuzz_result(symptom="deadlock", kind=Kind.GIL_MASKED).code == "GC503"
    assert fuzz_result(symptom="invariant", kind=Kind.C_LEVEL).code == "GC601"
    assert fuzz_result(symptom="invariant", kind=Kind.BREAKS_TODAY).code == "GC501"
    assert fuzz_result(conclusion=Verdict.INCONCLUSIVE, failure=KeyError()).code == "GC509"
    assert fuzz_result(conclusion=Verdict.INCONCLUSIVE, locks=(LockSensitivity("f.py:1", False, ""),)).code == "GC510"
    assert fuzz_result(conclusion=Verdict.HOLDS).code == ""


def test_a_cause_without_a_code_is_an_error_and_no_silence():
    with pytest.raises(KeyError):
        code_of("scaling", "the weather")


def test_every_code_has_one_page_and_every_page_a_code():
    assert set(CODES) == PAGES


@pytest.mark.parametrize("code", CODES)
def test_a_page_says_what_to_do_and_its_links_lead_to_codes(code):
    text = findings.explain(code.lower())
    assert text.startswith(f"# {code} `{CODES[code].name}`: ")
    assert "how to mend it" in text.lower() or "what to do" in text
    assert "](" not in text
    assert set(re.findall(r"GC\d{3}", text)) <= set(CODES)
    assert CODES[code].check == GROUPS[code[2]]


def test_a_code_that_does_not_exist_has_no_page():
    assert findings.explain("GC999") is None


def test_the_message_of_a_violated_claim_says_where_it_is_explained():
    result = fuzz_result(symptom="deadlock", reason="two threads wait")
    with pytest.raises(ClaimViolated) as caught:
        result.assert_holds()
    assert str(caught.value).endswith(help_line("GC503"))
    assert page_address("GC503").endswith("/how-to/findings/gc503.html")


def test_a_result_of_a_wing_without_findings_has_no_code_unless_it_is_undecided():
    assert Judged(conclusion=Verdict.INCONCLUSIVE, reason="").code == "GC901"
    assert Judged(conclusion=Verdict.VIOLATED, reason="").code == ""
    assert Judged(conclusion=Verdict.VIOLATED, reason="because").message() == "violated: because"


def test_the_pages_are_where_the_project_says_its_documentation_is():
    assert f'Documentation = "{SITE}/"' in (ROOT / "pyproject.toml").read_text()
