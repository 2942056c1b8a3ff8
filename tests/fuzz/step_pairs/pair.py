"""What a pair is: a buggy program and its fixed twin, whose threads call the methods of one state."""

from __future__ import annotations

import threading
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any


class Shared:
    """A state that two threads share: one calls `first`, the other `second`."""

    def __init__(self):
        self.lock = threading.RLock()
        self.seen = []


@dataclass(frozen=True)
class Pair:
    """A buggy state, a fixed one, and what must hold of both."""

    buggy: Callable[[], Any]
    fixed: Callable[[], Any]
    invariant: Callable[[Any], object] | None = None

    @property
    def name(self) -> str:
        return self.buggy.__name__

    @property
    def threads(self) -> tuple[Callable[[Any], object], ...]:
        return first, second


def first(state):
    state.first()


def second(state):
    state.second()


def locked(kind: type) -> type:
    """The same program, with a lock around what each thread does."""

    class Locked(kind):
        def first(self):
            with self.lock:
                super().first()

        def second(self):
            with self.lock:
                super().second()

    Locked.__name__ = f"Locked{kind.__name__}"
    return Locked


def pairs(*described: tuple[type, Callable[[Any], object] | None]) -> tuple[Pair, ...]:
    """Pairs whose fixed twins are the buggy ones with a lock."""
    return tuple(Pair(kind, locked(kind), invariant) for kind, invariant in described)
