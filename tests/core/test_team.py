import os
import subprocess
import sys
import threading
import time
import warnings

import pytest

from pytest_gilcheck.core.errors import BadValue
from pytest_gilcheck.core.team import Lap, Team, TeamHung, ThreadTiming


def nothing():
    pass


def raising(error):
    def call():
        raise error

    return call


@pytest.mark.parametrize(
    "error", [SystemExit(3), KeyboardInterrupt(), ValueError("x"), UserWarning("as error"), pytest.skip.Exception("skipped here")]
)
def test_whatever_a_thread_raises_comes_out_with_its_thread_and_lap(error):
    with Team(3) as team, pytest.raises(BaseExceptionGroup) as caught:
        team.lap([nothing, raising(error), nothing], limit=10, label="round 7, threaded")
    assert caught.value.exceptions == (error,)
    assert error.__notes__[-1] == "raised in thread 2 of 3, round 7, threaded"


def test_the_exceptions_of_all_threads_come_out_not_just_the_first():
    errors = [ValueError("a"), SystemExit(1), KeyError("c")]
    with Team(3) as team, pytest.raises(BaseExceptionGroup) as caught:
        team.lap([raising(error) for error in errors], limit=10, label="lap")
    assert list(caught.value.exceptions) == errors


def test_a_warning_turned_into_an_error_in_a_thread_is_not_lost():
    def warn():
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            warnings.warn("deprecated", DeprecationWarning, stacklevel=1)

    with Team(1) as team, pytest.raises(BaseExceptionGroup) as caught:
        team.lap([warn], limit=10, label="lap")
    assert isinstance(caught.value.exceptions[0], DeprecationWarning)


def test_a_team_works_on_after_a_lap_that_raised():
    with Team(2) as team:
        with pytest.raises(BaseExceptionGroup):
            team.lap([raising(ValueError())] * 2, limit=10, label="first")
        assert len(team.lap([nothing] * 2, limit=10, label="second").timings) == 2


def spin_for_good():
    while True:
        time.sleep(0.001)


def test_a_call_that_never_returns_is_ended_with_its_stack():
    with Team(2) as team, pytest.raises(TeamHung) as caught:
        team.lap([nothing, spin_for_good], limit=0.3, label="round 1, threaded")
    assert "round 1, threaded: no end after 0.3 s in thread 'gilcheck-2'" in str(caught.value)
    assert "in spin_for_good" in caught.value.stacks
    assert caught.value.alive == 0


def test_a_thread_that_swallows_everything_is_reported_as_still_alive():
    release = threading.Event()

    def swallow():
        while not release.is_set():
            try:
                time.sleep(0.01)
            except BaseException:
                continue

    with Team(1) as team:
        with pytest.raises(TeamHung, match="1 could not be ended") as caught:
            team.lap([swallow], limit=0.3, label="lap")
        release.set()
    assert caught.value.alive == 1


def test_a_hang_beside_an_exception_reports_both():
    with Team(2) as team, pytest.raises(BaseExceptionGroup) as caught:
        team.lap([raising(SystemExit(1)), spin_for_good], limit=0.3, label="lap")
    assert [type(error) for error in caught.value.exceptions] == [SystemExit, TeamHung]


def test_a_lap_starts_its_threads_together_and_in_turn_does_not():
    both = threading.Barrier(2)
    with Team(2) as team:
        together = team.lap([lambda: both.wait(60)] * 2, limit=60, label="lap").timings
        sequential = team.run_sequentially(lambda: None, limit=60, label="lap").timings
    assert max(s.start for s in together) < min(s.end for s in together)
    assert sequential[0].end <= sequential[1].start


def test_the_wall_of_a_lap_is_its_span_and_in_turn_the_sum_without_gaps():
    timings = (ThreadTiming(0, 10, 9, 1), ThreadTiming(5, 20, 14, 2))
    assert Lap(timings).wall == 20
    assert Lap(timings, sequential=True).wall == 25
    assert Lap(timings).denied == pytest.approx(3 / 25)
    assert Lap((ThreadTiming(0, 10, 9, None),)).denied is None


def test_more_threads_than_the_system_allows_are_refused_before_any_starts():
    before = threading.active_count()
    with pytest.raises(BadValue, match="threads=1000000000"):
        Team(1_000_000_000)
    assert threading.active_count() == before


def test_threads_are_gone_after_close():
    team = Team(4)
    team.close()
    assert not [thread for thread in threading.enumerate() if thread.name.startswith("gilcheck-")]


@pytest.mark.skipif(sys.platform != "linux", reason="the kernel's own affinity call")
def test_a_lap_leaves_its_threads_free_to_run_on_any_core():
    import os

    seen = []
    with Team(2) as team:
        team.lap([lambda: seen.append(os.sched_getaffinity(0))] * 2, limit=10, label="lap")
    assert seen == [os.sched_getaffinity(0)] * 2


def test_the_cpu_time_of_other_threads_and_of_child_processes_is_counted_beside_that_of_the_team():
    def in_another_thread():
        other = threading.Thread(target=spin)
        other.start()
        other.join()

    def in_a_child():
        if hasattr(os, "fork"):
            subprocess.run([sys.executable, "-S", "-c", SPIN], check=True)

    def spin():
        exec(SPIN)

    with Team(1) as team:
        spent = {
            call: team.run_sequentially(call, limit=60, label="a lap").elsewhere for call in (in_another_thread, in_a_child, spin)
        }
    assert spent[in_another_thread] > 20_000_000
    assert spent[in_a_child] > 20_000_000
    assert spent[spin] < 15_000_000


@pytest.mark.skipif(not hasattr(os, "waitid"), reason="the system does not tell")
def test_a_lap_knows_of_a_child_that_lives_on_and_leaves_it_to_its_parent():
    with Team(2) as team:
        with subprocess.Popen(["sleep", "30"]) as child:
            beside = team.lap([time.time] * 2, limit=60, label="lap"), team.run_sequentially(time.time, limit=60, label="lap")
            child.terminate()
        after = team.lap([time.time] * 2, limit=60, label="lap")
    assert [lap.children for lap in (*beside, after)] == [True, True, False]
    assert child.returncode == -15


SPIN = "import time\nwhile time.thread_time() < 0.03: pass"
