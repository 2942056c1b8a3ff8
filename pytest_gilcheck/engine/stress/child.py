"""The child process of a stress run: runs one instance after another, each with setup, threads, invariant and teardown.

Counts are in memory that the parent shares, so that they survive any crash. Texts go through the pipe.
"""

from __future__ import annotations

import gc
import os
import pickle
import sys
import threading
import traceback
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from enum import IntEnum
from pathlib import Path
from typing import Any, NoReturn, Protocol

from ...core.child import ChildSide
from ...core.classes import name_of_class
from ...core.clocks import monotonic
from ...core.interpreter import FREE_THREADED, build
from ..bytecode import switch_points
from ..program import describe_error
from .rendezvous import AlignedThreads

INVARIANT, EXCEPTION = "invariant", "exception"
GRACE = 0.5  # seconds at most after the first hit, to measure a rate
GRACE_SHARE = 0.25  # of the time of the run, at most, for the same
_SWITCH_INTERVAL = 1e-6  # seconds: the shortest, for a build with a GIL
_KEPT_FRAMES = -12  # the innermost of a traceback
OURS = str(Path(__file__).parents[2]) + os.sep  # the folder of files whose frames no report shows


class SharedCount(IntEnum):
    """The index of each count in the memory that the child shares with its parent."""

    FINISHED = 0
    INVARIANT = 1
    EXCEPTION = 2
    OVERLAPPED = 3  # instances in which threads ran at the same time
    FREE_THREADED = 4  # 1 if the build was free-threaded up to the end
    ENDED = 5  # 1 when the child has ended by itself


class Repeated(Protocol):
    """What is run in many instances; a `Program` is one."""

    @property
    def threads(self) -> Sequence[object]: ...

    @property
    def teardown(self) -> Callable[[], object] | None: ...

    def begin(self) -> tuple[list[Callable[[], object]], Callable[[], str | None]]:
        """Make a new state: one call for each thread, and a call that returns afterwards what is broken, or None."""
        ...


@dataclass(frozen=True)
class StressBounds:
    """How long the instances of one child go on.

    Attributes:
        seconds: after which no further one begins.
        timeout: seconds for one instance, after which it hangs.
        most: how many there are at most.
    """

    seconds: float
    timeout: float
    most: int = sys.maxsize


def run_child(
    side: ChildSide, program: Repeated, bounds: StressBounds, expected: Sequence[frozenset[str]], counts: memoryview
) -> NoReturn:
    """Run instances within the bounds, and report the first failure; then end the process. ``counts`` is by `SharedCount`."""
    pid = os.getpid()
    try:
        _instances(side, program, bounds, expected, counts)
    except BaseException as error:  # raised by the setup, or the system refuses to start threads
        if os.getpid() == pid:
            side.send_note(pickle.dumps({"failure": _portable(error)}))
    finally:
        if os.getpid() == pid:
            counts[SharedCount.FREE_THREADED] = build() == FREE_THREADED
            counts[SharedCount.ENDED] = 1
        os._exit(0)


def _instances(
    side: ChildSide, program: Repeated, bounds: StressBounds, expected: Sequence[frozenset[str]], counts: memoryview
) -> None:
    pid, until = os.getpid(), monotonic() + bounds.seconds
    sys.setswitchinterval(_SWITCH_INTERVAL)
    threading.settrace(None)  # the locks of a tracer would keep the threads from overlapping
    threading.setprofile(None)
    gc.freeze()  # collections need not visit the parent's objects
    threads = AlignedThreads(len(program.threads))
    side.send_note(pickle.dumps({"names": threads.names()}))
    reported = False
    while True:
        switch_points.parallel = True  # where threads run at the same time, nothing is simulated
        jobs, broken = program.begin()
        errors = threads.together(jobs)
        counts[SharedCount.OVERLAPPED] += threads.overlapped()
        del jobs
        kind, message = _classify(errors, expected, broken)
        kind, message = _torn_down(program, kind, message)
        if os.getpid() != pid:
            os._exit(0)
        if kind:
            counts[SharedCount.INVARIANT if kind == INVARIANT else SharedCount.EXCEPTION] += 1
        counts[SharedCount.FINISHED] += 1
        if kind and not reported:
            reported = True
            side.send_note(pickle.dumps({"first": (kind, message, _traced(errors, expected))}))
            until = min(until, monotonic() + min(GRACE, bounds.seconds * GRACE_SHARE))
        del errors, broken
        if monotonic() > until or counts[SharedCount.FINISHED] >= bounds.most:
            return


def _classify(
    errors: list[BaseException | None], expected: Sequence[frozenset[str]], broken: Callable[[], str | None]
) -> tuple[str, str]:
    """The symptom of an instance and the message for it; both empty if nothing failed."""
    for index, error in enumerate(errors):
        if error is not None and _unexpected(index, error, expected):
            return EXCEPTION, f"T{index} raised {describe_error(error)}"
    try:
        message = broken()
    except BaseException as error:  # some test frameworks raise those
        message = f"the invariant raised {describe_error(error)}"
    return (INVARIANT, message) if message else ("", "")


def _torn_down(program: Repeated, kind: str, message: str) -> tuple[str, str]:
    try:
        if program.teardown is not None:
            program.teardown()
    except BaseException as error:
        if not kind:
            return INVARIANT, f"the teardown raised {describe_error(error)}"
    return kind, message


def _unexpected(index: int, error: BaseException | None, expected: Sequence[frozenset[str]]) -> bool:
    return error is not None and not (index < len(expected) and name_of_class(type(error)) in expected[index])


def _traced(errors: list[BaseException | None], expected: Sequence[frozenset[str]]) -> str:
    """The tracebacks of the unexpected exceptions, without our own frames."""
    text = []
    for index, error in enumerate(errors):
        if error is None or not _unexpected(index, error, expected):
            continue
        trace = error.__traceback__
        while trace is not None and trace.tb_frame.f_code.co_filename.startswith(OURS):
            trace = trace.tb_next
        try:
            frames = "".join(traceback.format_tb(trace, _KEPT_FRAMES))
        except Exception:  # the source file no longer exists
            frames = ""
        text.append(f"T{index} (most recent call last):\n{frames}{describe_error(error)}")
    return "\n".join(text)


def _portable(error: BaseException) -> BaseException:
    try:
        again: Any = pickle.loads(pickle.dumps(error))
        return error if isinstance(again, BaseException) else RuntimeError(describe_error(error))
    except Exception:
        return RuntimeError(describe_error(error))
