"""Programs over the standard library's locks and context managers, in unsafe and safe twins, for the injection check.

Each is a function without arguments that makes fresh state and returns ``(work, intact)``. ``benchmarks/injection_quality.py``
interrupts each with real signals and counts what breaks: that is the truth, and `UNSAFE` names what it found. What a twin leaves
behind besides its invariant (descriptors, threads) counts as well.
"""

import asyncio
import concurrent.futures
import contextlib
import contextvars
import decimal
import functools
import io
import logging
import os
import queue
import shutil
import socket
import sqlite3
import sys
import tempfile
import threading
import unittest.mock
import warnings

PROGRAMS = {}
UNSAFE = set()


def program(*, safe):
    def add(make):
        assert make.__name__ not in PROGRAMS, "each has a name of its own"
        PROGRAMS[make.__name__] = make
        if not safe:
            UNSAFE.add(make.__name__)
        return make

    return add


def free(lock):
    """Whether a lock is free. RLocks have no ``locked`` before Python 3.14."""
    return not repr(lock).startswith("<locked")


@program(safe=False)
def lock_acquired_before_try():
    lock = threading.Lock()

    def work():
        lock.acquire()
        try:
            len("")
        finally:
            lock.release()

    return work, lambda: free(lock)


@program(safe=True)
def lock_in_with():
    lock = threading.Lock()

    def work():
        with lock:
            len("")

    return work, lambda: free(lock)


@program(safe=False)
def rlock_acquired_before_try():
    lock = threading.RLock()

    def work():
        lock.acquire()
        try:
            len("")
        finally:
            lock.release()

    return work, lambda: free(lock)


@program(safe=True)
def rlock_in_with():
    lock = threading.RLock()

    def work():
        with lock, lock:
            len("")

    return work, lambda: free(lock)


@program(safe=False)
def lock_on_an_exit_stack():
    lock = threading.Lock()

    def work():
        with contextlib.ExitStack() as stack:
            stack.enter_context(lock)

    return work, lambda: free(lock)


@program(safe=True)
def exit_stack_inside_a_with():
    lock = threading.Lock()

    def work():
        with lock, contextlib.ExitStack() as stack:
            stack.callback(len, "")

    return work, lambda: free(lock)


@program(safe=False)
def condition_in_with():
    condition = threading.Condition()

    def work():
        with condition:
            condition.notify_all()

    return work, lambda: free(condition._lock)


@program(safe=True)
def lock_of_a_condition_in_with():
    lock = threading.RLock()
    condition = threading.Condition(lock)

    def work():
        with lock:
            condition.notify_all()

    return work, lambda: free(lock)


@program(safe=False)
def semaphore_in_with():
    semaphore = threading.Semaphore(2)

    def work():
        with semaphore:
            len("")

    return work, lambda: semaphore._value == 2 and free(semaphore._cond._lock)


@program(safe=True)
def semaphore_asked():
    semaphore = threading.Semaphore(2)

    def work():
        for _ in range(3):
            repr(semaphore)

    return work, lambda: semaphore._value == 2 and free(semaphore._cond._lock)


@program(safe=False)
def queue_put_and_get():
    shared = queue.Queue()

    def work():
        shared.put(1)
        shared.get()

    return work, lambda: free(shared.mutex)


@program(safe=True)
def simple_queue_put():
    shared = queue.SimpleQueue()

    def work():
        shared.put(1)
        shared.get()

    return work, lambda: shared.qsize() <= 1


@program(safe=False)
def event_set():
    event = threading.Event()

    def work():
        event.set()

    return work, lambda: free(event._cond._lock)


@program(safe=True)
def event_asked():
    event = threading.Event()

    def work():
        for _ in range(3):
            event.is_set()

    return work, lambda: free(event._cond._lock)


@program(safe=False)
def generator_that_acquires_before_try():
    lock = threading.Lock()

    @contextlib.contextmanager
    def held():
        lock.acquire()
        try:
            yield
        finally:
            lock.release()

    def work():
        with held():
            len("")

    return work, lambda: free(lock)


@program(safe=True)
def generator_with_a_with():
    lock = threading.Lock()

    @contextlib.contextmanager
    def held():
        with lock:
            yield

    def work():
        with held():
            len("")

    return work, lambda: free(lock)


@program(safe=False)
def balance_moved_in_two_calls():
    state = {"left": [1], "right": []}

    def work():
        state["right"].append(state["left"].pop())
        state["left"].append(state["right"].pop())

    return work, lambda: len(state["left"]) + len(state["right"]) == 1


@program(safe=True)
def balance_moved_in_one_store():
    state = {"both": ((1,), ())}

    def work():
        left, right = state["both"]
        state["both"] = tuple(right), tuple(left)

    return work, lambda: sum(map(len, state["both"])) == 1


@program(safe=False)
def flag_reset_by_a_call_after_work():
    state = {"busy": False}

    def work():
        state["busy"] = True
        sorted([2, 1])
        state["busy"] = False

    return work, lambda: not state["busy"]


@program(safe=True)
def flag_reset_in_finally():
    state = {"busy": False}

    def work():
        try:
            state["busy"] = True
            sorted([2, 1])
        finally:
            state["busy"] = False

    return work, lambda: not state["busy"]


class Session:
    """Opened and closed by methods without any call in them."""

    def __init__(self):
        self.users = 0

    def begin(self):
        self.users += 1

    def end(self):
        self.users -= 1


@program(safe=False)
def session_ended_without_finally():
    session = Session()

    def work():
        session.begin()
        len("")
        session.end()

    return work, lambda: session.users == 0


if sys.version_info >= (3, 12):  # before, nobody reports that what returned was written in Python

    @program(safe=True)
    def session_ended_in_finally():
        session = Session()

        def work():
            session.begin()
            try:
                len("")
            finally:
                session.end()

        def intact():
            return session.users >= 0  # `end` itself may be interrupted at its entry

        return work, intact


@program(safe=False)
def stdout_replaced_by_hand():
    before = sys.stdout

    def work():
        sys.stdout = io.StringIO()
        sys.stdout.write("")
        sys.stdout = before

    def intact():
        kept, sys.stdout = sys.stdout is before, before
        return kept

    return work, intact


@program(safe=True)
def stdout_left_alone():
    before = sys.stdout

    def work():
        io.StringIO().write("")

    return work, lambda: sys.stdout is before


@program(safe=False)
def stdout_redirected():
    before = sys.stdout

    def work():
        with contextlib.redirect_stdout(io.StringIO()):
            len("")

    def intact():
        kept, sys.stdout = sys.stdout is before, before
        return kept

    return work, intact


@program(safe=True)
def stdout_restored_in_finally():
    before = sys.stdout

    def work():
        try:
            sys.stdout = io.StringIO()
            len("")
        finally:
            sys.stdout = before

    def intact():
        kept, sys.stdout = sys.stdout is before, before
        return kept

    return work, intact


@program(safe=False)
def directory_changed_by_hand():
    home, other = os.getcwd(), tempfile.gettempdir()

    def work():
        os.chdir(other)
        len("")
        os.chdir(home)

    def intact():
        kept = os.getcwd() == home
        os.chdir(home)
        return kept

    return work, intact


@program(safe=True)
def directory_changed_in_try():
    home, other = os.getcwd(), tempfile.gettempdir()

    def work():
        try:
            os.chdir(other)
        finally:
            os.chdir(home)

    def intact():
        kept = os.getcwd() == home
        os.chdir(home)
        return kept

    return work, intact


@program(safe=False)
def directory_changed_by_contextlib():
    home, other = os.getcwd(), tempfile.gettempdir()

    def work():
        with contextlib.chdir(other):
            len("")

    def intact():
        kept = os.getcwd() == home
        os.chdir(home)
        return kept

    return work, intact


@program(safe=True)
def descriptor_of_a_directory():
    def work():
        with os.scandir(tempfile.gettempdir()) as entries:
            next(entries, None)

    return work, lambda: True


@program(safe=False)
def descriptor_opened_before_try():
    def work():
        descriptor = os.open(os.devnull, os.O_RDONLY)
        try:
            os.read(descriptor, 1)
        finally:
            os.close(descriptor)

    return work, lambda: True


@program(safe=True)
def file_opened_in_with():
    def work():
        with open(os.devnull, "rb") as file:
            file.read(1)

    return work, lambda: True


@program(safe=False)
def pair_of_pipes():
    def work():
        reading, writing = os.pipe()
        try:
            os.write(writing, b"x")
        finally:
            os.close(reading)
            os.close(writing)

    return work, lambda: True


@program(safe=True)
def unbuffered_file():
    def work():
        with open(os.devnull, "wb", buffering=0) as file:
            file.write(b"x")

    return work, lambda: True


@program(safe=False)
def directory_made_by_tempfile():
    folder = tempfile.mkdtemp()

    def work():
        with tempfile.TemporaryDirectory(dir=folder):
            len("")

    def intact():
        kept = not os.listdir(folder)
        shutil.rmtree(folder, ignore_errors=True)
        os.makedirs(folder)
        return kept

    return work, intact


@program(safe=True)
def directory_removed_in_finally():
    folder = tempfile.mkdtemp()
    name = os.path.join(folder, "made")

    def work():
        try:
            os.mkdir(name)
        finally:
            os.rmdir(name)

    def intact():
        kept = not os.listdir(folder)
        shutil.rmtree(folder, ignore_errors=True)
        os.makedirs(folder)
        return kept

    return work, intact


@program(safe=False)
def filters_of_warnings():
    before = list(warnings.filters)

    def work():
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")

    def intact():
        kept = list(warnings.filters) == before
        warnings.filters[:] = before
        return kept

    return work, intact


@program(safe=True)
def warnings_only_asked():
    before = list(warnings.filters)

    def work():
        sum(1 for _ in list(warnings.filters))

    return work, lambda: list(warnings.filters) == before


@program(safe=False)
def attribute_patched_by_mock():
    class Target:
        value = 1

    def work():
        with unittest.mock.patch.object(Target, "value", 2):
            len("")

    return work, lambda: Target.value == 1


@program(safe=True)
def attribute_of_a_copy():
    class Target:
        value = 1

    def work():
        copied = type("Copy", (Target,), {"value": 2})
        len(copied.__name__)

    return work, lambda: Target.value == 1


@program(safe=False)
def level_of_a_logger_by_hand():
    logger = logging.Logger("twins", logging.INFO)

    def work():
        logger.level = logging.DEBUG
        logger.isEnabledFor(logging.DEBUG)
        logger.level = logging.INFO

    return work, lambda: logger.level == logging.INFO


@program(safe=True)
def level_of_a_logger_in_finally():
    logger = logging.Logger("twins", logging.INFO)

    def work():
        try:
            logger.level = logging.DEBUG
            logger.isEnabledFor(logging.DEBUG)
        finally:
            logger.level = logging.INFO

    return work, lambda: logger.level == logging.INFO


@program(safe=sys.version_info >= (3, 13))  # before, its lock is acquired before a `try`
def logging_to_a_handler():
    logger = logging.Logger("twins", logging.INFO)
    handler = logging.StreamHandler(io.StringIO())
    logger.addHandler(handler)

    def work():
        logger.info("x")

    return work, lambda: free(handler.lock)


@program(safe=True)
def logging_below_the_level():
    logger = logging.Logger("twins", logging.INFO)
    handler = logging.StreamHandler(io.StringIO())
    logger.addHandler(handler)
    logger.isEnabledFor(logging.DEBUG)

    def work():
        logger.debug("x")

    return work, lambda: free(handler.lock)


@program(safe=False)
def decimal_context_by_hand():
    before = decimal.getcontext().prec

    def work():
        decimal.getcontext().prec = before + 1
        len("")
        decimal.getcontext().prec = before

    def intact():
        kept = decimal.getcontext().prec == before
        decimal.getcontext().prec = before
        return kept

    return work, intact


@program(safe=True)
def decimal_local_context():
    before = decimal.getcontext().prec

    def work():
        with decimal.localcontext() as context:
            context.prec = before + 1

    def intact():
        kept = decimal.getcontext().prec == before
        decimal.getcontext().prec = before
        return kept

    return work, intact


@program(safe=False)
def context_variable_reset_by_hand():
    variable = contextvars.ContextVar("twins", default=0)

    def work():
        token = variable.set(1)
        try:
            len("")
        finally:
            variable.reset(token)

    def intact():
        kept = variable.get() == 0
        variable.set(0)
        return kept

    return work, intact


@program(safe=True)
def context_variable_in_a_context():
    variable = contextvars.ContextVar("twins", default=0)

    def work():
        contextvars.copy_context().run(variable.set, 1)

    return work, lambda: variable.get() == 0


class ClosedAtItsEnd(sqlite3.Connection):
    """A connection that nobody closes is a warning, in whatever test runs just then."""

    def __del__(self):
        self.close()


@program(safe=False)
def transaction_by_hand():
    connection = sqlite3.connect(":memory:", isolation_level=None, factory=ClosedAtItsEnd)
    connection.execute("create table t (x)")

    def work():
        connection.execute("begin")
        connection.execute("insert into t values (1)")
        connection.execute("commit")

    def intact():
        kept = not connection.in_transaction
        if not kept:
            connection.rollback()
        return kept

    return work, intact


@program(safe=True)
def transaction_in_with():
    connection = sqlite3.connect(":memory:", factory=ClosedAtItsEnd)
    connection.execute("create table t (x)")

    def work():
        with connection:
            connection.execute("insert into t values (1)")

    def intact():
        kept = not connection.in_transaction
        if not kept:
            connection.rollback()
        return kept

    return work, intact


@program(safe=False)
def asyncio_lock_acquired_before_await():
    lock = asyncio.Lock()

    async def work():
        await lock.acquire()
        await asyncio.sleep(0)
        lock.release()

    return work, lambda: not lock.locked()


@program(safe=True)
def asyncio_lock_in_with():
    lock = asyncio.Lock()

    async def work():
        async with lock:
            await asyncio.sleep(0)

    return work, lambda: not lock.locked()


@program(safe=False)
def asyncio_counter_over_an_await():
    state = {"users": 0}

    async def work():
        state["users"] += 1
        await asyncio.sleep(0)
        state["users"] -= 1

    return work, lambda: state["users"] == 0


@program(safe=True)
def asyncio_counter_in_finally():
    state = {"users": 0}

    async def work():
        state["users"] += 1
        try:
            await asyncio.sleep(0)
        finally:
            state["users"] -= 1

    return work, lambda: state["users"] == 0


@program(safe=False)
def semaphore_of_asyncio_without_with():
    semaphore = asyncio.Semaphore(1)

    async def work():
        await semaphore.acquire()
        await asyncio.sleep(0)
        semaphore.release()

    return work, lambda: not semaphore.locked()


@program(safe=True)
def semaphore_of_asyncio_in_with():
    semaphore = asyncio.Semaphore(1)

    async def work():
        async with semaphore:
            await asyncio.sleep(0)

    return work, lambda: not semaphore.locked()


@program(safe=False)
def environment_changed_by_hand():
    def work():
        os.environ["TWINS"] = "1"
        len("")
        del os.environ["TWINS"]

    return work, lambda: os.environ.pop("TWINS", None) is None


@program(safe=True)
def environment_of_a_copy():
    def work():
        changed = dict(os.environ, TWINS="1")
        len(changed)

    return work, lambda: os.environ.pop("TWINS", None) is None


@program(safe=False)
def future_set_by_hand():
    made = {"future": concurrent.futures.Future()}

    def work():
        made["future"] = concurrent.futures.Future()
        made["future"].set_result(1)

    return work, lambda: free(made["future"]._condition._lock)


@program(safe=True)
def cached_result():
    calls = []

    @functools.lru_cache
    def cached():
        calls.append(1)
        return len(calls)

    def work():
        cached()

    return work, lambda: len(calls) <= 1


@program(safe=False)
def socket_pair_before_try():
    def work():
        ours, theirs = socket.socketpair()
        try:
            ours.send(b"x")
        finally:
            ours.close()
            theirs.close()

    return work, lambda: True


@program(safe=True)
def bytes_in_memory():
    def work():
        with io.BytesIO() as file, contextlib.suppress(ValueError):
            file.write(b"x")

    return work, lambda: True
