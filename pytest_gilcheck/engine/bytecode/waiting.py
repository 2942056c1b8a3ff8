"""What the standard library's conditions, events, semaphores and queues touch: their code makes no steps but those of its locks.

Each keeps its state in itself, in conditions of its own and in one container, and nobody else uses these, except code under test
that reaches into it, whose steps touch the same parts. What its code does between two steps comes after a lock that it has
acquired, so whoever records a run asks `behind_a_lock` at that moment. A few methods look or change before they acquire a lock, or
without one: their calls touch the state (`touched_by_call`).

All this holds for exactly these classes, for their functions as they were when this was imported, and for conditions on locks of
ours. A condition calls code under test in `wait_for`; the library's code that follows acquires a lock before it touches anything.

To start a thread touches that thread, and not what it is given: its own steps say what it does with it. Without this, two threads
that each start one would meet at what both of these lead to, such as `sys.stderr`.
"""

from __future__ import annotations

import queue
import threading
from types import CodeType, FrameType, FunctionType, MethodType
from typing import Any

from ...core.classes import in_class
from ...core.lookup import looked_up
from ...core.origin import ours
from .stack import locals_of
from .touch import UNKNOWN, State, Touches, UnderTest, of_state

_CONDITION = threading.Condition
_STATE: dict[type, tuple[tuple[str, ...], tuple[str, ...]]] = {  # by class: its attributes that change, its conditions
    _CONDITION: (("_waiters",), ()),
    threading.Event: (("_flag",), ("_cond",)),
    threading.Semaphore: (("_value",), ("_cond",)),
    threading.BoundedSemaphore: (("_value",), ("_cond",)),
    queue.Queue: (("queue", "unfinished_tasks", "is_shutdown"), ("not_empty", "not_full", "all_tasks_done")),
    queue.LifoQueue: (("queue", "unfinished_tasks", "is_shutdown"), ("not_empty", "not_full", "all_tasks_done")),
}
_ONLY_LOCKS = frozenset({"__enter__", "__exit__"})  # of a condition
_FIRST_LOCKS = frozenset(  # these acquire their lock before they touch anything
    {"set", "clear", "wait", "acquire", "release", "__enter__", "__exit__", "put", "get", "put_nowait", "get_nowait", "qsize"}
    | {"empty", "full", "task_done", "join", "shutdown"}
)
_READING = frozenset({"is_set"})
_NOT_FOLLOWED = frozenset({"__init__", "__repr__", "_at_fork_reinit", "__class_getitem__", "isSet", "notifyAll"})
_LOCKS = ("Lock", "RLock")


def _functions() -> dict[CodeType, str]:
    found = {}
    for kind in _STATE:
        for base in kind.__mro__[:-1]:
            for name, function in vars(base).items():
                if type(function) is FunctionType and name not in _NOT_FOLLOWED:
                    found[function.__code__] = name
    return found


_CODES = _functions()
_METHODS = frozenset(_CODES.values())
_START = threading.Thread.start.__code__
_COUNTS = frozenset(each.__code__ for each in (threading.enumerate, threading.active_count))  # which threads there are


def touched_by_call(function: FunctionType, arguments: list[Any]) -> Touches:
    """What a call of a method of such an object touches before it acquires a lock, and what the start of a thread does."""
    if function.__code__ is _START and arguments:
        return of_state([(arguments[0], None, True)])
    if function.__code__ in _COUNTS:
        return UNKNOWN
    name = looked_up(_CODES, function.__code__)
    owner = arguments[0] if arguments else None
    state = None if name is None else _state(owner)
    if state is None:
        return UNKNOWN
    if name in _FIRST_LOCKS and (type(owner) is not _CONDITION or name in _ONLY_LOCKS):
        return []
    if name in _READING:
        return of_state([(owner, "_flag", False)], inner=True)
    return of_state(state, inner=True)


def behind_a_lock(frame: FrameType | None, under_test: UnderTest) -> Touches:
    """What code of the standard library may touch after it has acquired a lock, until it returns to code under test.

    Args:
        frame: that of the innermost function which is not ours.
    """
    found: State = []
    while frame is not None and not under_test(frame.f_code.co_filename):
        if not ours(frame.f_code.co_filename):
            name = looked_up(_CODES, frame.f_code)
            owner = locals_of(frame).get("self") if name is not None else None
            state = _state(owner)
            if state is None:
                return UNKNOWN
            if type(owner) is not _CONDITION or name not in _ONLY_LOCKS:
                found += state
        frame = frame.f_back
    return UNKNOWN if frame is None else of_state(found, inner=True)


def _state(owner: Any) -> State | None:
    """All that an object keeps; None if it is none of these, or not as it was made."""
    kind = type(owner)
    if kind not in _STATE:
        return None
    (names, conditions), values = _STATE[kind], vars(owner)
    state: State = [(owner, name, True) for name in names]
    state += [(values[name], None, True) for name in ("queue", "_waiters") if name in names and name in values]
    lock = looked_up(values, "_lock")
    if any(name in _METHODS and not (type(each) is MethodType and each.__self__ is lock) for name, each in values.items()):
        return None  # it has a method of its own
    if kind is _CONDITION and not _ours(lock):
        return None
    for name in conditions:
        inner = _state(looked_up(values, name))
        if inner is None:
            return None
        state += inner
    return state


def _ours(lock: Any) -> bool:
    acquire = in_class(type(lock), "acquire")
    return type(lock).__name__ in _LOCKS and type(acquire) is FunctionType and ours(acquire.__code__.co_filename)
