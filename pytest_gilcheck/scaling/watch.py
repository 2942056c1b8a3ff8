"""Where threads sit while they do not scale: sampled stacks, and the locks they queue for.

A thread that waits for a lock of the program's own stays at the line that takes it; threads that wait for the GIL are spread
over whatever they run. So a line that takes a lock and at which threads are found most of the time, on one and the same lock,
names the culprit.

With a GIL the sampler reads ``sys._current_frames``: while it runs, nothing else does. On a free-threaded build other
threads' frames must not be touched, so each thread notes its own line in a trace function, which slows it down many times:
for finding a line that is good enough, and it is never on during a timed lap.
"""

from __future__ import annotations

import ast
import sys
import threading
import time
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass
from types import FrameType
from typing import Any

from ..core.clocks import thread_cpu_ns
from ..core.interpreter import FREE_THREADED, build
from ..core.origin import standard
from ..core.source import frame_place, line_text
from .sampling import Sampler

_INTERVAL = 0.001  # seconds between samples
_LONG_ENOUGH = 0.25  # seconds of watching
_ENOUGH = 60  # samples
_DEPTH = 6  # frames kept of a stack

Stack = tuple[str, ...]


@dataclass(frozen=True)
class Spot:
    """Where a thread is: its stack, innermost line first, and the lock that this line takes, if it takes one."""

    stack: Stack
    lock: int | None = None
    lock_name: str = ""


@dataclass(frozen=True)
class Seen:
    """What the samples say.

    Attributes:
        samples: how many looks at one thread there were.
        lock_line: the line at which most threads queue for one lock; None if none stands out.
        lock_name: how the program calls that lock.
        lock_share: the share of samples at that line.
        holder: the commonest stack of the other threads at those moments: who held the lock.
        running: the commonest stack of threads whose CPU clock advanced.
    """

    samples: int
    lock_line: str | None
    lock_name: str
    lock_share: float
    holder: Stack
    running: Stack


def watch(sampler: Sampler) -> Seen:
    """Run threaded laps for about a quarter of a second and look at the threads meanwhile.

    Raises:
        TeamHung, BaseExceptionGroup: as a timed lap.
    """
    idents = sampler.team.idents()
    eyes: _Frames | _Notes = _Notes() if build() == FREE_THREADED else _Frames()
    looks: list[dict[int, tuple[Spot, bool]]] = []
    ended = threading.Event()

    def look() -> None:
        clocks: dict[int, int | None] = {}
        while not ended.is_set():
            time.sleep(_INTERVAL)
            now = {ident: thread_cpu_ns(ident) for ident in idents}
            spots = eyes.look(idents)
            looks.append({ident: (spot, now[ident] != clocks.get(ident)) for ident, spot in spots.items()})
            clocks = now

    observer = threading.Thread(target=look, name="gilcheck-observer", daemon=True)
    observer.start()
    deadline = time.monotonic() + _LONG_ENOUGH
    try:
        while time.monotonic() < deadline and len(looks) < _ENOUGH:
            sampler.threaded("watching the threads", eyes.around)
    finally:
        ended.set()
        observer.join()
    return _summed(looks)


def _summed(looks: list[dict[int, tuple[Spot, bool]]]) -> Seen:
    looks = [at for at in looks if len(at) > 1]  # alone, a thread queues for nothing: with an unfair lock the last one runs alone
    samples = sum(len(at) for at in looks)
    queues: Counter[tuple[int, str]] = Counter()
    lines: dict[int, Counter[tuple[str, str]]] = {}
    for at in looks:
        for spot, _ in at.values():
            if spot.lock is not None:
                queues[spot.lock, spot.lock_name] += 1
                lines.setdefault(spot.lock, Counter())[_own_line(spot.stack), spot.lock_name] += 1
    running = Counter(spot.stack for at in looks for spot, advanced in at.values() if advanced and spot.lock is None)
    top_running = running.most_common(1)[0][0] if running else ()
    if not queues:
        return Seen(samples, None, "", 0.0, (), top_running)
    shares: Counter[int] = Counter()
    for (lock, _), count in queues.items():
        shares[lock] += count
    lock, count = shares.most_common(1)[0]
    (line, name), _ = lines[lock].most_common(1)[0]
    beside = Counter(
        spot.stack
        for at in looks
        if any(other.lock == lock for other, _ in at.values())
        for spot, _ in at.values()
        if spot.lock != lock
    )
    return Seen(samples, line, name, count / max(1, samples), beside.most_common(1)[0][0] if beside else (), top_running)


class _Frames:
    """Looks at other threads' frames; only ever with the GIL in hand."""

    def around(self, call: Callable[[], None]) -> Callable[[], None]:
        return call

    def look(self, idents: list[int]) -> dict[int, Spot]:
        frames = sys._current_frames()
        spots = {ident: _spot(frames[ident]) for ident in idents if ident in frames}
        return {ident: spot for ident, spot in spots.items() if spot is not None}


class _Notes:
    """Each thread notes its own place."""

    def __init__(self) -> None:
        self._notes: dict[int, Spot] = {}

    def around(self, call: Callable[[], None]) -> Callable[[], None]:
        def traced() -> None:
            ident = threading.get_ident()

            def trace(frame: FrameType, event: str, _: Any) -> Any:
                if event in ("call", "line") and (spot := _spot(frame)) is not None:
                    self._notes[ident] = spot
                return trace

            sys.settrace(trace)
            try:
                call()
            finally:
                sys.settrace(None)
                self._notes.pop(ident, None)

        return traced

    def look(self, idents: list[int]) -> dict[int, Spot]:
        return {ident: spot for ident in idents if (spot := self._notes.get(ident)) is not None}


def _spot(frame: FrameType) -> Spot | None:
    """The frame's place; None while the thread is in our own code, between calls of the workload."""
    if frame.f_globals.get("__name__", "").startswith("pytest_gilcheck."):
        return None
    stack: list[str] = []
    at: FrameType | None = frame
    while at is not None and len(stack) < _DEPTH and not at.f_globals.get("__name__", "").startswith("pytest_gilcheck."):
        stack.append(frame_place(at))
        at = at.f_back
    lock, name = _lock_taken(frame)
    return Spot(tuple(stack), lock, name)


def _own_line(stack: Stack) -> str:
    """The innermost line outside the standard library, with what it called in there."""
    for depth, line in enumerate(stack):
        if not standard(line):
            return line if depth == 0 else f"{line}, in {stack[0].rpartition('(')[2].rstrip(')')}"
    return stack[0]


def _lock_taken(frame: FrameType) -> tuple[int | None, str]:
    """The identity and name of the lock that the frame's current line takes."""
    for path in _lock_expressions(frame.f_code.co_filename, frame.f_lineno):
        value = _resolved(path, frame)
        if hasattr(value, "acquire") and hasattr(value, "release"):
            return id(value), ".".join(path)
    return None, ""


_parsed: dict[tuple[str, int], tuple[tuple[str, ...], ...]] = {}


def _lock_expressions(filename: str, line: int) -> tuple[tuple[str, ...], ...]:
    """Names and attribute chains that this source line enters with ``with``, or calls ``acquire`` of."""
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
    """The value of a chain in the frame, through plain attributes only: no property of the program's may run here."""
    first, *rest = path
    value = frame.f_locals.get(first, frame.f_globals.get(first))
    for name in rest:
        own = getattr(value, "__dict__", {})
        value = own[name] if name in own else getattr(type(value), "__dict__", {}).get(name)
    return value
