"""Verdicts from made-up samples, in both directions and in neither."""

import pytest

from pytest_gilcheck.core.interpreter import FREE_THREADED
from pytest_gilcheck.latency.judgement import Observed, judge
from tests.latency.made import claim, conditions, probe, quiet, stalls

P99 = claim(p99=0.02)
MAX = claim(max=0.05)


def test_nothing_late_holds():
    judged = judge(P99, [probe(quiet()), probe(quiet(), name="echo")], conditions())
    assert judged.verdict == "holds"
    assert "heartbeat p99 0.1 ms (0.1 ms alone), echo p99 0.1 ms" in judged.reason


def test_stalls_beyond_the_claim_violate_it():
    judged = judge(P99, [probe(stalls(5, 100))], conditions())
    assert judged.verdict == "violated"
    assert "asked for p99 at most 20 ms" in judged.reason


def test_one_late_probe_is_enough_to_violate():
    assert judge(P99, [probe(quiet()), probe(stalls(5, 100), name="echo")], conditions()).verdict == "violated"


def test_every_probe_must_show_that_it_holds():
    judged = judge(P99, [probe(quiet()), probe(quiet(100), name="echo")], conditions())
    assert judged.verdict == "inconclusive"
    assert "100 moments of the echo" in judged.reason
    assert "about 299 are needed; pass --gilcheck-budget-scale=4 or budget=" in judged.reason


def test_stalls_within_the_claim_hold():
    assert judge(P99, [probe(stalls(30, 15))], conditions()).verdict == "holds"


def test_a_single_stall_is_no_p99_and_says_what_would_help():
    judged = judge(P99, [probe(stalls(1, 100))], conditions())
    assert judged.verdict == "inconclusive"
    assert "in 1 stall: too few" in judged.reason
    assert "--gilcheck-budget-scale=3" in judged.reason


def test_a_missing_core_is_never_blamed_on_the_workload():
    judged = judge(P99, [probe(stalls(5, 100, own=0.1))], conditions(workers=2))
    assert judged.verdict == "inconclusive"
    assert "2 busy threads on 2 cores" in judged.reason


def test_half_of_a_wait_may_be_a_missing_core_and_the_rest_still_too_much():
    assert judge(P99, [probe(stalls(5, 100, own=0.5))], conditions()).verdict == "violated"
    assert judge(P99, [probe(stalls(5, 30, own=0.5))], conditions()).verdict == "inconclusive"


def test_a_machine_that_is_late_by_itself_condemns_nothing():
    judged = judge(P99, [probe(stalls(5, 100), alone=stalls(2, 30))], conditions())
    assert judged.verdict == "inconclusive"
    assert "but up to 30 ms late without the workload too" in judged.reason


def test_a_neighbour_that_came_and_went_spoils_its_own_round_only():
    burst = Observed("heartbeat", [stalls(1, 40)] + [quiet(75)] * 3, [stalls(2, 100)] * 3)
    calm = conditions(oversleeps=[[0.0001] * 150] * 3, stolen=[0.0] * 3)
    assert judge(P99, [burst], calm).verdict == "violated"
    spoilt = Observed("heartbeat", [quiet(75), stalls(1, 40), quiet(75), stalls(1, 40)], [stalls(2, 100)] * 3)
    assert judge(P99, [spoilt], calm).verdict == "inconclusive"


def test_a_machine_that_is_late_by_itself_still_holds_what_it_shows():
    assert judge(P99, [probe(quiet(), alone=stalls(2, 30))], conditions()).verdict == "holds"


def test_a_client_that_oversleeps_meanwhile_condemns_nothing():
    judged = judge(P99, [probe(stalls(5, 100))], conditions(oversleeps=[[0.0001] * 145 + [0.06] * 5] * 2))
    assert judged.verdict == "inconclusive"
    assert "woke up to 60 ms late" in judged.reason


def test_time_that_a_hypervisor_stole_is_taken_off():
    assert judge(P99, [probe(stalls(5, 100))], conditions(stolen=[0.02, 0.03])).verdict == "violated"
    assert judge(P99, [probe(stalls(5, 100))], conditions(stolen=[0.25, 0.25])).verdict == "inconclusive"
    nearly_all = judge(P99, [probe(stalls(5, 100))], conditions(stolen=[0.2, 0.25]))
    assert nearly_all.verdict == "inconclusive"
    assert "the hypervisor took time" in nearly_all.reason


def test_a_max_holds_if_nothing_exceeds_it():
    assert judge(MAX, [probe(stalls(10, 40))], conditions()).verdict == "holds"
    assert judge(MAX, [probe(quiet(200))], conditions()).verdict == "inconclusive"


def test_a_max_is_violated_by_two_stalls_and_undecided_by_one():
    assert judge(MAX, [probe(stalls(2, 60))], conditions()).verdict == "violated"
    assert judge(MAX, [probe(stalls(1, 60))], conditions()).verdict == "inconclusive"


def test_both_limits_must_hold():
    both = claim(p99=0.02, max=0.05)
    assert judge(both, [probe(stalls(2, 60, of=20_000))], conditions()).verdict == "violated"
    assert judge(both, [probe(quiet())], conditions()).verdict == "holds"


@pytest.mark.parametrize(("workers", "verdict"), [(1, "violated"), (2, "inconclusive")])
def test_where_the_kernel_does_not_tell_only_a_spare_core_condemns(workers, verdict):
    judged = judge(P99, [probe(stalls(5, 100, counted=False))], conditions(workers=workers))
    assert judged.verdict == verdict
    assert ("does not tell whether a core was missing" in judged.reason) == (workers == 2)


def test_without_a_gil_what_is_left_is_named():
    judged = judge(P99, [probe(stalls(5, 100))], conditions(build=FREE_THREADED))
    assert judged.verdict == "violated"
    assert "stop-the-world" in judged.reason


def test_a_call_that_no_window_saw_whole_does_not_hold():
    judged = judge(P99, [probe(quiet())], conditions(covered=False))
    assert judged.verdict == "inconclusive"
    assert "a whole call" in judged.reason


def test_no_observation_at_all_is_inconclusive():
    assert judge(P99, [probe([])], conditions()).verdict == "inconclusive"
