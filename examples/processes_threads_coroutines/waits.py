"""Many waits at once, as processes, threads or coroutines: what they cost, and how it ends when a limit is reached.

    python waits.py MODE NUMBER [LIMIT]

prints one line of JSON: how many were waiting at once, the seconds to start and to end them, the bytes of memory for each, and the
exception that ended it. LIMIT is for processes their number, for the others the mebibytes of address space.
"""

import asyncio
import json
import os
import resource
import sys
import threading
import time
import types

NOBODY = 65534  # root may start processes without a limit


def resident(pid="self"):
    """Bytes of memory that are this process's own: what it shares with its parent counts for the parent."""
    with open(f"/proc/{pid}/smaps_rollup") as file:
        fields = dict(line.split(":", 1) for line in file.read().splitlines()[1:])
    return sum(int(fields[name].split()[0]) for name in ("Private_Clean", "Private_Dirty")) * 1024


def threads(number):
    release, waiting = threading.Lock(), []

    def wait():
        with release:
            pass

    before, began, error = resident(), time.perf_counter(), None
    with release:
        try:
            for _ in range(number):
                thread = threading.Thread(target=wait)
                thread.start()
                waiting.append(thread)
        except (RuntimeError, MemoryError) as end:
            error = end
        memory = resident() - before
    for thread in waiting:
        thread.join()
    return len(waiting), time.perf_counter() - began, memory, error


def coroutines(number):
    async def wait(event):
        await event.wait()

    async def main():
        event, before, began = asyncio.Event(), resident(), time.perf_counter()
        waiting = [asyncio.ensure_future(wait(event)) for _ in range(number)]
        await asyncio.sleep(0)  # each runs until it waits
        memory = resident() - before
        event.set()
        await asyncio.gather(*waiting)
        return len(waiting), time.perf_counter() - began, memory, None

    return asyncio.run(main())


@types.coroutine
def suspended():
    yield


def bare_coroutines(number):
    """Without an event loop: a loop without memory cannot even report that it has none."""

    async def wait():
        await suspended()

    waiting, began, error = [], time.perf_counter(), None
    try:
        for _ in range(number):
            waiting.append(wait())
            waiting[-1].send(None)
    except MemoryError as end:
        error = end
    count = len(waiting)
    waiting.clear()
    return count, time.perf_counter() - began, 0, error


def processes(number):
    """Forked, as `multiprocessing` did by default on Linux until 3.13: the cheapest kind."""
    reading, writing = os.pipe()
    children, error, began, memory = [], None, time.perf_counter(), 0
    try:
        for _ in range(number):
            pid = os.fork()
            if pid == 0:
                os.close(writing)
                os.read(reading, 1)  # until the parent closes its end
                os._exit(0)
            children.append(pid)
    except OSError as end:
        error = end
    if error is None:
        memory = sum(resident(pid) for pid in children)
    os.close(writing)
    for pid in children:
        os.waitpid(pid, 0)
    return len(children), time.perf_counter() - began, memory, error


def main(mode, number, limit=None):
    if limit is not None and mode == "processes":
        if os.geteuid() == 0:
            os.setuid(NOBODY)
        resource.setrlimit(resource.RLIMIT_NPROC, (int(limit),) * 2)
    elif limit is not None:
        resource.setrlimit(resource.RLIMIT_AS, (int(limit) << 20,) * 2)
    modes = {"threads": threads, "coroutines": coroutines, "bare_coroutines": bare_coroutines, "processes": processes}
    count, seconds, memory, error = modes[mode](int(number))
    print(json.dumps({"waiting": count, "seconds": seconds, "each": memory // max(1, count), "error": error and repr(error)}))


if __name__ == "__main__":
    main(*sys.argv[1:])
