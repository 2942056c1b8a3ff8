"""Locks that exist before a check: of the program, of what its code leads to, and one for each real lock."""

import importlib
import sys
import threading

import pytest

from pytest_gilcheck.core import origin
from pytest_gilcheck.engine.program import Program
from pytest_gilcheck.engine.running.primitives import Lock
from pytest_gilcheck.engine.session import Session
from pytest_gilcheck.search.explorer import Explorer
from tests.fuzz.conflicts_here import Conflicts

MOST = 60  # schedules
GUARDED = """
import threading

lock = threading.Lock()
value = 0

def add():
    global value
    with lock:
        before = value
        value = before + 1
"""
HERE = threading.Lock()


@pytest.fixture(params=["of a package", "of the user"])
def loaded(tmp_path, monkeypatch, request):
    """A module with a lock, of a package or of the user; loaded, as by a plugin or by another test, and named by nobody."""
    if request.param == "of a package":
        monkeypatch.setattr(origin, "_INSTALLED", (*origin._INSTALLED, str(tmp_path)))
    tmp_path.joinpath("guarded_by_a_package.py").write_text(GUARDED)
    monkeypatch.syspath_prepend(str(tmp_path))
    yield importlib.import_module("guarded_by_a_package")
    del sys.modules["guarded_by_a_package"]


def searched(work, setup=None):
    """Whether the lock was under control in a search of two threads, and what was not."""
    with Session(Program((work, work), setup, None, "with a package")) as session:
        runs = session.first(Explorer)
        under_control = type(sys.modules["guarded_by_a_package"].lock) is Lock
        runs.sequential()
        reduction = Conflicts(runs)
        reduction.search(lambda: reduction.runs > MOST)
        return under_control, reduction.failure, runs.uncontrolled


def test_a_lock_of_a_module_that_a_function_imports_is_under_control(loaded):
    made = {}  # of a text, because an import in any function of this file would lead to the package
    exec("def work():\n    import guarded_by_a_package\n    guarded_by_a_package.add()", made)
    assert searched(made["work"]) == (True, None, [])


def test_so_is_one_of_a_module_of_which_the_program_has_a_function_or_an_instance(loaded):
    add = loaded.add
    assert searched(lambda: add()) == (True, None, [])

    class Kept:
        value = 0

    Kept.__module__ = loaded.__name__
    kept = Kept()

    def work():
        kept.value += 0

    assert searched(work)[0]


def test_one_of_a_module_that_nothing_leads_to_is_left_alone_and_a_thread_that_blocks_on_it_is_noticed(loaded):
    name = "_".join(("guarded", "by", "a", "package"))

    def work():
        sys.modules[name].add()

    under_control, failure, uncontrolled = searched(work)
    assert not under_control
    assert failure is None
    assert uncontrolled
    assert type(loaded.lock) is not Lock


@pytest.mark.parametrize(
    "text",
    [
        "from . import stock\n\ndef work():\n    stock.add()",
        "def work():\n    from .stock import add\n    add()",
        "import shop_of_the_user.stock\n\ndef work():\n    shop_of_the_user.stock.add()",
    ],
    ids=["at the top", "in the function", "as an attribute"],
)
def test_so_is_one_of_a_module_that_another_one_imports_from_its_own_package(tmp_path, monkeypatch, text):
    folder = tmp_path / "shop_of_the_user"
    folder.mkdir()
    folder.joinpath("__init__.py").write_text("")
    folder.joinpath("stock.py").write_text(GUARDED)
    folder.joinpath("sales.py").write_text(text)
    monkeypatch.syspath_prepend(str(tmp_path))
    importlib.import_module("shop_of_the_user.stock")
    work = importlib.import_module("shop_of_the_user.sales").work
    stock = sys.modules["shop_of_the_user.stock"]
    try:
        with Session(Program((work, work), None, None, "of one package")):
            assert type(stock.lock) is Lock
    finally:
        for name in [name for name in sys.modules if name.partition(".")[0] == "shop_of_the_user"]:
            del sys.modules[name]


def test_two_ways_to_one_lock_meet_at_one_also_in_a_later_program():
    lock = HERE

    def by_a_closure(box):
        with lock:
            box.append(1)

    def by_a_name(box):
        with HERE:
            box.append(2)

    with Session() as session:
        for _ in range(2):
            runs = session.use(Program((by_a_closure, by_a_name), list, lambda box: len(box) == 2, "two ways"), Explorer)
            runs.sequential()
            reduction = Conflicts(runs)
            reduction.search(lambda: reduction.runs > MOST)  # noqa: B023
            assert reduction.failure is None
            assert reduction.runs > 1
            assert not runs.uncontrolled
