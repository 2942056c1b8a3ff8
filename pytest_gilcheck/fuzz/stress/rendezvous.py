"""Side by side, for real: threads on cores of their own, which begin every instance of a program together.

Hits per second on a free-threaded 3.13 with two cores, both busy with other work too (medians of 7 runs of half a second, taken in
turn): two threads each of `v += 1`, ``if items: items.pop()``, check-then-act on a dictionary, a lazy attribute; and of a long one
that is wrong for a moment at its end, beside a short one that looks:

                                                  instances   v += 1    stack    dict    lazy    at the end
    threads anywhere, a barrier for 200 instances     90,000        0        6      82      18       0
    on their cores, a barrier for 200 instances       80,000        9       79     128      66       0
    on their cores, a spin before each of 200         12,000    1,839    3,500   1,386     606       8
    on their cores, a spin, one instance at a time     6,500      980    1,603   1,279   1,193       8
    that, and every third time each: all begin together,
    begin anywhere beside another, end together        5,300      557      613   1,274     549      45    <- as it is now

What decides is that the threads really run at once: a thread that is woken is put on the core of the one that woke it, and two
short jobs on one core never meet. With 200 instances in hand more is found, and it is wrong as soon as they share anything: a
setup that resets a module's global would be called 200 times before the first thread runs. And threads that only ever begin
together never meet where one has its window late.
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
from time import perf_counter_ns, sleep  # bound now: the program may patch the module

from ...core.cores import CAN_PIN
from ..running.handoff import HandoffSemaphore

_SPINS = 100  # looks at the others before each lets somebody else have the core
_AT_ONCE, _ANYWHERE = 1 / 3, 2 / 3  # a third of the instances each: all begin together, begin anywhere, end together
_LONGEST_DELAY = 50_000_000  # nanoseconds
_SPUN = 50_000  # the last nanoseconds of a delay, which no sleep would hit
_REMEMBERED = 16  # how long each job took the last times

_yield: Callable[[], object] = getattr(os, "sched_yield", lambda: sleep(0))


class AlignedThreads:
    """Threads that live as long as the process. They are not the program's own, so every job gets a context of its own."""

    def __init__(self, size: int) -> None:
        self._cores = sorted(os.sched_getaffinity(0)) if CAN_PIN else []
        self._jobs: list[Callable[[], object]] = []
        self._contexts: list[Context] = []
        self._errors: list[BaseException | None] = [None] * size
        self._arrived, self._delays, self._begun, self._took = [False] * size, [0] * size, [0] * size, [0] * size
        self._recent: list[deque[int]] = [deque(maxlen=_REMEMBERED) for _ in range(size)]
        self._semaphores, self._home = [HandoffSemaphore() for _ in range(size)], HandoffSemaphore()
        self._locals = [thing for thing in gc.get_objects() if type(thing) is threading.local]  # not to be found by the next job
        self._pid, self._random = os.getpid(), random.Random()  # the program may seed the module's
        self._threads = [threading.Thread(target=self._play, args=(i,), name=f"T{i}", daemon=True) for i in range(size)]
        for thread in self._threads:
            thread.start()

    def names(self) -> dict[int, str]:
        """The threads' names by their ``threading`` idents."""
        return {thread.ident: thread.name for thread in self._threads if thread.ident is not None}

    def together(self, jobs: list[Callable[[], object]]) -> list[BaseException | None]:
        """Run each job in its thread; returns what each raised, once all have ended."""
        size = len(self._threads)
        inherited = getattr(sys.flags, "thread_inherit_context", 0)
        self._jobs, self._contexts = jobs, [copy_context() if inherited else Context() for _ in range(size)]
        for index in range(size):
            self._arrived[index], self._errors[index] = False, None
        self._delays = self._draw_delays()
        for semaphore in self._semaphores:
            semaphore.post()
        for _ in range(size):
            self._home.wait()
        self._jobs, self._contexts = [], []
        for times, took in zip(self._recent, self._took, strict=True):
            times.append(took)
        return list(self._errors)

    def met(self) -> bool:
        """Whether in the last instance any thread began before another had ended."""
        end = 0
        for begun, took in sorted(zip(self._begun, self._took, strict=True)):
            if begun < end:
                return True
            end = begun + took
        return False

    def _draw_delays(self) -> list[int]:
        """Nanoseconds by which each thread begins late: none of them, or by anything up to a run of another, or so that all end
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

    def _play(self, index: int) -> None:
        everywhere = set(self._cores)
        home = {self._cores[index % len(self._cores)]} if len(self._cores) > 1 else set()
        arrived, errors, took = self._arrived, self._errors, self._took
        others = [other for other in range(len(arrived)) if other != index]
        wait = self._semaphores[index].wait
        while True:
            _go_to(home)  # so that it wakes there; from then on it is free, and so is what it starts
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
            except BaseException as error:  # whatever it is, it is the program's
                errors[index] = error
            self._begun[index], took[index] = begun, perf_counter_ns() - begun
            for kept in self._locals:
                vars(kept).clear()
            del job, run  # the state must not live on in here
            if os.getpid() != self._pid:  # a fork of the program's has come all the way back
                os._exit(0)
            self._home.post()


def _go_to(cores: set[int]) -> None:
    if cores:
        try:
            os.sched_setaffinity(0, cores)
        except OSError:  # taken away meanwhile
            pass


def _pass(nanoseconds: int) -> None:
    until = perf_counter_ns() + nanoseconds
    if nanoseconds > _SPUN:
        sleep((nanoseconds - _SPUN) / 1e9)
    while perf_counter_ns() < until:
        pass
