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
