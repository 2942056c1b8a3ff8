"""The parent's side of one child process of a stress run, from its fork to its end."""

from __future__ import annotations

import itertools
import mmap
import pickle
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from ...core.child import ChildSide, Ending, Outcome, fork
from ...core.clocks import monotonic
from ...core.interpreter import FREE_THREADED, build
from .child import EXCEPTION, INVARIANT, OURS, Repeated, SharedCount, StressBounds, run_child

CRASHED, HANGS = "crashed", "hangs"
_POLL = 0.1
_THREAD = re.compile(r"(Current thread|Thread) (0x[0-9a-f]+)")


@dataclass
class StressChild:
    """What one child reported, and how it ended."""

    counts: memoryview  # by `SharedCount`
    names: dict[int, str] = field(default_factory=dict)
    first: tuple[str, str, str] | None = None  # symptom, message, trace
    failure: BaseException | None = None
    outcome: Outcome | None = None  # None if it ended by itself

    def take(self, notes: list[bytes]) -> None:
        for note in notes:
            report: dict[str, Any] = pickle.loads(note)
            self.names.update(report.get("names", {}))
            self.first = report.get("first", self.first)
            self.failure = report.get("failure", self.failure)

    def kinds(self) -> dict[str, int]:
        """The number of hits by symptom."""
        kinds = {INVARIANT: self.counts[SharedCount.INVARIANT], EXCEPTION: self.counts[SharedCount.EXCEPTION]}
        return kinds if self.outcome is None else kinds | {self.end()[0]: 1}

    def end(self) -> tuple[str, str, str]:
        """The symptom that the child ended with, the message for it, and its stacks."""
        assert self.outcome is not None, "the caller has checked that it did not end by itself"
        symptom = HANGS if self.outcome.ending in (Ending.HUNG, Ending.STOPPED) else CRASHED
        trace, culprit = readable(self.outcome.trace, self.names)
        where = f", in {culprit}" if culprit and symptom == CRASHED else ""
        return symptom, str(self.outcome).splitlines()[0] + where, trace


def run(
    program: Repeated,
    bounds: StressBounds,
    expected: Sequence[frozenset[str]] = (),
    progress: Callable[[int, int], None] = lambda instances, hits: None,
) -> StressChild:
    """Run one child process from its fork to its end."""
    counts = memoryview(mmap.mmap(-1, len(SharedCount) * 8)).cast("Q")
    counts[SharedCount.FREE_THREADED] = build() == FREE_THREADED
    side = fork(bounds.timeout)
    if isinstance(side, ChildSide):
        run_child(side, program, bounds, expected, counts)
    child = StressChild(counts)
    finished, moved = 0, monotonic()
    while side.gone_at is None:
        try:
            child.take(side.receive_notes(_POLL))
            progress(counts[SharedCount.FINISHED], counts[SharedCount.INVARIANT] + counts[SharedCount.EXCEPTION])
        except BaseException:
            side.end()
            raise
        if counts[SharedCount.FINISHED] != finished:
            finished, moved = counts[SharedCount.FINISHED], monotonic()
        elif side.gone_at is None and monotonic() - moved > bounds.timeout:
            child.outcome = side.wait()  # its own timeout has passed already
            child.take(side.notes())
            return child
    outcome = side.finish()
    if not counts[SharedCount.ENDED]:
        child.outcome = outcome
    return child


def readable(trace: str, names: Mapping[int, str]) -> tuple[str, str]:
    """What ``faulthandler`` wrote, with the threads' names and without our own frames; and the crashed thread's name, if known.

    A thread that has only our own frames is idle, and is left out.
    """
    shown, culprit = [], ""
    for section in trace.split("\n\n"):
        head, *lines = section.splitlines() or [""]
        match = _THREAD.match(head)
        if match is None:
            if not head.startswith("Extension modules:"):
                shown.append(section)
            continue
        name = names.get(int(match[2], 16))
        if match[1] == "Current thread":
            culprit = name or ""
        theirs = list(itertools.takewhile(lambda line: OURS not in line, lines))
        if theirs or not lines:
            shown.append("\n".join([head.replace(match[2], name) if name else head, *theirs]))
    return "\n\n".join(shown).strip(), culprit
