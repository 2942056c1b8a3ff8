"""Names that change, and code that C enters, where no instruction of the program's file shows it.

Each program is a file of its own, with its invariant, because one of these words makes everything visible where its file is used.
Nothing tests a proof here, so that the mend itself is tested.
"""

import importlib.util
import sys
import threading
import types

import pytest

from pytest_gilcheck.engine.bytecode import changing, computed
from pytest_gilcheck.engine.schedule import Token, checksum
from pytest_gilcheck.search.search import Search

from ..slow import one_in
from .programs import counted

TWICE = """
def look(s):
    first = {read}
    s.same = first == {read}
"""
ITEMS = (
    """
class State:
    def __init__(self): self.items, self.same = [], True
def change(s): s.items.append(1)
"""
    + TWICE
)
PROGRAMS = {
    "the bound of a slice that is shown": ITEMS.format(read="repr(slice(s.items, None))"),
    "slices that are compared": ITEMS.format(read="(slice(s.items, None) == slice([], None))"),
    "a bytearray that formats": ITEMS.format(read="(bytearray(b'%a') % (s.items,))"),
    "a range of an object": """
class State:
    def __init__(self):
        self.items, self.same = [], True
        self.wide = type("Wide", (), {"__index__": self.items.__len__})()
def change(s): s.items.append(1)
""" + TWICE.format(read="range(s.wide)"),
    "the moment before a lock is released by its exit method": """
import threading
class Guard:
    def __init__(self): self.lock, self.done = threading.Lock(), False
    def __exit__(self, kind, error, trace):
        self.done = True
        return self.lock.__exit__(kind, error, trace)
class State:
    def __init__(self): self.guard, self.same = Guard(), True
def change(s):
    s.guard.lock.acquire()
    s.guard.__exit__(None, None, None)
def look(s):
    if s.guard.done:
        s.same = s.guard.lock.acquire(blocking=False)
        if s.same: s.guard.lock.release()
""",
    "a dictionary that a dotted text names": """
import operator
state_of = operator.attrgetter("box.__dict__")
class Box:
    def __init__(self): self.x = 0
class State:
    def __init__(self): self.box, self.same = Box(), True; self.names = state_of(self)
def change(s): s.names["x"] = 1
""" + TWICE.format(read="s.box.x"),
    "defaults that a text names": """
class State:
    def __init__(self):
        def level(*, value=1): return value
        self.level, self.same, self.options = level, True, getattr(level, "__kwdefaults__")
def change(s): s.options["value"] = 2
""" + TWICE.format(read="s.level()"),
    "the arguments of a signature": """
import inspect
def connect(host): pass
class State:
    def __init__(self): self.args, self.same, self.bound = (), True, inspect.signature(connect).bind("a")
def change(s): s.bound.arguments["host"] = "b"
""" + TWICE.format(read="s.bound.args"),
    "a slot that an operator calls": """
class Probe: __slots__ = ("__len__",)
class State:
    def __init__(self): self.probe, self.same = Probe(), True; self.probe.__len__ = lambda: 1
def change(s): s.probe.__len__ = lambda: 2
""" + TWICE.format(read="len(s.probe)"),
    "attributes that are keys, of another file": """
from {helper} import CONFIG
class State:
    def __init__(self): self.rate, self.same = 0, True; CONFIG["rate"] = 1
def change(s): CONFIG["rate"] = 2
""" + TWICE.format(read="CONFIG.rate"),
    "attributes in a dictionary of another file": """
from {helper} import SETTINGS, VALUES
class State:
    def __init__(self): self.rate, self.same = 0, True; VALUES["rate"] = 1
def change(s): VALUES["rate"] = 2
""" + TWICE.format(read="SETTINGS.rate"),
    "a function of another file that gives a dictionary": """
from {helper} import namespace
class Box:
    def __init__(self): self.x = 0
class State:
    def __init__(self): self.box, self.same = Box(), True; self.names = namespace(self.box)
def change(s): s.names["x"] = 1
""" + TWICE.format(read="s.box.x"),
    "the globals by another name": """
NS = locals()
rate = 1
class State:
    def __init__(self): self.same = True
def change(s): NS["rate"] = 2; NS["rate"] = 1
""" + TWICE.format(read="rate"),
    "a module that C changes": """
import os, time
class State:
    def __init__(self): self.timezone, self.same = 0, True; os.environ["TZ"] = "UTC"; time.tzset()
def change(s): os.environ["TZ"] = "EST5"; time.tzset()
""" + TWICE.format(read="time.timezone"),
    "a key function with a call that is no step": """
class State:
    def __init__(self): self.rows, self.same = ["aa", "b"], True
def change(s): s.rows.sort(key=lambda row: len(row))
def look(s): s.same = bool(s.rows)
""",
    "a factory with a path that is not taken": """
import collections
DEBUG, made = False, []
def make():
    if DEBUG: made.append(1)
    return []
class State:
    def __init__(self): self.rows = collections.defaultdict(make)
    same = property(lambda self: len(self.rows["k"]) == 2)
def change(s): s.rows["k"].append(1)
look = change
""",
    "a template of the library": """
import string
URL = string.Template("$host:$port")
class State:
    def __init__(self): self.config, self.url = {"host": "a", "port": 1}, ""
    same = property(lambda self: self.url in ("a:1", "b:2"))
def change(s): s.config.update(host="b", port=2)
def look(s): s.url = URL.substitute(s.config)
""",
}  # fmt: skip
REST = """
import threading
LOCK = threading.Lock()
def same(s): return s.same
def look_in_turn(s):
    with LOCK: look(s)
def change_in_turn(s):
    with LOCK: change(s)
"""
HELPERS = {  # the other file of a program: one for each, because any of them makes every name changing
    "attributes that are keys, of another file": """
class AttrDict(dict):
    __getattr__ = dict.__getitem__
CONFIG = AttrDict(rate=1)
""",
    "attributes in a dictionary of another file": """
class Settings:
    def __init__(self, values): self.__dict__ = values
VALUES = {"rate": 1}
SETTINGS = Settings(VALUES)
""",
    "a function of another file that gives a dictionary": "namespace = vars",
}


@pytest.fixture
def made(tmp_path, monkeypatch):
    """Makes the module of a program."""
    monkeypatch.syspath_prepend(tmp_path)

    def make(text, helper=""):
        name = f"unseen_{abs(hash(tmp_path))}"
        (tmp_path / f"{name}_helper.py").write_text(helper)
        path = tmp_path / f"{name}.py"
        path.write_text(text.replace("{helper}", f"{name}_helper") + REST)
        spec = importlib.util.spec_from_file_location(name, path)
        module = importlib.util.module_from_spec(spec)
        monkeypatch.setitem(sys.modules, name, module)
        spec.loader.exec_module(module)
        return module

    return make


@pytest.mark.slow
@pytest.mark.parametrize("name", one_in(20, PROGRAMS))
def test_it_is_found_and_its_twin_with_a_lock_holds(name, made, monkeypatch):
    monkeypatch.setattr(Search, "_passes_test", lambda *of: True)
    module = made(PROGRAMS[name], HELPERS.get(name, ""))
    result = counted(module.look, module.change, setup=module.State, invariant=module.same, schedules=400)
    assert result.verdict == "violated", str(result)
    assert counted(module.look, module.change, setup=module.State, invariant=module.same, replay=result.token).verdict == "violated"
    twin = counted(module.look_in_turn, module.change_in_turn, setup=module.State, invariant=module.same, schedules=60)
    assert twin.verdict == "holds", str(twin)


ONCE = """
CACHE = None
class State:
    def __init__(self):
        global CACHE
        CACHE = CACHE if CACHE is not None else {}
        self.made, self.same = [], True
def get(s):
    if "x" not in CACHE:
        s.made.append(1)
        CACHE["x"] = 1
        s.same = len(s.made) == 1
look = change = get
"""


def test_a_global_that_the_setup_stores_only_once_is_not_made_anew(made, monkeypatch):
    monkeypatch.setattr(Search, "_passes_test", lambda *of: True)
    module = made(ONCE)
    result = counted(module.get, module.get, setup=module.State, invariant=module.same, schedules=400)
    assert result.verdict == "inconclusive", str(result)
    assert "'CACHE' of module" in result.reason, result.reason


def test_a_class_that_types_has_made_for_a_program_is_none_of_the_library():
    assert not computed.of_the_library(types.new_class("Row"))
    assert computed.of_the_library(types.SimpleNamespace)


@pytest.mark.slow
def test_a_failure_that_only_the_test_of_a_proof_finds_replays(made, monkeypatch):
    """Where every instruction is visible, a thread takes more steps until it counts as one that polls. A replay has to know it."""
    work = "\ndef work():\n    total = 0\n    for number in range(60): total = (total * 31 + number) % 997\n"
    text = PROGRAMS["the arguments of a signature"].replace("def look(s):\n", "def look(s):\n    work()\n")
    module = made(text.replace("def change(s): ", "def change(s): work(); ") + work)
    monkeypatch.setattr(changing, "computed_elsewhere", lambda: frozenset())
    result = counted(module.look, module.change, setup=module.State, invariant=module.same, schedules=1000)
    assert result.verdict == "violated", str(result)
    assert checksum("all_visible") in Token.read(result.token).learnt
    again = counted(module.look, module.change, setup=module.State, invariant=module.same, replay=result.token)
    assert (again.verdict, again.symptom) == ("violated", "invariant")


def test_the_types_of_locks_are_those_that_a_program_has_kept():
    kinds = type(threading.Lock()), type(threading.RLock())

    def make():
        return types.SimpleNamespace(locks=(threading.Lock(), threading.RLock()))

    def look(s):
        assert all(map(isinstance, s.locks, kinds))

    counted(look, look, setup=make, schedules=20).assert_holds()
