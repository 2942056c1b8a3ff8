"""What the terminal shows of a long report: what decides, within a number of lines; and of a short one, all."""

import json
import re

import pytest

from pytest_gilcheck.adaptors.short_reports import HEADS, LIMIT, STEP, SWITCH, shortened
from pytest_gilcheck.fuzz.explaining.rows import SourceRow, SwitchRow, columns_of

LOGGED = """
import logging
import pytest
from pytest_gilcheck import gilcheck as calls

log = logging.getLogger("app")

class Cache:
    def __init__(self):
        print("made anew")
        self.items, self.made = {}, 0

    def get(self, key):
        log.warning("%s is wanted", key)
        if key not in self.items:
            self.made += 1
            self.items[key] = object()
            print("it is made")
        return self.items[key]

@pytest.fixture
def cache():
    return Cache()

@pytest.mark.gil_fuzz(schedules=100, invariant=lambda cache: cache.made == 1)
def test_marked(cache):
    cache.get("a")

def test_called(gilcheck):
    print("before the check")
    log.warning("before the check")
    one = lambda cache: cache.get("a")
    result = gilcheck.fuzz(threads=[one, one], setup=Cache, invariant=lambda cache: cache.made == 1, schedules=100)
    print("after the check")
    result.assert_holds()
"""
SHORT = """
import pytest

@pytest.mark.gil_fuzz(schedules=100)
def test_short():
    assert Value.held == 0
    Value.held += 1
    Value.held -= 1

class Value:
    held = 0
"""
OUTPUT = {"it is made": 4, "a is wanted": 4, "before the check": 2, "after the check": 1}  # of one schedule of each test
OUTPUT |= {"made anew": 3}  # once by pytest's own set-up of the marked test


def reports_of(lines):
    """The lines below each title in the section of the failures, by the name of the test."""
    found, name = {}, ""
    for line in lines:
        if (title := re.fullmatch(r"_+ (\w+) _+", line)) is not None:
            name = title[1]
        elif line.startswith("="):
            name = ""
        elif name:
            found.setdefault(name, []).append(line)
    return found


def more(lines):
    """How many lines the report says that it leaves out, and where they are."""
    said = [re.fullmatch(r"  \.\.\. (\d+) more lines \((.+)\)", line) for line in lines]
    return [(int(each[1]), each[2]) for each in said if each is not None]


def times(lines, text):
    return sum(line.endswith(text) for line in lines)


def test_a_long_report_is_cut_to_what_decides_and_a_short_one_is_not(run, pytester):
    result = run(LOGGED + SHORT, "--gilcheck-json=evidence.json", "-p", "cacheprovider", name="test_it")
    result.assert_outcomes(failed=3)
    found = reports_of(result.outlines)
    for name in ("test_marked", "test_called"):
        report = found[name]
        ((left_out, where),) = more(report)
        assert len(report) <= LIMIT + 1, "with the line that says so"
        assert where == "full report in .pytest_cache/d/gilcheck/reports.txt, or with -vv"
        text = "\n".join(report)
        for needed in ("violated BREAKS-TODAY: ", "replay: gilcheck replay gil1_", "-- T0 is preempted: T1 runs --", "decided by "):
            assert needed in text
        assert times(report, "-- T0 is preempted: T1 runs --") == 1
        titles = [line for line in report if line.startswith("-----")]
        assert titles[0].strip("- ") == "Captured gilcheck call", "what the check says comes first"
        gaps = sum(line == "      ..." for line in report)
        assert left_out >= max(1, gaps)
    assert more(found["test_short"]) == []
    whole = (pytester.path / ".pytest_cache" / "d" / "gilcheck" / "reports.txt").read_text()
    records = json.loads((pytester.path / "evidence.json").read_text())["records"]
    for record in records[:2]:
        story = record["details"]["story"]
        assert story in record["details"]["text"]
        assert story in whole, "the whole report is kept"
        assert story not in "\n".join(result.outlines)
    assert "test_short" not in whole
    for wanted, count in OUTPUT.items():
        assert times(whole.splitlines(), wanted) == count


@pytest.mark.slow
def test_nothing_is_cut_if_one_asks_for_everything(run):
    report = reports_of(run(LOGGED, "-vv", "-k", "test_called", name="test_it").outlines)["test_called"]
    assert more(report) == []
    assert len(report) > LIMIT
    assert times(report, "it is made") > OUTPUT["it is made"], "with the output of all schedules"


@pytest.mark.slow
def test_a_report_that_cannot_be_kept_names_the_options(run, pytester):
    report = reports_of(run(LOGGED, "-k", "test_called", name="test_it").outlines)["test_called"]
    ((_, where),) = more(report)
    assert where == "full report with -vv, or in --gilcheck-json=FILE"
    assert not (pytester.path / ".pytest_cache").exists(), "nothing is written where pytest was told to keep nothing"


STORY = [
    "      T0      T1",
    *(
        line
        for number in range(20)
        for line in (f"{number:4}  step_{number}()      test_it.py:{number}", f"        reads {number}")
    ),
    "      -- T0 is preempted: T1 runs --",
    *(f"  {number:2}          other_{number}()       test_it.py:{number}" for number in range(20, 40)),
    "      -- T1 ends or waits: T0 runs --",
    "  40  last()      test_it.py:99",
    "  decided by  T1 reads it at /some/where/test_it.py:33 (f)",
    "       before T0 writes it at /some/where/test_it.py:5 (f); a schedule that passes has them in the opposite order",
    "  explored    1 schedule",
]
DECIDES = [*STORY[-3:], STORY[0], "  40  last()      test_it.py:99"]


@pytest.mark.parametrize("room", [0, 10, 30, 60])
def test_the_lines_that_decide_are_never_cut_and_the_others_are_counted(room):
    log = [f"line {number}" for number in range(1000)]
    sections = [("Captured log call", "\n".join(log)), ("Captured gilcheck call", "\n".join(STORY))]
    found, left_out = shortened(sections, room)
    assert found[0][0] == "Captured gilcheck call"
    texts = [line for _, text in found for line in text.split("\n")]
    kept = [line for line in texts if line != "      ..."]
    assert left_out == len(log) + len(STORY) - len(kept)
    for needed in (
        *DECIDES,
        "  19  step_19()      test_it.py:19",
        "        reads 19",
        "  20          other_20()       test_it.py:20",
    ):
        assert needed in texts
    assert [line for line in [*STORY, *log] if line in kept] == kept, "in their order"
    if room >= 30:
        assert room - 3 <= len(texts) + len(found) <= room
        assert "   5  step_5()      test_it.py:5" in kept, "the steps of the pair that decides"
        assert "  33          other_33()       test_it.py:33" in kept


def test_of_very_many_switches_the_preemptions_stay():
    story = ["      T0      T1"]
    for number in range(0, 200, 2):
        why = "is preempted" if number == 100 else "ends or waits"
        story += [f"{number:4}  step_{number}()    a.py:1", f"      -- T0 {why}: T1 runs --"]
        story += [f"{number + 1:4}          step_{number + 1}()    a.py:1", "      -- T1 ends or waits: T0 runs --"]
    ((_, text),), left_out = shortened([("Captured gilcheck call", "\n".join(story))], 40)
    kept = text.split("\n")
    assert len(kept) + 1 <= 40
    assert left_out == len(story) - sum(line != "      ..." for line in kept)
    place = kept.index("      -- T0 is preempted: T1 runs --")
    assert kept[place - 1 : place + 2] == story[201:204]


def test_of_captured_output_the_end_stays():
    found, left_out = shortened(
        [("Captured gilcheck call", "  rate  1"), ("Captured stdout call", "\n".join(map(str, range(99))))], 20
    )
    assert found[1][1].split("\n")[-1] == "98"
    assert left_out == 99 - 17


def test_what_fits_is_not_touched():
    sections = [("Captured stdout call", "before\n"), ("Captured gilcheck call", "\n".join(STORY))]
    assert shortened(sections, len(STORY) + 3) == (sections, 0)
    assert shortened(sections, len(STORY) + 2)[1] > 0


def test_of_two_checks_the_one_that_failed_is_shown():
    held = "\n".join(["other: holds: nothing broke", *(f"  figure {number}" for number in range(50))])
    for sections in ([held, "\n".join(STORY)], ["\n".join(STORY), held]):
        found, _ = shortened([("Captured gilcheck call", text) for text in sections], 30)
        texts = "\n".join(text for _, text in found)
        assert all(line in texts for line in DECIDES)
        assert "figure" not in texts


def test_the_lines_of_a_story_are_known_by_their_form_as_its_writer_makes_them():
    rows = [
        SourceRow(0, 7, "x = 1", ["writes x"], "a.py", 3),
        SwitchRow(0, 1, preempts=True),
        SourceRow(1, 12_345, "y", [], "b.py", 9),
    ]
    heads, first, note, switch, second = columns_of(rows, 2)
    forms = [[bool(form.match(line)) for form in (HEADS, STEP, SWITCH)] for line in (heads, first, note, switch, second)]
    assert forms == [[True, False, False], [False, True, False], [False] * 3, [False, False, True], [False, True, False]]
