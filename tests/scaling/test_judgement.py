"""Each rule in both directions, on rounds made up for it."""

from dataclasses import replace

import pytest

from pytest_gilcheck.core.held_fraction import Held
from pytest_gilcheck.scaling.claim import claim
from pytest_gilcheck.scaling.judgement import judge, refuted_by_held
from pytest_gilcheck.scaling.reading import read_rounds

from ..given import given as arguments
from .made import pair, rounds


def judged(given, measured, *, held=None, threads=2, cores=2, build="gil"):
    fraction = None if held is None else Held(held, 40, 0.005, {})
    return judge(
        claim(arguments("scaling", **given), threads=threads, build=build), read_rounds(measured, threads, cores), fraction
    )


FASTER = {"min_speedup": 1.5}
NO_SLOWER = {"max_slowdown": 1.25}
EFFICIENT = {"efficiency": 0.7}


def test_three_clean_high_rounds_prove_a_speedup_and_two_do_not():
    assert judged(FASTER, rounds([1.9, 1.8, 1.95])).verdict == "holds"
    assert judged(FASTER, rounds([1.9, 1.8])).verdict == "inconclusive"


def test_high_rounds_prove_a_speedup_even_when_disturbed():
    assert judged(FASTER, rounds([1.9, 1.8, 1.7], denied=0.3)).verdict == "holds"


@pytest.mark.parametrize(
    ("share", "reference", "verdict"), [(0.5, 1.3, "inconclusive"), (0.5, 1.95, "violated"), (0.02, 1.6, "violated")]
)
def test_work_of_other_threads_or_processes_refutes_only_where_the_reference_had_its_cores(share, reference, verdict):
    def elsewhere(each):
        laps = (each.work.sequential, each.work.threaded)
        used = [replace(lap, elsewhere=int(share * sum(timing.wall for timing in lap.timings))) for lap in laps]
        return replace(each, work=replace(each.work, sequential=used[0], threaded=used[1]))

    measured = [elsewhere(each) for each in rounds([1.0, 1.02, 0.98], reference=reference, cpu=0.01)]
    assert judged(FASTER, measured, build="free-threaded").verdict == verdict


@pytest.mark.parametrize(
    ("children", "computes", "reference", "verdict"),
    [
        (True, 0.01, 1.3, "inconclusive"),
        (True, 0.01, 1.95, "violated"),
        (True, 1.0, 1.3, "violated"),
        (False, 0.01, 1.3, "violated"),
    ],
)
def test_threads_that_wait_beside_a_living_child_refute_only_where_the_reference_had_its_cores(
    children, computes, reference, verdict
):
    """The child may do the work, without a core; if a thread alone computes all the time, it does that by itself."""

    def beside(each):
        alone = each.work.sequential
        timings = tuple(replace(timing, cpu=int(computes * timing.wall)) for timing in alone.timings)
        alone = replace(alone, timings=timings, children=children)
        return replace(each, work=replace(each.work, sequential=alone, threaded=replace(each.work.threaded, children=children)))

    measured = [beside(each) for each in rounds([1.0, 1.02, 0.98], reference=reference, cpu=0.01)]
    assert judged(FASTER, measured, build="free-threaded").verdict == verdict


def test_a_minority_of_high_rounds_proves_nothing():
    assert judged(FASTER, rounds([1.9, 1.8, 1.7, 1.0, 1.0, 1.0])).verdict == "inconclusive"


def test_time_the_sequential_lap_was_denied_a_core_is_no_speedup():
    assert judged(FASTER, rounds([1.9] * 5, denied_sequential=0.5)).verdict != "holds"


def test_clean_low_rounds_refute_a_speedup_and_disturbed_ones_do_not():
    assert judged(FASTER, rounds([1.0, 1.02, 0.99], cpu=0.5)).verdict == "violated"
    assert judged(FASTER, rounds([1.0, 1.02, 0.99] * 3, denied=0.5)).verdict == "inconclusive"


def test_low_rounds_do_not_refute_when_the_machine_gave_the_reference_no_more():
    for shared_core in (
        judged(FASTER, rounds([1.3] * 6, reference=1.3, cpu=1.0)),
        judged(FASTER, rounds([1.1] * 6, reference=1.4, cpu=1.0)),
    ):
        assert shared_core.verdict == "inconclusive"
        assert "machine too busy: the reference kernel reached 1." in shared_core.reason
        assert "retry on an idle machine or pass --gilcheck-budget-scale=3" in shared_core.reason


def test_on_hyperthreads_a_speedup_far_below_the_ceiling_is_refuted_all_the_same():
    assert (
        judged({"min_speedup": 3}, rounds([1.2] * 4, threads=8, reference=4.8, cpu=1.0), threads=8, cores=8).verdict == "violated"
    )
    assert (
        judged({"min_speedup": 3}, rounds([2.6] * 4, threads=8, reference=4.8, cpu=1.0), threads=8, cores=8).verdict
        == "inconclusive"
    )


def test_threads_that_are_blocked_are_to_blame_even_when_the_machine_gave_the_reference_no_more():
    one_physical_core = {"reference": 1.2}
    assert judged(FASTER, rounds([1.0] * 4, cpu=0.5, **one_physical_core)).verdict == "violated"
    assert judged(FASTER, rounds([1.0] * 4, cpu=1.0, **one_physical_core)).verdict == "inconclusive"


def test_time_stolen_from_the_machine_looks_blocked_in_the_reference_too_and_condemns_nobody():
    stolen = [replace(r, reference=pair(1.0, unit=6, cpu=0.5)) for r in rounds([1.0] * 6, cpu=0.5)]
    assert judged(FASTER, stolen).verdict == "inconclusive"


def test_a_speedup_inside_the_dead_zone_is_not_called():
    near = judged(FASTER, rounds([1.45] * 8))
    assert near.verdict == "inconclusive"
    assert "too close" in near.reason


def test_the_held_fraction_refutes_a_speedup_without_a_clean_round():
    assert judged(FASTER, rounds([1.0], denied=0.5), held=0.99).verdict == "violated"
    assert judged(FASTER, rounds([1.0], denied=0.5), held=0.6).verdict == "inconclusive"


def test_the_held_fraction_never_proves_a_speedup():
    assert judged(FASTER, rounds([1.0], denied=0.5), held=0.0).verdict == "inconclusive"


def test_the_held_fraction_alone_refutes_only_an_absolute_claim_it_contradicts():
    held = Held(0.99, 40, 0.005, {})
    assert refuted_by_held(claim(arguments("scaling", **FASTER), threads=2, build="gil"), held)
    assert not refuted_by_held(claim(arguments("scaling", **NO_SLOWER), threads=2, build="gil"), held)
    assert not refuted_by_held(claim(arguments("scaling", **EFFICIENT), threads=2, build="gil"), held)
    assert not refuted_by_held(claim(arguments("scaling", **FASTER), threads=2, build="gil"), Held(0.99, 40, 0.005, {}, "unusable"))


def test_no_slowdown_is_proved_and_refuted_by_clean_rounds():
    assert judged(NO_SLOWER, rounds([0.97, 0.99, 1.0], cpu=0.5)).verdict == "holds"
    assert judged(NO_SLOWER, rounds([0.5, 0.52, 0.49], cpu=0.5)).verdict == "violated"


def test_no_slowdown_is_never_proved_by_disturbed_rounds_because_they_hide_contention():
    assert judged(NO_SLOWER, rounds([1.0] * 20, denied=0.4)).verdict == "inconclusive"


def test_on_one_core_no_slowdown_is_refuted_but_not_proved():
    alone = judged(NO_SLOWER, rounds([1.0] * 6, denied=0.5, cpu=0.5), cores=1)
    assert alone.verdict == "inconclusive"
    assert alone.hopeless
    assert "never run at the same time" in alone.reason
    spinning_for_the_gil = rounds([0.5] * 6, denied=0.02, cpu=0.5)
    assert judged(NO_SLOWER, spinning_for_the_gil, cores=1).verdict == "violated"


def test_waiting_needs_no_core_so_one_core_proves_it():
    assert judged(NO_SLOWER, rounds([1.99] * 3, cpu=0.01), cores=1).verdict == "holds"
    assert judged(FASTER, rounds([1.99] * 3, cpu=0.01), cores=1).verdict == "holds"


def test_too_few_cores_for_a_claim_end_the_check_early_and_inconclusive():
    pinned = judged(FASTER, rounds([1.0] * 3, denied=0.5, cpu=0.5, reference=1.0), cores=1)
    assert (pinned.verdict, pinned.hopeless) == ("inconclusive", True)
    assert "only 1 of the 2 cores" in pinned.reason


def test_efficiency_is_judged_by_the_ceiling_of_the_same_rounds():
    assert judged(EFFICIENT, rounds([1.5] * 3, reference=1.9)).verdict == "holds"
    assert judged(EFFICIENT, rounds([1.1] * 5, reference=1.9)).verdict == "violated"


def test_a_low_ceiling_on_a_disturbed_machine_does_not_make_serial_code_efficient():
    assert judged(EFFICIENT, rounds([1.0] * 5, denied=0.5, reference=1.0, reference_denied=0.5)).verdict == "inconclusive"


def test_efficiency_means_nothing_where_the_ceiling_is_one():
    one_core = judged(EFFICIENT, rounds([1.0] * 5, cpu=0.5, reference=1.0), cores=1)
    assert one_core.verdict == "inconclusive"
    assert "serial code would reach 70% of that" in one_core.reason


def test_without_run_queue_times_the_reference_kernel_says_which_rounds_count():
    assert judged(FASTER, rounds([1.0] * 3, counted=False, reference=1.9)).verdict == "violated"
    assert judged(FASTER, rounds([1.0] * 6, counted=False, reference=1.2)).verdict == "inconclusive"
    assert judged(NO_SLOWER, rounds([1.0] * 3, counted=False, reference=1.9)).verdict == "holds"
    assert judged(NO_SLOWER, rounds([1.0] * 6, counted=False, reference=1.2)).verdict == "inconclusive"


@pytest.mark.parametrize("growing", [True, False])
def test_a_workload_that_changes_speed_is_inconclusive_whatever_its_speedup(growing):
    units = [20, 25, 60, 80] if growing else [80, 60, 25, 20]
    measured = [rounds([1.9], unit=unit)[0] for unit in units]
    changed = judged(FASTER, measured)
    assert changed.verdict == "inconclusive"
    assert "changed speed" in changed.reason


def test_a_machine_that_changes_speed_is_not_blamed_on_the_workload():
    fast = rounds([1.9] * 4)
    slow = [replace(r, reference=pair(1.9, unit=18, cpu=1.0)) for r in rounds([1.9] * 4, unit=60)]
    assert judged(FASTER, fast + slow).verdict == "holds"


def test_waiting_that_takes_as_long_as_ever_has_not_changed_speed_when_the_machine_has():
    steady = rounds([1.9] * 4, cpu=0.01)
    slower_machine = [replace(r, reference=pair(1.9, unit=18, cpu=1.0)) for r in steady]
    assert judged(FASTER, steady + slower_machine).verdict == "holds"


def test_four_threads_on_two_cores_are_undisturbed_but_not_uncontended():
    shared = rounds([1.9] * 5, threads=4, denied=0.45, cpu=0.49)
    assert judged({"min_speedup": 3}, shared, threads=4).verdict == "inconclusive"
    assert judged(NO_SLOWER, shared, threads=4).verdict == "holds"


def test_a_round_whose_sequential_lap_was_denied_a_core_is_not_undisturbed():
    assert len(read_rounds(rounds([1.0] * 4), 2, 2).undisturbed) == 4
    assert read_rounds(rounds([1.0] * 4, denied_sequential=0.5), 2, 2).undisturbed == ()
