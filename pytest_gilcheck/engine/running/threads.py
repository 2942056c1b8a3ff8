"""Replacements for what starts threads, waits for them, and keeps values for each."""

from __future__ import annotations

import _thread
import sys
import threading
from collections.abc import Callable
from functools import partial
from typing import Any, TypeVar

from ...core.classes import is_a
from ..bytecode.visible import Access
from . import controlling
from .controlling import current
from .engine import Engine
from .task import DONE, Abort, Task, Uncontrolled

_THREAD = Access("read", "the end of a thread", 0)
_start_new_thread = _thread.start_new_thread
_start_joinable = getattr(_thread, "start_joinable_thread", None)
_join, _is_alive = threading.Thread.join, threading.Thread.is_alive


class Local(_thread._local):
    """``threading.local``: what a thread has stored in it goes when the thread ends, and the check's own threads do not."""

    def __new__(cls, /, *args: Any, **kwargs: Any) -> Local:
        made = super().__new__(cls, *args, **kwargs)
        engine = controlling.active or controlling.paused
        if engine is not None and cls.__init__ is object.__init__:  # otherwise, each thread that looks at it runs `__init__`
            engine.workers.note_local(made)
        return made


Local.__name__, Local.__qualname__, Local.__module__ = "local", "local", "_thread"
_Handle = TypeVar("_Handle")


class Started:
    """In the place of the event for which ``Thread.start`` waits, and which its thread sets before it calls anything.

    Each order of the steps of an event is the same to the program: whoever starts a thread goes on when that has begun. So there
    are none, and whoever waits here always waits.
    """

    def __init__(self) -> None:
        self._is_set = False

    def is_set(self) -> bool:
        return self._is_set

    def set(self) -> None:
        self._is_set = True
        if (engine := controlling.active) is not None:
            engine.wake(self)

    def wait(self, timeout: float | None = None) -> bool:
        found = current()
        while found is not None and not self._is_set:
            engine, task = found
            engine.park(task, self)
            task.gil_checked = True
        return self._is_set

    def _at_fork_reinit(self) -> None:
        pass


def start_new_thread(function: Any, arguments: tuple[Any, ...], keywords: dict[str, Any] | None = None) -> int:
    """``_thread.start_new_thread``."""
    keywords = keywords or {}
    if (found := current()) is None:
        return _start_new_thread(function, arguments, keywords)

    def start(body: Any) -> int:
        return _start_new_thread(body, ())

    return _start_under_control(found[0], lambda: function(*arguments, **keywords), function, start)


def start_joinable_thread(function: Any, handle: Any = None, daemon: bool = True) -> Any:
    """``_thread.start_joinable_thread``, of 3.13 and later."""
    assert _start_joinable is not None, "this replaces a function that exists"
    if (found := current()) is None:
        return _start_joinable(function, handle=handle, daemon=daemon)
    start = partial(_start_joinable, handle=handle, daemon=True)  # a thread that gets stuck must not keep the interpreter alive
    return _start_under_control(found[0], function, function, start)


def _start_under_control(engine: Engine, call: Any, function: Any, start: Callable[[Any], _Handle]) -> _Handle:
    """Start a thread under control. If there is none, as of a handle that was started before, it is none of the run."""
    thread = getattr(function, "__self__", None)
    if thread is None or not is_a(thread, threading.Thread):
        thread = None
    elif type(vars(thread).get("_started")) is threading.Event:
        thread._started = Started()
    count = len(engine.tasks)
    workers, name = engine.workers, f"T{count}" if thread is None else f"T{count} ({thread.name})"
    before = workers.by_thread.get(id(thread))
    task = workers.spawn(name, thread, thread is None or thread.daemon, function)

    def body() -> None:
        try:
            if workers.started(task):
                call()
        except (Abort, Uncontrolled):
            pass
        except BaseException as error:
            task.error = error
        finally:
            workers.ended(task)

    try:
        return start(body)
    except BaseException:
        workers.not_started(task, before)
        raise


def join(thread: threading.Thread, timeout: float | None = None) -> None:
    """``Thread.join``."""
    found = current()
    if found is not None and found[0].recorder is not None and found[0].exploring:
        found[0].recorder.lives.asks_to_join(thread)
    task = None if found is None else found[0].workers.by_thread.get(id(thread))
    if found is None or task is None:
        _join(thread, timeout)
        return
    engine, me = found
    if task is me:
        raise RuntimeError("cannot join current thread")
    deadline = None if timeout is None else engine.clock.now + int(max(0.0, timeout) * 1e9)
    while task.state is not DONE:
        if engine.park(me, task, deadline):
            return
    if engine.recorder is not None and engine.exploring:
        if timeout is None:
            engine.recorder.lives.joins(task, me)
        else:
            engine.recorder.unknown("the end of a thread")
    if engine.workers.fresh or not task.root:  # otherwise, its thread waits for the next run
        engine.await_end_of(thread)


def is_alive(thread: threading.Thread) -> bool:
    """``Thread.is_alive``: a thread has ended with its last step, and not when the system has done with it."""
    found = current()
    task = None if found is None else found[0].workers.by_thread.get(id(thread))
    if found is None or task is None:
        return _is_alive(thread)
    found[0].step(_THREAD, sys._getframe(1))
    return task.state is not DONE


def is_executor_worker(task: Task) -> bool:
    """Whether a task's thread is an executor's worker, which waits for work until the interpreter exits."""
    return task.thread is not None and task.thread in getattr(sys.modules.get("concurrent.futures.thread"), "_threads_queues", ())


def release_idle_workers(tasks: list[Task]) -> None:
    """End the workers of executors that wait for work, as the interpreter does at its exit."""
    queues = getattr(sys.modules.get("concurrent.futures.thread"), "_threads_queues", {})
    for task in tasks:
        if task.state is not DONE and task.thread is not None and (queue := queues.get(task.thread)) is not None:
            executor = task.thread._args[0]() if getattr(task.thread, "_args", None) else None
            if executor is not None:
                executor._shutdown = True
            queue.put(None)
