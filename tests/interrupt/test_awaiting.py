"""Where coroutines wait."""

import asyncio

import pytest

from pytest_gilcheck import gilcheck
from pytest_gilcheck.core.fork_safety import can_fork
from pytest_gilcheck.interrupt.awaiting import waiting_coroutines


async def sleeps():
    await asyncio.sleep(60)


async def counts():
    yield await asyncio.sleep(60)


async def iterates():
    async for _ in counts():
        pass


async def waits_for_a_task():
    await asyncio.create_task(sleeps())


@pytest.mark.parametrize(("main", "function"), [(sleeps, "sleeps"), (iterates, "counts"), (waits_for_a_task, "sleeps")])
def test_the_innermost_line_of_a_suspended_coroutine_is_found_and_not_what_waits_for_it(main, function):
    async def run():
        task = asyncio.create_task(main())
        for _ in range(5):
            await asyncio.sleep(0)
        found = waiting_coroutines()
        task.cancel()
        return found

    assert [place[2] for place in asyncio.run(run()) if place[0] == __file__] == [function]


@pytest.mark.slow
@pytest.mark.skipif(can_fork() is not None, reason=f"{can_fork()}")
def test_a_cleanup_of_a_loop_that_does_not_end_is_named_with_the_line_that_it_waits_at():
    class Session:
        async def __aenter__(self):
            return self

        async def __aexit__(self, *details):
            await asyncio.Event().wait()

    async def work():
        async with Session():
            await asyncio.sleep(60)

    result = gilcheck.interrupt(work, repeats=1, over=0.1, exits_within=0.5)
    result.assert_violated()
    line = Session.__aexit__.__code__.co_firstlineno + 1
    assert f"and waits at {__file__}:{line} (" in result.culprit
