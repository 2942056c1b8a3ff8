"""Which names may change without an instruction that stores them."""

import collections
import functools
import subprocess
import sys
import threading
import types

import pytest

from pytest_gilcheck.engine.bytecode.changing import Changing
from pytest_gilcheck.engine.bytecode.visible import Visibility
from pytest_gilcheck.engine.program import Program
from pytest_gilcheck.fuzz.check import fuzz
from pytest_gilcheck.search.plan import FuzzPlan

from ..fuzz.programs import SETTLED

BY_DICTIONARY = (
    "x.__dict__['a']", "x.__dict__.get('a', 2)", "for y in x.__dict__: pass", "globals()[k] = 1", "k(globals())", "vars(x)[k] = 1",
    "d = x.f_globals if x is not None else None\n    d.get('a')", "sys.modules.pop('m')", "yield x.__dict__", "x.__dict__ = k",
    "from builtins import globals", "getattr(x, '__dict__')", "x.__class__ = k", "exec(k)", "types.FunctionType(k, {})",
)  # fmt: skip
CALLED = ("setattr(x, k, k)", "object.__setattr__(x, k, k)", "super(type(x), x).__delattr__(k)")
HANDED_ON = ("s = setattr", "map(setattr, k)", "f = object.__setattr__", "setattr(x, k, k); k(setattr)")


def names_after(statement, *, under_test=True):
    made = {}
    exec(f"def function(x, k):\n    {statement}\n", made)
    names = Changing()
    assert not names.attribute_changes("append", method=True)
    names.started(made["function"].__code__, under_test=under_test)
    return names


@pytest.mark.parametrize("statement", [*BY_DICTIONARY, *HANDED_ON])
def test_code_that_may_store_a_name_without_an_instruction_may_store_any(statement):
    names = names_after(statement)
    assert names.anything
    assert names.grown
    assert names.attribute_changes("append", method=True)


@pytest.mark.parametrize("statement", CALLED)
def test_a_setter_that_is_called_at_once_may_store_any_name_in_a_step_that_says_which(statement):
    names = names_after(statement)
    assert names.by_setters
    assert not names.anything
    assert names.grown
    assert names.attribute_changes("append", method=True)
    assert names_after(statement, under_test=False).anything, "code that makes no steps says nothing"


@pytest.mark.parametrize("statement", ["x.a = k", "x.__class__", "x.get('a')", "getattr(x, 'a')", "x.a.append(k)"])
def test_other_code_leaves_the_names_constant_that_it_does_not_store(statement):
    names = names_after(statement)
    assert not names.anything
    assert not names.by_setters
    assert not names.attribute_changes("append", method=True)


@pytest.mark.parametrize(
    ("callee", "stored"),
    [
        (setattr, "any"),
        (object.__delattr__, "any"),
        (types.SimpleNamespace.__init__, "any"),
        (functools.partial(functools.partial(delattr)), "any"),
        (collections.deque.__init__, "maxlen"),
        (functools.partial(ValueError().__init__), "args"),
        (object.__init__, ""),
        (len, ""),
    ],
)
def test_a_call_of_c_that_stores_attributes_says_which_may_change(callee, stored):
    names = Changing()
    names._known |= {"maxlen", "args"}
    assert not names.global_changes("maxlen")
    assert not names.global_changes("args")
    names.called(callee)
    assert names.by_setters is (stored == "any")
    assert {name for name in ("maxlen", "args") if names.global_changes(name)} == (
        {"maxlen", "args"} if stored == "any" else {stored} - {""}
    )


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


def test_an_attribute_of_a_local_variable_drops_no_last_reference_and_one_of_a_result_may():
    visibility = Visibility()
    visibility.names._known |= {"one"}
    loads = eval("lambda pair: pair.one"), eval("lambda pair: pair.one.one")

    def ends():
        tables = [visibility.table(each.__code__, {}) for each in loads]
        return [sum(step.kind == "end" for step in table.steps.values()) for table in tables]

    assert ends() == [0, 0]
    visibility.names.ends_matter = True
    of_a_local, of_a_result = ends()
    assert of_a_result == of_a_local + 1
