"""Requests per second and cores used, of some workers that each send requests one after the other."""

import resource
import threading
import time
from dataclasses import dataclass


def user_seconds():
    return resource.getrusage(resource.RUSAGE_SELF).ru_utime


@dataclass(frozen=True)
class Throughput:
    workers: int
    requests: float  # per second
    cores: float  # CPU time of this process, without that of the kernel for it, over wall time

    def __str__(self):
        return f"{self.workers:2} workers {self.requests:9.0f} requests/s, {self.cores:.2f} cores used"


def measure(request, workers, seconds=0.7):
    """Call ``request`` in so many threads for so many seconds."""
    done, stop, ready = [0] * workers, threading.Event(), threading.Barrier(workers + 1)

    def work(number):
        request()  # connections, caches
        ready.wait()
        count = 0
        while not stop.is_set():
            request()
            count += 1
        done[number] = count

    threads = [threading.Thread(target=work, args=(number,)) for number in range(workers)]
    for thread in threads:
        thread.start()
    ready.wait()
    began, cpu = time.perf_counter(), user_seconds()
    time.sleep(seconds)
    stop.set()
    for thread in threads:
        thread.join()
    lasted = time.perf_counter() - began
    return Throughput(workers, sum(done) / lasted, (user_seconds() - cpu) / lasted)
