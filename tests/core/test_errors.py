"""The message of a value that cannot be used."""

import re

import pytest

import pytest_gilcheck
from pytest_gilcheck.core.codes import CODES, USAGE, code_of
from pytest_gilcheck.core.errors import BadValue, ErrorWithCode


class Box:
    def look(self): ...


NAMED = r"\S+\.Box\.look"


@pytest.mark.parametrize(("value", "shown"), [(Box.look, NAMED), (Box().look, NAMED), ("x", "'x'"), (5, "5")])
def test_it_shows_a_function_by_its_name_and_anything_else_by_its_repr(value, shown):
    assert re.fullmatch(rf"work={shown} \(from argument\): expected a workload", str(BadValue("work", value, "a workload")))


def test_a_value_of_any_length_is_a_message_that_can_be_read():
    assert f"work={'x' * 990!r} (" in str(BadValue("work", "x" * 990, "a workload")), "a path is whole"
    long = str(BadValue("work", "a" * 10_000 + "b" * 10_000, "a workload"))
    assert re.fullmatch(r"work='a{499}\.\.\.b{499}' \(from argument\): expected a workload", long)
    assert str(BadValue("work", 10**5000, "a workload")) == "work=<int of 16,610 bits> (from argument): expected a workload"


def with_codes(kind=ErrorWithCode):
    return [each for below in kind.__subclasses__() for each in (below, *with_codes(below))]


def test_every_error_that_is_a_finding_has_a_code_of_its_own():
    known = {pytest_gilcheck.TeamHung, pytest_gilcheck.ReplayDiverged, BadValue}
    assert known <= set(with_codes())
    codes = {kind: code_of(*kind.finding) for kind in with_codes() if kind.__module__.startswith("pytest_gilcheck.")}
    assert set(codes.values()) <= set(CODES)
    assert codes[BadValue] == USAGE
    assert len({codes[kind] for kind in known}) == len(known)


def test_an_error_without_a_finding_would_be_noticed():
    class Forgotten(ErrorWithCode): ...

    with pytest.raises(AttributeError, match="finding"):
        code_of(*Forgotten.finding)
