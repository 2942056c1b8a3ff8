"""The probed interpreter's side: runs by itself, and does what it is told over a socket.

It runs under any Python from 2.7 on, PyPy and Jython included, with nothing installed: so it is one file, imports the standard
library alone, keeps to the syntax that all of them have, and looks for each feature instead of trusting a version. (That is why
it has no annotations, and no ``with`` of a thing that some version lacks.)

    python experiments.py PORT KEY

connects to that port of this machine, sends the key, and then reads commands: one JSON object a line, ``{"do": name, ...}``. Each
is answered by one line: ``{"error": ...}``, or whatever the command measured; seconds, on a clock of its own, and never times of
day. The end of the connection is the end of the process. Pings, signals, memory and cores are the other side's business
(`session`): a thread in here would measure itself.
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
    sys.path[:] = [path for path in sys.path if path != os.path.dirname(os.path.abspath(__file__))]  # our folder is no library

try:
    from java.lang import System  # of Jython: its time.time counts in milliseconds

    def clock():
        return System.nanoTime() / 1e9
except ImportError:
    clock = getattr(time, "perf_counter", None) or time.time

try:
    from thread import get_ident
except ImportError:
    from threading import get_ident

JIT = platform.python_implementation() in ("PyPy", "Jython", "GraalVM", "IronPython")
NAP = 0.05  # seconds
ITEMS = 10000  # numbers in the list that is dumped
BUFFER = 1 << 20  # bytes that are hashed at a time
OPERATION = 1.5  # seconds that the long operation in C shall take
FOREVER = 60.0  # seconds; the other side has lost its patience long before


# Facts


def facts(order):
    """What this interpreter says of itself; anything it does not know is null."""
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
    """What ``sys.name()`` says; null where there is no such function."""
    try:
        import warnings

        warnings.simplefilter("ignore")  # 3.2 to 3.8 have both functions, and deprecate one
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


# Workloads, each repeated as often as it is told


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


def nap(n):
    for _ in range(n):
        time.sleep(NAP)


WORK = {"count": count, "json": dump, "sha256": sha256, "sleep": nap}


def prepare(order):
    """How often a workload has to be repeated to take so many seconds, once a compiler has seen it for ``warm`` seconds."""
    work, wanted = WORK[order["work"]], order["seconds"]
    if work is nap:
        return {"n": 1, "seconds": NAP}
    n = 1
    took = timed(work, n)
    while took < wanted / 4:
        n *= 4
        took = timed(work, n)
    warm_until = clock() + (order["warm"] if JIT else 0.0)
    while True:
        n = max(1, int(n * wanted / max(took, 1e-9)))
        if clock() < warm_until:
            lap(work, n, 2, True)  # as later on
        took = lap(work, n, 1, True)
        if clock() >= warm_until and (wanted / 1.5 < took < wanted * 1.5 or clock() > warm_until + 10 * wanted):
            return {"n": n, "seconds": took}


def timed(work, n):
    start = clock()
    work(n)
    return clock() - start


def lap(work, n, times, together):
    """Seconds for so many runs of a workload, each in a thread of its own: together, or one after the other.

    The sequence has threads too, so that their start costs the same on both sides.
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
    """Two runs in sequence and two in threads, in the order that was asked for."""
    work, n = WORK[order["work"]], order["n"]
    took = {}
    for together in (False, True) if order["sequence_first"] else (True, False):
        took[together] = lap(work, n, 2, together)
    return {"sequence": took[False], "threads": took[True]}


# Neighbours: threads that compute until they are told to stop


class Burners:
    def __init__(self):
        self.threads = []
        self.stop = []

    def set(self, number):
        self.stop.append(True)
        for thread in self.threads:
            thread.join()
        self.stop = []
        self.threads = [threading.Thread(target=burn, args=(self.stop,)) for _ in range(number)]
        for thread in self.threads:
            thread.daemon = True
            thread.start()


def burn(stop):
    while not stop:
        count(1000)


BURNERS = Burners()


def burners(order):
    BURNERS.set(order["number"])
    return {}


def echo(order):
    """A thread that sends back what comes over a connection of its own."""
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


def turns(order):
    """How late a second thread gets its turn, after sleeping for 1 or 2 ms: counted from when it wanted to run."""
    late = []

    def run():
        for _ in range(order["times"]):
            pause = random.choice((0.001, 0.002))  # Jython sleeps whole milliseconds
            due = clock() + pause
            time.sleep(pause)
            late.append(clock() - due)

    BURNERS.set(order["burners"])
    thread = threading.Thread(target=run)
    thread.start()
    thread.join()
    BURNERS.set(0)
    return {"late": late}


# Signals


class Caught(Exception):
    """What our handler raises, to get the main thread out of where it is."""


MAIN = get_ident()


def interrupt(order):
    """Go to a place and wait there for SIGINT. Says ``ready`` first, ``caught`` from the handler, and ``left`` at the end."""
    import signal

    place, release = PLACES[order["place"]]()
    state = {"armed": True}
    answers = dict((main, encoded({"caught": True, "main": main})) for main in (True, False))  # now: the handler is being timed

    def handler(number, frame):
        if state["armed"]:
            state["armed"] = False
            CONNECTION[0].sendall(answers[get_ident() == MAIN])
            raise Caught()

    signal.signal(signal.SIGINT, handler)
    start = clock()
    try:
        say({"ready": True})
        place()
        count(1000)  # after an operation in C, the handler has yet to run
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

    def hold():  # another thread: Jython's locks may be taken twice by the same
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
    thread = threading.Thread(target=burn, args=(stop,))
    thread.daemon = True
    thread.start()

    def release():
        stop.append(True)
        thread.join()

    return lambda: thread.join(), release


LENGTH = []  # how often the long operation repeats itself, once that is known


def in_c():
    if not LENGTH:
        n, took = 1000, 0.0
        while took < OPERATION / 8:
            n *= 4
            took = timed(search, n)
        n = int(n * OPERATION / took)
        for _ in range(5 if JIT else 0):  # a compiler makes it shorter and shorter
            took = timed(search, n)
            if OPERATION * 0.8 < took < OPERATION * 1.2:
                break
            n = int(n * OPERATION / took)
        LENGTH.append(n)
    return lambda: search(LENGTH[0]), nothing


def search(n):
    """One operation that is written in C: of ``xrange`` where there is one (``range`` knows what it contains without looking)."""
    try:
        many = xrange(n)
    except NameError:
        many = itertools.repeat(0, n)
    return -1 in many


PLACES = {"sleep": in_sleep, "loop": in_loop, "acquire": in_acquire, "join": in_join, "c": in_c}


# Cost


HELD = []  # calls that end what is being held


def threads(order):
    """Start so many threads that wait; `release` ends them."""
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
    """Start so many coroutines that wait, of asyncio, or generators where there is none; `release` ends them."""
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
    "burners": burners,
    "echo": echo,
    "turns": turns,
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


def say(answer):
    CONNECTION[0].sendall(encoded(answer))


def encoded(answer):
    return (json.dumps(answer) + "\n").encode("ascii")


def obey(order):
    try:
        return COMMANDS[order["do"]](order)
    except:  # of Java too: whatever it is, it is this experiment's result  # noqa: E722
        kind, error = sys.exc_info()[:2]
        return {"error": "%s: %s" % (getattr(kind, "__name__", kind), error)}


def main(port, key):
    CONNECTION.append(connected(port, key))
    received = b""
    while True:
        while b"\n" in received:
            line, received = received.split(b"\n", 1)
            try:
                say(obey(json.loads(line.decode("ascii"))))
            except Caught:  # it came after the experiment had ended
                pass
        part = CONNECTION[0].recv(65536)
        if not part:
            os._exit(0)  # threads may still wait
        received += part


if __name__ == "__main__":
    main(int(sys.argv[1]), sys.argv[2])
