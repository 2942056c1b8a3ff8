"""More workloads for `libraries`: what programs do around signals, threads, processes and their own end."""

import asyncio
import atexit
import bz2
import collections
import concurrent.futures
import contextlib
import ctypes
import decimal
import faulthandler
import functools
import http.server
import itertools
import json
import logging
import logging.handlers
import multiprocessing.shared_memory
import os
import pdb
import pickle
import queue
import select
import selectors
import signal
import socket
import sqlite3
import ssl
import subprocess
import sys
import tempfile
import threading
import time
import weakref
import zipfile

from .libraries import DEAF, VIOLATED, forking, large, silent, workload

STAYS = frozenset({"swallowed", "stuck in cleanup", "lingers"})


# handlers


@workload()
def handler_that_sets_a_flag():
    stop = []
    signal.signal(signal.SIGINT, lambda number, frame: stop.append(number))
    while not stop:
        time.sleep(0.05)


@workload(VIOLATED, {"swallowed"}, "the handler set at")
def handler_that_sets_a_flag_beside_a_wait():
    stop = []
    signal.signal(signal.SIGINT, lambda number, frame: stop.append(number))
    queue.Queue().get()


@workload(VIOLATED, {"swallowed"}, "the handler set at")
def handler_that_wants_a_second_signal():
    pressed = []

    def handler(number, frame):
        if pressed:
            raise KeyboardInterrupt
        pressed.append(number)

    signal.signal(signal.SIGINT, handler)
    while True:
        time.sleep(0.05)


@workload(VIOLATED, {"swallowed"}, "except Exception")
def handler_that_raises_what_a_loop_catches():
    def handler(number, frame):
        raise RuntimeError("interrupted")

    signal.signal(signal.SIGINT, handler)
    while True:
        try:
            time.sleep(0.01)
        except Exception:
            logging.Logger("quiet", logging.CRITICAL).exception("again")


@workload()
def handler_with_a_wakeup_descriptor():
    reading, writing = socket.socketpair()
    writing.setblocking(False)
    signal.signal(signal.SIGINT, lambda number, frame: None)
    signal.set_wakeup_fd(writing.fileno())
    with selectors.DefaultSelector() as selector:
        selector.register(reading, selectors.EVENT_READ)
        selector.select(60)


@workload()
def asyncio_handler_that_stops():
    async def main():
        stop = asyncio.Event()
        asyncio.get_running_loop().add_signal_handler(signal.SIGINT, stop.set)
        await stop.wait()

    asyncio.run(main())


@workload(VIOLATED, {"swallowed"}, "the handler set at", "add_signal_handler", "handler")
def asyncio_handler_that_does_nothing():
    async def main():
        asyncio.get_running_loop().add_signal_handler(signal.SIGINT, lambda: None)
        await asyncio.sleep(60)

    asyncio.run(main())


@workload(VIOLATED, {"replaced", "ignored", "swallowed"}, "faulthandler", "SIGINT")
def faulthandler_that_takes_the_signal():
    with open(os.devnull, "w") as file:
        faulthandler.register(signal.SIGINT, file=file, chain=False)
        while True:
            time.sleep(0.01)


@workload()
def faulthandler_that_passes_the_signal_on():
    with open(os.devnull, "w") as file:
        faulthandler.register(signal.SIGINT, file=file, chain=True)
        while True:
            time.sleep(0.01)


@workload()
def waits_for_the_signal_itself():
    signal.pthread_sigmask(signal.SIG_BLOCK, [signal.SIGINT])
    signal.sigwait([signal.SIGINT])


@workload()
def pauses():
    signal.pause()


@workload()
def thread_that_waits_for_the_signal():
    signal.pthread_sigmask(signal.SIG_BLOCK, [signal.SIGINT])

    def wait_and_exit():
        signal.sigwait([signal.SIGINT])
        os._exit(0)

    threading.Thread(target=wait_and_exit, daemon=True).start()
    time.sleep(60)


@workload(VIOLATED, {"blocked", "deaf", "lost"}, "SIGINT", "block", "wait", "sleep")
def signal_that_only_a_thread_gets():
    thread = threading.Thread(target=time.sleep, args=(60,), daemon=True)
    thread.start()
    signal.pthread_sigmask(signal.SIG_BLOCK, [signal.SIGINT])
    time.sleep(60)


@workload()
def thread_that_blocks_all_signals():
    def work():
        signal.pthread_sigmask(signal.SIG_BLOCK, signal.valid_signals())
        time.sleep(60)

    threading.Thread(target=work, daemon=True).start()
    time.sleep(60)


# cleanup and the end


@workload(VIOLATED, {"stuck in cleanup"}, "`finally`", "with", core=True)
def generator_with_a_slow_finally():
    def numbers():
        try:
            for number in itertools.count():
                time.sleep(0.01)
                yield number
        finally:
            time.sleep(60)

    for _ in numbers():
        pass


@workload(VIOLATED, {"stuck in cleanup"}, "`with`", "callback")
def exit_stack_with_a_slow_callback():
    with contextlib.ExitStack() as stack:
        stack.callback(time.sleep, 60)
        time.sleep(60)


@workload(VIOLATED, {"swallowed"}, "suppress(KeyboardInterrupt)")
def suppressed_interrupts():
    while True:
        with contextlib.suppress(KeyboardInterrupt):
            time.sleep(0.05)


@workload(VIOLATED, {"swallowed"}, "except KeyboardInterrupt")
def debugger_that_waits_for_a_command():
    reading, _writing = os.pipe()
    with open(reading) as commands, open(os.devnull, "w") as nowhere:
        pdb.Pdb(stdin=commands, stdout=nowhere, nosigint=True).set_trace()
        time.sleep(60)


@workload()
def standard_input():
    reading, _writing = os.pipe()
    os.dup2(reading, 0)
    sys.stdin = open(0, closefd=False)  # noqa: SIM115
    input()


@workload(VIOLATED, {"lingers"}, "exit handler")
def slow_exit_handler():
    atexit.register(time.sleep, 60)
    time.sleep(60)


@workload(VIOLATED, {"lingers"}, "exit handler", "finalize", core=True)
def slow_finalize():
    class Kept:
        pass

    kept = slow_finalize.kept = Kept()
    weakref.finalize(kept, time.sleep, 60)
    time.sleep(60)


class SleepsAtTheEnd:
    def __del__(self, sleep=time.sleep):
        sleep(60)


@workload(VIOLATED, {"lingers"}, "finalizer", "__del__")
def slow_finalizer_of_a_global():
    global kept_to_the_end
    kept_to_the_end = SleepsAtTheEnd()
    time.sleep(60)


@workload()
def queue_listener_that_nobody_stops():
    listener = logging.handlers.QueueListener(queue.Queue(), logging.NullHandler())
    listener.start()
    time.sleep(60)


# threads


@workload(VIOLATED, STAYS, "ThreadPool", "worker", "with")
def wait_for_futures():
    release = threading.Event()
    with concurrent.futures.ThreadPoolExecutor(2) as pool:
        concurrent.futures.wait([pool.submit(release.wait) for _ in range(2)])


@workload(VIOLATED, {"lingers"}, "executor", "ThreadPool")
def executor_that_is_shut_down_without_waiting():
    pool = concurrent.futures.ThreadPoolExecutor(1)
    try:
        pool.submit(time.sleep, 60).result()
    finally:
        pool.shutdown(wait=False, cancel_futures=True)


# before 3.13, a join that is interrupted marks its thread as ended (bpo-45274), and the interpreter does not wait for it
@workload(VIOLATED, {"lingers"}, "waiter", holds_before=(3, 13))
def join_of_a_thread_that_waits():
    thread = threading.Thread(target=threading.Event().wait, name="waiter")
    thread.start()
    thread.join()


@workload()
def events_in_a_loop():
    event = threading.Event()
    while not event.wait(0.05):
        pass


@workload()
def queue_with_a_timeout():
    shared = queue.Queue()
    while True:
        with contextlib.suppress(queue.Empty):
            shared.get(timeout=0.05)


@workload()
def daemon_thread_that_computes():
    def compute():
        while True:
            pass

    threading.Thread(target=compute, daemon=True).start()
    time.sleep(60)


@workload(VIOLATED, STAYS, "thread is at", needs=("trio",))
def trio_thread():
    import trio

    async def main():
        await trio.to_thread.run_sync(time.sleep, 60)

    trio.run(main)


@workload(VIOLATED, STAYS, "worker thread", needs=("anyio",))
def anyio_thread():
    import anyio

    async def main():
        await anyio.to_thread.run_sync(time.sleep, 60)

    anyio.run(main)


# asyncio


@workload()
def asyncio_server():
    async def main():
        server = await asyncio.start_server(lambda reader, writer: None, "127.0.0.1", 0)
        async with server:
            await server.serve_forever()

    asyncio.run(main())


@workload()
def asyncio_wait_for():
    async def main():
        with contextlib.suppress(TimeoutError):
            await asyncio.wait_for(asyncio.sleep(60), 60)

    asyncio.run(main())


@workload(VIOLATED, {"swallowed"}, "suppress(asyncio.CancelledError)")
def asyncio_suppressed_cancelling():
    async def main():
        while True:
            with contextlib.suppress(asyncio.CancelledError):
                await asyncio.sleep(0.05)

    asyncio.run(main())


@workload(VIOLATED, STAYS, "finally", "aclose", "async", "sleep")
def asyncio_generator_with_a_slow_finally():
    async def numbers():
        try:
            for number in itertools.count():
                await asyncio.sleep(0.01)
                yield number
        finally:
            await asyncio.sleep(60)

    async def main():
        async for _ in numbers():
            pass

    asyncio.run(main())


# servers and sockets


@workload()
def http_server():
    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), http.server.SimpleHTTPRequestHandler) as server:
        server.serve_forever()


@workload()
def epoll_in_a_loop():
    with select.epoll() as poll, socket.create_server(("127.0.0.1", 0)) as server:
        poll.register(server, select.EPOLLIN)
        while True:
            with contextlib.suppress(OSError):
                poll.poll(0.05)


@workload()
def tls_handshake():
    with socket.create_connection(("127.0.0.1", silent())) as plain:
        ssl._create_unverified_context().wrap_socket(plain)


# processes


@workload(VIOLATED, {"ignored", "swallowed"}, "system", "SIG_IGN", core=True)
def os_system_in_a_loop():
    while True:
        os.system("sleep 60")


@workload(VIOLATED, {"left behind"}, "sleep")
def process_in_a_group_of_its_own():
    subprocess.Popen(["sleep", "64"], process_group=0).communicate()


def start_a_process_that_dies_with_its_parent():  # before any signal: a hook of this fork discards one of six interrupts in it
    libc = ctypes.CDLL(None)
    subprocess.Popen(["sleep", "65"], start_new_session=True, preexec_fn=lambda: libc.prctl(1, signal.SIGKILL))


@workload(data=start_a_process_that_dies_with_its_parent)
def process_that_dies_with_its_parent():
    time.sleep(60)


@workload()
def process_with_a_strange_name():
    ctypes.CDLL(None).prctl(15, b") R 1 (")
    time.sleep(60)


def forked(work):
    pid = os.fork()
    if pid == 0:
        try:
            work()
        finally:
            os._exit(0)
    return pid


@functools.cache
def workers():
    return [forked(lambda: time.sleep(60)) for _ in range(2)]


@workload(data=workers)
def forked_workers():
    for _ in workers():
        os.wait()


@functools.cache
def workers_that_ignore_the_signal():
    def work():
        signal.signal(signal.SIGINT, signal.SIG_IGN)
        time.sleep(60)

    return [forked(work) for _ in range(2)]


@workload(data=workers_that_ignore_the_signal)
def forked_workers_that_their_parent_ends():
    try:
        time.sleep(60)
    finally:
        for pid in workers_that_ignore_the_signal():
            os.kill(pid, signal.SIGTERM)
            os.waitpid(pid, 0)


@workload(VIOLATED, {"left behind"}, "pid", data=workers_that_ignore_the_signal, core=True)
def forked_workers_that_ignore_the_signal():
    time.sleep(60)


@workload(VIOLATED, {"left behind"}, "pid")
def daemon_process():
    def daemon():
        os.setsid()
        forked(lambda: time.sleep(66))

    os.waitpid(forked(daemon), 0)
    time.sleep(60)


@functools.cache
def manager():
    return forking.Manager()


@workload(data=manager)
def multiprocessing_manager():
    shared = manager().Queue()
    shared.get()


@workload()
def shared_memory():
    memory = multiprocessing.shared_memory.SharedMemory(create=True, size=1000)
    try:
        time.sleep(60)
    finally:
        memory.close()
        memory.unlink()


# C calls


@workload(VIOLATED, DEAF, "execute(")
def sqlite_lock_of_another():
    path = os.path.join(tempfile.mkdtemp(), "x.db")
    other = sqlite3.connect(path, isolation_level=None)
    other.execute("begin exclusive")
    sqlite3.connect(path, timeout=60).execute("create table t (x)")


@workload(VIOLATED, DEAF, "compress(", data=large)
def bz2_compress():
    bz2.compress(large())


@workload(VIOLATED, DEAF, "compress(", "writestr", data=large)
def zip_of_a_large_member():
    with zipfile.ZipFile(os.devnull, "w", zipfile.ZIP_DEFLATED) as archive:
        while True:
            archive.writestr("x", large())


@workload(VIOLATED, DEAF, "Counter(", "_count_elements", "mapping")
def counter_of_an_endless_iterator():
    collections.Counter(itertools.repeat(0, 10**10))


@workload(VIOLATED, DEAF, "ln()", ".ln(")
def decimal_logarithm():
    with decimal.localcontext() as context:
        context.prec = 400_000
        decimal.Decimal(3).ln()


@workload()
def large_integer_power():
    while True:
        pow(3, 10**7)


@functools.cache
def json_text():
    return "[" + "1.5," * 40_000_000 + "1]"


@workload(VIOLATED, DEAF, "decoder.py", "loads(", "scan_once", data=json_text)
def json_loads():
    while True:
        json.loads(json_text())


@functools.cache
def pickled():
    return pickle.dumps(list(map(float, range(10_000_000))))


@workload(VIOLATED, DEAF, "loads(", data=pickled)
def pickle_loads():
    while True:
        pickle.loads(pickled())


@workload(VIOLATED, {"swallowed"}, "callback", "called", needs=("cffi",))
def callback_of_cffi():
    import cffi

    ffi = cffi.FFI()
    ffi.cdef("void qsort(void *, size_t, size_t, int (*)(const void *, const void *));")

    @ffi.callback("int(const void *, const void *)", onerror=lambda *_: None)
    def called(left, right):
        time.sleep(0.01)
        return 0

    array = ffi.new("int[4]", [4, 3, 2, 1])
    library = ffi.dlopen(None)
    while True:
        library.qsort(array, 4, 4, called)


@functools.cache
def random_matrix():
    import numpy

    return numpy.random.default_rng(1).random((3000, 3000))


@workload(VIOLATED, DEAF, "svd(", "(svd)", "gesdd", needs=("numpy",), data=random_matrix)
def numpy_decomposition():
    import numpy

    numpy.linalg.svd(random_matrix())


@workload(needs=("tqdm",))
def progress_bar():
    import tqdm

    for _ in tqdm.tqdm(itertools.count(), file=open(os.devnull, "w")):  # noqa: SIM115
        time.sleep(0.001)


@workload(VIOLATED, DEAF, "loads(", needs=("orjson",), data=json_text)
def orjson_loads():
    import orjson

    while True:
        orjson.loads(json_text())


@workload(needs=("psycopg",))
def postgres_that_does_not_answer():
    import psycopg

    psycopg.connect(host="127.0.0.1", port=silent(), connect_timeout=60)


@workload(VIOLATED, DEAF, "derive(", needs=("cryptography",))
def cryptography_scrypt():
    from cryptography.hazmat.primitives.kdf.scrypt import Scrypt

    Scrypt(salt=b"y", length=32, n=2**20, r=8, p=8).derive(b"x")
