"""The script that a probed interpreter runs: it executes the commands that it receives over a socket.

It runs on every Python from 2.7 on, PyPy and Jython included, with nothing installed. Therefore it is one file, imports only the
standard library, uses only syntax that all of them have, and tests for each feature instead of comparing versions. (That is why it
has no annotations, and no ``with`` on an object that is no context manager in some version.)

    python experiments.py PORT KEY

connects to that port of this machine, sends the key, and then reads commands: one JSON object a line, ``{"do": name, ...}``. The
answer to each is one line: ``{"error": ...}``, or what the command measured, in seconds by its own clock. The process ends with the
connection. The other side (`session`) sends pings and signals and measures memory and cores: a thread in here would measure itself.
"""

import itertools
import json
import os
import platform
import random
import socket
import sys
import threading
import time

if __name__ == "__main__":
    sys.path[:] = [
        path for path in sys.path if path != os.path.dirname(os.path.abspath(__file__))
    ]  # the folder of this package must not shadow the standard library

try:
    from java.lang import System  # Jython: its time.time has a resolution of milliseconds

    def clock():
        return System.nanoTime() / 1e9
except ImportError:
    clock = getattr(time, "perf_counter", None) or time.time

try:
    from thread import get_ident
except ImportError:
    from threading import get_ident

JIT = platform.python_implementation() in ("PyPy", "Jython", "GraalVM", "IronPython")
SLEEP = 0.05  # seconds
ITEMS = 10000  # numbers in the list for json.dumps
BUFFER = 1 << 20  # bytes of one hash
OPERATION = 1.5  # seconds for which the long operation in C is calibrated
FOREVER = 60.0  # seconds; longer than the time limit of the other side


# Facts


def facts(order):
    """Return what this interpreter reports about itself; null for what it does not report."""
    enabled = getattr(sys, "_is_gil_enabled", None)
    name = platform.python_implementation()
    if enabled is not None:
        gil = bool(enabled())
    else:
        gil = {"CPython": True, "PyPy": True, "GraalVM": True, "Jython": False, "IronPython": False}.get(name)
    return {
        "implementation": name,
        "version": platform.python_version(),
        "full": " ".join(sys.version.split()),
        "gil": gil,
        "free_threaded_build": bool(config("Py_GIL_DISABLED")),
        "cores": cores(),
        "platform": "%s-%s" % (str(sys.platform), platform.machine()),
        "switch_interval": asked("getswitchinterval"),
        "check_interval": asked("getcheckinterval"),
        "executable": str(sys.executable),
        "jit": JIT,
    }


def config(name):
    try:
        import sysconfig

        return sysconfig.get_config_var(name)
    except Exception:
        return None


def asked(name):
    """Return ``sys.name()``; None where there is no such function."""
    try:
        import warnings

        warnings.simplefilter("ignore")  # 3.2 to 3.8 have both functions; one of them is deprecated
        return getattr(sys, name)()
    except Exception:
        return None


def cores():
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    try:
        import multiprocessing

        return multiprocessing.cpu_count()
    except Exception:
        pass
    try:
        from java.lang import Runtime  # Jython has no multiprocessing

        return int(Runtime.getRuntime().availableProcessors())
    except Exception:
        return None


# Workloads; the argument is the number of repetitions


def count(n):
    while n > 0:
        n -= 1


def dump(n):
    data = list(range(ITEMS))
    for _ in range(n):
        json.dumps(data)


def sha256(n):
    import hashlib

    data = b"x" * BUFFER
    for _ in range(n):
        hashlib.sha256(data).digest()


def sleep_once(n):
    for _ in range(n):
        time.sleep(SLEEP)


WORK = {"count": count, "json": dump, "sha256": sha256, "sleep": sleep_once}


def prepare(order):
    """Return the repetitions for which a workload takes ``seconds``, after ``warm`` seconds of warm-up for a JIT compiler."""
    work, wanted = WORK[order["work"]], order["seconds"]
    if work is sleep_once:
        return {"n": 1, "seconds": SLEEP}
    n = 1
    took = timed(work, n)
    while took < wanted / 4:
        n *= 4
        took = timed(work, n)
    warm_until = clock() + (order["warm"] if JIT else 0.0)
    while True:
        n = max(1, int(n * wanted / max(took, 1e-9)))
        if clock() < warm_until:
            lap(work, n, 2, True)  # as in the measured laps
        took = lap(work, n, 1, True)
        if clock() >= warm_until and (wanted / 1.5 < took < wanted * 1.5 or clock() > warm_until + 10 * wanted):
            return {"n": n, "seconds": took}


def timed(work, n):
    start = clock()
    work(n)
    return clock() - start


def lap(work, n, times, together):
    """Return the seconds of ``times`` runs of a workload, each in a thread of its own: together, or one after the other.

    The sequential lap uses threads as well, so that starting them costs the same in both.
    """
    failures = []

    def run():
        try:
            work(n)
        except Exception as error:
            failures.append(error)

    threads = [threading.Thread(target=run) for _ in range(times)]
    start = clock()
    for thread in threads:
        thread.start()
        if not together:
            thread.join()
    for thread in threads:
        thread.join()
    took = clock() - start
    if failures:
        raise failures[0]
    return took


def pair(order):
    """Measure two runs in sequence and two in threads, in the given order."""
    work, n = WORK[order["work"]], order["n"]
    took = {}
    for together in (False, True) if order["sequence_first"] else (True, False):
        took[together] = lap(work, n, 2, together)
    return {"sequence": took[False], "threads": took[True]}


# Busy threads: they compute until they are stopped


class BusyThreads:
    def __init__(self):
        self.threads = []
        self.stop = []

    def set(self, number):
        self.stop.append(True)
        for thread in self.threads:
            thread.join()
        self.stop = []
        self.threads = [threading.Thread(target=compute, args=(self.stop,)) for _ in range(number)]
        for thread in self.threads:
            thread.daemon = True
            thread.start()


def compute(stop):
    while not stop:
        count(1000)


BUSY_THREADS = BusyThreads()


def busy_threads(order):
    BUSY_THREADS.set(order["number"])
    return {}


def echo(order):
    """Start a thread that sends back what it receives over a connection of its own."""
    sock = connected(order["port"], order["key"])

    def answer():
        while True:
            data = sock.recv(64)
            if not data:
                return
            sock.sendall(data)

    thread = threading.Thread(target=answer)
    thread.daemon = True
    thread.start()
    return {}


def wakeups(order):
    """Measure how late a second thread runs after a sleep of 1 or 2 ms, counted from its intended time."""
    late = []

    def run():
        for _ in range(order["times"]):
            pause = random.choice((0.001, 0.002))  # Jython sleeps whole milliseconds
            due = clock() + pause
            time.sleep(pause)
            late.append(clock() - due)

    BUSY_THREADS.set(order["busy_threads"])
    thread = threading.Thread(target=run)
    thread.start()
    thread.join()
    BUSY_THREADS.set(0)
    return {"late": late}


# Signals


class Caught(Exception):
    """Raised by the signal handler, so that the main thread leaves its place."""


MAIN = get_ident()


def interrupt(order):
    """Enter a place and wait there for SIGINT. Sends ``ready`` first, ``caught`` from the handler, and ``left`` at the end."""
    import signal

    place, release = PLACES[order["place"]]()
    state = {"armed": True}
    answers = dict(
        (main, encoded({"caught": True, "main": main})) for main in (True, False)
    )  # encoded before, because the handler is timed

    def handler(number, frame):
        if state["armed"]:
            state["armed"] = False
            CONNECTION[0].sendall(answers[get_ident() == MAIN])
            raise Caught()

    signal.signal(signal.SIGINT, handler)
    start = clock()
    try:
        reply({"ready": True})
        place()
        count(1000)  # the handler of a signal that came during an operation in C runs here
        left = "by itself"
    except Caught:
        left = "interrupted"
    state["armed"] = False
    took = clock() - start
    release()
    return {"left": left, "seconds": took}


def nothing():
    pass


def in_sleep():
    return lambda: time.sleep(FOREVER), nothing


def in_loop():
    def loop():
        n = 0
        while True:
            n = (n + 1) & 0xFFFF

    return loop, nothing


def in_acquire():
    lock, held, done = threading.Lock(), [], []

    def hold():  # in another thread, because the locks of Jython are re-entrant
        lock.acquire()
        held.append(True)
        while not done:
            time.sleep(0.02)
        lock.release()

    thread = threading.Thread(target=hold)
    thread.daemon = True
    thread.start()
    while not held:
        time.sleep(0.01)

    def release():
        done.append(True)
        thread.join()

    return lambda: lock.acquire(), release


def in_join():
    stop = []
    thread = threading.Thread(target=compute, args=(stop,))
    thread.daemon = True
    thread.start()

    def release():
        stop.append(True)
        thread.join()

    return lambda: thread.join(), release


LENGTH = []  # repetitions of the long operation, once it is calibrated


def in_c():
    if not LENGTH:
        n, took = 1000, 0.0
        while took < OPERATION / 8:
            n *= 4
            took = timed(search, n)
        n = int(n * OPERATION / took)
        for _ in range(5 if JIT else 0):  # a JIT compiler makes it shorter with each run
            took = timed(search, n)
            if OPERATION * 0.8 < took < OPERATION * 1.2:
                break
            n = int(n * OPERATION / took)
        LENGTH.append(n)
    return lambda: search(LENGTH[0]), nothing


def search(n):
    """One long operation in C: ``in`` on ``xrange``, or on ``itertools.repeat``, because ``range`` computes the answer at once."""
    try:
        many = xrange(n)
    except NameError:
        many = itertools.repeat(0, n)
    return -1 in many


PLACES = {"sleep": in_sleep, "loop": in_loop, "acquire": in_acquire, "join": in_join, "c": in_c}


# Cost


HELD = []  # functions that end the threads or coroutines that wait


def threads(order):
    """Start threads that wait; `release` ends them."""
    gate = threading.Lock()
    gate.acquire()

    def wait():
        gate.acquire()
        gate.release()

    started = []
    start = clock()
    try:
        for _ in range(order["number"]):
            thread = threading.Thread(target=wait)
            thread.daemon = True
            thread.start()
            started.append(thread)
    except Exception:
        gate.release()
        raise
    took = clock() - start

    def end():
        gate.release()
        for thread in started:
            thread.join()

    HELD.append(end)
    return {"seconds": took}


def coroutines(order):
    """Start coroutines of asyncio that wait, or generators where there is no asyncio; `release` ends them."""
    number = order["number"]
    try:
        import asyncio

        scope = awaiting()
    except (ImportError, SyntaxError):
        return generators(number)
    loop = asyncio.new_event_loop()
    gate = loop.create_future()
    start = clock()
    tasks = [loop.create_task(scope["wait"](gate)) for _ in range(number)]
    loop.run_until_complete(scope["once"](asyncio))
    took = clock() - start

    def end():
        gate.set_result(None)
        loop.run_until_complete(scope["every"](tasks))
        loop.close()

    HELD.append(end)
    return {"seconds": took, "kind": "asyncio"}


AWAITING = """
async def wait(gate):
    await gate
async def once(asyncio):
    await asyncio.sleep(0)
async def every(tasks):
    for task in tasks:
        await task
"""


def awaiting():
    scope = {}
    exec(AWAITING, scope)
    return scope


def generators(number):
    def wait():
        yield

    start = clock()
    waiting = [wait() for _ in range(number)]
    for one in waiting:
        next(one)
    took = clock() - start

    def end():
        for one in waiting:
            for _ in one:
                pass

    HELD.append(end)
    return {"seconds": took, "kind": "generator"}


def release(order):
    start = clock()
    while HELD:
        HELD.pop()()
    return {"seconds": clock() - start}


COMMANDS = {
    "facts": facts,
    "prepare": prepare,
    "pair": pair,
    "busy_threads": busy_threads,
    "echo": echo,
    "wakeups": wakeups,
    "interrupt": interrupt,
    "threads": threads,
    "coroutines": coroutines,
    "release": release,
}


# The connection

CONNECTION = []


def connected(port, key):
    sock = socket.create_connection(("127.0.0.1", port))
    sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    sock.sendall(key.encode("ascii"))
    return sock


def reply(answer):
    CONNECTION[0].sendall(encoded(answer))


def encoded(answer):
    return (json.dumps(answer) + "\n").encode("ascii")


def execute(order):
    try:
        return COMMANDS[order["do"]](order)
    except:  # also exceptions of Java: every failure is the result of its experiment  # noqa: E722
        kind, error = sys.exc_info()[:2]
        return {"error": "%s: %s" % (getattr(kind, "__name__", kind), error)}


def main(port, key):
    CONNECTION.append(connected(port, key))
    received = b""
    while True:
        while b"\n" in received:
            line, received = received.split(b"\n", 1)
            try:
                reply(execute(json.loads(line.decode("ascii"))))
            except Caught:  # the signal came after the end of the experiment
                pass
        part = CONNECTION[0].recv(65536)
        if not part:
            os._exit(0)  # threads may still wait
        received += part


if __name__ == "__main__":
    main(int(sys.argv[1]), sys.argv[2])
