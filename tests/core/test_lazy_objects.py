"""Lazy objects and modules of the program, beside a check: nothing asks them, so none is made by that, and none raises.

A proxy asks what it stands for whenever it is asked for its class, as `isinstance` does. That may be made only later, within an
application for instance; until then it raises. A lazy module is imported by whoever asks it for any attribute.
"""

import asyncio
import gc
import importlib.util
import signal
import sys
import threading
import types

import pytest

from pytest_gilcheck import gilcheck
from pytest_gilcheck.core import gil_watch
from pytest_gilcheck.core.classes import file_of_module, is_unfinished, names_of_module
from pytest_gilcheck.core.fork_safety import can_fork
from pytest_gilcheck.core.invariants import broken
from pytest_gilcheck.interrupt.awaiting import waiting_coroutines
from pytest_gilcheck.interrupt.ccalls import _name

from ..slow import one_in

needs_fork = pytest.mark.skipif(can_fork() is not None, reason=f"{can_fork()}")


class Proxy:
    """As those of celery, Django and lazy-object-proxy."""

    @property
    def __class__(self):
        raise RuntimeError("outside of an application")

    def __call__(self):
        return self.made()

    @staticmethod
    def made():
        return [1]


class Moved(types.ModuleType):
    """As those of six: it imports what it stands for when it is asked."""

    def __getattr__(self, name):
        raise ImportError(f"{name} cannot be imported here")


@pytest.fixture
def lazy(monkeypatch):
    """Lazy objects of the process, which the garbage collector knows, and modules in `sys.modules`."""
    kept = [Proxy(), Moved("moved"), types.ModuleType.__new__(types.ModuleType)]
    for number, each in enumerate(kept):
        monkeypatch.setitem(sys.modules, f"lazy_{number}", each)
    assert all(map(gc.is_tracked, kept))
    return kept


@pytest.fixture
def lazy_module(tmp_path, monkeypatch):
    """A module of `importlib.util.LazyLoader`, which is executed when it is asked for anything."""
    (tmp_path / "put_off.py").write_text("raise RuntimeError('it was imported')")
    spec = importlib.util.spec_from_file_location("put_off", tmp_path / "put_off.py")
    spec.loader = importlib.util.LazyLoader(spec.loader)
    module = importlib.util.module_from_spec(spec)
    monkeypatch.setitem(sys.modules, "put_off", module)
    spec.loader.exec_module(module)
    return module


def work():
    with threading.Lock():
        pass


def test_a_module_is_not_asked_for_its_file(lazy, lazy_module):
    assert [file_of_module(each) for each in lazy] == [None, None, None]
    assert [names_of_module(each).get("__name__") for each in lazy] == [None, "moved", None]
    assert file_of_module(lazy_module).endswith("put_off.py")
    assert file_of_module(sys) is None
    assert file_of_module(threading) == threading.__file__
    assert names_of_module(threading) is vars(threading)
    assert file_of_module(None) is None


def test_an_object_that_stands_for_a_module_has_the_file_that_it_says():
    assert file_of_module(types.SimpleNamespace(__file__="settings.py")) == "settings.py"


def test_a_module_is_not_asked_for_its_loader(lazy, lazy_module):
    assert "_thread" not in gil_watch._extension_modules()


def test_a_fuzz_check_asks_none(lazy, lazy_module):
    def add(state):
        state.append(1)

    gilcheck.fuzz(setup=list, threads=[add, add], invariant=lambda state: state == [1, 1], schedules=20).assert_holds()


@needs_fork
def test_an_injection_asks_none(lazy, lazy_module):
    gilcheck.interrupt(work, inject="every-step").assert_holds()


def test_to_find_where_coroutines_wait_asks_none(lazy):
    class Awaited:
        """What a coroutine waits for, without another coroutine."""

        __class__ = Proxy.__dict__["__class__"]

        def __await__(self):
            return self

        __iter__ = __await__

        def __eq__(self, other):
            raise RuntimeError("it is compared")

        def __next__(self):
            return None

    async def waits():
        await Awaited()

    coroutine = waits()
    coroutine.send(None)
    try:
        assert [place[2] for place in waiting_coroutines() if place[0] == __file__] == [waits.__qualname__]
    finally:
        coroutine.close()


def test_where_coroutines_wait_is_found_beside_tasks(lazy):
    async def sleeps():
        await asyncio.sleep(60)

    async def main():
        task = asyncio.create_task(sleeps())
        await asyncio.sleep(0)
        found = waiting_coroutines()
        task.cancel()
        return found

    assert [place[2] for place in asyncio.run(main()) if place[0] == __file__] == [sleeps.__qualname__]


class Computes:
    """A callable whose attributes are made by its own code."""

    def __getattr__(self, name):
        raise RuntimeError(name)

    def __call__(self):
        pass


class Named:
    __name__ = property(lambda self: 1 / 0)

    def __call__(self):
        pass


class Meta(type):
    def __getattribute__(cls, name):
        raise RuntimeError(name)


class OfMeta(metaclass=Meta):
    pass


@pytest.mark.parametrize("name", ["Proxy", "Computes", "Named", "OfMeta"])
def test_what_is_called_is_not_asked_for_its_name(name):
    called = OfMeta if name == "OfMeta" else globals()[name]()
    assert _name(called) == f"{__name__}.{name}"


@pytest.mark.parametrize(
    ("called", "name"),
    [
        (len, "len"),
        (threading.Lock().acquire, "lock.acquire"),
        (list.append, "list.append"),
        (signal.pause, "signal.pause") if hasattr(signal, "pause") else (len, "len"),
        (dict, "dict"),
        (types.SimpleNamespace, "types.SimpleNamespace"),
        (OSError, "OSError"),
        ("".join, "str.join"),
    ],
)
def test_the_name_of_what_is_called(called, name):
    assert _name(called) in (name, f"_{name}", f"_thread.{name}")


class TestARecordedRun:
    """A fuzz check looks at each value of a step for what it touches; only the program may ask a value for its class."""

    @pytest.fixture
    def asked(self):
        return []

    @pytest.fixture
    def proxy(self, asked):
        class Lazy:
            @property
            def __class__(self):
                asked.append(sys._getframe(1).f_code.co_filename)
                return list

            def __hash__(self):
                return object.__hash__(self)

            def run(self):
                pass

        return Lazy

    @pytest.mark.parametrize(
        "step",
        one_in(
            3,
            [
                lambda state, made: object.__setattr__(made, "name", 1),
                lambda state, made: (object.__setattr__(made, "name", 1), object.__delattr__(made, "name")),
                lambda state, made: state.append(made),
                lambda state, made: {made: 1},
                lambda state, made: setattr(made, "lock", threading.Lock()),
                lambda state, made: threading.Thread(target=made.run).start(),
                lambda state, made: [made].count(made),
                lambda state, made: f"{state!s:.1}",
                lambda state, made: max([made], key=id),
            ],
        ),
        ids=["store", "delete", "append", "hash", "lock", "thread", "compare", "format", "max"],
    )
    def test_no_value_is_asked(self, asked, proxy, step):
        def thread(state):
            step(state, proxy())

        gilcheck.fuzz(setup=list, threads=[thread, thread], schedules=20)
        assert asked == []

    def test_what_is_raised_is_not_asked(self, asked):
        class Failure(Exception):
            @property
            def __class__(self):
                asked.append(1)
                return Exception

        def thread(state):
            try:
                raise Failure
            except Failure:
                state.append(1)

        gilcheck.fuzz(setup=list, threads=[thread, thread], schedules=20)
        assert asked == []

    def test_an_object_with_a_lock_in_it_is_not_asked(self, asked, proxy):
        def setup():
            made = proxy()
            made.lock = threading.Lock()
            return [made, made.lock]

        def thread(state):
            with state[1]:
                pass

        gilcheck.fuzz(setup=setup, threads=[thread, thread], schedules=20)
        assert asked == []


class TestWhatAWorkloadReturns:
    """It may be a lazy object, which the workload has not asked for anything."""

    class Lazy(Proxy):
        def __await__(self):  # a proxy has all of them
            raise RuntimeError("it is awaited")

    def test_a_measured_call(self):
        lazy = self.Lazy()
        result = gilcheck.scaling(lambda: (sum(range(10_000)), lazy)[1], threads=2, max_slowdown=50, budget=0.2)
        assert result.verdict  # whatever it is on this machine

    @needs_fork
    def test_a_call_that_is_interrupted(self):
        lazy = self.Lazy()

        def waits():
            try:
                threading.Event().wait(60)
            except KeyboardInterrupt:
                return lazy

        gilcheck.interrupt(waits, repeats=1, over=0.05).assert_holds()
        gilcheck.interrupt(lambda: lazy, inject="every-step").assert_holds()

    def test_the_answer_of_an_invariant_is_asked_only_whether_it_is_true(self):
        class Answer(self.Lazy):
            def __bool__(self):
                return True

        assert broken(lambda: None, (), Answer()) is None

    def test_a_value_in_a_broken_invariant(self):
        lazy = self.Lazy()
        assert broken(lambda: lazy is None, (), False) == "lazy is None is False"


@pytest.mark.parametrize("make", [asyncio.Future, lambda: (each for each in ()), None], ids=["future", "generator", "coroutine"])
def test_what_somebody_has_to_run_is_unfinished(make):
    async def nothing():
        pass

    loop = asyncio.new_event_loop()
    found = asyncio.Future(loop=loop) if make is asyncio.Future else nothing() if make is None else make()
    try:
        assert is_unfinished(found)
    finally:
        getattr(found, "close", loop.close)()
        loop.close()
    assert not is_unfinished([found])
