"""The core of the catalogue of libraries, and whether the words of each result agree with its claim."""

from dataclasses import replace

import pytest

from pytest_gilcheck import gilcheck
from pytest_gilcheck.core.verdict import Verdict
from pytest_gilcheck.interrupt.result import InterruptResult

from ..undecided import decided
from . import programs  # noqa: F401 - adds workloads
from .catalogue import CASES
from .libraries import WORKLOADS, wrong
from .sentences import contradictions

CORE = ("handler_that_kills_its_group", "callback_of_sqlite")
PARAMETERS = [
    pytest.param(each, id=each.name, marks=() if each.name in CORE else pytest.mark.slow) for each in WORKLOADS if each.core
]


@pytest.mark.slow
@pytest.mark.parametrize("workload", PARAMETERS)
def test_a_workload_of_libraries_gets_its_verdict_its_culprit_and_no_contradiction(workload):
    result = gilcheck.interrupt(workload.work, setup=workload.data, repeats=2, over=0.2, exits_within=1.0)
    assert wrong(workload, decided(result, *workload.outcomes)) is None, str(result)
    assert contradictions(result) == []


@pytest.mark.slow
@pytest.mark.parametrize("case", CASES[::2], ids=lambda case: case.name)
def test_no_result_of_the_catalogue_contradicts_itself(case):
    if case.data is not None:
        case.data()
    assert contradictions(gilcheck.interrupt(case.work, repeats=1, over=0.2, exits_within=0.5)) == []


def test_there_are_at_least_80_workloads_and_each_has_a_name_of_its_own():
    names = [each.name for each in WORKLOADS]
    assert len(names) == len(set(names)) >= 80


@pytest.fixture(scope="module")
def good():
    return gilcheck.interrupt(WORKLOADS[0].work, repeats=2, over=0.1, within=5.0, exits_within=5.0)


def test_a_result_that_agrees_with_its_claim_has_no_contradiction(good: InterruptResult):
    good.assert_holds()
    assert contradictions(good) == []


@pytest.mark.parametrize(
    ("change", "found"),
    [
        ({"reason": "2 trials of SIGINT: handled within 6.2 s, the workload left"}, "within 6.2 s"),
        ({"reason": "1 trial: the process exited the process exited within 1 ms"}, "'the process exited' is said twice"),
        ({"reason": "2 trials: left behind: sleep (pid 7), sleep (pid 7)"}, "a process is named twice"),
        ({"culprit": "`` at <frozen posixpath>:3 (join)"}, "an empty name"),
        ({"culprit": "'', a non-daemon thread"}, "an empty name"),
        ({"culprit": "ctypes.CDLL.__init__.<locals>._FuncPtr() at x.py:3"}, "a class stands for the call"),
    ],
)
def test_each_kind_of_contradiction_is_found(good, change, found):
    assert any(found in entry for entry in contradictions(replace(good, **change)))


def test_an_empty_string_in_the_source_of_a_call_is_no_empty_name(good):
    culprit = "b''.join(itertools.repeat(b'', 10 ** 9)) at x.py:3 (work), a C call that did not check for signals"
    assert contradictions(replace(good, culprit=culprit, conclusion=Verdict.INCONCLUSIVE)) == []
