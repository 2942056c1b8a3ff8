"""Where the programs are that every tool is given, by a name that fits on a command line.

``counter``: three times ``v += 1`` in each of two threads, 44 instructions on CPython 3.13.
``counter:N``: N times, in a loop; 25 times are about 500 instructions, 250 times 5,000.
``corpus:NAME:buggy`` and ``corpus:NAME:fixed``: the twins of ``tests/quality/corpus``.
``pair:NAME:buggy`` and ``pair:NAME:fixed``: those of ``tests/quality/pairs``.
``ladder:RACY:STEPS:PLACE:THREADS``: a rung of ``tests/fuzz/ladder.py``.
``public:NAME``: a bug of ``tests/quality/public_bugs``, its library in a folder of its own.
"""

from __future__ import annotations

import functools
import sys
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

ROOT = Path(__file__).resolve().parents[2]
LATE = ("Lock", "RLock", "Condition", "Event", "Semaphore", "BoundedSemaphore", "Thread")


class Given(NamedTuple):
    """One concurrent program, as every tool can be told it."""

    setup: Callable[[], Any]
    threads: tuple[Callable[[Any], object], ...]
    invariant: Callable[[Any], object] | None
    include: tuple[str, ...] = ()


class Counter:
    __slots__ = ("v",)

    def __init__(self) -> None:
        self.v = 0


def three_times(counter: Counter) -> None:
    counter.v += 1
    counter.v += 1
    counter.v += 1


def many_times(counter: Counter, times: int) -> None:
    for _ in range(times):
        counter.v += 1


def load(name: str, target: str | None = None) -> Given:
    if name == "counter":
        return Given(Counter, (three_times, three_times), None)
    if name.startswith("counter:"):
        thread = functools.partial(many_times, times=int(name.partition(":")[2]))
        return Given(Counter, (thread, thread), None)
    sys.path.insert(0, str(ROOT))
    kind, _, rest = name.partition(":")
    if kind == "corpus":
        from tests.quality.corpus import CASES

        wanted, _, which = rest.partition(":")
        twin = getattr(next(case for case in CASES if case.name == wanted), which)
        if twin.setup is not None:
            return Given(twin.setup, tuple(twin.threads), twin.invariant)
        invariant = None if twin.invariant is None else _without_state(twin.invariant)
        return Given(lambda: None, tuple(_without_state(thread) for thread in twin.threads), invariant)
    if kind == "ladder":
        from tests.fuzz.ladder import Rung, State

        racy, steps, place, count = rest.split(":")
        rung = Rung(racy, int(steps), place, int(count))
        return Given(State, tuple(rung.threads), rung.invariant)
    if kind == "pair":
        from tests.quality.pairs.declare import load as pairs

        wanted, _, which = rest.partition(":")
        program = getattr(next(pair for pair in pairs() if pair.name == wanted), which)
        return Given(program.setup, program.threads, program.invariant)
    from tests.quality.public_bugs import BUGS

    bug = next(bug for bug in BUGS if bug.name == rest)
    trigger = bug.trigger(target)
    return Given(trigger.setup, trigger.threads, trigger.invariant, bug.include)


def bind_late() -> None:
    """Let the corpus look its primitives up when it calls them, as if it had written ``threading.Lock()``.

    It says ``from threading import Lock``, as much code does. A tool that exchanges the names in ``threading`` for the time of a
    run sees none of those locks, waits for a real one, and gives up on every program that has one, buggy or fixed.
    """
    for module in [module for name, module in sys.modules.items() if name.startswith("tests.quality.corpus.")]:
        for name in LATE:
            if getattr(module, name, None) is getattr(threading, name):
                setattr(module, name, _looked_up(name))


def _looked_up(name: str) -> Callable[..., Any]:
    return lambda *given, **named: getattr(threading, name)(*given, **named)


def _without_state(call: Callable[[], object]) -> Callable[[Any], object]:
    return lambda state: call()


def broken(program: Given, state: Any) -> str | None:
    """What is wrong with the state afterwards, or None."""
    if program.invariant is None:
        return None
    try:
        return "the invariant returned False" if program.invariant(state) is False else None
    except Exception as error:
        return f"the invariant raised {type(error).__name__}"
