"""Where threads wait while they do not scale: sampled stacks, and the locks that they wait for.

A thread that waits for a lock of the program stays at the line that takes the lock. Threads that wait for the GIL are spread over
all their code. So a line that takes a lock, and at which most samples find a thread waiting for the same lock, is the cause.

With a GIL the sampler reads ``sys._current_frames``, because no other thread runs meanwhile. On a free-threaded build the frames
of other threads must not be read. There each thread records its own line in a trace function. That slows the thread down many
times, but is precise enough to find a line, and is never active in a timed lap. It ends with the sampling, be the call over or not:
a lap of a workload that counts did not end within a minute.
"""

from __future__ import annotations

import ast
import dis
import sys
import threading
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass
from itertools import groupby
from types import CodeType, FrameType
from typing import Any

from ..core.clocks import thread_cpu_ns, time
from ..core.interpreter import FREE_THREADED, build
from ..core.origin import standard
from ..core.source import line_text, place
from .sampling import Sampler

_INTERVAL = 0.001  # seconds between samples
_LONG_ENOUGH = 0.6  # seconds of sampling; short laps leave the threads between two laps half of the time
_ENOUGH = 60  # samples of two threads or more
_DEPTH = 6  # frames kept of a stack

Stack = tuple[str, ...]
Places = tuple[tuple[CodeType, int], ...]


@dataclass(frozen=True)
class ThreadSpot:
    """Where a thread is: the places of its stack, innermost first, and the lock that the innermost line takes, if any."""

    places: Places
    lock: int | None = None
    lock_name: str = ""


@dataclass(frozen=True)
class WatchSummary:
    """The summary of the samples.

    Attributes:
        samples: the number of samples, each of one thread.
        lock_line: the line at which threads wait most often for one lock; None if no thread waits for a lock.
        lock_name: the name of that lock in the program.
        lock_share: the share of samples at that lock.
        holder: the most frequent stack of the other threads in those samples, one of which held the lock.
        running: the most frequent stack of threads whose CPU clock advanced.
    """

    samples: int
    lock_line: str | None
    lock_name: str
    lock_share: float
    holder: Stack
    running: Stack


def watch(sampler: Sampler) -> WatchSummary:
    """Run threaded laps for at most 0.6 s and sample the stacks of the threads meanwhile.

    Raises:
        TeamHung, BaseExceptionGroup: as a timed lap.
    """
    idents = sampler.team.idents()
    places: _CurrentFrames | _RecordedPlaces = _RecordedPlaces() if build() == FREE_THREADED else _CurrentFrames()
    samples_taken: list[dict[int, tuple[ThreadSpot, bool]]] = []
    ended = threading.Event()
    deadline = time.monotonic() + _LONG_ENOUGH

    def sample() -> None:
        clocks: dict[int, int | None] = {}
        while not ended.is_set():
            time.sleep(_INTERVAL)
            now = {ident: thread_cpu_ns(ident) for ident in idents}
            spots = places.read(idents)
            if len(spots) > 1:  # a single thread waits for nothing: with an unfair lock the last thread runs alone
                samples_taken.append({ident: (spot, now[ident] != clocks.get(ident)) for ident, spot in spots.items()})
            clocks = now
            if time.monotonic() >= deadline or len(samples_taken) >= _ENOUGH:
                places.stop()

    observer = threading.Thread(target=sample, name="gilcheck-observer", daemon=True)
    observer.start()
    try:
        while time.monotonic() < deadline and len(samples_taken) < _ENOUGH:
            sampler.threaded("watching the threads", places.around)
    finally:
        ended.set()
        observer.join()
    return _summary(samples_taken)


def _summary(samples_taken: list[dict[int, tuple[ThreadSpot, bool]]]) -> WatchSummary:
    samples = sum(len(at) for at in samples_taken)
    queues: Counter[tuple[int, str]] = Counter()
    lines: dict[int, Counter[tuple[str, str]]] = {}
    for at in samples_taken:
        for spot, _ in at.values():
            if spot.lock is not None:
                queues[spot.lock, spot.lock_name] += 1
                lines.setdefault(spot.lock, Counter())[_own_line(_readable(spot.places)), spot.lock_name] += 1
    running = Counter(spot.places for at in samples_taken for spot, advanced in at.values() if advanced and spot.lock is None)
    top_running = _readable(running.most_common(1)[0][0]) if running else ()
    if not queues:
        return WatchSummary(samples, None, "", 0.0, (), top_running)
    shares: Counter[int] = Counter()
    for (lock, _), count in queues.items():
        shares[lock] += count
    lock, count = shares.most_common(1)[0]
    (line, name), _ = lines[lock].most_common(1)[0]
    beside = Counter(
        spot.places
        for at in samples_taken
        if any(other.lock == lock for other, _ in at.values())
        for spot, _ in at.values()
        if spot.lock != lock
    )
    holder = _readable(beside.most_common(1)[0][0]) if beside else ()
    return WatchSummary(samples, line, name, count / max(1, samples), holder, top_running)


class _CurrentFrames:
    """Reads the frames of other threads; only while it holds the GIL."""

    def around(self, call: Callable[[], None]) -> Callable[[], None]:
        return call

    def stop(self) -> None:
        """Nothing slows the threads down."""

    def read(self, idents: list[int]) -> dict[int, ThreadSpot]:
        frames = sys._current_frames()
        spots = {ident: _spot(frames[ident]) for ident in idents if ident in frames}
        return {ident: spot for ident, spot in spots.items() if spot is not None}


class _RecordedPlaces:
    """Each thread records its own place. What it does for that inside a lock keeps others waiting, so a line costs little."""

    def __init__(self) -> None:
        self._recorded: dict[int, ThreadSpot] = {}
        self._stopped = False

    def around(self, call: Callable[[], None]) -> Callable[[], None]:
        def traced() -> None:
            ident = threading.get_ident()

            def entered(frame: FrameType, _event: str, _arg: object) -> Any:
                if self._stopped:
                    sys.settrace(None)
                    self._recorded.pop(ident, None)
                    return None
                if _between_calls(frame):
                    return None
                outer = _stack(frame.f_back, _DEPTH - 1)

                def at_line(frame: FrameType, event: str, arg: object) -> Any:
                    if self._stopped:
                        return entered(frame, event, arg)
                    if event == "return" and outer:
                        self._recorded[ident] = ThreadSpot(outer)
                    elif event == "return":
                        self._recorded.pop(ident, None)
                    elif event == "line":
                        self._recorded[ident] = ThreadSpot(((frame.f_code, frame.f_lineno or 0), *outer), *_lock_taken(frame))
                    return at_line

                return at_line(frame, "line", None)

            sys.settrace(entered)
            try:
                call()
            finally:
                sys.settrace(None)
                self._recorded.pop(ident, None)

        return traced

    def stop(self) -> None:
        """Let the threads go on without being recorded."""
        self._stopped = True

    def read(self, idents: list[int]) -> dict[int, ThreadSpot]:
        return {ident: spot for ident in idents if (spot := self._recorded.get(ident)) is not None}


def _spot(frame: FrameType) -> ThreadSpot | None:
    """The place of the frame; None while the thread is between calls of the workload."""
    return None if _between_calls(frame) else ThreadSpot(_stack(frame, _DEPTH), *_lock_taken(frame))


def _between_calls(frame: FrameType) -> bool:
    """Whether a thread with this innermost frame is in this package, or waits for it."""
    waiting: FrameType | None = frame
    while waiting is not None and waiting.f_globals.get("__name__") == "threading":
        waiting = waiting.f_back
    return waiting is None or _ours(waiting)


def _ours(frame: FrameType) -> bool:
    return str(frame.f_globals.get("__name__", "")).startswith("pytest_gilcheck.")


def _stack(frame: FrameType | None, depth: int) -> Places:
    """The innermost places of the frame and its callers, at most `depth`, up to this package."""
    places: list[tuple[CodeType, int]] = []
    while frame is not None and len(places) < depth and not _ours(frame):
        places.append((frame.f_code, frame.f_lineno or 0))
        frame = frame.f_back
    return tuple(places)


def _readable(places: Places) -> Stack:
    return tuple(place(code.co_filename, line, code.co_qualname) for code, line in places)


def _own_line(stack: Stack) -> str:
    """The innermost line outside the standard library, with the library function that it called."""
    for depth, line in enumerate(stack):
        if not standard(line):
            return line if depth == 0 else f"{line}, in {stack[0].rpartition('(')[2].rstrip(')')}"
    return stack[0]


def _lock_taken(frame: FrameType) -> tuple[int | None, str]:
    """The id and the name of the lock that the current line of the frame takes; (None, "") if it takes none."""
    expressions = _lock_expressions(frame.f_code.co_filename, frame.f_lineno or 0)  # None where an instruction has no line
    if not expressions or not _takes(frame.f_code, frame.f_lasti):
        return None, ""
    for path in expressions:
        value = _resolved(path, frame)
        if hasattr(value, "acquire") and hasattr(value, "release"):
            return id(value), ".".join(path)
    return None, ""


_TAKING = frozenset({"BEFORE_WITH", "BEFORE_ASYNC_WITH", "LOAD_SPECIAL"})  # the last since 3.14
_taking: dict[CodeType, tuple[tuple[int, int], ...]] = {}


def _takes(code: CodeType, offset: int) -> bool:
    """Whether the instructions around this offset take a lock. A ``with`` is at its line once more at its end, and releases it."""
    if (ranges := _taking.get(code)) is None:
        runs = [
            list(run) for _, run in groupby(dis.get_instructions(code), key=lambda step: step.positions and step.positions.lineno)
        ]
        ranges = _taking[code] = tuple(
            (run[0].offset, run[-1].offset)
            for run in runs
            if any(step.opname in _TAKING or step.argval == "acquire" for step in run)
        )
    return any(first <= offset <= last for first, last in ranges)


_parsed: dict[tuple[str, int], tuple[tuple[str, ...], ...]] = {}


def _lock_expressions(filename: str, line: int) -> tuple[tuple[str, ...], ...]:
    """The names and attribute chains that this source line uses in ``with`` or calls ``acquire`` on."""
    if (known := _parsed.get((filename, line))) is not None:
        return known
    text = line_text(filename, line)
    found: list[tuple[str, ...]] = []
    if text.startswith(("with ", "async with ")) or ".acquire(" in text:
        try:
            tree = ast.parse(text + " pass" if text.endswith(":") else text)
        except SyntaxError:
            tree = ast.Module([], [])
        for node in ast.walk(tree):
            expressions: list[ast.expr] = []
            if isinstance(node, (ast.With, ast.AsyncWith)):
                expressions = [item.context_expr for item in node.items]
            elif isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr == "acquire":
                expressions = [node.func.value]
            found += [path for expression in expressions if (path := _chain(expression)) is not None]
    _parsed[filename, line] = tuple(found)
    return _parsed[filename, line]


def _chain(expression: ast.expr) -> tuple[str, ...] | None:
    names: list[str] = []
    while isinstance(expression, ast.Attribute):
        names.append(expression.attr)
        expression = expression.value
    return (expression.id, *reversed(names)) if isinstance(expression, ast.Name) else None


def _resolved(path: tuple[str, ...], frame: FrameType) -> object:
    """The value of a chain in the frame. Only plain attributes are followed, because a property would run code of the program."""
    first, *rest = path
    value = frame.f_locals.get(first, frame.f_globals.get(first))
    for name in rest:
        own = getattr(value, "__dict__", {})
        value = own[name] if name in own else getattr(type(value), "__dict__", {}).get(name)
    return value
