"""Which of several layers decides a setting."""

from itertools import combinations

import pytest

from pytest_gilcheck.settings import Settings

LAYERS = {"command_line": "1", "environment": "2", "ini": "3"}  # the strongest first


@pytest.mark.parametrize("names", [names for count in (1, 2, 3) for names in combinations(LAYERS, count)], ids="-".join)
def test_the_command_line_goes_before_the_environment_and_that_before_the_ini_file(names):
    settings = Settings(**{name: {"budget": LAYERS[name]} for name in names})
    value, source = settings.value("budget")
    assert value == float(LAYERS[names[0]])
    assert source.startswith(names[0].replace("_", " "))
    assert settings.is_of_ini_file("budget") is (names == ("ini",))


def test_what_no_layer_has_is_not_set():
    assert Settings().value("budget") == (None, "default")
    assert not Settings().is_of_ini_file("budget")
