"""The two kinds of tasks of the guide: computing, and waiting."""

import asyncio
import json
import time

WAIT = 0.05  # seconds; 0.1 in the guide


def compute():
    json.dumps(list(range(20_000)))


def wait():
    time.sleep(WAIT)


async def wait_in_coroutine():
    await asyncio.sleep(WAIT)
