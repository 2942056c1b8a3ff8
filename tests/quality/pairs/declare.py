"""How a pair is declared, and all of them."""

from __future__ import annotations

import importlib
import pathlib
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

PAIRS: list[Pair] = []


@dataclass(frozen=True)
class Program:
    """A state, the threads that work on it, and what must be true in the end."""

    setup: Callable[[], Any]
    threads: tuple[Callable[[Any], object], ...]
    invariant: Callable[[Any], bool] | None


@dataclass(frozen=True)
class Pair:
    """A buggy program and its fixed twin.

    Attributes:
        kind: ``steps`` (what a visible step is), ``judging`` (exceptions, spinning, locks in odd places), ``time``, ``chance``,
            or ``loops`` (event loops beside threads).
        needs: preemptions, or delays of a thread, that the failure takes; 0 if an order of the threads without any fails.
        why: what goes wrong.
        by_hand: the truth oracle needs the sleeps of `Buggy.pause`; a delay at one bytecode does not show it.
        also: modules of the standard library whose bytecodes the truth oracle delays as well.
    """

    name: str
    kind: str
    needs: int
    why: str
    buggy: Program
    fixed: Program
    file: str
    also: tuple[str, ...] = ()
    requires: str | None = None
    unshown: str | None = None


def pair(
    kind: str, needs: int = 1, *, also: tuple[str, ...] = (), requires: str | None = None, unshown: str | None = None
) -> Callable[[type], type]:
    """Declare a class as a pair; see the package's docstring for what it defines."""

    def declared(cls: type) -> type:
        parts = vars(cls)
        holds = parts.get("holds")
        threads = tuple(parts["threads"])
        PAIRS.append(
            Pair(
                cls.__name__,
                kind,
                needs,
                (cls.__doc__ or "").strip(),
                Program(parts["Buggy"], threads, holds),
                Program(parts["Fixed"], tuple(parts.get("fixed_threads", threads)), holds),
                importlib.import_module(cls.__module__).__file__ or "",
                also,
                requires,
                unshown,
            )
        )
        return cls

    return declared


def load() -> list[Pair]:
    """All pairs, in the order of their files."""
    if not PAIRS:
        for path in sorted(pathlib.Path(__file__).parent.glob("*.py")):
            if path.stem not in ("__init__", "declare"):
                importlib.import_module(f"{__package__}.{path.stem}")
    return PAIRS
