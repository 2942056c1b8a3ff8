"""A free-threaded build: the setup gets a thread of its own in each run only where somebody may notice when an object ends."""

from unittest import mock

import pytest

from pytest_gilcheck.core.build_flags import FREE_THREADED_BUILD
from pytest_gilcheck.engine.program import Program
from pytest_gilcheck.engine.running.engine import Engine
from pytest_gilcheck.engine.schedule import Schedule
from pytest_gilcheck.search import explorer
from pytest_gilcheck.search.harness import explorer_for
from pytest_gilcheck.search.plan import FuzzPlan

pytestmark = pytest.mark.skipif(not FREE_THREADED_BUILD, reason="a build with a GIL ends an object where its last reference goes")

BOX = """
class Box:
    n = 0

def work(box):
    box.n += 1
"""
RUNS = 20


@pytest.fixture
def in_threads():
    """Counts how often the setup runs in a thread of its own. No function of this file runs meanwhile: it would be under test."""
    with mock.patch.object(Engine, "in_a_thread", autospec=True, side_effect=Engine.in_a_thread) as counting:
        yield counting


@pytest.fixture
def boxes(tmp_path, monkeypatch):
    monkeypatch.syspath_prepend(tmp_path)

    def make(name, head):
        (tmp_path / f"{name}.py").write_text(head + BOX)
        return __import__(name)

    return make


def explored(in_threads, work, setup, invariant=None):
    """In how many of some runs after the sequential orders the setup had a thread of its own."""
    with explorer_for(Program((work, work), setup, invariant), FuzzPlan(), lambda label: None) as made:
        made.sequential()
        before = in_threads.call_count
        failures = [made.follow(Schedule(()))[1] for _ in range(RUNS)]
    assert failures == [None] * RUNS
    return in_threads.call_count - before


def test_where_nobody_may_notice_an_end_the_thread_is_spared(in_threads, boxes):
    plain = boxes("plain_box", "")
    assert explored(in_threads, plain.work, plain.Box) == 0


@pytest.mark.parametrize("head", ["import weakref\n", "class Closed:\n    def __del__(self):\n        pass\n", "import gc\n"])
def test_a_program_that_may_notice_one_keeps_it(in_threads, boxes, head):
    noticed = boxes(f"noticed_{len(head)}", head)
    assert explored(in_threads, noticed.work, noticed.Box) == RUNS


@pytest.mark.parametrize("head", ["import threading\nlocal = threading.local()\n", "from threading import current_thread\n"])
def test_a_program_that_may_look_at_its_thread_keeps_it(in_threads, boxes, head):
    of_thread = boxes(f"of_thread_{len(head)}", head)
    assert explored(in_threads, of_thread.work, of_thread.Box) == RUNS


CONTEXT = """
from contextvars import ContextVar

variable = ContextVar('variable')

def setup():
    variable.set(1)
    return Box()

def check(box):
    return variable.get(None) is None
"""


def test_a_context_variable_that_the_setup_sets_is_not_seen_by_the_invariant_with_or_without_a_thread(in_threads, boxes):
    box = boxes("box_of_a_context", CONTEXT)
    assert explored(in_threads, box.work, box.setup, box.check) == 0


def test_a_slow_machine_changes_nothing_in_a_search_that_ends_by_count(in_threads, boxes, monkeypatch):
    monkeypatch.setattr(explorer, "_SHORT", 0)
    box = boxes("box_of_a_slow_context", CONTEXT)
    assert explored(in_threads, box.work, box.setup, box.check) == 0


PATH = """
import concurrent.futures.thread as pools  # which has a name of the module that it needs

def setup():
    made = Box()
    number = getattr(pools.threading, "get_" + "ident")()
    made.by_main = number == getattr(getattr(pools.threading, "main_" + "thread")(), "id" + "ent")
    return made

def step(box):
    if box.by_main:
        box.n += 1
    box.n += 1
"""


def test_a_program_that_takes_another_path_without_the_thread_keeps_it(in_threads, boxes):
    box = boxes("box_of_a_path", PATH)
    assert explored(in_threads, box.step, box.setup) == RUNS
