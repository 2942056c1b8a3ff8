"""The table of checks decides: the calls take its arguments, and what else knows the checks takes them from it."""

import inspect
import re
from dataclasses import MISSING, fields
from typing import get_overloads

import pytest

import pytest_gilcheck
from pytest_gilcheck.adaptors import other_plugins
from pytest_gilcheck.audit import evidence
from pytest_gilcheck.audit.catalogue import CATALOGUE
from pytest_gilcheck.calls import Gilcheck
from pytest_gilcheck.checks import CHECKS, INTERRUPT, MARKERS, SCALING
from pytest_gilcheck.core.arguments import Argument
from pytest_gilcheck.core.codes import CODES
from pytest_gilcheck.core.values import FLAG
from pytest_gilcheck.core.verdict import Judged, Verdict
from pytest_gilcheck.interrupt.trial import SignalOutcome

OF_EVERY_CALL = {"name", "judge"}
INSTEAD_OF_A_TEST = {"fuzz": {"threads", "setup", "invariant"}}  # what a call is given where a marker has a test and its fixtures


def method(check):
    return getattr(Gilcheck, check.marker.removeprefix("gil_"))


def signature(check):
    """The signature of the call of a check: where two checks share one, that of its overload."""
    overloads = get_overloads(method(check))
    if not overloads:
        return inspect.signature(method(check))
    [selector] = {each.selected_by for each in MARKERS[check.marker]} - {""}
    [found] = [each for each in map(inspect.signature, overloads) if (selector in each.parameters) == bool(check.selected_by)]
    return found


def disagreements(check):
    """The arguments that only the call of a check has, or only its entry in the table."""
    keywords = {each.name for each in signature(check).parameters.values() if each.kind is inspect.Parameter.KEYWORD_ONLY}
    of_call = keywords - OF_EVERY_CALL - INSTEAD_OF_A_TEST.get(check.name, set())
    of_table = {argument.name for argument in check.of_calls()}
    return sorted((of_call ^ of_table) - INSTEAD_OF_A_TEST.get(check.name, set()))


@pytest.mark.parametrize("name", CHECKS)
def test_a_call_takes_the_arguments_of_its_check_and_describes_each(name):
    check = CHECKS[name]
    assert not disagreements(check)
    described = set(re.findall(r"^    (\w+): ", inspect.getdoc(method(check)), re.MULTILINE))
    assert {argument.name for argument in check.of_calls()} <= described


@pytest.mark.parametrize("check", [SCALING, INTERRUPT], ids=lambda check: check.name)
def test_an_argument_that_only_one_of_them_has_is_noticed(check):
    more = check._replace(arguments=(*check.arguments, Argument("lap", FLAG, "")))
    less = check._replace(arguments=[argument for argument in check.arguments if argument.name != "budget"])
    assert (disagreements(more), disagreements(less)) == (["lap"], ["budget"])


def violated(check, **causes):
    """A violated result of a check of which nothing else is known but these causes."""
    kind = getattr(pytest_gilcheck, f"{check.name.capitalize()}Result")
    result = object.__new__(kind)
    for field in fields(kind):
        default = field.default if field.default_factory is MISSING else field.default_factory()
        result.__dict__[field.name] = None if default is MISSING else default
    result.__dict__.update(causes, conclusion=Verdict.VIOLATED, reason="")
    return result


ALWAYS_KNOWN = {"interrupt": {"outcome": SignalOutcome.LATE}}  # that of the trial which refuted the claim


@pytest.mark.parametrize("name", CHECKS)
def test_a_violated_result_of_a_check_has_a_code_however_little_is_known(name):
    assert violated(CHECKS[name], **ALWAYS_KNOWN.get(name, {})).code in CODES


def test_a_check_that_names_no_finding_would_be_noticed(monkeypatch):
    monkeypatch.delattr(pytest_gilcheck.LatencyResult, "finding")
    assert pytest_gilcheck.LatencyResult.finding is Judged.finding
    assert violated(CHECKS["latency"]).code not in CODES


def test_the_records_of_every_check_are_evidence_for_an_audit():
    asked = [name for names in evidence._KINDS.values() for name in names]
    assert sorted(asked) == sorted(CHECKS)
    assert set(evidence._KINDS) <= set(CATALOGUE)


def test_other_plugins_are_kept_out_of_the_wing_of_every_check():
    assert {"core", "scaling", "injection", "fuzz"} <= other_plugins._MEASURING
    assert {check.wing for check in CHECKS.values()} < other_plugins._MEASURING
