"""Event loops beside threads."""

from __future__ import annotations

import asyncio
import threading

from .declare import pair


@pair("loops")
class LoopsShareCounter:
    """Each thread runs its own event loop; the tasks share a counter."""

    class Buggy:
        def __init__(self):
            self.count, self.lock = 0, threading.Lock()

        async def task(self):
            await asyncio.sleep(0)
            self.count += 1

        def run(self):
            asyncio.run(self.task())

    class Fixed(Buggy):
        async def task(self):
            await asyncio.sleep(0)
            with self.lock:
                self.count += 1

    threads = (lambda s: s.run(), lambda s: s.run())

    def holds(s):
        return s.count == 2


@pair("loops")
class FutureSetFromThread:
    """A thread sets an asyncio future itself, and the loop may sleep on."""

    class Buggy:
        def __init__(self):
            self.loop, self.future = None, None
            self.ready = threading.Event()

        def run(self):
            async def main():
                self.loop = asyncio.get_running_loop()
                self.future = self.loop.create_future()
                self.ready.set()
                return await self.future

            asyncio.run(main())

        def set(self):
            self.ready.wait()
            self.future.set_result(1)

    class Fixed(Buggy):
        def set(self):
            self.ready.wait()
            self.loop.call_soon_threadsafe(self.future.set_result, 1)

    threads = (lambda s: s.run(), lambda s: s.set())
