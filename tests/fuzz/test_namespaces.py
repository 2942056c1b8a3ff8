"""What is a store of a name, and what only reads the dictionary that holds it."""

import functools
import subprocess
import sys
import threading

import pytest

from pytest_gilcheck.engine.bytecode.changing import Changing
from pytest_gilcheck.engine.bytecode.namespaces import uses_of
from pytest_gilcheck.engine.program import Program
from pytest_gilcheck.fuzz.check import fuzz
from pytest_gilcheck.search.plan import FuzzPlan

from .programs import SETTLED

READING = (
    "x.__dict__['a']", "x.__dict__.get('a', 2)", "'a' in x.__dict__", "for y in x.__dict__.items(): pass",
    "for y in x.__dict__: pass",
    "d = x.__dict__\n    d['a']", "globals()[k]", "from .globals import y", "sys.modules['m']", "vars(x)['a']",
    "d = x.f_globals if x is not None else None\n    d.get('a')", "x.__dict__[k][k] = 5", "x.__dict__.copy().update(k)",
)  # fmt: skip
STORING = (
    "x.__dict__['a'] = 3", "x.__dict__.setdefault('a', []).append(1)", "globals()['a'] = 1", "d = vars(x)\n    d['a'] = k",
    "x.__dict__.pop('a')", "del x.__dict__['a']",
)  # fmt: skip
ANYTHING = (
    "x.__dict__[k] = 3", "x.__dict__.update(a=1)", "x.__dict__.setdefault('a' + k, [])", "d = x.__dict__\n    d[k] = 2",
    "d = x.__dict__\n    return d", "globals()[k] = 1", "k(globals())", "sys.modules.pop('m')", "del sys.modules['m']",
    "vars(x)[k] = 1",
    "sys.modules['m'] = 1", "x.__dict__['__dict__']", "x.__dict__.get('__dict__')", "yield x.__dict__", "x.__dict__ |= k",
    "x.__dict__['a' if k else x] = 1", "m = x.__dict__.update", "from builtins import globals", "d = x.__dict__\n    (lambda: d)",
    "d, y = x.__dict__, 1\n    d[k] = 2", "[x.__dict__, 1][0]", "x.__dict__.pop(k)", "with k(x.__dict__): pass", "x.__dict__ = k",
)  # fmt: skip
NAMES = {"__dict__", "f_globals", "globals", "modules", "vars"}


def uses(statement):
    made = {}
    exec(f"def function(x, k):\n    {statement}\n", made)
    code = made["function"].__code__
    return code, uses_of(code)


@pytest.mark.parametrize("statement", READING)
def test_reading_a_dictionary_of_names_stores_none(statement):
    code, found = uses(statement)
    assert set(code.co_names) & NAMES <= found.harmless
    assert not found.stored


@pytest.mark.parametrize("statement", STORING)
def test_storing_under_a_key_that_is_written_there_stores_that_name_alone(statement):
    code, found = uses(statement)
    assert set(code.co_names) & NAMES <= found.harmless
    assert found.stored == {"a"}


@pytest.mark.parametrize("statement", ANYTHING)
def test_what_cannot_be_followed_may_store_anything(statement):
    code, found = uses(statement)
    assert set(code.co_names) & NAMES - found.harmless


@pytest.mark.parametrize("statement", ["setattr(x, k, k)", "x.setattr(k, lambda: {})", "object.__setattr__(x, k, k)"])
def test_a_setter_that_is_called_at_once_stores_only_where_that_code_runs(statement):
    assert uses(statement)[1].called


@pytest.mark.parametrize("statement", ["s = setattr", "map(setattr, k)", "f = object.__setattr__", "setattr(*k)"])
def test_a_setter_that_is_handed_on_may_store_anywhere(statement):
    assert not uses(statement)[1].called


@pytest.mark.skipif(sys.version_info < (3, 12), reason="an event says what is called from 3.12 on")
@pytest.mark.parametrize("name", [None, "__class__", "__dict__"])
def test_a_call_that_stores_a_name_which_is_not_known_or_stands_for_all_stores_anything(name):
    names = Changing()
    assert not names.attribute_changes("append", method=True)
    names.set_by_call(name)
    assert names.anything
    assert names.grown


def test_a_call_that_stores_one_name_leaves_the_others_constant():
    names = Changing()
    assert not names.attribute_changes("append", method=True)
    names.set_by_call("limit")
    assert not names.anything
    assert not names.attribute_changes("append", method=True)
    names.set_by_call("append")
    assert names.grown
    assert names.attribute_changes("append", method=True)


def test_a_wrapper_stores_what_functools_copies_and_the_attributes_of_what_it_wraps():
    def wrapped():
        pass

    wrapped.limit = 3
    names = Changing()
    usual = functools.WRAPPER_ASSIGNMENTS, functools.WRAPPER_UPDATES
    assert names.wraps(wrapped, *usual)
    assert names.global_changes("limit")
    assert names.global_changes("__wrapped__")
    assert not names.global_changes("other")
    assert not names.wraps(wrapped, usual[0], ("other",))
    assert not names.wraps(object(), *usual)


class Counter:
    total = 0


def counter():
    made = Counter()
    made.total = 0
    return made, made.__dict__.get, threading.Lock()


def add(state):
    made, read, _ = state
    made.total = read("total") + 1


def add_locked(state):
    made, read, lock = state
    with lock:
        made.total = read("total") + 1


@pytest.mark.slow
@pytest.mark.parametrize(("thread", "verdict"), [(add, "violated"), (add_locked, "holds")])
def test_what_is_read_through_a_method_of_a_dictionary_races_with_a_store_and_nothing_is_settled_of_it(thread, verdict):
    found = fuzz(Program((thread, thread), counter, lambda state: state[0].total == 2), FuzzPlan(schedules=200))
    assert found.verdict == verdict
    assert found.bound not in SETTLED


A_DATACLASS = """
import dataclasses

from pytest_gilcheck import gilcheck

@dataclasses.dataclass
class Pair:
    left: int = 0
    right: int = 0

def to_the_left(pair):
    pair.left = 1

def to_the_right(pair):
    pair.right = 1

print(gilcheck.fuzz(setup=Pair, threads=[to_the_left, to_the_right]).bound)
"""


def test_the_text_of_the_command_line_is_not_taken_for_the_source_of_a_dataclass(tmp_path):
    script = tmp_path / "of_a_dataclass.py"
    script.write_text(A_DATACLASS)
    text = "import runpy, sys; exec(eval('sys.stdin.readline()'))"  # as of a worker of pytest-xdist
    command, program = [sys.executable, "-c", text, str(script)], "runpy.run_path(sys.argv[1])\n"
    run = subprocess.run(command, input=program, capture_output=True, text=True, timeout=60)
    assert run.stdout.strip() in SETTLED, run.stderr
