"""What the runner does around every check: the machine lock, and the sources of errors."""

import functools
import os
import sys
from contextlib import contextmanager

import pytest

from pytest_gilcheck import BadValue, runner
from pytest_gilcheck.calls import Gilcheck
from pytest_gilcheck.checks import SCALING
from pytest_gilcheck.core.cores import CAN_PIN
from pytest_gilcheck.core.verdict import Verdict
from pytest_gilcheck.runner import refuse_workload

from .core.test_texts import Anything, Remote, Unspeakable, work
from .slow import one_in


def test_a_check_that_measures_time_holds_the_machine_lock_and_a_search_does_not(monkeypatch):
    taken = []

    @contextmanager
    def lock(*arguments):
        taken.append(True)
        yield

    monkeypatch.setattr(runner, "machine_lock", lock)
    Gilcheck().fuzz(threads=[lambda: [].append(1)] * 2, schedules=2)
    assert not taken
    assert "too short to time" in Gilcheck().scaling(lambda: None, threads=2).reason
    assert taken == [True]


@pytest.mark.skipif(not CAN_PIN, reason="no affinity here")
def test_an_argument_that_only_the_running_check_can_refuse_is_refused_with_its_source():
    with pytest.raises(BadValue, match=r"cores=100000 \(from the place where it was said\): expected 1 to"):
        Gilcheck().runner.run(SCALING, lambda: None, {"cores": 100_000}, "the place where it was said")


def needs_one(value, other=1):
    pass


class Needing:
    def method(self, *others, value):
        pass


@pytest.mark.parametrize("work", [needs_one, lambda value: value, functools.partial(needs_one, other=2), Needing().method])
def test_a_workload_that_needs_an_argument_is_refused_and_names_it(work):
    for check in (Gilcheck().scaling, Gilcheck().latency, Gilcheck().interrupt):
        with pytest.raises(BadValue, match=r"work=.*: expected a function without arguments; this one needs 'value'"):
            check(work)


@pytest.mark.parametrize("work", [lambda value=1: value, functools.partial(needs_one, 1), lambda *of, **by_name: None, Needing])
def test_a_workload_that_needs_none_is_not_refused(work):
    refuse_workload(work, "argument")


@pytest.mark.slow
def test_what_a_search_could_not_decide_under_a_tracer_names_the_tracer():
    def undecided():
        result = Gilcheck().fuzz(threads=[lambda: os.fork()] * 2, schedules=2)  # what no schedule controls
        assert result.verdict == "inconclusive"
        return result.reason

    assert "active" not in undecided() or sys.gettrace() is not None
    before = sys.gettrace()
    sys.settrace(lambda *event: None)
    try:
        assert "a trace function (tests.test_runner) was active, which may be why" in undecided()
    finally:
        sys.settrace(before)


def test_a_check_of_time_under_a_tracer_names_it_once():
    def found(trace):
        before = sys.gettrace()
        sys.settrace(trace)
        try:
            result = Gilcheck().scaling(lambda: None, threads=2)
            return result.distorted, result.reason.count("a trace function (tests.test_runner)")
        finally:
            sys.settrace(before)

    assert found(lambda *event: None) == (True, 1)


@pytest.mark.slow
@pytest.mark.parametrize(
    "judge", one_in(5, [None, 0, "", "False", pytest.param(Unspeakable())]), ids=["None", "0", "empty", "text", "raises"]
)
def test_a_result_is_left_to_nobody_only_by_a_plain_false(judge):
    records = []
    checks = Gilcheck(on_record=records.append)
    with pytest.raises(BadValue, match=r"judge=.* \(from argument\): expected True or False"):
        checks.fuzz(threads=[work] * 2, schedules=1, judge=judge)
    with pytest.raises(BadValue, match=r"judge=.* \(from argument\): expected True or False"):
        checks.interrupt(work, judge=judge)
    assert not records
    checks.fuzz(threads=[work] * 2, schedules=1, judge=False)
    checks.fuzz(threads=[work] * 2, schedules=1, judge=True)
    assert [each["judged"] for each in records] == ["not asked", "nobody"]


@pytest.mark.slow
@pytest.mark.parametrize("name", one_in(3, [pytest.param(Unspeakable()), 5, b"x"]), ids=["raises", "number", "bytes"])
def test_a_name_in_reports_is_a_text(name):
    checks = Gilcheck()
    for check in (checks.scaling, checks.latency, checks.interrupt, checks.curve):
        with pytest.raises(BadValue, match=r"name=.* \(from argument\): expected a text"):
            check(work, name=name)
    with pytest.raises(BadValue, match=r"name=.* \(from argument\): expected a text"):
        checks.fuzz(threads=[work] * 2, name=name)
    assert checks.fuzz(threads=[work] * 2, schedules=1, name="named").workload == "named"


@pytest.mark.parametrize(
    "callable_object",
    one_in(3, [*map(pytest.param, (Unspeakable(), Anything(), Remote(None, "ping")))]),
    ids=["raises", "proxy", "remote"],
)
def test_a_workload_of_which_nothing_can_be_asked_is_checked(callable_object):
    assert Gilcheck().fuzz(threads=[callable_object] * 2, schedules=1).verdict in tuple(Verdict)
    assert "too short to time" in Gilcheck().scaling(callable_object, threads=2).reason


@pytest.mark.slow
def test_names_that_cannot_be_encoded_as_those_of_a_file_that_is_no_utf8_are_no_error():
    def increment(counter):
        counter["n"] += 1

    increment.__qualname__ = "\udcff"
    program = {"threads": [increment] * 2, "setup": lambda: {"n": 0}, "invariant": lambda counter: counter["n"] == 2}
    found = Gilcheck().fuzz(**program, schedules=20, name="\udcff")
    assert (found.verdict, found.workload) == (Verdict.VIOLATED, "\udcff")
    assert Gilcheck().fuzz(**program, replay=found.token).verdict is Verdict.VIOLATED
    increment.__qualname__ = "plain"
    assert Gilcheck().fuzz(**program, schedules=20).token != found.token
