"""Code that runs in a setup is of the program, and a hook of what runs the tests says nothing of the program."""

import sys
import types

import pytest

from pytest_gilcheck.core import origin
from pytest_gilcheck.engine.program import Program
from pytest_gilcheck.engine.session import Session
from pytest_gilcheck.search.explorer import Explorer

HOOKS = """
import weakref

def hook():
    return weakref.ref
"""


@pytest.fixture
def hooks(tmp_path, monkeypatch):
    """A module under test, of which some code may notice when an object ends."""
    monkeypatch.setattr(origin, "_of_the_runner", set())
    file = tmp_path / "hooks_of_a_plugin.py"
    file.write_text(HOOKS)
    module = types.ModuleType("hooks_of_a_plugin")
    module.__file__ = str(file)
    exec(compile(HOOKS, str(file), "exec"), vars(module))
    monkeypatch.setitem(sys.modules, module.__name__, module)
    return module


class Box:
    value = 0


def noticed(setup, work):
    with Session() as session:
        runs = session.use(Program((work, work), setup, None, "hooked"), Explorer)
        runs.sequential()
        return runs.events.names.ends_noticed


def counts(box):
    box.value += 1


@pytest.mark.skipif(sys.version_info < (3, 12), reason="up to 3.11, no code of a setup is seen")
def test_what_a_setup_calls_is_read_as_code_of_the_program(hooks):
    def setup():
        hooks.hook()
        return Box()

    assert noticed(setup, counts)


def test_a_hook_of_what_runs_the_tests_is_not(hooks):
    def setup():
        hooks.hook()
        return Box()

    origin.declare_of_the_runner([hooks.__file__])
    assert not noticed(setup, counts)


def test_it_is_read_where_a_thread_calls_it(hooks):
    def calls(box):
        box.value += 1
        hooks.hook()

    origin.declare_of_the_runner([hooks.__file__])
    assert noticed(Box, calls)
