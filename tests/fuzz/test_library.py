"""Python code of the standard library that makes steps of its own."""

import ast
import copy
import importlib
import json
import os
import shutil
import threading
import weakref
from pathlib import Path

import pytest

from pytest_gilcheck.core.source import with_nested
from pytest_gilcheck.engine.bytecode.calls import makes_steps
from pytest_gilcheck.engine.bytecode.changing import Changing
from pytest_gilcheck.engine.bytecode.library import _NAMED, _STEPPED, makes_steps_always, one_step
from pytest_gilcheck.engine.session import under_test_with
from tests.undecided import expect

from ..slow import only
from .library_races import RACES
from .programs import counted, under_the_lock

_OF_SEVERAL_VERSIONS = ("os", "pathlib", "glob")  # their functions have had other names
_MODULES = {"unittest": "unittest.mock", "html": "html.parser"}  # the only ones with code that is named


@pytest.mark.parametrize("name", only(["Message.__delitem__"], RACES))
def test_a_race_within_a_call_of_the_library_is_found_with_one_preemption_and_its_twin_with_a_lock_holds(name):
    setup, *threads, invariant = RACES[name]
    result = counted(*threads, setup=setup, invariant=invariant, schedules=600)
    assert (result.verdict, result.preemptions) == ("violated", 1), result.reason
    twin = counted(*map(under_the_lock, threads), setup=setup, invariant=invariant, schedules=100)
    expect(twin, "holds")  # a file that is slow to write is an operation that is not under control


@pytest.mark.parametrize(
    ("function", "steps"),
    [
        (Path.write_text, True),
        (Path.with_name, False),  # a path never changes
        (os.makedirs, True),
        (os.path.join, False),
        (json.dump, True),
        (json.dumps, False),
        (shutil.move, True),
        (threading.Thread.start, False),
    ],
)
def test_some_code_of_a_module_makes_steps_and_other_code_does_not(function, steps):
    assert makes_steps_always(function.__code__) is steps


def test_a_frozen_module_that_a_check_includes_makes_steps():
    code = os.get_exec_path.__code__
    assert makes_steps(code, vars(os), under_test_with(("os",)))
    assert not makes_steps(code, vars(os), under_test_with(()))


def test_where_code_of_weakref_makes_steps_it_matters_when_objects_end():
    known = Changing()
    known.started(weakref.WeakValueDictionary.setdefault.__code__, under_test=True)
    assert known.ends_matter
    (other := Changing()).started(copy.deepcopy.__code__, under_test=True)
    assert not other.ends_matter


def test_code_that_keeps_state_is_named_in_modules_whose_other_code_looks_at_values_alone():
    assert one_step(ast.NodeTransformer.generic_visit.__code__) == "ast"
    assert one_step(ast.get_docstring.__code__) == ""


@pytest.mark.parametrize(
    ("module", "name"),
    [
        *((module, name) for module, names in _STEPPED.items() for name in names if not module.startswith(_OF_SEVERAL_VERSIONS)),
        *((_MODULES.get(module, module), name) for module, names in _NAMED.items() for name in names),
    ],
)
def test_each_name_in_the_tables_is_that_of_code(module, name):
    file = importlib.import_module(module).__file__
    code = compile(Path(file).read_text("utf-8"), file, "exec")
    assert any(f"{each.co_qualname}.".startswith(name) for each in with_nested(code))


class Environment:
    def __init__(self):
        os.environ.pop("GILCHECK_SEEN", None)
        self.lock, self.seen = threading.Lock(), {}


def puts_and_gets(value):
    def thread(environment):
        os.environ["GILCHECK_SEEN"] = value
        environment.seen[value] = os.environ.get("GILCHECK_SEEN")

    return thread


def saw_its_own(environment):
    os.environ.pop("GILCHECK_SEEN", None)
    return environment.seen == {"1": "1", "2": "2"}


@pytest.mark.slow
def test_a_step_in_a_module_that_is_frozen_into_the_interpreter_shows_its_line():
    threads = puts_and_gets("1"), puts_and_gets("2")
    result = counted(*threads, setup=Environment, invariant=saw_its_own, schedules=20)
    result.assert_violated()
    assert "return self[key]" in str(result)
    assert "<frozen" not in str(result)
    counted(*map(under_the_lock, threads), setup=Environment, invariant=saw_its_own, schedules=5).assert_holds()
