"""Threads on cores of their own, which start every instance of a program at the same time.

Hits per second on a free-threaded 3.13 with two cores, both busy with other work too (medians of 7 runs of half a second, taken in
turn): two threads each of `v += 1`, ``if items: items.pop()``, check-then-act on a dictionary, a lazy attribute; and of a long one
that is wrong for a moment at its end, beside a short one that looks:

                                                  instances   v += 1    stack    dict    lazy    at the end
    threads anywhere, a barrier for 200 instances     90,000        0        6      82      18       0
    on their cores, a barrier for 200 instances       80,000        9       79     128      66       0
    on their cores, a spin before each of 200         12,000    1,839    3,500   1,386     606       8
    on their cores, a spin, one instance at a time     6,500      980    1,603   1,279   1,193       8
    the same, and a third of the instances each: all start together,
    start anywhere beside another, end together        5,300      557      613   1,274     549      45    <- in use

What decides is whether the threads overlap: a thread that is woken is put on the core of the thread that woke it, and two short
jobs on one core never overlap. With 200 instances prepared in advance more is found, but it is wrong if instances share anything: a
setup that resets a global of a module would be called 200 times before the first thread runs. And threads that always start
together never overlap where the critical window of one comes late.
"""

from __future__ import annotations

import gc
import os
import random
import sys
import threading
from collections import deque
from collections.abc import Callable
from contextvars import Context, copy_context

from ...core.clocks import perf_counter_ns, sleep
from ...core.cores import CAN_PIN
from ...core.team import refused_thread
from ..running.handoff import HandoffSemaphore

_SPINS = 100  # polls of the other threads before one lets another thread have the core
_AT_ONCE, _ANYWHERE = 1 / 3, 2 / 3  # shares of the instances: all start together, start anywhere; the rest ends together
_LONGEST_DELAY = 50_000_000  # nanoseconds
_SPUN = 50_000  # nanoseconds at the end of a delay, for which a sleep is not precise enough
_REMEMBERED = 16  # durations that are kept for each job

_yield: Callable[[], object] = getattr(os, "sched_yield", lambda: sleep(0))


class AlignedThreads:
    """Threads that live as long as the process. Every job gets its own context, because the threads are not the program's."""

    def __init__(self, size: int) -> None:
        self._cores = sorted(os.sched_getaffinity(0)) if CAN_PIN else []
        self._jobs: list[Callable[[], object]] = []
        self._contexts: list[Context] = []
        self._errors: list[BaseException | None] = [None] * size
        self._arrived, self._delays, self._begun, self._took = [False] * size, [0] * size, [0] * size, [0] * size
        self._recent: list[deque[int]] = [deque(maxlen=_REMEMBERED) for _ in range(size)]
        self._semaphores, self._finished = [HandoffSemaphore() for _ in range(size)], HandoffSemaphore()
        self._locals = [thing for thing in gc.get_objects() if type(thing) is threading.local]  # emptied after each job
        self._pid, self._random = os.getpid(), random.Random()  # not the module's generator, which the program may seed
        self._threads = [threading.Thread(target=self._work, args=(i,), name=f"T{i}", daemon=True) for i in range(size)]
        for started, thread in enumerate(self._threads):
            try:
                thread.start()
            except (RuntimeError, MemoryError) as error:
                raise refused_thread(started, size, error) from error

    def names(self) -> dict[int, str]:
        """The threads' names, by their ``threading`` idents."""
        return {thread.ident: thread.name for thread in self._threads if thread.ident is not None}

    def together(self, jobs: list[Callable[[], object]]) -> list[BaseException | None]:
        """Run each job in its own thread; returns what each raised, when all have ended."""
        size = len(self._threads)
        inherited = getattr(sys.flags, "thread_inherit_context", 0)
        self._jobs, self._contexts = jobs, [copy_context() if inherited else Context() for _ in range(size)]
        for index in range(size):
            self._arrived[index], self._errors[index] = False, None
        self._delays = self._draw_delays()
        for semaphore in self._semaphores:
            semaphore.post()
        for _ in range(size):
            self._finished.wait()
        self._jobs, self._contexts = [], []
        for times, took in zip(self._recent, self._took, strict=True):
            times.append(took)
        return list(self._errors)

    def overlapped(self) -> bool:
        """Whether in the last instance two jobs overlapped in time."""
        end = 0
        for begun, took in sorted(zip(self._begun, self._took, strict=True)):
            if begun < end:
                return True
            end = begun + took
        return False

    def _draw_delays(self) -> list[int]:
        """Nanoseconds by which each thread starts late: zero for all; or a random part of the slowest job; or so much that all end
        together."""
        draw, recent = self._random.random(), self._recent
        if draw < _AT_ONCE or not recent[0]:
            return [0] * len(recent)
        took = [self._random.choice(times) for times in recent]
        if draw < _ANYWHERE:
            slowest = self._random.choice(took)
            delays = [self._random.random() * slowest * self._random.randrange(2) for _ in took]
        else:
            delays = [max(took) - time for time in took]
        return [int(min(delay, _LONGEST_DELAY)) for delay in delays]

    def _work(self, index: int) -> None:
        everywhere = set(self._cores)
        home = {self._cores[index % len(self._cores)]} if len(self._cores) > 1 else set()
        arrived, errors, took = self._arrived, self._errors, self._took
        others = [other for other in range(len(arrived)) if other != index]
        wait = self._semaphores[index].wait
        while True:
            _go_to(home)  # so that it wakes up there; after that, it and its own threads may run anywhere
            wait()
            _go_to(everywhere if home else home)
            job, run, delay = self._jobs[index], self._contexts[index].run, self._delays[index]
            arrived[index] = True
            for other in others:
                looks = 0
                while not arrived[other]:
                    if (looks := looks + 1) > _SPINS:
                        _yield()
            if delay:
                _pass(delay)
            begun = perf_counter_ns()
            try:
                run(job)
            except BaseException as error:  # any exception is a result of the program
                errors[index] = error
            self._begun[index], took[index] = begun, perf_counter_ns() - begun
            for kept in self._locals:
                vars(kept).clear()
            del job, run  # they refer to the state, which is to be freed
            if os.getpid() != self._pid:  # the program forked, and its child has returned here
                os._exit(0)
            self._finished.post()


def _go_to(cores: set[int]) -> None:
    if cores:
        try:
            os.sched_setaffinity(0, cores)
        except OSError:  # the core was taken away meanwhile
            pass


def _pass(nanoseconds: int) -> None:
    until = perf_counter_ns() + nanoseconds
    if nanoseconds > _SPUN:
        sleep((nanoseconds - _SPUN) / 1e9)
    while perf_counter_ns() < until:
        pass
