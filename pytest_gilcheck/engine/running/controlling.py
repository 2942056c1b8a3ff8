"""Which engine controls the threads of this process now, if any does."""

from __future__ import annotations

import threading

from .engine import Engine
from .task import Task

_get_ident = threading.get_ident
active: Engine | None = None  # the engine of the current check
paused: Engine | None = None  # the same, while what runs is not of the check, but between two programs


def current() -> tuple[Engine, Task] | None:
    engine = active
    if engine is None:
        return None
    task = engine.current()
    return None if task is None else (engine, task)


def pause(engine: Engine) -> None:
    """From here on, all that is replaced does what the real one does, until `resume`."""
    global active, paused
    active, paused = None, engine


def resume(engine: Engine) -> None:
    """What follows belongs to the check again."""
    global active, paused
    active, paused = engine, None


def made_for_the_check() -> bool:
    """Whether what is being made may be of a program: also between two programs, the next of which may use it."""
    engine = paused
    return current() is not None if engine is None else engine.main.ident == _get_ident()
