"""The table of checks decides: the calls take its arguments, and what else knows the checks takes them from it."""

import ast
import builtins
import inspect
import re
import types
import typing
from collections import abc
from dataclasses import MISSING, asdict, fields, is_dataclass
from typing import Any, get_args, get_origin, get_overloads

import pytest

import pytest_gilcheck
from pytest_gilcheck import calls
from pytest_gilcheck.adaptors import other_plugins
from pytest_gilcheck.audit import evidence
from pytest_gilcheck.audit.catalogue import CATALOGUE
from pytest_gilcheck.calls import Gilcheck
from pytest_gilcheck.checks import CHECKS, INTERRUPT, MARKERS, SCALING
from pytest_gilcheck.core import arguments
from pytest_gilcheck.core.arguments import Argument
from pytest_gilcheck.core.codes import CODES
from pytest_gilcheck.core.errors import BadValue
from pytest_gilcheck.core.values import FLAG, one_of, whole
from pytest_gilcheck.core.verdict import Judged, Verdict
from pytest_gilcheck.fuzz.check import program
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


SAMPLES = {  # values by their kind; which kinds an argument takes is compared, and not which values
    "number": (0.001, 0.5, 1.5), "whole number": (1, 2, 5), "flag": (True,),
    "text": ("x", "every-step", "search", "errors", "strict", "sequential"),
    "by build": ({"gil": 0.5}, {"gil": 1.5}), "numbers": ([0.001, 0.5],), "texts": (["x", "y"],), "function": (len,),
    "module": (re,), "exception": (ValueError(),), "bytes": (b"x",), "nothing": (object(),),
}  # fmt: skip
CHECKED_BY_ITS_WING = {"signals", "program", "roles", "values"}  # the table takes more
OF_HYPOTHESIS = {"settings"}  # no annotation names its classes: without such a check, it is not imported


def admits(annotation, value):
    """Whether a value has the type of an annotation; as for type checkers, a whole number is a number, and a flag is none."""
    origin, of = get_origin(annotation), get_args(annotation)
    match origin:
        case types.UnionType | typing.Union:
            return any(admits(each, value) for each in of)
        case abc.Callable:
            return callable(value)
        case abc.Mapping:
            return isinstance(value, abc.Mapping) and all(admits(of[1], each) for each in value.values())
        case abc.Sequence:
            return isinstance(value, list) and all(admits(of[0], each) for each in value)
        case builtins.tuple:
            return isinstance(value, tuple)
        case builtins.type:
            return isinstance(value, type) and issubclass(value, of[0])
    if annotation is Any:
        return True
    if annotation in (int, float):
        return isinstance(value, (int, float) if annotation is float else int) and not isinstance(value, bool)
    return isinstance(value, annotation)


def accepts(values, value):
    try:
        values.read("name", value, "argument")
    except BadValue:
        return False
    return True


def differing_types(check):
    """The kinds of values that only the annotation of an argument has, or only its entry in the table."""
    hints = {name: each.annotation for name, each in signature(check).parameters.items()}
    names = {"Any": Any, **vars(calls), **vars(typing), **vars(abc), **vars(types), "Signals": str}
    found = set()
    for argument in check.of_calls():
        if argument.name not in CHECKED_BY_ITS_WING | OF_HYPOTHESIS:
            annotation = eval(hints[argument.name], names)
            for kind, samples in SAMPLES.items():
                table = any(accepts(argument.values, each) for each in samples)
                if table is not any(admits(annotation, each) for each in samples):
                    found.add((argument.name, kind))
    return found


@pytest.mark.parametrize("name", CHECKS)
def test_a_call_takes_the_types_of_its_check(name):
    assert not differing_types(CHECKS[name])


@pytest.mark.parametrize(
    ("argument", "expected"),
    [(Argument("timeout", FLAG, ""), {("timeout", "number"), ("timeout", "whole number"), ("timeout", "flag")}),
     (Argument("timeout", whole(1), ""), {("timeout", "number")}),
     (Argument("setup", one_of("search"), ""), {("setup", "function"), ("setup", "text")})],
    ids=["flag", "whole", "text"],
)  # fmt: skip
def test_an_argument_of_another_type_is_noticed(argument, expected):
    assert differing_types(SCALING._replace(arguments=[argument])) == expected


@pytest.mark.parametrize("name", CHECKS)
def test_no_call_has_a_default_of_its_own(name):
    check = CHECKS[name]
    given = [
        signature(check).parameters[argument.name].default for argument in check.of_calls() if argument.name != check.selected_by
    ]
    assert set(given) == {None}, "which counts as not given: the setting decides, and then the wing"


def prepared(check):
    """A check without arguments, ready to run: what it will use."""
    given = arguments.read(check.of_calls(), {check.selected_by: "every-step"} if check.selected_by else {}, "argument")
    if check.searches:
        return check.prepare(program([lambda: None] * 2, None, None, None), None, given, stays=None)
    return check.prepare(lambda: None, None, given)


def told_default(text):
    """The default that a help or a docstring names at its end, as ``(60)``; None if it names none, or says more."""
    found = re.search(r"\(([^(),; ]+)\)[.]?$", text)
    try:
        return None if found is None else ast.literal_eval(found[1])
    except ValueError:  # a name
        return None


def described(check):
    """What the docstring of a call says of each argument."""
    text = inspect.getdoc(method(check)).partition("Args:\n")[2].partition("\n\n")[0]
    parts = re.split(r"^    (\w+): ", text, flags=re.MULTILINE)
    return {name: " ".join(told.split()) for name, told in zip(parts[1::2], parts[2::2], strict=True)}


def wrong_defaults(check):
    """Defaults that the table names and the wing does not use, and those of docstrings that differ from the table's."""
    ready = prepared(check)
    used = {**parameters_of(ready.parameters), **ready.claim}
    found = set()
    for argument in check.of_calls():
        told = told_default(argument.help)
        if told is not None and argument.name in used and used[argument.name] not in (told, [told]):
            found.add((argument.name, told, used[argument.name]))
        in_call = told_default(described(check)[argument.name])
        if None not in (told, in_call) and in_call != told and len(MARKERS[check.marker]) == 1:
            found.add((argument.name, told, in_call))
    return found


def parameters_of(plan):
    return asdict(plan) if is_dataclass(plan) else dict(plan)


@pytest.mark.parametrize("name", CHECKS)
def test_the_default_that_the_table_names_is_the_one_that_is_used(name):
    check = CHECKS[name]
    told = [argument.name for argument in check.of_calls() if told_default(argument.help) is not None]
    assert told, "no help of an argument ends with its default in brackets"
    assert not wrong_defaults(check)


def test_a_default_that_is_not_used_is_noticed():
    later = [each._replace(help="(61)") if each.name == "timeout" else each for each in SCALING.arguments]
    assert wrong_defaults(SCALING._replace(arguments=tuple(later))) == {("timeout", 61, 60.0)}


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


def test_the_records_of_every_check_that_says_so_are_evidence_for_an_audit():
    asked = [name for names in evidence._KINDS.values() for name in names]
    assert sorted(asked) == sorted(name for name, check in CHECKS.items() if check.evidence_for)
    assert len(asked) >= 6
    assert set(evidence._KINDS) <= set(CATALOGUE)


def test_other_plugins_are_kept_out_of_the_wing_of_every_check():
    assert {"core", "scaling", "injection", "fuzz"} <= other_plugins._MEASURING
    assert {check.wing for check in CHECKS.values()} < other_plugins._MEASURING
