"""Objects are hashed by their number while a program is explored; code that looks at a class for its ``__hash__`` finds its own."""

import asyncio
import dataclasses
import threading
from typing import Protocol, runtime_checkable

import pytest

from .programs import Counter, add_locked, counted


@runtime_checkable
class Items(Protocol):
    def items(self): ...


@pytest.mark.slow
def test_a_dataclass_that_a_thread_makes_has_the_hash_of_its_fields():
    def makes(counter):
        @dataclasses.dataclass(frozen=True)
        class Point:
            x: int

        assert len({Point(1), Point(1)}) == 1
        add_locked(counter)

    counted(makes, makes, setup=Counter, schedules=10, include=("dataclasses",)).assert_holds()
    counted(makes, makes, setup=Counter, schedules=10).assert_holds()


@pytest.mark.slow
def test_a_dataclass_that_is_not_frozen_stays_unhashable():
    def makes(counter):
        @dataclasses.dataclass
        class Point:
            x: int

        try:
            hash(Point(1))
        except TypeError:
            add_locked(counter)

    counted(makes, makes, setup=Counter, schedules=10, invariant=lambda counter: counter.value == 2).assert_holds()


def test_an_object_is_still_an_instance_of_a_protocol():
    def looks(counter):
        assert isinstance({}, Items)
        add_locked(counter)

    counted(looks, looks, setup=Counter, schedules=10).assert_holds()


async def nothing():
    pass


def looped(start, loops):
    """A setup with a thread that runs an event loop."""

    def setup():
        counter = Counter()
        counter.loop = asyncio.new_event_loop()
        loops.append(counter.loop)
        if start:
            threading.Thread(target=counter.loop.run_forever, daemon=True).start()
        else:
            counter.loop.run_until_complete(nothing())
            counter.loop.close()
        return counter

    return setup


@pytest.mark.slow
def test_an_event_loop_in_a_thread_of_the_setup_is_refused_and_one_that_the_setup_itself_runs_is_not():
    loops = []
    refused = counted(add_locked, add_locked, setup=looped(True, loops), schedules=10)
    for loop in loops:
        loop.close()
    assert (refused.verdict, "it runs an event loop" in refused.reason) == ("inconclusive", True)
    counted(add_locked, add_locked, setup=looped(False, []), schedules=10).assert_holds()
