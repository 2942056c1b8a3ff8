"""Caches, lazy values, publication, registries, and what lives as long as somebody refers to it."""

from __future__ import annotations

import contextvars
import functools
import threading
import weakref

from .declare import pair


@pair("steps")
class SingletonByNew:
    """Two threads make the one instance."""

    class Buggy:
        def __init__(self):
            class Service:
                instance = None

                def __new__(cls):
                    if cls.instance is None:
                        cls.instance = super().__new__(cls)
                    return cls.instance

            self.Service, self.seen = Service, []

    class Fixed:
        def __init__(self):
            class Service:
                instance, lock = None, threading.Lock()

                def __new__(cls):
                    with cls.lock:
                        if cls.instance is None:
                            cls.instance = super().__new__(cls)
                        return cls.instance

            self.Service, self.seen = Service, []

    threads = (lambda s: s.seen.append(s.Service()), lambda s: s.seen.append(s.Service()))

    def holds(s):
        return s.seen[0] is s.seen[1]


@pair("steps")
class TablePublishedEmpty:
    """A table is visible before it is filled."""

    class Buggy:
        def __init__(self):
            self.table = None

        def lookup(self, name):
            if self.table is None:
                self.table = {}
                for code in ("a", "b"):
                    self.table[code] = ord(code)
            return self.table[name]

    class Fixed(Buggy):
        def lookup(self, name):
            if self.table is None:
                table = {}
                for code in ("a", "b"):
                    table[code] = ord(code)
                self.table = table
            return self.table[name]

    threads = (lambda s: s.lookup("a"), lambda s: s.lookup("b"))


@pair("steps")
class DoubleCheckedFlag:
    """Double-checked locking sets its flag first."""

    class Buggy:
        def __init__(self):
            self.ready, self.engine, self.lock = False, None, threading.Lock()

        def ensure(self):
            if not self.ready:
                with self.lock:
                    if not self.ready:
                        self.ready = True
                        self.engine = ["started"]

        def use(self):
            self.ensure()
            return self.engine[0]

    class Fixed(Buggy):
        def ensure(self):
            if not self.ready:
                with self.lock:
                    if not self.ready:
                        self.engine = ["started"]
                        self.ready = True

    threads = (lambda s: s.use(), lambda s: s.use())


@pair("steps", also=("functools",))
class ConnectionByCachedProperty:
    """cached_property computes twice since Python 3.12."""

    class Buggy:
        def __init__(self):
            self.opened = []

        @functools.cached_property
        def connection(self):
            self.opened.append("connection")
            return object()

        def use(self):
            return self.connection

    class Fixed(Buggy):
        def __init__(self):
            super().__init__()
            self.lock = threading.Lock()

        def use(self):
            with self.lock:
                return self.connection

    threads = (lambda s: s.use(), lambda s: s.use())

    def holds(s):
        return len(s.opened) == 1


@pair("steps")
class ChargeByLruCache:
    """lru_cache does not keep two calls that run at once from both being made."""

    class Buggy:
        def __init__(self):
            self.charges = []
            self.charge = functools.lru_cache(maxsize=None)(self._charge)

        def _charge(self, order):
            self.charges.append(order)
            return f"receipt {order}"

    class Fixed(Buggy):
        def __init__(self):
            super().__init__()
            cached, lock = self.charge, threading.Lock()

            def charge(order):
                with lock:
                    return cached(order)

            self.charge = charge

    threads = (lambda s: s.charge(7), lambda s: s.charge(7))

    def holds(s):
        return s.charges == [7]


@pair("steps")
class StaleAfterInvalidation:
    """A value read before an update is cached after the invalidation."""

    class Buggy:
        def __init__(self):
            self.stored, self.cache, self.lock = "old", {}, threading.Lock()

        def read(self):
            if "v" not in self.cache:
                self.cache["v"] = self.stored
            return self.cache["v"]

        def write(self, value):
            self.stored = value
            self.cache.clear()

    class Fixed(Buggy):
        def read(self):
            with self.lock:
                if "v" not in self.cache:
                    self.cache["v"] = self.stored
                return self.cache["v"]

        def write(self, value):
            with self.lock:
                super().write(value)

    threads = (lambda s: s.read(), lambda s: s.write("new"))

    def holds(s):
        return s.read() == "new"


@pair("steps")
class MemoWithEviction:
    """The oldest key of a memo is found with ``next(iter())`` and evicted by two threads."""

    class Buggy:
        def __init__(self):
            self.memo = {1: 1, 2: 4}

        def square(self, n):
            if n not in self.memo:
                if len(self.memo) >= 2:
                    del self.memo[next(iter(self.memo))]
                self.memo[n] = n * n
            return self.memo[n]

    class Fixed(Buggy):
        def __init__(self):
            super().__init__()
            self.lock = threading.Lock()

        def square(self, n):
            with self.lock:
                return super().square(n)

    threads = (lambda s: s.square(3), lambda s: s.square(4))

    def holds(s):
        return len(s.memo) <= 2


class Symbol:
    """A name that is interned."""

    def __init__(self, name):
        self.name = name


@pair("steps")
class InternedByWeakValues:
    """Two threads intern the same name and get different objects."""

    def Buggy():
        table = weakref.WeakValueDictionary()

        def intern(name):
            symbol = table.get(name)
            if symbol is None:
                symbol = Symbol(name)
                table[name] = symbol
            return symbol

        return intern, []

    def Fixed():
        table, lock = weakref.WeakValueDictionary(), threading.Lock()

        def intern(name):
            with lock:
                symbol = table.get(name)
                if symbol is None:
                    symbol = table[name] = Symbol(name)
                return symbol

        return intern, []

    threads = (lambda s: s[1].append(s[0]("x")), lambda s: s[1].append(s[0]("x")))

    def holds(s):
        return s[1][0] is s[1][1]


class Owner:
    """Something that others refer to weakly."""

    name = "owner"


@pair("steps")
class WeakReferenceCalledTwice:
    """The object of a weak reference ends between the test and the use."""

    class Buggy:
        def __init__(self):
            self.owner = Owner()
            self.ref = weakref.ref(self.owner)

        def title(self):
            if self.ref() is not None:
                return self.ref().name.title()
            return "?"

        def drop(self):
            self.owner = None

    class Fixed(Buggy):
        def title(self):
            owner = self.ref()
            return "?" if owner is None else owner.name.title()

    threads = (lambda s: s.title(), lambda s: s.drop())


@pair("steps")
class CallbackRemovesSuccessor:
    """A weak reference's callback removes the entry that another thread has just renewed."""

    class Buggy:
        def __init__(self):
            self.table, self.lock = {}, threading.RLock()
            self.first, self.second = Owner(), Owner()
            self.renewed = False
            self.register(self.first)

        def register(self, owner):
            self.table["key"] = weakref.ref(owner, self._gone)

        def _gone(self, ref):
            self.table.pop("key", None)

        def drop(self):
            self.first = None

        def renew(self):
            ref = self.table.get("key")
            if ref is None or ref() is None:
                self.register(self.second)
                self.renewed = True

    class Fixed(Buggy):
        def _gone(self, ref):
            with self.lock:
                if self.table.get("key") is ref:
                    del self.table["key"]

        def renew(self):
            with self.lock:
                super().renew()

    threads = (lambda s: s.drop(), lambda s: s.renew())

    def holds(s):
        return not s.renewed or "key" in s.table


class Descriptor:
    """A number of an open resource, closed when its owner ends."""

    def __init__(self, opened):
        self.opened, self.number = opened, len(opened)
        opened.append(True)

    def __del__(self):
        self.opened[self.number] = False


@pair("steps")
class NumberOutlivesOwner:
    """Only the number is kept; the owner that closes it in ``__del__`` is replaced meanwhile."""

    class Buggy:
        def __init__(self):
            self.opened = []
            self.current = Descriptor(self.opened)

        def read(self):
            number = self.current.number
            if not self.opened[number]:
                raise OSError("bad file descriptor")

        def reopen(self):
            self.current = Descriptor(self.opened)

    class Fixed(Buggy):
        def read(self):
            owner = self.current
            if not self.opened[owner.number]:
                raise OSError("bad file descriptor")

    threads = (lambda s: s.read(), lambda s: s.reopen())


@pair("steps", also=("functools",))
class HandlerBySingledispatch:
    """Two threads both find no handler for a type, and the second registration replaces the first."""

    class Buggy:
        def __init__(self):
            @functools.singledispatch
            def encode(value):
                return None

            self.encode, self.used = encode, []

        def encoder_for(self, kind, who):
            if kind not in self.encode.registry:
                self.encode.register(kind, lambda value: who)
                if self.encode(kind()) != who:
                    raise RuntimeError("somebody replaced the handler")

    class Fixed(Buggy):
        def __init__(self):
            super().__init__()
            self.lock = threading.Lock()

        def encoder_for(self, kind, who):
            with self.lock:
                super().encoder_for(kind, who)

    threads = (lambda s: s.encoder_for(int, "a"), lambda s: s.encoder_for(int, "b"))


@pair("steps")
class PartialWithOldList:
    """A partial object is made anew at each flush; an append through the old one is lost."""

    class Buggy:
        def __init__(self):
            self.sent, self.lock = [], threading.Lock()
            self.renew()

        def renew(self):
            self.rows = []
            self.add = functools.partial(self.rows.append)

        def log(self, row):
            self.add(row)

        def flush(self):
            rows = self.rows
            self.sent += rows
            self.renew()

    class Fixed(Buggy):
        def log(self, row):
            with self.lock:
                self.add(row)

        def flush(self):
            with self.lock:
                super().flush()

    threads = (lambda s: s.log("row"), lambda s: s.flush())

    def holds(s):
        return s.sent + s.rows == ["row"]


@pair("steps")
class DefaultOfContextVariable:
    """The mutable default of a context variable is one object in all threads."""

    class Buggy:
        def __init__(self):
            self.var = contextvars.ContextVar("stack", default=[])  # noqa: B039 - what is wrong here

        def enter(self):
            return self.var.get()

        def call(self, name):
            stack = self.enter()
            stack.append(name)
            if stack.pop() != name:
                raise RuntimeError("popped the frame of another thread")

    class Fixed(Buggy):
        def enter(self):
            self.var.set([])
            return self.var.get()

    threads = (lambda s: s.call("a"), lambda s: s.call("b"))


class Cursor:
    """A cursor keeps the rows of its last query."""

    def execute(self, query):
        self.rows = [query]

    def fetch(self):
        return self.rows[0]


@pair("steps")
class SharedCursor:
    """Two threads execute and fetch with one cursor."""

    class Buggy:
        def __init__(self):
            self.cursor = Cursor()

        def ask(self, query):
            self.cursor.execute(query)
            if self.cursor.fetch() != query:
                raise RuntimeError("rows of another query")

    class Fixed(Buggy):
        def __init__(self):
            self.local = threading.local()

        @property
        def cursor(self):
            try:
                return self.local.cursor
            except AttributeError:
                self.local.cursor = Cursor()
                return self.local.cursor

    threads = (lambda s: s.ask("q1"), lambda s: s.ask("q2"))


@pair("steps")
class VersionBeforeChange:
    """A registry raises its version before it changes; a reader caches the old items with the new version for good."""

    class Buggy:
        def __init__(self):
            self.version, self.items = 0, {}
            self.cached = (-1, {})

        def register(self, name):
            self.version += 1
            self.items[name] = True

        def names(self):
            version = self.version
            if self.cached[0] != version:
                self.cached = (version, dict(self.items))
            return self.cached[1]

    class Fixed(Buggy):
        def register(self, name):
            self.items[name] = True
            self.version += 1

    threads = (lambda s: s.register("plugin"), lambda s: s.names())

    def holds(s):
        return "plugin" in s.names()


class Lazy:
    """A namespace that loads its members when they are first asked for."""

    def __init__(self):
        self.loads = []

    def __getattr__(self, name):
        if name.startswith("_"):
            raise AttributeError(name)
        self.loads.append(name)
        value = object()
        self.__dict__[name] = value
        return value


class LockedLazy(Lazy):
    def __init__(self):
        super().__init__()
        self.lock = threading.Lock()

    def __getattr__(self, name):
        with self.lock:
            if name in self.__dict__:
                return self.__dict__[name]
            return super().__getattr__(name)


@pair("steps")
class MemberByGetattr:
    """``__getattr__`` loads a member for each thread that misses it."""

    Buggy = Lazy
    Fixed = LockedLazy
    threads = (lambda s: s.parser, lambda s: s.parser)

    def holds(s):
        return s.loads == ["parser"]


def singleton(reset):
    class Config:
        one = None

        def __new__(cls):
            return cls.one

        def __init__(self):
            if reset or not hasattr(self, "values"):
                self.values = {}

    Config.one = object.__new__(Config)
    Config()
    return Config


@pair("steps")
class InitRunsAgain:
    """A singleton's ``__init__`` runs at each call, and clears what another thread has stored."""

    class Buggy:
        def __init__(self):
            self.Config = singleton(reset=True)

        def use(self, name):
            config = self.Config()
            config.values[name] = 1
            return config.values[name]

    class Fixed(Buggy):
        def __init__(self):
            self.Config = singleton(reset=False)

    threads = (lambda s: s.use("a"), lambda s: s.use("b"))


@pair("steps")
class DecoratorCachesLastCall:
    """A decorator keeps the last argument and the last result in two attributes of the function."""

    def remember(function):
        def wrapper(argument):
            if wrapper.argument != argument:
                wrapper.argument = argument
                wrapper.result = function(argument)
            return wrapper.result

        wrapper.argument = wrapper.result = None
        return wrapper

    def remember_pair(function):
        def wrapper(argument):
            last = wrapper.last
            if last[0] != argument:
                last = wrapper.last = (argument, function(argument))
            return last[1]

        wrapper.last = (None, None)
        return wrapper

    def Buggy(remember=remember):
        return remember(lambda n: n * n)

    def Fixed(remember=remember_pair):
        return remember(lambda n: n * n)

    def check(square, n):
        if square(n) != n * n:
            raise ValueError("the square of another number")

    threads = (lambda s, check=check: check(s, 2), lambda s, check=check: check(s, 3))


@pair("steps")
class SubclassesRegistered:
    """``__init_subclass__`` gives numbers by the length of the registry."""

    class Buggy:
        def __init__(self):
            registry = self.registry = {}

            class Plugin:
                def __init_subclass__(cls):
                    cls.number = len(registry)
                    registry[cls.number] = cls

            self.Plugin = Plugin

    class Fixed:
        def __init__(self):
            registry, lock = {}, threading.Lock()

            class Plugin:
                def __init_subclass__(cls):
                    with lock:
                        cls.number = len(registry)
                        registry[cls.number] = cls

            self.Plugin, self.registry = Plugin, registry

    threads = (lambda s: type("A", (s.Plugin,), {}), lambda s: type("B", (s.Plugin,), {}))

    def holds(s):
        return len(s.registry) == 2


@pair("steps")
class NegativeCacheWins:
    """A miss is cached after somebody has defined the name."""

    class Buggy:
        missing = object()

        def __init__(self):
            self.defined, self.known = {}, {}

        def define(self, name, value):
            self.defined[name] = value
            self.known.pop(name, None)

        def find(self, name):
            if name not in self.known:
                value = self.defined.get(name, self.missing)
                self.known[name] = value
            return self.known.get(name)

    class Fixed(Buggy):
        def find(self, name):
            found = self.known.get(name)
            if found is None:
                found = self.defined.get(name)
                if found is not None:
                    self.known[name] = found
            return found

    threads = (lambda s: s.find("n"), lambda s: s.define("n", 5))

    def holds(s):
        return s.find("n") == 5
