"""Visible steps: the bytecodes of the code under test that can access shared state, and where a signal handler can run.

A step is *reachable* if this interpreter checks for signals there: at the entry of a function, at the backward jump of a loop,
directly after a call of C code, and inside a call that waits. CPython 3.11 to 3.15 checks nowhere else, although its documentation
warns that the exception of a signal handler may occur after any bytecode instruction. It does not check when a function written in
Python returns (on 3.11 it does after ``f(*arguments)``, which goes through C). Before 3.12 nobody reports what is called, and C
code such as `functools.partial` may call the function, so there the step after every call counts as reachable.

From Python 3.12 on, ``sys.monitoring`` delivers instruction events for the code under test only; they are enabled when a code
object first starts. Before 3.12, ``sys.settrace`` delivers opcode events.

What does not work:

- ``settrace`` on 3.12: there are no opcode events in the first run of a function.
- To raise an exception *at* a call in place of directly after it: the call has not happened yet.
- A second tool with instruction events: it silently takes them from the first one. So steps are observed in a child process, from
  which all other tools are removed.
- A trace function, a profiler or a tool that begins in the middle of the run: from 3.12 on, CPython then instruments the functions
  on the stack anew, and their instruction events never come again. So the frame that holds the `with` is watched too, with the same
  events, and tells. It does not tell of tools for single code objects, and before 3.12 of a trace function that is put back: so the
  functions of `sys` that begin those are replaced during the run.
"""

from __future__ import annotations

import ast
import dis
import gc
import sys
import threading
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from types import CodeType, FrameType, FunctionType, MethodType, TracebackType
from typing import Any

from .classes import is_a
from .monitoring import take_over
from .origin import ours, under_test
from .own_builtins import PutBack
from .source import line_text, place, syntax_tree, with_nested
from .system import get_ident, getframe

VISIBLE = frozenset(
    {
        "LOAD_ATTR", "LOAD_METHOD", "LOAD_SUPER_ATTR", "STORE_ATTR", "DELETE_ATTR", "LOAD_GLOBAL", "STORE_GLOBAL", "DELETE_GLOBAL",
        "LOAD_NAME", "STORE_NAME", "LOAD_DEREF", "STORE_DEREF", "DELETE_DEREF", "BINARY_SUBSCR", "BINARY_OP", "BINARY_SLICE",
        "STORE_SUBSCR", "STORE_SLICE", "DELETE_SUBSCR", "CONTAINS_OP", "COMPARE_OP", "FOR_ITER", "GET_ITER", "UNPACK_SEQUENCE",
        "UNPACK_EX", "LIST_EXTEND", "SET_UPDATE", "DICT_UPDATE", "DICT_MERGE", "BEFORE_WITH", "LOAD_SPECIAL", "IMPORT_NAME",
        "CALL", "CALL_KW", "CALL_FUNCTION_EX",
    }
)  # fmt: skip
_CALLS = frozenset({"CALL", "CALL_KW", "CALL_FUNCTION_EX"})
WAITING = frozenset(  # names of calls that check for signals while they wait: an interrupt cancels the call
    {
        "accept", "acquire", "communicate", "connect", "flush", "fsync", "get", "input", "join", "poll", "put", "read", "readline",
        "recv", "result", "select", "send", "sendall", "shutdown", "sleep", "wait", "write",
    }
)  # fmt: skip
AFTER_CALL, AT_ENTRY = "after a call", "at function entry"
_OWN_TOOL, _NAME = 3, "gilcheck-steps"
_get_instructions = dis.get_instructions  # the workload may replace it


@dataclass(frozen=True)
class Step:
    """One visible step of a run.

    Attributes:
        index: from 0, over the whole run.
        code, offset: the instruction.
        reachable: whether this interpreter checks for signals there.
        kind: ``"before STORE_ATTR"``, ``"after a call"``, ``"in a call that waits"``, ``"at function entry"``, ``"in a loop"``.
        library: whether it is a step of library code, which has no index of its own: the index is then that of the next step.
    """

    index: int
    code: CodeType
    offset: int
    reachable: bool
    kind: str
    library: bool = False

    @property
    def line(self) -> int:
        """The source line; for a step directly after a call, the line of the call."""
        return _lines(self.code).get(self.offset, self.code.co_firstlineno)

    @property
    def place(self) -> str:
        return place(self.code.co_filename, self.line, self.code.co_qualname)

    @property
    def source(self) -> str:
        return line_text(self.code.co_filename, self.line)


def work_out(seen: set[tuple[str, int, str]]) -> None:
    """Compute the steps of code objects in advance, so that forks of this process need not do it again.

    Args:
        seen: the `identity` of each code object.
    """
    for thing in gc.get_objects():
        if is_a(thing, FunctionType):
            for code in with_nested(thing.__code__):
                if identity(code) in seen:
                    _table(code)
                    _lines(code)


def identity(code: CodeType) -> tuple[str, int, str]:
    """What identifies a code object in all processes: file, first line, qualified name."""
    return code.co_filename, code.co_firstlineno, code.co_qualname


class Steps:
    """Calls a function at every visible step of the calling thread in code under test; a context manager.

    Args:
        at: called with each step. An exception that it raises is raised in the code under test, at that step.
        library: whether a file that is not under test is stepped through as well.
        entries: whether there is a step at each entry of other code from code that is stepped through: a signal that is handled
            there ends what is in the middle of a line.

    Attributes:
        seen: all code that ran and is stepped through, by id.
        passed: files with code that ran and is not stepped through.
        lost: whether other code took the events of the steps: it replaced the trace function or, from Python 3.12 on, set one,
            began a profiler or a monitoring tool, or ended ours; set on exit.
    """

    def __init__(
        self, at: Callable[[Step], None], library: Callable[[str], bool] = lambda file: False, *, entries: bool = False
    ) -> None:
        self._at, self._library, self._entries = at, library, entries
        self.seen: dict[int, CodeType] = {}
        self.passed: set[str] = set()
        self._of_library: dict[int, bool] = {}  # by id of the code in `seen`
        self._entered: dict[int, CodeType] = {}  # by id: all other code that such code has entered
        self._python_callee: dict[tuple[int, int], bool] = {}  # by id of the code and offset of the step after the call
        self.lost = False
        self._around: FrameType | None = None  # has the `with` of this object, so it is on the stack for the whole run
        self._last_around = -1  # offset of the last instruction of that frame of which we were told
        self._set_local_events: Any = None  # of `sys.monitoring`, from Python 3.12 on
        self._taken = False  # by a function that is replaced
        self._replaced: list[tuple[Any, str, Any]] = []
        self._count = 0
        self._thread = get_ident()

    def __enter__(self) -> Steps:
        if sys.version_info >= (3, 12):
            self._around = getframe(1)
            self._monitor()
            monitoring = sys.monitoring  # type: ignore[attr-defined,unused-ignore]
            self._set_local_events = monitoring.set_local_events  # not the one that is watched from here on
            these = (
                monitoring.events.PY_START | monitoring.events.PY_RESUME | monitoring.events.CALL | monitoring.events.INSTRUCTION
            )
            self._watch(monitoring, "set_local_events", lambda tool, _, events: tool == _OWN_TOOL or events & these != 0)
            for name in ("set_events", "register_callback"):
                self._watch(monitoring, name, lambda tool, *_: tool == _OWN_TOOL)
        else:
            sys.settrace(self._trace)
            self._watch(sys, "settrace", lambda trace: self._thread == get_ident() and trace != self._trace)
        return self

    def _watch(self, module: Any, name: str, takes: Callable[..., bool]) -> None:
        """Replace a function for the time of the run by one that notes a call that takes events."""
        function = getattr(module, name)

        def watched(*arguments: Any) -> Any:
            answer = function(*arguments)
            self._taken = self._taken or takes(*arguments)
            return answer

        # not by `functools.wraps`, which would count as library code that the code under test has entered
        watched.__name__, watched.__qualname__, watched.__doc__ = function.__name__, function.__qualname__, function.__doc__
        self._replaced.append((module, name, function))
        setattr(module, name, watched)

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        for module, name, function in self._replaced:
            setattr(module, name, function)
        if sys.version_info >= (3, 12):
            monitoring = sys.monitoring  # type: ignore[attr-defined,unused-ignore]
            around, self._around = getframe(1), None
            self.lost = self._taken or self._last_around != around.f_lasti  # the instruction that calls us
            if monitoring.get_tool(_OWN_TOOL) != _NAME:  # the code under test has ended the tool
                self.lost = True
                return
            monitoring.set_events(_OWN_TOOL, 0)
            for code in (*self.seen.values(), *self._entered.values(), around.f_code):
                monitoring.set_local_events(_OWN_TOOL, code, 0)
            monitoring.free_tool_id(_OWN_TOOL)
        else:
            self.lost = self._taken or sys.gettrace() != self._trace
            sys.settrace(None)

    def _monitor(self) -> None:
        for module in (sys, threading):  # what a thread of the workload would begin with takes the events of all threads
            module.settrace(None)
            module.setprofile(None)
        monitoring = take_over(_OWN_TOOL, _NAME)
        monitoring.register_callback(_OWN_TOOL, monitoring.events.PY_START, self._started)
        monitoring.register_callback(
            _OWN_TOOL, monitoring.events.PY_RESUME, self._started
        )  # of a generator that was started before
        monitoring.register_callback(_OWN_TOOL, monitoring.events.PY_THROW, self._thrown_into)
        monitoring.register_callback(_OWN_TOOL, monitoring.events.INSTRUCTION, self._instruction)
        monitoring.register_callback(_OWN_TOOL, monitoring.events.CALL, self._called)
        events = monitoring.events
        monitoring.set_events(_OWN_TOOL, events.PY_START | events.PY_RESUME | events.PY_THROW)
        if self._around is not None:  # both events: where a tool begins CALL, code without it keeps its instruction events
            monitoring.set_local_events(_OWN_TOOL, self._around.f_code, events.INSTRUCTION | events.CALL)
        monitoring.restart_events()

    def _started(self, code: CodeType, offset: int) -> object:
        return self._enter(getframe(1))

    def _enter(self, frame: FrameType) -> object:
        monitoring = sys.monitoring  # type: ignore[attr-defined,unused-ignore]
        code = frame.f_code
        if id(code) in self.seen or id(code) in self._entered:
            return monitoring.DISABLE
        if monitoring.get_tool(_OWN_TOOL) != _NAME:  # ended by the code under test, which still sends the events of a start
            return None
        if self._is_stepped(frame):
            self._set_local_events(_OWN_TOOL, code, monitoring.events.INSTRUCTION | monitoring.events.CALL)
        elif self._enters(frame):
            self._entered[id(code)] = code
            self._set_local_events(_OWN_TOOL, code, monitoring.events.INSTRUCTION)
        elif self._entries:
            return None  # it may be entered from code that is stepped through later on
        return monitoring.DISABLE

    def _enters(self, frame: FrameType) -> bool:
        """Whether code that is stepped through has entered this frame, whose code is not."""
        if not self._entries or frame.f_back is None or id(frame.f_back.f_code) not in self.seen:
            return False
        return not ours(frame.f_code.co_filename)

    def _is_stepped(self, frame: FrameType) -> bool:
        """Whether the code of this frame is stepped through; remembers it as seen or as passed."""
        code = frame.f_code
        if id(code) in self.seen:
            return True
        library = not under_test(code.co_filename)
        if library and not self._library(code.co_filename):
            if frame.f_back is None or not ours(frame.f_back.f_code.co_filename):
                self.passed.add(code.co_filename)
            return False
        self.seen[id(code)], self._of_library[id(code)] = code, library
        return True

    def _thrown_into(self, code: CodeType, offset: int, error: BaseException) -> None:
        self._enter(getframe(1))  # this event cannot be disabled

    def _called(self, code: CodeType, offset: int, called: object, first: object) -> None:
        after, methods = _after_calls(code).get(offset, (-1, False))  # LOAD_SUPER_ATTR is a call as well, without a check
        function: Any = called
        if methods and type(called) is MethodType:
            function = called.__func__
        self._python_callee[id(code), after] = type(function) is FunctionType

    def _instruction(self, code: CodeType, offset: int) -> object:
        around = self._around
        if around is not None and code is around.f_code:
            if getframe(1) is around:
                self._last_around = offset
            if id(code) not in self.seen:
                return None
        entered = id(code) in self._entered
        if offset not in (_entries(code) if entered else _table(code)):
            return sys.monitoring.DISABLE  # type: ignore[attr-defined,unused-ignore]
        if get_ident() == self._thread and (not entered or self._enters(getframe(1))):
            self._step(code, offset)
        return None

    def _trace(self, frame: FrameType, event: str, argument: object) -> Any:
        if event == "call":
            if not self._is_stepped(frame):
                if not self._enters(frame):
                    return None
                frame.f_trace_opcodes, frame.f_trace_lines = True, False
                return self._trace_entry
            frame.f_trace_opcodes, frame.f_trace_lines = True, False
        elif event == "opcode" and frame.f_lasti in _table(frame.f_code):
            self._step(frame.f_code, frame.f_lasti)
        return self._trace

    def _trace_entry(self, frame: FrameType, event: str, argument: object) -> Any:
        if event == "opcode" and frame.f_lasti in _entries(frame.f_code):
            frame.f_trace_opcodes = False
            self._step(frame.f_code, frame.f_lasti)
        return self._trace_entry

    def _step(self, code: CodeType, offset: int) -> None:
        reachable, kind = _table(code)[offset]
        if kind == AFTER_CALL and self._python_callee.get((id(code), offset), False):
            reachable = False
        library = self._of_library.get(id(code), True)
        step = Step(self._count, code, offset, reachable, kind, library)
        self._count += not library
        self._at(step)


def _instructions_of(code: CodeType) -> list[dis.Instruction]:
    with PutBack():
        return list(_get_instructions(code))


@cache
def _after_calls(code: CodeType) -> dict[int, tuple[int, bool]]:
    """For the offset of each call: that of the next instruction, and whether it calls the function of a method without C code."""
    found: dict[int, tuple[int, bool]] = {}
    call = None
    for instruction in _instructions_of(code):
        if call is not None and instruction.opname != "EXTENDED_ARG":
            found[call.offset] = instruction.offset, call.opname != "CALL_FUNCTION_EX"
        if instruction.opname != "EXTENDED_ARG":
            call = instruction if instruction.opname in _CALLS else None
    return found


@cache
def _table(code: CodeType) -> dict[int, tuple[bool, str]]:
    """The visible steps of a code object: offset to (reachable, kind)."""
    with PutBack():
        waiting = _waiting_calls(code.co_filename)
    table: dict[int, tuple[bool, str]] = {}
    after = ""
    for instruction in _instructions_of(code):
        name, offset = instruction.opname, instruction.offset
        if name == "EXTENDED_ARG":
            continue
        if after:
            table[offset] = (True, after)
        elif "JUMP_BACKWARD" in name and not name.endswith("NO_INTERRUPT"):  # 3.11 has conditional backward jumps as well
            table[offset] = (True, "in a loop")
        elif name in _CALLS and instruction.positions is not None and tuple(instruction.positions) in waiting:
            table[offset] = (True, "in a call that waits")
        elif name in VISIBLE:
            table[offset] = (False, f"before {name}")
        after = AFTER_CALL if name in _CALLS else ""
        if name == "RESUME" and (instruction.arg or 0) & 3 < 2:  # this instruction has no event of its own
            after = AT_ENTRY
    return table


@cache
def _entries(code: CodeType) -> frozenset[int]:
    """The offsets of the steps at the entry of a function, and where a generator goes on after a ``yield``."""
    return frozenset(offset for offset, (_, kind) in _table(code).items() if kind == AT_ENTRY)


@cache
def _lines(code: CodeType) -> dict[int, int]:
    lines: dict[int, int] = {}
    last, after_call = code.co_firstlineno, False
    for instruction in _instructions_of(code):
        line = instruction.positions.lineno if instruction.positions else None
        here = last if after_call or line is None else line
        lines[instruction.offset] = here
        last, after_call = (line or last), instruction.opname in _CALLS
    return lines


@cache
def _waiting_calls(file: str) -> frozenset[tuple[int | None, ...]]:
    """The positions of the calls in this file that wait, judged by their names."""
    if (tree := syntax_tree(file)) is None:
        return frozenset()
    return frozenset(
        (node.lineno, node.end_lineno, node.col_offset, node.end_col_offset)
        for node in ast.walk(tree)
        if isinstance(node, ast.Call) and ast.unparse(node.func).rpartition(".")[2] in WAITING
    )
