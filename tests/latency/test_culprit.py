"""What held the GIL is named by its source, and told from bytecode by how long it keeps the GIL with a short switch interval."""

import json
from types import SimpleNamespace

import pytest

from pytest_gilcheck.adaptors import markers
from pytest_gilcheck.core.gil_holders import HolderPlace, Holding
from pytest_gilcheck.latency.culprit import BYTECODE, EITHER, IN_C, culprits, expression

BIG = [0]
HERE = __file__


def work():
    total = sum(range(1_000_000))
    return total in BIG


FIRST = work.__code__.co_firstlineno
CALL = HolderPlace(HERE, FIRST + 1, "work", (12, 33))
CONTAINS = HolderPlace(HERE, FIRST + 2, "work")


def named(*waits, at=CALL, workers=1, holds=None):
    [culprit] = culprits([Holding(at, 1.0, waits)], 0.005, workers, work, holds=holds and {at: holds})
    return culprit


def test_a_call_is_named_as_it_stands_in_the_source():
    assert named(0.016).expression == "sum(range(1_000_000))"


def test_what_is_no_call_is_named_by_its_line():
    assert named(0.016, at=CONTAINS).expression == "return total in BIG"


@pytest.mark.parametrize("wrapped", [False, True])
def test_the_body_of_a_marked_test_is_named_and_not_our_call_of_it(wrapped):
    async def body():
        pass

    fixtures = SimpleNamespace(argnames=[])
    ours = markers._body(SimpleNamespace(obj=body, instance=None, _fixtureinfo=fixtures, funcargs={}))
    ours = markers._carrying_outcomes(ours) if wrapped else ours
    [culprit] = culprits([Holding(HolderPlace(None), 1.0, (0.016,))], 0.005, 1, ours)
    assert culprit.expression == "the last operation of the workload"
    assert culprit.line.startswith(f"{HERE}:{body.__code__.co_firstlineno} (")


def test_the_report_says_where_and_how():
    text = str(named(0.016, 0.0162, 0.0158))
    assert text.startswith("sum(range(1_000_000)) at ")
    assert "test_culprit.py:" in text
    assert text.endswith("(work), a C call that holds the GIL 16 ms at a time")


HEX = (0.0041, 0.0043, 0.0042)  # bytes(n).hex() of 3 MB: each sample sees nearly the whole call
LOOP = (0.00022, 0.00024, 0.00025)  # while i < n: i += 1, with a switch interval of 0.2 ms


@pytest.mark.parametrize("waits", [[0.0052] * 9, [0.0078] * 9, [0.02] * 9], ids=["interval", "call", "longer"])
@pytest.mark.parametrize(
    ("holds", "kind"), [(HEX, IN_C), (LOOP, BYTECODE), ((0.0007,) * 3, EITHER)], ids=["hex", "loop", "between"]
)
def test_the_length_of_the_waits_does_not_matter_where_samples_tell(waits, holds, kind):
    assert named(*waits, holds=holds).kind == kind


def test_samples_of_another_place_tell_nothing():
    [culprit] = culprits([Holding(CALL, 1.0, (0.0078,) * 9)], 0.005, 1, work, holds={CONTAINS: LOOP})
    assert (culprit.kind, culprit.kept) == (EITHER, None)


def test_samples_of_the_last_operation_are_those_of_its_slowest_line():
    end = HolderPlace(None)
    [culprit] = culprits([Holding(end, 1.0, (0.0078,) * 9)], 0.005, 1, work, holds={end: HEX})
    assert (culprit.kind, culprit.kept) == (IN_C, 0.0042)


@pytest.mark.parametrize(
    ("waits", "workers", "kind"),
    [([0.005] * 9, 1, EITHER), ([0.005] * 9 + [0.08], 1, EITHER), ([0.016] * 9, 1, IN_C), ([0.012] * 9, 2, EITHER)],
)
def test_without_samples_waits_well_above_the_switch_interval_are_a_c_call_and_shorter_ones_either(waits, workers, kind):
    assert named(*waits, workers=workers).kind == kind
    assert named(*waits, workers=workers, holds=HEX[:2]).kind == kind, "two samples are too few"


def test_the_report_names_both_where_it_cannot_tell():
    text = str(named(*[0.005] * 9))
    assert text.endswith("(work), bytecode, which releases the GIL on request; or a C call that does not (too few samples tell)")
    assert "keeps the GIL for 0.7 ms" in str(named(0.005, holds=(0.0007,) * 3))


def test_the_report_says_how_long_a_c_call_keeps_the_gil_and_that_no_interval_helps():
    text = str(named(0.0078, 0.0078, holds=HEX))
    assert text.endswith("(work), a C call that holds the GIL 4.2 ms at a time, whatever the switch interval")


def test_bytecode_that_keeps_the_gil_for_the_switch_interval_of_the_workload_is_no_c_call():
    holding = Holding(CALL, 1.0, (0.4,))
    [culprit] = culprits([holding], 2.0, 1, work, None, 0.005, {CALL: LOOP})
    assert culprit.kind == BYTECODE
    assert str(culprit).endswith("on request after the 2000 ms that the workload has given to sys.setswitchinterval")
    [usual] = culprits([holding], 0.005, 1, work, None, 0.005)
    assert (usual.kind, usual.interval) == (IN_C, None)


def test_places_of_one_line_are_one_and_the_longest_waited_for_comes_first():
    holdings = [Holding(CALL, 0.3, (0.1,)), Holding(CONTAINS, 0.4, (0.2,)), Holding(CALL, 0.3, (0.3,))]
    first, second = culprits(holdings, 0.005, 1, work)
    assert (first.expression, first.share, first.longest) == ("sum(range(1_000_000))", pytest.approx(0.6), 0.3)
    assert second.expression == "return total in BIG"


def test_the_last_operation_of_the_workload_is_named_by_the_workload():
    [culprit] = culprits([Holding(HolderPlace(None), 1.0, (0.1,))], 0.005, 1, work)
    assert "test_culprit.py:" in culprit.line
    assert "last operation" in str(culprit)


def test_a_place_with_a_name_comes_before_one_without_unless_it_hardly_counts():
    def first(share):
        holdings = [Holding(HolderPlace(None), 1 - share, (0.1,)), Holding(CALL, share, (0.1,))]
        return culprits(holdings, 0.005, 1, work)[0].expression

    assert first(0.3) == "sum(range(1_000_000))"
    assert first(0.1) == "the last operation of the workload"


def test_a_workload_without_code_has_its_name():
    [culprit] = culprits([Holding(HolderPlace(None), 1.0, (0.1,))], 0.005, 1, sum)
    assert culprit.line == "sum"


def test_code_without_a_source_has_no_expression():
    assert expression(HolderPlace("<nowhere>", 1, "f", (0, 3))) is None


def test_columns_count_bytes(tmp_path):
    file = tmp_path / "umlaut.py"
    file.write_text('x = "äö", sum([1])\n', encoding="utf-8")
    assert expression(HolderPlace(str(file), 1, "<module>", (12, 20))) == "sum([1])"


def test_the_figures_are_json():
    json.dumps(named(0.016).figures(), allow_nan=False)
