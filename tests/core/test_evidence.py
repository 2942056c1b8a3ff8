import json
import math

import pytest

from pytest_gilcheck.core import evidence
from pytest_gilcheck.core.verdict import ClaimViolated, Inconclusive, Judged, Verdict


def entry(subject="t", verdict=Verdict.HOLDS, recorded="2026-01-01T00:00:00Z", **figures):
    made = evidence.record("scaling", subject, Judged(verdict=verdict, reason="because"), {"text": "at least 1x"}, figures)
    return made | {"recorded": recorded}


def test_what_is_written_is_what_is_read(tmp_path):
    records = [entry(speedup=1.5), entry("u", Verdict.INCONCLUSIVE, speedup=None)]
    evidence.write(tmp_path / "e.json", records)
    assert evidence.read(tmp_path / "e.json") == records


def test_a_failed_write_leaves_the_old_file_and_no_litter(tmp_path):
    path = tmp_path / "e.json"
    evidence.write(path, [entry()])
    before = path.read_text()
    with pytest.raises(ValueError, match="JSON"):
        evidence.write(path, [entry(speedup=math.inf)])
    assert path.read_text() == before
    assert list(tmp_path.iterdir()) == [path]


@pytest.mark.parametrize("text", ["not json", "[]", '{"schema": 99, "records": []}', '{"schema": 1}'])
def test_a_file_that_is_not_evidence_is_refused_by_name(tmp_path, text):
    path = tmp_path / "other.json"
    path.write_text(text)
    with pytest.raises(evidence.BadEvidence, match=r"other\.json"):
        evidence.read(path)


def test_merging_keeps_the_newest_of_each_check_and_every_interpreter(tmp_path):
    old, new = entry(recorded="2026-01-01T00:00:00Z", speedup=1), entry(recorded="2026-02-01T00:00:00Z", speedup=2)
    elsewhere = json.loads(json.dumps(old))
    elsewhere["interpreter"]["build"] = "another"
    evidence.write(tmp_path / "a.json", [new, elsewhere])
    evidence.write(tmp_path / "b.json", [old])
    assert evidence.merge([tmp_path / "a.json", tmp_path / "b.json"]) == [new, elsewhere]


def test_only_a_claim_that_holds_passes_assert_holds():
    Judged(verdict=Verdict.HOLDS, reason="").assert_holds()
    with pytest.raises(ClaimViolated):
        Judged(verdict=Verdict.VIOLATED, reason="").assert_holds()
    with pytest.raises(Inconclusive):
        Judged(verdict=Verdict.INCONCLUSIVE, reason="").assert_holds()


def test_only_a_violated_claim_passes_assert_violated():
    Judged(verdict=Verdict.VIOLATED, reason="").assert_violated()
    with pytest.raises(ClaimViolated):
        Judged(verdict=Verdict.HOLDS, reason="").assert_violated()
    with pytest.raises(Inconclusive):
        Judged(verdict=Verdict.INCONCLUSIVE, reason="").assert_violated()
