"""The workload of "Dive into GIL!": arithmetic on random numbers, in two threads. For any Python from 2.7 on, PyPy and Jython.

    python arithmetic.py

prints, for each round, the seconds of the sequence, the seconds of the threads, and how many cores the threads used: their CPU
time over the time that they took. Under a GIL that is never more than 1, on whatever machine.
"""

from __future__ import print_function

import random
import threading
import time

THREADS = 2
STEPS = 400000
WARM = 3  # rounds that do not count: a compiler may be at work
ROUNDS = 8

try:
    cpu = time.thread_time
except AttributeError:
    try:
        from java.lang.management import ManagementFactory
    except ImportError:
        cpu = None  # Python before 3.7
    else:
        clock = ManagementFactory.getThreadMXBean()

        def cpu():
            return clock.getCurrentThreadCpuTime() / 1e9


def work(steps=STEPS):
    """Each call has a generator of its own: the one that all threads share would be a lock of its own where there is no GIL."""
    uniform, total = random.Random(1).uniform, 0.0
    for _ in range(steps):
        total += uniform(1, 10) * 3.5 - 2.5
    return total


def sequence():
    began = time.time()
    for _ in range(THREADS):
        work()
    return time.time() - began


def threads():
    spent = []

    def timed():
        work()
        if cpu is not None:
            spent.append(cpu())  # of this thread, since it was started

    workers = [threading.Thread(target=timed) for _ in range(THREADS)]
    began = time.time()
    for worker in workers:
        worker.start()
    for worker in workers:
        worker.join()
    lasted = time.time() - began
    return lasted, sum(spent) / lasted


if __name__ == "__main__":
    for number in range(WARM + ROUNDS):
        one, (two, cores) = sequence(), threads()
        if number >= WARM:
            print(one, two, cores)
