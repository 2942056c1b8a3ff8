"""Real workloads with a known answer to Ctrl-C: the verdict, the outcome, and what must be named as the culprit.

Long C calls take at least 1.5 s on any machine. Data is made once, before the first fork.
"""

import asyncio
import functools
import hashlib
import itertools
import json
import pickle
import queue
import random
import re
import threading
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass

from . import holder

HOLDS, VIOLATED = "holds", "violated"
DEAF = {"deaf", "late"}


@dataclass(frozen=True)
class Case:
    """A workload and what the check must find."""

    work: Callable[[], object]
    verdict: str = HOLDS
    outcomes: frozenset[str] = frozenset()
    culprit: str = ""
    data: Callable[[], object] | None = None
    may_be_lost: bool = False  # where a free-threaded build itself sometimes misses a signal
    lingers_without_gil: bool = False  # free-threaded, the signal is seen, and the interpreter's end waits for a thread in C code

    @property
    def name(self):
        return self.work.__name__


CASES = []


def case(verdict=HOLDS, outcomes=(), culprit="", **more):
    def add(work):
        CASES.append(Case(work, verdict, frozenset(outcomes), culprit, **more))
        return work

    return add


def deaf(culprit, **more):
    return case(VIOLATED, DEAF, culprit, **more)


@functools.cache
def floats():
    return [random.random() for _ in range(4_000_000)]


@functools.cache
def more_floats():
    return list(itertools.islice(itertools.cycle(floats()), 6_000_000))


@functools.cache
def numbers():
    return [2**70 + 1] * 15_000_000


@functools.cache
def zeros():
    return bytes(4_000_000_000)  # never written to, so it takes no memory


def spin():
    while True:
        pass


@deaf("sum(range(10 ** 9))")
def sum_of_a_range():
    sum(range(10**9))


# "stuck in cleanup": seen just before the thread has the GIL
@case(VIOLATED, DEAF | {"stuck in cleanup"}, "sum(range(10 ** 9))", lingers_without_gil=True)
def sum_in_another_thread():
    threading.Thread(target=lambda: sum(range(10**9)), daemon=True).start()
    time.sleep(60)


@deaf("5 in itertools.repeat(0, 10 ** 9)")
def in_repeat():
    5 in itertools.repeat(0, 10**9)  # noqa: B015


@deaf("sorted(", data=floats)
def sorted_list():
    sorted(floats())


@deaf("pickle.dumps(", data=numbers)
def pickle_dumps():
    pickle.dumps(numbers())


@deaf("sha256(", data=zeros)
def sha256_of_a_huge_buffer():
    hashlib.sha256(zeros()).digest()


@case()
def regex_backtracking():
    re.match(r"(a+)+$", "a" * 40 + "b")


@deaf("encoder.py", data=more_floats)
def json_dumps():
    json.dumps(more_floats())


@case()
def json_dumps_in_pieces():
    for part in itertools.cycle(range(100)):
        json.dumps(list(range(part)))


@case()
def lock_acquire():
    lock = threading.Lock()
    lock.acquire()
    lock.acquire()


@case(may_be_lost=True)
def join_of_a_busy_thread():
    thread = threading.Thread(target=spin, daemon=True)
    thread.start()
    thread.join()


@case()
def queue_get():
    queue.Queue().get()


@case(VIOLATED, {"stuck in cleanup", "lingers"}, "ThreadPoolExecutor", may_be_lost=True)
def future_of_busy_workers():
    with ThreadPoolExecutor(2) as executor:
        futures = [executor.submit(spin) for _ in range(2)]
        futures[0].result()


@case(may_be_lost=True)
def future_of_workers_that_can_be_told():
    stop = threading.Event()

    def work():
        while not stop.is_set():
            pass

    with ThreadPoolExecutor(2) as executor:
        try:
            futures = [executor.submit(work) for _ in range(2)]
            futures[0].result()
        finally:
            stop.set()


@case()
def time_sleep():
    time.sleep(60)


@case()
def asyncio_run():
    asyncio.run(asyncio.sleep(60))


@case(VIOLATED, {"swallowed"}, "except BaseException")
def caught_by_all():
    while True:
        try:
            time.sleep(0.01)
        except BaseException:
            continue


@case()
def caught_by_exception():
    while True:
        try:
            time.sleep(0.01)
        except Exception:
            continue


@case(VIOLATED, {"lingers"}, "'outlives', a non-daemon thread")
def thread_that_outlives_main():
    threading.Thread(target=time.sleep, args=(60,), name="outlives").start()
    time.sleep(60)


@case()
def daemon_thread():
    threading.Thread(target=time.sleep, args=(60,), daemon=True).start()
    time.sleep(60)


@case()
def lock_of_a_dead_thread():
    lock = threading.Lock()
    thread = threading.Thread(target=lock.acquire)
    thread.start()
    thread.join()
    lock.acquire()


if holder.compiler()[0] is not None:

    @deaf("hold(", data=holder.built)
    def extension_that_holds():
        holder.built().hold(60.0)

    @case(VIOLATED, DEAF, "hold(", data=holder.built, lingers_without_gil=True)
    def extension_that_holds_in_another_thread():
        extension = (
            holder.built()
        )  # imported before the thread starts, which otherwise may not yet be in `hold` when the signal comes
        threading.Thread(target=lambda: extension.hold(60.0), daemon=True).start()
        time.sleep(60)

    @case(data=holder.built)
    def extension_that_looks():
        holder.built().look(60.0)

    @case(VIOLATED, {"lost"}, "the wait at", data=holder.built)
    def extension_that_misses():
        holder.built().miss(0.15)  # signals come within 0.2 s
        time.sleep(60)

    @case(VIOLATED, {"replaced"}, "holder", data=holder.built)
    def extension_that_takes_the_signal():
        holder.built().take_sigint()
        while True:
            time.sleep(0.01)


def wrong(case, result, free_threaded):
    """Describe what is wrong with a result; None if it is right or undecided."""
    verdict = str(result.verdict)
    if verdict == "inconclusive":
        return None
    if case.may_be_lost and free_threaded and str(result.outcome) == "lost":
        return None
    outcomes = {"lingers"} if case.lingers_without_gil and free_threaded else case.outcomes
    expected = case.verdict
    if case.lingers_without_gil and free_threaded and case.data is not None and verdict == HOLDS:
        return None  # a new interpreter first builds the extension: the signal may come before the thread is in its C code
    if verdict != expected:
        return f"{verdict} instead of {expected}: {result.reason}"
    if expected == HOLDS:
        return None
    if outcomes and str(result.outcome) not in outcomes:
        return f"{result.outcome} instead of {' or '.join(sorted(outcomes))}: {result.reason}"
    if case.culprit not in result.culprit:
        return f"the culprit is {result.culprit!r}, without {case.culprit!r}"
    return None
