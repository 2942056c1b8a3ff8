import sys

import pytest

from pytest_gilcheck.core import interpreter
from pytest_gilcheck.core.cores import CAN_PIN, affinity, pinned, usable_cores
from pytest_gilcheck.core.errors import BadValue


def test_the_build_is_what_runs_now_and_not_what_was_compiled():
    enabled = getattr(sys, "_is_gil_enabled", lambda: True)()
    assert interpreter.build() == ("gil" if enabled else "free-threaded")
    assert interpreter.Interpreter.current().build == interpreter.build()


def test_a_free_threaded_build_with_its_gil_on_says_so():
    current = interpreter.Interpreter.current()
    if current.free_threaded_build and current.build == "gil":
        assert "its GIL on" in str(current)
    else:
        assert "its GIL on" not in str(current)


def test_nobody_watches_until_a_trace_function_is_set():
    if interpreter.watcher() is not None:
        pytest.skip("this test run is itself being traced")
    sys.settrace(lambda *_: None)
    try:
        assert "trace function" in (interpreter.watcher() or "")
    finally:
        sys.settrace(None)
    assert interpreter.watcher() is None


def test_a_profile_function_is_noticed():
    if interpreter.watcher() is not None:
        pytest.skip("this test run is itself being traced")
    sys.setprofile(lambda *_: None)
    try:
        assert "profile function" in (interpreter.watcher() or "")
    finally:
        sys.setprofile(None)


@pytest.mark.skipif(sys.version_info < (3, 12), reason="sys.monitoring is new in 3.12")
def test_a_tool_on_sys_monitoring_is_noticed_and_named():
    if interpreter.watcher() is not None:
        pytest.skip("this test run is itself being traced")
    sys.monitoring.use_tool_id(1, "some coverage")
    try:
        assert interpreter.watcher() == "coverage on sys.monitoring (some coverage)"
    finally:
        sys.monitoring.free_tool_id(1)


def test_the_switch_interval_is_set_for_the_block_only():
    before = sys.getswitchinterval()
    with interpreter.switch_interval(0.001):
        assert sys.getswitchinterval() == pytest.approx(0.001)
    assert sys.getswitchinterval() == before


@pytest.mark.skipif(not CAN_PIN, reason="this platform has no CPU affinity")
def test_pinning_leaves_one_core_inside_the_block_and_all_after_it():
    before = affinity()
    with pinned(1):
        assert affinity() == usable_cores() == 1
    assert affinity() == before


def test_more_cores_than_there_are_is_an_error_that_names_them():
    with pytest.raises(BadValue, match=r"cores=100000 \(from argument\)"), pinned(100_000):
        pass
