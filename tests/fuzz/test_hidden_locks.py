"""Locks in places where they are hard to find: found, or the wait for them is noticed and claims nothing. Never a false alarm."""

import collections
import contextlib
import functools
import itertools
import operator
import queue
import threading
import types
import weakref

import pytest

from ..slow import one_in
from .programs import Counter, counted, is_two


def update(counter, lock):
    with lock:
        value = counter.value
        counter.value = value + 1


class Slotted:
    __slots__ = ("__weakref__", "lock")

    def __init__(self):
        self.lock = threading.Lock()


class Mangled:
    __slots__ = ("__lock",)

    def __init__(self):
        self.__lock = threading.Lock()

    @property
    def lock(self):
        return self.__lock


class Frozen(tuple):
    __slots__ = ()


class Callable:
    lock = threading.Lock()

    def __call__(self, counter):
        update(counter, self.lock)


class WithLock(threading.local):
    pass


PARTIAL = functools.partial(update, lock=threading.Lock())
POSITIONAL = functools.partial(lambda lock, counter: update(counter, lock), threading.Lock())
SLOTTED, MANGLED = Slotted(), Mangled()
IN_WEAK_SET = weakref.WeakSet([SLOTTED])
BY_WEAK_KEY = weakref.WeakKeyDictionary({SLOTTED: threading.Lock()})
IN_TUPLE = Frozen([threading.Lock()])
NAMESPACE = types.SimpleNamespace(lock=threading.Lock())
PROXY = types.MappingProxyType({"lock": threading.Lock()})
CHAINED = collections.ChainMap({"lock": threading.Lock()})
DEFAULTS = collections.defaultdict(threading.Lock)
DEFAULTS["first"]
DEQUE = collections.deque([threading.Lock()])
CYCLE = itertools.cycle([threading.Lock()])
GETTER = operator.methodcaller("__enter__")
BOUND = threading.Lock().acquire
QUEUE = queue.SimpleQueue()
QUEUE.put(threading.Lock())
STACK = contextlib.ExitStack()


def by_partial(counter):
    PARTIAL(counter)


def by_positional(counter):
    POSITIONAL(counter)


def by_slot(counter):
    update(counter, SLOTTED.lock)


def by_mangled_slot(counter):
    update(counter, MANGLED.lock)


def by_weak_set(counter):
    for each in IN_WEAK_SET:
        update(counter, each.lock)


def by_weak_key(counter):
    update(counter, BY_WEAK_KEY[SLOTTED])


def by_tuple(counter):
    update(counter, IN_TUPLE[0])


def by_namespace(counter):
    update(counter, NAMESPACE.lock)


def by_proxy(counter):
    update(counter, PROXY["lock"])


def by_chain(counter):
    update(counter, CHAINED["lock"])


def by_default(counter):
    update(counter, DEFAULTS["first"])


def by_deque(counter):
    update(counter, DEQUE[0])


def by_generator(counter):
    update(counter, next(LOCKS))


def by_bound_method(counter):
    BOUND()
    try:
        value = counter.value
        counter.value = value + 1
    finally:
        BOUND.__self__.release()


def by_keyword_default(counter, *, lock=threading.Lock()):  # noqa: B008
    update(counter, lock)


def decorated(lock):
    def decorate(function):
        @functools.wraps(function)
        def wrapper(*arguments):
            with lock:
                return function(*arguments)

        return wrapper

    return decorate


@decorated(threading.Lock())
def by_decorator(counter):
    value = counter.value
    counter.value = value + 1


@functools.singledispatch
def by_dispatch(counter):
    raise NotImplementedError


@by_dispatch.register
@decorated(threading.Lock())
def _(counter: Counter):
    value = counter.value
    counter.value = value + 1


BY_ONE = decorated(threading.Lock())


@BY_ONE
def add_by_one(counter):
    value = counter.value
    counter.value = value + 1


@BY_ONE
def add_by_one_too(counter):
    value = counter.value
    counter.value = value + 1


def one_lock():
    lock = threading.Lock()
    while True:
        yield lock


LOCKS = one_lock()
next(LOCKS)

WAYS = (
    by_partial, by_positional, by_slot, by_mangled_slot, by_weak_set, by_weak_key, by_tuple, by_namespace, by_proxy, by_chain,
    by_default, by_deque, by_bound_method, by_keyword_default, by_decorator, by_dispatch, Callable(),
)  # fmt: skip


def test_a_lock_in_a_cell_that_several_functions_share_is_found():
    counted(add_by_one, add_by_one_too, setup=Counter, invariant=is_two, schedules=10).assert_holds()


@pytest.mark.slow
@pytest.mark.parametrize("way", WAYS, ids=lambda way: getattr(way, "__name__", type(way).__name__))
def test_a_hidden_lock_is_found_or_its_wait_is_noticed(way):
    result = counted(way, way, setup=Counter, invariant=is_two, schedules=10)
    if result.verdict == "inconclusive":
        assert result.why == "partly uncontrolled"
    else:
        assert result.verdict == "holds", str(result)


FOUND = tuple(way for way in WAYS if way is not by_tuple)


@pytest.mark.parametrize("way", one_in(8, FOUND), ids=lambda way: getattr(way, "__name__", type(way).__name__))
def test_it_is_found(way):
    counted(way, way, setup=Counter, invariant=is_two, schedules=10).assert_holds()
