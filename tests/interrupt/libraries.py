"""Workloads with real libraries and their answer to Ctrl-C, in the terms of `catalogue`.

`benchmarks/interrupt_libraries.py` measures the truth with plain signals, and runs the check. A workload names the modules that it
``needs``; without them it is left out. Most need no server: a listener of the same process that never answers stands for one. Those
that name a ``server`` need its program, which the benchmark starts (`servers`).
"""

import asyncio
import bisect
import codecs
import concurrent.futures
import contextlib
import csv
import ctypes
import ctypes.util
import functools
import hashlib
import importlib.util
import io
import itertools
import logging
import lzma
import multiprocessing
import os
import queue
import sched
import select
import selectors
import signal
import socket
import socketserver
import sqlite3
import subprocess
import sys
import tempfile
import threading
import time
import urllib.request
import xml.parsers.expat
import zlib
from collections.abc import Callable
from dataclasses import dataclass

from . import servers

HOLDS, VIOLATED = "holds", "violated"
DEAF = frozenset({"deaf", "late"})


@dataclass(frozen=True)
class Workload:
    """A workload and what the check must find.

    Attributes:
        culprit: parts of the culprit's description, one of which must be in it; empty for any.
        needs: modules that must be installed.
        server: what it talks to, one of `servers.SERVERS`.
        data: called before the workload, to make what it works on.
        core: whether it runs in the suite.
        holds_before: on an interpreter before this version, the same workload holds.
        may_be_lost: a free-threaded build itself sometimes misses a signal there.
    """

    work: Callable[[], object]
    verdict: str = HOLDS
    outcomes: frozenset[str] = frozenset()
    culprit: tuple[str, ...] = ()
    needs: tuple[str, ...] = ()
    server: str = ""
    data: Callable[[], object] | None = None
    core: bool = False
    holds_before: tuple[int, int] = (0, 0)
    may_be_lost: bool = False

    @property
    def name(self):
        return self.work.__name__

    @property
    def missing(self):
        absent = [module for module in self.needs if importlib.util.find_spec(module) is None]
        return absent + ([self.server] if self.server and not servers.present(self.server) else [])


WORKLOADS = []


def workload(verdict=HOLDS, outcomes=(), *culprit, **more):
    def add(work):
        WORKLOADS.append(Workload(work, verdict, frozenset(outcomes), culprit, **more))
        return work

    return add


def silent():
    """The port of a listener that never answers."""
    listener = socket.create_server(("127.0.0.1", 0), backlog=50)
    silent.kept = listener
    return listener.getsockname()[1]


# what ends itself


@workload(core=True)
def handler_that_dies_by_the_signal():
    def handler(number, frame):
        signal.signal(number, signal.SIG_DFL)
        os.kill(os.getpid(), number)

    signal.signal(signal.SIGINT, handler)
    while True:
        time.sleep(0.01)


@workload(core=True)
def handler_that_sends_itself_sigterm():
    signal.signal(signal.SIGINT, lambda number, frame: os.kill(os.getpid(), signal.SIGTERM))
    time.sleep(60)


@workload(core=True)
def handler_that_kills_its_group():
    signal.signal(signal.SIGINT, lambda number, frame: os.killpg(os.getpgrp(), signal.SIGKILL))
    time.sleep(60)


@workload()
def handler_that_raises_sigterm():
    signal.signal(signal.SIGINT, lambda number, frame: signal.raise_signal(signal.SIGTERM))
    time.sleep(60)


@workload()
def handler_that_exits_as_shells_expect():
    signal.signal(signal.SIGINT, lambda number, frame: os._exit(128 + number))
    time.sleep(60)


@workload(VIOLATED, {"crashed"}, "SIGABRT", core=True)
def handler_that_aborts():
    signal.signal(signal.SIGINT, lambda number, frame: os.abort())
    time.sleep(60)


# asyncio


@workload(VIOLATED, {"swallowed"}, "except asyncio.CancelledError", core=True)
def coroutine_that_swallows():
    async def main():
        while True:
            try:
                await asyncio.sleep(0.01)
            except asyncio.CancelledError:
                pass

    asyncio.run(main())


@workload(VIOLATED, {"stuck in cleanup"}, "`finally`", core=True)
def coroutine_that_awaits_in_finally():
    async def main():
        try:
            await asyncio.sleep(60)
        finally:
            await asyncio.sleep(60)

    asyncio.run(main())


@workload(VIOLATED, {"swallowed"}, "except BaseException", core=True)
def task_that_swallows():
    async def stubborn():
        while True:
            try:
                await asyncio.sleep(0.01)
            except BaseException:
                continue

    async def main():
        task = asyncio.create_task(stubborn())
        await task

    asyncio.run(main())


@workload(VIOLATED, {"swallowed"}, "except asyncio.CancelledError")
def task_group_with_a_child_that_swallows():
    async def stubborn():
        while True:
            try:
                await asyncio.sleep(0.01)
            except asyncio.CancelledError:
                continue

    async def main():
        async with asyncio.TaskGroup() as group:
            group.create_task(stubborn())
            group.create_task(asyncio.sleep(60))

    asyncio.run(main())


@workload(core=True)
def task_group():
    async def main():
        async with asyncio.TaskGroup() as group:
            group.create_task(asyncio.sleep(60))
            group.create_task(asyncio.sleep(60))

    asyncio.run(main())


@workload()
def shielded():
    async def main():
        await asyncio.shield(asyncio.sleep(60))

    asyncio.run(main())


@workload(VIOLATED, {"swallowed"}, "except asyncio.CancelledError")
def shielded_in_a_loop():
    async def main():
        task = asyncio.ensure_future(asyncio.sleep(60))
        while True:
            try:
                await asyncio.shield(task)
            except asyncio.CancelledError:
                await asyncio.sleep(0)

    asyncio.run(main())


@workload(VIOLATED, {"stuck in cleanup", "lingers"}, "time.sleep", "asyncio_0", "slow_in_a_thread", core=True)
def to_thread():
    def slow_in_a_thread():
        time.sleep(60)

    async def main():
        await asyncio.to_thread(slow_in_a_thread)

    asyncio.run(main())


@workload()
def asyncio_queue():
    async def main():
        await asyncio.Queue().get()

    asyncio.run(main())


@workload()
def asyncio_subprocess():
    async def main():
        process = await asyncio.create_subprocess_exec("sleep", "60")
        await process.wait()

    asyncio.run(main())


@workload()
def asyncio_stream():
    async def main():
        reader, _ = await asyncio.open_connection("127.0.0.1", silent())
        await reader.read()

    asyncio.run(main())


@workload(VIOLATED, DEAF, "time.sleep", "sha256", "pbkdf2", core=True)
def coroutine_that_blocks_the_loop():
    async def main():
        while True:
            hashlib.pbkdf2_hmac("sha256", b"x", b"y", 20_000_000)
            await asyncio.sleep(0)

    asyncio.run(main())


@workload()
def asyncio_timeout():
    async def main():
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(60):
                await asyncio.sleep(60)

    asyncio.run(main())


@workload(VIOLATED, {"swallowed"}, "return_exceptions", "except", "gather", "coroutine_that")
def gather_of_tasks_that_swallow():
    async def coroutine_that_goes_on():
        while True:
            try:
                await asyncio.sleep(0.01)
            except BaseException:
                pass

    async def main():
        await asyncio.gather(coroutine_that_goes_on(), coroutine_that_goes_on(), return_exceptions=True)

    asyncio.run(main())


@workload(needs=("uvloop",))
def uvloop_sleep():
    import uvloop

    uvloop.run(asyncio.sleep(60))


@workload(VIOLATED, {"swallowed"}, "except BaseException", needs=("uvloop",))
def uvloop_coroutine_that_swallows():
    import uvloop

    async def main():
        while True:
            try:
                await asyncio.sleep(0.01)
            except BaseException:
                pass

    uvloop.run(main())


@workload(needs=("anyio",))
def anyio_sleep():
    import anyio

    anyio.run(anyio.sleep, 60)


@workload(needs=("anyio",))
def anyio_task_group():
    import anyio

    async def main():
        async with anyio.create_task_group() as group:
            group.start_soon(anyio.sleep, 60)
            group.start_soon(anyio.sleep, 60)

    anyio.run(main)


@workload(VIOLATED, {"stuck in cleanup"}, "CancelScope", "`finally`", needs=("anyio",))
def anyio_shielded_cleanup():
    import anyio

    async def main():
        try:
            await anyio.sleep(60)
        finally:
            with anyio.CancelScope(shield=True):
                await anyio.sleep(60)

    anyio.run(main)


@workload(needs=("trio",))
def trio_sleep():
    import trio

    trio.run(trio.sleep, 60)


@workload(needs=("trio",))
def trio_nursery():
    import trio

    async def main():
        async with trio.open_nursery() as nursery:
            nursery.start_soon(trio.sleep, 60)

    trio.run(main)


@workload(VIOLATED, {"swallowed"}, "except BaseException", needs=("trio",))
def trio_task_that_swallows():
    import trio

    async def main():
        while True:
            try:
                await trio.sleep(0.01)
            except BaseException:
                pass

    trio.run(main)


@workload(VIOLATED, {"stuck in cleanup"}, "`finally`", "CancelScope", needs=("trio",))
def trio_shielded_cleanup():
    import trio

    async def main():
        try:
            await trio.sleep(60)
        finally:
            with trio.CancelScope(shield=True):
                await trio.sleep(60)

    trio.run(main)


# who swallowed


@workload(VIOLATED, {"swallowed"}, "suppress(BaseException)", core=True)
def suppressed_in_a_loop():
    while True:
        with contextlib.suppress(BaseException):
            time.sleep(0.01)


@workload(VIOLATED, {"swallowed"}, "`finally`", "continue", core=True)
def finally_that_continues():
    namespace = {"time": time}
    code = "def go_on():\n    while True:\n        try:\n            time.sleep(0.01)\n        finally:\n            continue\n"
    path = os.path.join(tempfile.mkdtemp(), "go_on.py")
    with open(path, "w") as file:
        file.write(code)
    exec(compile(code, path, "exec"), namespace)
    namespace["go_on"]()


@workload(VIOLATED, {"swallowed"}, "except BaseException")
def context_manager_that_swallows():
    @contextlib.contextmanager
    def guarded():
        try:
            yield
        except BaseException:
            pass

    while True:
        with guarded():
            time.sleep(0.01)


@workload(VIOLATED, {"swallowed"}, "OperationalError", core=True)
def callback_of_sqlite():
    connection = sqlite3.connect(":memory:")
    connection.create_function("slow", 1, lambda x: time.sleep(0.01) or x)
    while True:
        try:
            connection.execute("select slow(1)").fetchall()
        except sqlite3.OperationalError:
            pass


@workload(VIOLATED, {"swallowed"}, "compare", core=True)
def callback_of_ctypes():
    libc = ctypes.CDLL(None)
    kind = ctypes.CFUNCTYPE(ctypes.c_int, ctypes.c_void_p, ctypes.c_void_p)

    def compare(left, right):
        time.sleep(0.01)
        return 0

    array = (ctypes.c_int * 4)(4, 3, 2, 1)
    while True:
        libc.qsort(array, 4, 4, kind(compare))


@workload()
def callback_of_expat():
    def slowly(name, attributes):
        time.sleep(0.01)

    while True:
        parser = xml.parsers.expat.ParserCreate()
        parser.StartElementHandler = slowly
        parser.Parse("<a><b/><b/></a>", True)


@workload(VIOLATED, {"swallowed"}, "__del__")
def finalizer_of_garbage():
    class Guard:
        def __del__(self):
            time.sleep(0.03)

    while True:
        Guard()


@workload(VIOLATED, {"swallowed"}, "except:", "except BaseException", needs=("tenacity",))
def retried_by_tenacity():
    import tenacity

    @tenacity.retry(wait=tenacity.wait_fixed(0), retry=tenacity.retry_if_exception_type(BaseException))
    def attempt():
        time.sleep(0.01)
        raise ValueError

    attempt()


@workload()
def bare_except_that_leaves():
    try:
        time.sleep(60)
    except:  # noqa: E722
        sys.exit(3)


# the C calls of the standard library


@workload(VIOLATED, DEAF, "next(", "islice", core=True)
def next_of_a_slice():
    next(itertools.islice(itertools.count(), 10**10, None))


@workload(VIOLATED, DEAF, "max(")
def largest_of_a_range():
    max(range(10**10))


@workload(VIOLATED, DEAF, "deque(", "consume")
def consumed_by_a_deque():
    from collections import deque

    deque(itertools.repeat(None, 10**10), maxlen=0)


@workload(VIOLATED, DEAF, "scrypt(")
def scrypt():
    hashlib.scrypt(b"x", salt=b"y", n=2**20, r=8, p=8, maxmem=2**31 - 1)


@workload(VIOLATED, DEAF, "pbkdf2_hmac(", core=True)
def pbkdf2():
    hashlib.pbkdf2_hmac("sha256", b"x", b"y", 50_000_000)


@functools.cache
def large():
    return os.urandom(1_000_000) * 200


@workload(VIOLATED, DEAF, "compress(", data=large)
def lzma_compress():
    lzma.compress(large(), preset=6)


@workload(core=True)  # a signal ends the system call
def foreign_sleep():
    ctypes.CDLL(None).usleep(60_000_000)


@workload(VIOLATED, DEAF, "libc.memchr(", core=True)
def foreign_search():
    libc, size = ctypes.CDLL(None), 1 << 33
    libc.mmap.restype, libc.mmap.argtypes = (
        ctypes.c_void_p,
        [ctypes.c_void_p, ctypes.c_size_t] + [ctypes.c_int] * 3 + [ctypes.c_long],
    )
    libc.memchr.argtypes = [ctypes.c_void_p, ctypes.c_int, ctypes.c_size_t]
    zeros = libc.mmap(None, size, 1, 0x4022, -1, 0)  # read-only and without any memory of its own
    while True:
        libc.memchr(zeros, 1, size)


@workload(core=True)
def finalizer_of_a_local():
    class Local:
        def __del__(self):
            time.sleep(0.01)

    kept = Local()
    time.sleep(60)
    del kept


@workload(VIOLATED, {"stuck in cleanup", "lingers", "swallowed"}, "__del__", core=True)
def slow_finalizer_of_a_local():
    class Local:
        def __del__(self):
            time.sleep(60)

    kept = Local()
    time.sleep(60)
    del kept


@workload(VIOLATED, DEAF, "with recursive", "execute(", "fetch")
def sqlite_query():
    connection = sqlite3.connect(":memory:")
    connection.execute("with recursive t(x) as (select 1 union all select x+1 from t) select max(x) from t").fetchall()


@workload()
def zlib_in_pieces():
    data = os.urandom(100_000)
    while True:
        zlib.decompress(zlib.compress(data, 1))


@workload()
def csv_in_lines():
    for _ in itertools.repeat(None):
        list(csv.reader(["a,b,c"] * 100))


@workload(VIOLATED, DEAF, "csv", "list(")
def csv_of_an_endless_file():
    list(itertools.islice(csv.reader(itertools.repeat("a,b")), 10**9))


@workload()
def path_lookups():
    while True:
        os.path.exists(os.path.join("/", "no", "such", "path"))


@workload()
def codecs_in_a_loop():
    while True:
        codecs.decode(codecs.encode("text" * 100, "utf-16"), "utf-16")


@workload()
def bisecting():
    numbers = list(range(1000))
    for number in itertools.cycle(numbers):
        bisect.bisect(numbers, number)


# waiting


@workload()
def selecting():
    select.select([], [], [], 60)


@workload()
def selector_of_a_socket():
    left, _right = socket.socketpair()
    with selectors.DefaultSelector() as selector:
        selector.register(left, selectors.EVENT_READ)
        selector.select(60)


@workload()
def socket_accept():
    socket.create_server(("127.0.0.1", 0)).accept()


@workload()
def socket_server():
    with socketserver.TCPServer(("127.0.0.1", 0), socketserver.BaseRequestHandler) as server:
        server.serve_forever()


@workload()
def urllib_request():
    urllib.request.urlopen(f"http://127.0.0.1:{silent()}/", timeout=60).read()


@workload()
def reading_a_pipe():
    reading, _writing = os.pipe()
    os.read(reading, 1)


@workload()
def scheduler():
    events = sched.scheduler()
    events.enter(60, 1, len, ("",))
    events.run()


@workload()
def logging_in_a_loop():
    logger = logging.Logger("loop")
    logger.addHandler(logging.StreamHandler(io.StringIO()))
    while True:
        logger.warning("again")


@workload()
def condition_wait():
    condition = threading.Condition()
    with condition:
        condition.wait()


@workload()
def barrier_wait():
    threading.Barrier(2).wait()


@workload(VIOLATED, {"lingers"}, "consumer", core=True)
def consumer_thread_that_nobody_stops():
    shared = queue.Queue()
    threading.Thread(target=shared.get, name="consumer").start()
    time.sleep(60)


@workload(VIOLATED, {"stuck in cleanup", "lingers"}, "worker", "ThreadPool", "nap", core=True)
def pool_with_a_sleeping_task():
    def nap():
        time.sleep(60)

    with concurrent.futures.ThreadPoolExecutor(1) as pool:
        pool.submit(nap).result()


@workload()
def timer_that_is_cancelled():
    timer = threading.Timer(60, len, ("",))
    timer.start()
    try:
        time.sleep(60)
    finally:
        timer.cancel()


# processes


@workload()
def subprocess_run():
    subprocess.run(["sleep", "60"], check=False)


@workload()
def subprocess_communicate():
    with subprocess.Popen(["cat"], stdin=subprocess.PIPE, stdout=subprocess.PIPE) as process:
        process.stdout.read()


@workload(VIOLATED, {"left behind", "stuck in cleanup", "lingers", "swallowed"}, "sleep", "pid", "wait")
def subprocess_in_another_session():
    subprocess.Popen(["sleep", "61"], start_new_session=True)
    time.sleep(60)


@workload(VIOLATED, {"left behind", "stuck in cleanup", "lingers"}, "sh", "child process", "wait", "subprocess")
def shell_that_ignores_the_signal():
    with subprocess.Popen(["sh", "-c", "trap '' INT; sleep 62; sleep 63"]) as process:
        process.wait()


@workload()
def shell_pipeline():
    subprocess.run("sleep 60 | cat", shell=True, check=False)


def nap_in_a_child(seconds):
    time.sleep(seconds)


# A process that is forked right after the signal does not get it. So the first three fork before the workload begins.
forking = multiprocessing.get_context("fork")


@functools.cache
def process_that_naps():
    process = forking.Process(target=nap_in_a_child, args=(60,))
    process.start()
    return process


@workload(data=process_that_naps)
def multiprocessing_process():
    process_that_naps().join()


@functools.cache
def pool_of_processes():
    pool = forking.Pool(2)
    pool.map(nap_in_a_child, [0, 0])
    return pool


@workload(data=pool_of_processes)
def multiprocessing_pool():
    with pool_of_processes() as pool:
        pool.map(nap_in_a_child, [60, 60])


@functools.cache
def executor_of_processes():
    executor = concurrent.futures.ProcessPoolExecutor(1, mp_context=forking)
    executor.submit(nap_in_a_child, 0).result()
    return executor


@workload(data=executor_of_processes)
def process_pool_executor():
    with executor_of_processes() as executor:
        executor.submit(nap_in_a_child, 60).result()


@workload(VIOLATED, {"lingers", "stuck in cleanup", "left behind", "swallowed"}, "child process", "pid", "hook")
def processes_that_are_forked_all_the_time():
    while True:
        forking.Process(target=nap_in_a_child, args=(60,)).start()


@workload()
def multiprocessing_queue():
    forking.Queue().get()


# installed libraries


@functools.cache
def matrix():
    import numpy

    return numpy.ones((7000, 7000), dtype="f4")


@functools.cache
def random_numbers():
    import numpy

    return numpy.random.default_rng(1).random(30_000_000)


@functools.cache
def document():
    return b"<a>" + b"<b c='d'/>" * 8_000_000 + b"</a>"


@workload(VIOLATED, DEAF, "dot(", "@", "matmul", needs=("numpy",), data=matrix)
def numpy_product():
    for _ in range(100):
        matrix() @ matrix()


@workload(VIOLATED, DEAF, "sort(", "(sort)", needs=("numpy",), data=random_numbers)
def numpy_sort():
    import numpy

    for _ in range(100):
        numpy.sort(random_numbers(), kind="stable")  # the default takes 0.3 s on a machine with AVX-512: too near to the claim


@workload(needs=("numpy",))
def numpy_small_steps():
    import numpy

    values = numpy.zeros(1000)
    while True:
        values += 1


@functools.cache
def random_integers():
    return (random_numbers() * 2**62).astype("i8")


@workload(VIOLATED, DEAF, "gcd(", needs=("numpy",), data=random_integers)
def numpy_ufunc():
    import numpy

    for _ in range(100):
        numpy.gcd(random_integers(), random_integers()[::-1])


@workload(needs=("pandas",))
def pandas_apply():
    import pandas

    series = pandas.Series(range(100))
    while True:
        series.apply(lambda value: value + 1)


@workload(VIOLATED, DEAF, "unique(", "unique", needs=("numpy", "pandas"), data=random_numbers)
def pandas_unique():
    import pandas

    series = pandas.Series(random_numbers()[:10_000_000], copy=False)
    for _ in range(50):
        series.unique()  # in one call; a sort or a rank copies before it, in pieces that may all be shorter than the claim


@workload(needs=("lxml",))
def lxml_in_a_loop():
    from lxml import etree

    while True:
        etree.fromstring(b"<a><b/></a>")


@workload(VIOLATED, DEAF, "fromstring(", "XML", "parse", needs=("lxml",), data=document)
def lxml_of_a_large_document():
    from lxml import etree

    for _ in range(100):
        etree.fromstring(document(), etree.XMLParser(huge_tree=True))


@workload(needs=("requests",))
def requests_get():
    import requests

    requests.get(f"http://127.0.0.1:{silent()}/", timeout=60)


@workload(needs=("urllib3",))
def urllib3_request():
    import urllib3

    urllib3.PoolManager().request("GET", f"http://127.0.0.1:{silent()}/", timeout=60, retries=False)


@workload(needs=("httpx",))
def httpx_get():
    import httpx

    httpx.get(f"http://127.0.0.1:{silent()}/", timeout=60)


@workload(needs=("httpx",))
def httpx_async_get():
    import httpx

    async def main():
        async with httpx.AsyncClient() as client:
            await client.get(f"http://127.0.0.1:{silent()}/", timeout=60)

    asyncio.run(main())


@workload(needs=("aiohttp",))
def aiohttp_get():
    import aiohttp

    async def main():
        async with aiohttp.ClientSession() as session, session.get(f"http://127.0.0.1:{silent()}/") as answer:
            await answer.read()

    asyncio.run(main())


@workload(needs=("aiohttp",))
def aiohttp_server():
    from aiohttp import web

    web.run_app(web.Application(), host="127.0.0.1", port=0, print=None)


@workload(needs=("grpc",))
def grpc_call():
    import grpc

    channel = grpc.insecure_channel(f"127.0.0.1:{silent()}")
    grpc.channel_ready_future(channel).result(60)


@workload(needs=("zmq",))
def zmq_receive():
    import zmq

    with zmq.Context() as context, context.socket(zmq.PULL) as pull:
        pull.bind_to_random_port("tcp://127.0.0.1")
        pull.recv()


@workload(VIOLATED, {"stuck in cleanup", "lingers"}, "term", "zmq", "context", "destroy", needs=("zmq",))
def zmq_context_that_waits_for_a_message():
    import zmq

    with zmq.Context() as context:
        push = context.socket(zmq.PUSH)
        push.connect("tcp://127.0.0.1:1")
        push.send(b"x")
        time.sleep(60)


@workload(needs=("redis",))
def redis_that_does_not_answer():
    import redis

    redis.Redis(port=silent()).get("x")


@workload(needs=("pymysql",))
def mysql_that_does_not_answer():
    import pymysql

    pymysql.connect(host="127.0.0.1", port=silent(), connect_timeout=60)


@workload(needs=("redis",), server="redis")
def redis_blocking_pop():
    import redis

    redis.Redis(port=servers.port("redis")).blpop("nothing")


@workload(needs=("redis",), server="redis")
def redis_subscriber():
    import redis

    subscriber = redis.Redis(port=servers.port("redis")).pubsub()
    subscriber.subscribe("silence")
    for _ in subscriber.listen():
        pass


@workload(needs=("redis",), server="redis")
def redis_in_a_loop():
    import redis

    client = redis.Redis(port=servers.port("redis"))
    while True:
        client.incr("x")


@workload(VIOLATED, {"swallowed"}, "except BaseException", needs=("redis",), server="redis")
def redis_consumer_that_goes_on():
    import redis

    client = redis.Redis(port=servers.port("redis"))
    while True:
        try:
            client.blpop("nothing", timeout=1)
        except BaseException:
            continue


@workload(needs=("pymysql",), server="mariadb")
def mariadb_slow_query():
    import pymysql

    connection = pymysql.connect(host="127.0.0.1", port=servers.port("mariadb"), user="root")
    connection.cursor().execute("select sleep(60)")


@workload(needs=("pymysql",), server="mariadb")
def mariadb_in_a_loop():
    import pymysql

    cursor = pymysql.connect(host="127.0.0.1", port=servers.port("mariadb"), user="root").cursor()
    while True:
        cursor.execute("select 1")
        cursor.fetchall()


@workload(VIOLATED, {"stuck in cleanup"}, "`finally`", needs=("pymysql",), server="mariadb")
def mariadb_rollback_that_waits():
    import pymysql

    connection = pymysql.connect(host="127.0.0.1", port=servers.port("mariadb"), user="root")
    try:
        time.sleep(60)
    finally:
        connection.cursor().execute("select sleep(60)")


@workload(needs=("uvicorn",))
def uvicorn_server():
    import uvicorn

    async def app(scope, receive, send):
        pass

    uvicorn.run(app, port=0, log_level="critical", lifespan="off")


@workload(needs=("gunicorn",))
def gunicorn_server():
    subprocess.run(
        [sys.executable, "-m", "gunicorn", "-b", "127.0.0.1:0", "wsgiref.simple_server:demo_app"], check=False, stderr=-3
    )


@workload(needs=("flask",))
def flask_server():
    import flask
    from werkzeug.serving import make_server

    make_server("127.0.0.1", 0, flask.Flask("x")).serve_forever()


@workload(needs=("tornado",))
def tornado_loop():
    import tornado.ioloop

    tornado.ioloop.IOLoop.current().start()


@workload(needs=("joblib",))
def joblib_threads():
    import joblib

    joblib.Parallel(1)(joblib.delayed(time.sleep)(60) for _ in range(2))


@workload(needs=("tenacity",))
def tenacity_of_exceptions():
    import tenacity

    @tenacity.retry(wait=tenacity.wait_fixed(0.05))
    def attempt():
        raise ValueError

    attempt()


@workload(needs=("loguru",))
def loguru_in_a_loop():
    import loguru

    loguru.logger.remove()
    loguru.logger.add(io.StringIO())
    while True:
        loguru.logger.info("again")


@workload(needs=("watchdog",))
def watchdog_observer():
    from watchdog.events import FileSystemEventHandler
    from watchdog.observers import Observer

    observer = Observer()
    observer.schedule(FileSystemEventHandler(), tempfile.gettempdir())
    observer.start()
    try:
        while observer.is_alive():
            observer.join(1)
    finally:
        observer.stop()
        observer.join()


@workload(needs=("apscheduler",))
def apscheduler_blocking():
    from apscheduler.schedulers.blocking import BlockingScheduler

    scheduled = BlockingScheduler()
    scheduled.add_job(len, "interval", args=("",), seconds=30)
    scheduled.start()


@workload(needs=("cffi",))
def cffi_call():
    import cffi

    library = cffi.FFI()
    library.cdef("int usleep(unsigned int);")
    library.dlopen(None).usleep(60_000_000)


@workload(needs=("regex",))
def regex_in_a_loop():
    import regex

    while True:
        regex.findall(r"\w+", "some words " * 100)


@workload(needs=("sqlalchemy",))
def sqlalchemy_in_a_loop():
    import sqlalchemy

    engine = sqlalchemy.create_engine("sqlite://")
    with engine.connect() as connection:
        while True:
            connection.execute(sqlalchemy.text("select 1")).fetchall()


@workload(VIOLATED, DEAF | {"stuck in cleanup"}, "execute(", "sql(", "fetch", needs=("duckdb",))
def duckdb_query():
    import duckdb

    duckdb.sql("select count(*) from range(100000000) a, range(100000) b where a.range + b.range = 7").fetchall()


@workload(needs=("gevent",))
def gevent_sleep():
    import gevent

    gevent.sleep(60)


@functools.cache
def free_threaded():
    return not getattr(sys, "_is_gil_enabled", lambda: True)()


def wrong(workload, result):
    """Describe what is wrong with a result, and whether it is the verdict or the culprit; None if it is right or undecided."""
    verdict = str(result.verdict)
    if verdict == "inconclusive" or (workload.may_be_lost and free_threaded() and str(result.outcome) == "lost"):
        return None
    expected = HOLDS if sys.version_info < workload.holds_before else workload.verdict
    if verdict != expected:
        return "verdict", f"{verdict} instead of {expected}: {result.reason}"
    if verdict == HOLDS:
        return None
    if workload.outcomes and str(result.outcome) not in workload.outcomes:
        return "culprit", f"{result.outcome} instead of {' or '.join(sorted(workload.outcomes))}: {result.reason}"
    if workload.culprit and not any(part in result.culprit for part in workload.culprit):
        return "culprit", f"the culprit is {result.culprit!r}, without {' or '.join(workload.culprit)!r}"
    return None
