"""The message of a value that cannot be used."""

import re

import pytest

from pytest_gilcheck.core.errors import BadValue


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
