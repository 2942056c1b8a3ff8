"""The table of what C functions touch: a row that no call can ever match, such as one of a misspelt name, teaches nothing."""

import importlib

import pytest

from pytest_gilcheck.engine.bytecode.known_calls import EFFECTS


def unmatched(names):
    """Those of these names that are no function of their module, by the names that it gives to itself."""
    for name in names:
        module, _, function = name.rpartition(".")
        try:
            found = getattr(importlib.import_module(module), function, None)
        except ImportError:  # of another system
            continue
        if f"{getattr(found, '__module__', '')}.{getattr(found, '__name__', '')}" != name:
            yield name


def test_every_function_of_the_table_is_one_of_its_module_here():
    assert not list(unmatched(name for name in EFFECTS if not name.endswith(".*")))


@pytest.mark.parametrize("name", ["zlib.crc23", "heapq.heappush"])
def test_a_misspelt_name_and_that_of_the_module_around_it_in_python_are_noticed(name):
    assert list(unmatched([name, "zlib.crc32"])) == [name]
