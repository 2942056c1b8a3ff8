"""Each row of the table of C operations (`c_operations`) as a program of two threads: what one reads, or both do, beside a change.

The broken program has no lock, and its invariant is true of what can come of operations in one step. The fixed one holds a lock
around each.
"""

from __future__ import annotations

import threading
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any
from unittest import mock

from pytest_gilcheck.engine.bytecode.c_operations import CONTAINERS, Reading

from . import c_trials
from .updatings import Updating

SMALL = {"BEFORE": [9, 1, 2, 0], "AFTER": [0, 2, 1, 9], "KEYS": [10, 11, 12, 9]}  # a search goes through each element


class State:
    def __init__(self, container: Any) -> None:
        self.container = container
        self.lock = threading.Lock()
        self.one: list[Any] = []
        self.other: list[Any] = []


@dataclass(frozen=True)
class Row:
    """The two programs of a row."""

    setup: Callable[[], State]
    threads: tuple[Callable[[State], object], ...]
    invariant: Callable[[State], bool]

    @property
    def locked(self) -> tuple[Callable[[State], object], ...]:
        return tuple(map(under_the_lock, self.threads))


def under_the_lock(thread: Callable[[State], object]) -> Callable[[State], object]:
    def locked(state: State) -> None:
        with state.lock:
            thread(state)

    return locked


def row_of(operation: Reading | Updating) -> Row | None:
    """The programs of a row; None if this version of Python does not have the operation."""
    return reading(operation) if isinstance(operation, Reading) else updating(operation)


def reading(operation: Reading) -> Row | None:
    with mock.patch.multiple(c_trials, **SMALL):
        trial, place = c_trials.Trial(operation), CONTAINERS[operation.container]
        names = {**c_trials.NAMES, **c_trials.material(operation)}
    if trial.legal[0] in ("AttributeError", "NameError", "ImportError"):
        return None
    read, writes, legal = trial.read, trial.writes, trial.legal

    def reads(state: State) -> None:
        state.one.append(read(state.container))

    def changes(state: State) -> None:
        for write in writes:
            write(state.container)

    def fits(state: State) -> bool:
        return all(c_trials.outcome(lambda made: made, made) in legal for made in state.one)

    return Row(lambda: State(eval(place.made, names)), (reads, changes), fits)


def updating(operation: Updating) -> Row | None:
    names = {**c_trials.NAMES, "n": 1, "i": 0, "one": [], "other": [], "kept": []}
    do = c_trials.function(operation.statement, names, "x, kept, i, n, other")

    def made() -> State:
        own = dict(names)
        exec(operation.made, own)
        return State(own["x"])

    def one(state: State) -> None:
        do(state.container, state.one, 0, 1, state.other)

    def other(state: State) -> None:
        do(state.container, state.other, 0, 1, state.other)

    def right(state: State) -> bool:
        return bool(eval(operation.right, {**names, "x": state.container, "one": state.one, "other": state.other}))

    return Row(made, (one, other), right)
