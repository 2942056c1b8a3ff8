"""Seven bugs that were found in the wild, each as two threads that pass one after the other, in either order, and fail between.

This is data for ``benchmarks/fuzz_public_bugs.py``, which installs the pinned versions into folders of their own, and for whoever
wants to compare another tool. Nothing is imported until a trigger is asked for, and then from the folder it is given.

A trigger does what users did in the report: no thread of it calls anything private, and no state is prepared that the library
itself could not be in.
"""

from __future__ import annotations

import atexit
import importlib
import importlib.util
import sys
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from types import ModuleType, SimpleNamespace
from typing import Any, NamedTuple

STANDARD_LIBRARY = "CPython"
STAND_IN = '''"""What is used of orjson here, for builds that it has no wheel for."""
import json

OPT_NON_STR_KEYS, OPT_SORT_KEYS = 4, 32
loads = json.loads


def dumps(value, option=0):
    return json.dumps(value, sort_keys=bool(option & OPT_SORT_KEYS), separators=(",", ":")).encode()
'''


class Trigger(NamedTuple):
    """What ``gilcheck.fuzz`` takes: a fresh state for every schedule, the threads, and what must be true afterwards."""

    setup: Callable[[], Any]
    threads: tuple[Callable[[Any], object], ...]
    invariant: Callable[[Any], bool] | None = None


@dataclass(frozen=True)
class PublicBug:
    """A bug, where it is, and what it must be called.

    Attributes:
        name: of the library.
        buggy: the requirement that has the bug; ``CPython`` if it is in the standard library of the interpreter itself.
        fixed: the first or a later version without it, or None if there is none.
        trigger: imports the library and returns what shows the bug.
        symptoms: what may be reported; where several orders go wrong in several ways, it depends on which is the smallest.
        reference: where it was reported.
        kind: of the verdict. All seven have calls where the threads must meet, so the GIL hides none of them for good.
        needs: further requirements, for the import alone.
        stand_ins: module name to source, for a requirement that this interpreter has no wheel of.
        include: modules outside of the library that must be stepped through.
    """

    name: str
    buggy: str
    fixed: str | None
    trigger: Callable[[str | None], Trigger]
    symptoms: frozenset[str]
    reference: str
    kind: str = "BREAKS-TODAY"
    needs: tuple[str, ...] = ()
    stand_ins: tuple[tuple[str, str], ...] = ()
    include: tuple[str, ...] = ()

    def expected(self, version: tuple[int, ...] = sys.version_info[:3]) -> bool:
        """Whether the "buggy" version has the bug on this interpreter."""
        return self.buggy != STANDARD_LIBRARY or version < (3, 13, 4)


def _import(name: str, target: str | None) -> Any:
    if target is not None and target not in sys.path:
        sys.path.insert(0, target)
    return importlib.import_module(name)


def botocore(target: str | None) -> Trigger:
    """Two clients, made in two threads, ask the session for the same component: the second deletes what the first deleted."""
    session = _import("botocore.session", target)

    def setup() -> Any:
        locator = session.ComponentLocator()
        locator.lazy_register_component("endpoint_resolver", object)
        return locator

    def ask(locator: Any) -> None:
        locator.get_component("endpoint_resolver")

    return Trigger(setup, (ask, ask))


def aioprometheus(target: str | None) -> Trigger:
    """A scrape reads all values while a request counts under a label that is new."""
    library = _import("aioprometheus", target)

    def setup() -> Any:
        counter = library.Counter("requests", "Requests so far", registry=library.Registry())
        for path in ("/", "/login", "/help"):
            counter.inc({"path": path})
        return counter

    def scrape(counter: Any) -> None:
        counter.get_all()

    def request(counter: Any) -> None:
        counter.inc({"path": "/new"})

    return Trigger(setup, (scrape, request))


def kombu(target: str | None) -> Trigger:
    """A cached property, computed twice: two threads go on with two connections."""
    cached_property = _import("kombu.utils.objects", target).cached_property

    class Client:
        @cached_property  # type: ignore[untyped-decorator]
        def connection(self) -> object:
            return object()

    def setup() -> SimpleNamespace:
        return SimpleNamespace(client=Client(), first=None, second=None)

    def first(state: SimpleNamespace) -> None:
        state.first = state.client.connection

    def second(state: SimpleNamespace) -> None:
        state.second = state.client.connection

    def same(state: SimpleNamespace) -> bool:
        return state.first is state.second

    return Trigger(setup, (first, second), same)


def peewee(target: str | None) -> Trigger:
    """Connect and close by hand in both: the lock of the database and the lock of the pool, taken in both orders."""
    pool = _import("playhouse.pool", target)

    def setup() -> Any:
        return pool.PooledSqliteDatabase(":memory:")

    def use(database: Any) -> None:
        database.connect()
        database.manual_close()

    return Trigger(setup, (use, use))


def execnet(target: str | None) -> Trigger:
    """Two gateways, opened at once, are given the same id."""
    multi = _execnet(target)

    def setup() -> SimpleNamespace:
        group = multi.Group()
        atexit.unregister(group._cleanup_atexit)  # or every schedule would leave one behind
        return SimpleNamespace(group=group, first=multi.XSpec("popen"), second=multi.XSpec("popen"))

    def first(state: SimpleNamespace) -> None:
        state.group.allocate_id(state.first)

    def second(state: SimpleNamespace) -> None:
        state.group.allocate_id(state.second)

    def different(state: SimpleNamespace) -> bool:
        return bool(state.first.id != state.second.id)

    return Trigger(setup, (first, second), different)


def _execnet(target: str | None) -> Any:
    """``execnet.multi`` without the package's own start, which needs a Python that allowed a module without ``__spec__``."""
    if "execnet.multi" not in sys.modules:
        if target is None:
            raise ImportError("execnet 1.x can only be loaded from a folder")
        package: Any = ModuleType("execnet")
        package.__path__ = [str(Path(target, "execnet"))]
        package.__file__ = str(Path(target, "execnet", "__init__.py"))
        sys.modules["execnet"] = package
        package.XSpec = importlib.import_module("execnet.xspec").XSpec
        importlib.import_module("execnet.multi")
    return sys.modules["execnet.multi"]


def tinydb(target: str | None) -> Trigger:
    """Two inserts: one is lost, or refused because both were given the same id."""
    library = _import("tinydb", target)
    storages = _import("tinydb.storages", target)

    def setup() -> Any:
        return library.TinyDB(storage=storages.MemoryStorage)

    def first(database: Any) -> None:
        database.insert({"name": "first"})

    def second(database: Any) -> None:
        database.insert({"name": "second"})

    def both(database: Any) -> bool:
        return len(database) == 2

    return Trigger(setup, (first, second), both)


def linecache(target: str | None) -> Trigger:
    """A traceback checks the cache of source lines while another thread clears it.

    A copy of the module in the target folder serves instead of the interpreter's own, for tools that cannot step through the
    standard library.
    """
    copied = target is not None and Path(target, "linecache.py").exists()
    module = _copied("linecache", str(target)) if copied else importlib.import_module("linecache")

    def setup() -> Any:
        # Entries without a time, as a loader makes them: checkcache() then asks no file.
        module.cache.clear()
        module.cache.update({name: (1, None, ["\n"], name) for name in ("one", "two")})
        return module

    def check(cache: Any) -> None:
        cache.checkcache()

    def clear(cache: Any) -> None:
        cache.clearcache()

    return Trigger(setup, (check, clear))


def _copied(name: str, target: str) -> Any:
    spec = importlib.util.spec_from_file_location(f"copied_{name}", Path(target, f"{name}.py"))
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


BUGS = (
    PublicBug(
        "botocore", "botocore==1.31.9", None, botocore, frozenset({"exception"}), "boto/botocore#1776",
        needs=("jmespath==1.0.1", "python-dateutil==2.9.0.post0", "six==1.17.0", "urllib3==1.26.20"),
    ),
    PublicBug(
        "aioprometheus", "aioprometheus==23.12.0", None, aioprometheus, frozenset({"exception"}), "claws/aioprometheus#85",
        needs=("quantile-python==1.1", "orjson==3.11.4"), stand_ins=(("orjson", STAND_IN),),
    ),
    PublicBug(
        "kombu", "kombu==5.0.2", "kombu==5.6.2", kombu, frozenset({"invariant"}), "celery/kombu#1303",
        needs=("amqp==5.3.1", "vine==5.1.0", "packaging==25.0", "tzdata==2025.2"),
    ),
    PublicBug("peewee", "peewee==4.0.5", "peewee==4.0.6", peewee, frozenset({"deadlock"}), "coleifer/peewee#3047"),
    PublicBug("execnet", "execnet==1.1", "execnet==1.2.0", execnet, frozenset({"invariant"}), "execnet-test#84"),
    PublicBug("tinydb", "tinydb==4.8.2", None, tinydb, frozenset({"invariant", "exception"}), "msiemens/tinydb#18"),
    PublicBug(
        "linecache", STANDARD_LIBRARY, None, linecache, frozenset({"exception"}), "python/cpython#133253", include=("linecache",),
    ),
)  # fmt: skip
