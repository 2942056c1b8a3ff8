"""Whether a thread that runs for long polls for something that another thread, or time, must do.

A thread *spins* if a loop of it comes to the same place again with the same locals, has written nothing on the way, and has called
nothing but what only looks: what it reads has not changed, so it will do the same again until somebody else does something. The
length of a loop says nothing: correct work may be long. A ``for`` loop is no spinning, because what it has left is on the stack of
the interpreter. Numbers that a clock may have given are left out of the comparison, if the loop reads a clock. A loop that acquires
a lock changes what others find when they try it, so it does not spin, even if it releases it again. Nor does one that takes from
the same iterator again and again, which no text shows: ``any(flags)`` of a list only looks, and of an iterator uses it up.

A loop of which this cannot be shown may still poll, while it counts its attempts for instance. It has to let others run too, but
later (`PATIENCE`), and nothing is concluded from it.
"""

from __future__ import annotations

import gc
import re
import weakref
from collections.abc import Iterable, Iterator
from functools import cache
from types import CodeType, FrameType
from typing import Any

from ...core.classes import in_class
from ...core.source import code_position, position_text
from ..bytecode.code_facts import backward_jumps, instruction_at, instructions_of
from ..bytecode.stack import locals_of, topmost
from ..bytecode.visible import ACQUIRE, CLOCK_READING, Access
from .task import Task

SPINS, READS, WORKS = "spins", "reads", "works"
PATIENCE = {SPINS: 0, READS: 20_000, WORKS: 200_000}  # steps after which another thread runs
_WINDOW = 80  # steps that are watched; more and more, if a loop is longer
_LONGEST_WINDOW = 640
_VISITS = 3  # of the same place in the same state
_SCALARS = (int, float, complex, bool, str, bytes, type(None))
_FROM_CLOCK = 10**9  # an integer from here on may be the reading of a clock
_LOOKS = re.compile(  # the source text of a call that changes nothing
    r"(len|isinstance|type|any|all|bool|min|max|sum|getattr|hasattr|list|tuple|sorted|set|dict|int|float|str|repr|abs|id|print"
    r"|[\w.\[\]'\"]*\.(is_set|locked|empty|full|qsize|done|running|cancelled|is_alive|keys|values|items|copy|count|index"
    r"|startswith|endswith|monotonic|time|perf_counter|monotonic_ns|time_ns|perf_counter_ns|now|get_ident|current_thread"
    r"|acquire|release|__enter__|__exit__|active_count|locked_by|isdisjoint|issubset|issuperset|union|difference))\("
)


_TAKING = ("CONTAINS_OP", "LIST_EXTEND", "SET_UPDATE", "UNPACK_")  # instructions that go through an operand
_TAKES = re.compile(  # calls that go through an argument
    r"(any|all|min|max|sum|list|tuple|sorted|set|dict|print"
    r"|[\w.\[\]'\"]*\.(isdisjoint|issubset|issuperset|union|difference))\("
)
_MOST_OPERANDS, _DEEPEST = 6, 3  # of an instruction; of iterators in iterators

_ELSEWHERE = re.compile(r"[\w.\[\]'\"]*\.(is_alive|running|done|empty|qsize|full)\(")  # perhaps of a process

_WAITS = re.compile(r"([\w.\[\]'\"]*\.)?(sleep|wait|acquire|release|join)\(")
_ENGINE = __name__.removesuffix("spinning")  # how the names of its modules begin


class LoopWatch:
    """Watches the steps of one thread for a while.

    Args:
        frame: of the thread's present step.
        steps: that the thread has made so far without a pause; the more, the longer it is watched.
        acquired: the number of times that locks were acquired.
        pausing: whether the thread may pause meanwhile, so that what is not under control has time to do something.

    Attributes:
        task: the thread.
        may_end: whether its loop may end by itself, for all that was seen: it has done something, or looks at time.
    """

    __slots__ = (
        "_acquired",
        "_anchor",
        "_caller",
        "_clock",
        "_code",
        "_first",
        "_kept",
        "_last",
        "_may_wait",
        "_offset",
        "_pausing",
        "_state",
        "_steps",
        "_taken",
        "_visits",
        "_works",
        "task",
    )

    def __init__(self, task: Task, frame: FrameType, steps: int, acquired: int, *, pausing: bool = False) -> None:
        self.task, self._acquired, self._pausing = task, acquired, pausing
        self._code, self._offset = frame.f_code, frame.f_lasti
        self._anchor: Any = None
        self._state: Any = None
        self._kept: list[Any] = []
        self._taken: dict[int, Any] = {}  # iterators, by id
        self._steps = min(max(_WINDOW, steps // 10), _LONGEST_WINDOW)
        self._visits = 0
        self._caller = 0  # the frame of a call that works, unless the callee makes steps of its own
        self._works = self._clock = self._may_wait = False
        self._first = self._last = frame.f_lasti

    def step(self, access: Access, frame: FrameType, acquired: int) -> str | None:
        """Note a step; returns `SPINS`, `READS` or `WORKS` once that is known."""
        self._steps -= 1
        if access.kind == "write":
            self._works = self._works or access is not ACQUIRE
        elif access is CLOCK_READING:
            self._clock = True
        if self._caller and in_a_wait(frame):
            self.only_waits(frame)
        if self._caller:
            self._works = self._works or id(frame.f_back) != self._caller
            self._caller = 0
        if not self._works and _takes(frame.f_code, frame.f_lasti):
            self._works = self._takes_again(frame)
        if access.kind == "call" and not _only_looks(frame.f_code, frame.f_lasti, self._pausing):
            self._caller = id(frame)  # not the frame: it would keep its objects
            self._may_wait = self._pausing and _may_wait(frame.f_code, frame.f_lasti)
        if frame.f_code is self._code:
            self._first, self._last = min(self._first, frame.f_lasti), max(self._last, frame.f_lasti)
            if frame.f_lasti == self._offset and not self._works:
                anchor, state, kept = _state_of(frame, self._clock)
                if anchor == self._anchor and state == self._state and _all_alive(self._kept):
                    self._visits += 1
                else:
                    self._anchor, self._state, self._kept, self._visits = anchor, state, kept, 1
                if self._visits == _VISITS and acquired == self._acquired and not _in_for_loop(self._code, self._first, self._last):
                    return SPINS
        if self._steps > 0:
            return None
        return WORKS if self._works or _in_for_loop(self._code, self._first, self._last) else READS

    def _takes_again(self, frame: FrameType) -> bool:
        """Whether an operand of the present instruction is an iterator, or made of one, that a step before has had as well."""
        again = False
        for iterator in _iterators(topmost(frame, _MOST_OPERANDS), _DEEPEST):
            before = self._taken.get(id(iterator))
            if before is None or (type(before) is weakref.ref and before() is None):
                self._taken[id(iterator)] = weakref.ref(iterator) if type(iterator).__weakrefoffset__ else iterator
            else:
                again = True
        return again

    @property
    def may_end(self) -> bool:
        return self._works or self._clock

    def only_waits(self, frame: FrameType | None) -> None:
        """The call that the thread is in acquires or releases a lock, or waits, and is no work, if it is a call of `threading`.

        Args:
            frame: the innermost one.
        """
        while self._may_wait and frame is not None and in_a_wait(frame):
            frame = frame.f_back
        if self._may_wait and id(frame) == self._caller:
            self._caller = 0


def in_a_wait(frame: FrameType) -> bool:
    """Whether a thread with this innermost frame is in a call of `threading`, or in one of ours that stands for it."""
    name = frame.f_globals.get("__name__")
    return type(name) is str and (name == "threading" or name.startswith(_ENGINE))


def _state_of(frame: FrameType | None, clock: bool) -> tuple[list[Any], list[Any], list[Any]]:
    """Where a thread is, and the locals of its frames: plain values, and the ids of all other objects, with these.

    A loop may make an object each time, at the same address. So the objects come along: by a weak reference, or themselves where
    there is none to them.
    """
    where, state, kept = [], [], []
    while frame is not None:
        where.append((frame.f_code, frame.f_lasti))
        for name, value in locals_of(frame).items():
            if type(value) in _SCALARS:
                if clock and (type(value) is float or (type(value) is int and value >= _FROM_CLOCK)):
                    continue
                state.append((name, value))
            else:
                state.append((name, id(value)))
                kept.append(weakref.ref(value) if type(value).__weakrefoffset__ else value)
        frame = frame.f_back
        if frame is not None and frame.f_code.co_name == "_work":  # of the engine
            break
    return where, state, kept


def _all_alive(kept: list[Any]) -> bool:
    return not any(type(each) is weakref.ref and each() is None for each in kept)


def _iterators(things: Iterable[Any], depth: int) -> Iterator[Any]:
    """The iterators among these, and those in them: a ``map`` that is made anew goes through the iterator that it was given."""
    for each in things:
        if in_class(type(each), "__next__") is not None:
            yield each
        elif type(each) is not tuple:
            continue
        if depth:
            yield from _iterators(gc.get_referents(each), depth - 1)


@cache
def _takes(code: CodeType, offset: int) -> bool:
    """Whether this instruction takes from an iterator that is one of its operands."""
    name = instruction_at(code, offset)[0]
    if "CALL" in name:
        return _TAKES.match(position_text(code.co_filename, code_position(code, offset))) is not None
    return name.startswith(_TAKING)


@cache
def _only_looks(code: CodeType, offset: int, pausing: bool) -> bool:
    text = position_text(code.co_filename, code_position(code, offset))
    return _LOOKS.match(text) is not None and not (pausing and _ELSEWHERE.match(text))


@cache
def _may_wait(code: CodeType, offset: int) -> bool:
    """Whether this is the call of a method with such a name, or the end of a ``with``, which calls what no text shows."""
    text = position_text(code.co_filename, code_position(code, offset))
    return _WAITS.match(text) is not None or not text.endswith(")")


@cache
def _in_for_loop(code: CodeType, first: int, last: int) -> bool:
    """Whether the innermost loop around these offsets is a ``for`` loop, or has one in it."""
    loops = [(jump.argval, jump.offset) for jump in backward_jumps(code)]
    iterates = [instruction.offset for instruction in instructions_of(code) if instruction.opname.startswith("FOR_ITER")]
    around = [(begin, end) for begin, end in loops if begin <= first and last <= end]
    if not around:
        return True  # no loop is seen here: it is in a caller, of which nothing can be said
    begin, end = min(around, key=lambda loop: loop[1] - loop[0])
    return any(begin <= offset <= end for offset in iterates)
