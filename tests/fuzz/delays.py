"""Truth without an engine: does a program break in real threads if one thread stands still before one bytecode?

One thread runs alone up to its k-th bytecode; there it waits until the others have ended, or can get no further; then it goes on.
This is tried for each thread and each k. So what it shows has happened in real threads, by one preemption. It needs opcode events
of ``sys.settrace`` in the first run of a function, which CPython 3.12 does not have.
"""

from __future__ import annotations

import sys
import threading
from collections.abc import Callable
from typing import Any

_STUCK = 0.03  # seconds after which the other threads count as stuck, on a lock that the waiting thread holds
_END = 5.0


def breaks(
    pair_threads: tuple[Callable[[Any], object], ...], setup: Callable[[], Any], invariant: Any, files: set[str]
) -> str | None:
    """What breaks, with the thread and the bytecode before which it stood still; None if nothing breaks.

    Args:
        files: whose bytecodes count.
    """
    for paused in range(len(pair_threads)):
        bytecode, ran = 1, 1
        while ran >= bytecode:
            broken, ran = _attempt(pair_threads, _made(setup), invariant, files, paused, bytecode)
            if broken is not None:
                return f"T{paused} before bytecode {bytecode}: {broken}"
            bytecode += 1
    return None


def _made(setup: Callable[[], Any]) -> Any:
    """In a thread of its own, which has ended: without a GIL, a living thread finalizes what it made."""
    made: list[Any] = []
    thread = threading.Thread(target=lambda: made.append(setup()))
    thread.start()
    thread.join()
    return made.pop()


def _attempt(threads: Any, state: Any, invariant: Any, files: set[str], paused: int, bytecode: int) -> tuple[str | None, int]:
    errors: list[str] = []
    ran = 0

    def guarded(thread: Callable[[Any], object]) -> None:
        try:
            thread(state)
        except Exception as error:
            errors.append(f"{type(error).__name__}: {error}")

    others = [threading.Thread(target=guarded, args=(one,)) for index, one in enumerate(threads) if index != paused]

    def run_others() -> None:
        for other in others:
            other.start()
        for other in others:
            other.join(_STUCK)

    def trace(frame: Any, event: str, argument: object) -> Any:
        nonlocal ran
        if frame.f_code.co_filename not in files:
            return None
        frame.f_trace_opcodes = True
        if event == "opcode":
            ran += 1
            if ran == bytecode:
                sys.settrace(None)
                run_others()
                sys.settrace(trace)
        return trace

    def traced() -> None:
        sys.settrace(trace)
        try:
            guarded(threads[paused])
        finally:
            sys.settrace(None)

    one = threading.Thread(target=traced)
    one.start()
    one.join(_END)
    if ran < bytecode:
        run_others()
    for other in others:
        other.join(_END)
    if one.is_alive() or any(other.is_alive() for other in others):
        return "stuck", ran
    if not errors and invariant is not None and invariant(state) is False:
        errors.append("the invariant")
    return (errors[0] if errors else None), ran
