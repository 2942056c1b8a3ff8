"""Times of files are real and clocks are virtual: what compares them is not explorable, and what does not is."""

import os
import time

import pytest

from .programs import Counter, add_locked, counted, is_two


def test_a_program_that_compares_the_time_of_a_file_with_the_clock_is_not_explorable(tmp_path):
    def write_late(counter):
        time.sleep(30)
        path = tmp_path / "written"
        path.write_text("now")
        assert abs(time.time() - path.stat().st_mtime) < 10
        add_locked(counter)

    result = counted(write_late, write_late, setup=Counter, invariant=is_two, schedules=50)
    assert result.verdict == "inconclusive"
    assert result.why == "not explorable"
    assert result.told.startswith("every sequential order fails: AssertionError")
    assert "times of files, which are real" in result.reason


def test_a_program_that_sets_the_time_of_its_file_holds(tmp_path):
    def write_late(counter):
        time.sleep(30)
        path = tmp_path / "written"
        with counter.lock:
            path.write_text("now")
            os.utime(path, (time.time(),) * 2)
            assert abs(time.time() - path.stat().st_mtime) < 10
            counter.value += 1

    counted(write_late, write_late, setup=Counter, invariant=is_two, schedules=50).assert_holds()


def test_a_program_that_fails_at_once_fails_with_its_own_error_although_it_mentions_times_of_files(tmp_path):
    def fail(counter):
        time.sleep(0.01)
        assert tmp_path.stat().st_mtime < 0, "too late"

    with pytest.raises(AssertionError, match="too late"):
        counted(fail, fail, setup=Counter, invariant=is_two, schedules=50)
