"""What happens at each report of ``sys.monitoring`` or, up to 3.11, of ``sys.settrace``: steps reach the engine from here.

Nearly all time of a run is spent in these functions: they repeat `Engine.step` in line.
"""

from __future__ import annotations

import dis
import sys
import threading
from collections.abc import Callable, Container, Iterable
from inspect import CO_GENERATOR
from types import CodeType, FrameType, FunctionType, MethodType
from typing import Any

from ...core.clocks import PUBLIC
from ...core.lookup import looked_up
from ...core.origin import of_the_runner, ours
from ..bytecode.apart import ApartCall, taken_apart
from ..bytecode.calls import gil_is_checked_after, hands_over, is_step, makes_steps
from ..bytecode.code_facts import instruction_at
from ..bytecode.library import one_step
from ..bytecode.visible import BY_C, StepTable
from .covered import Covered
from .engine import Engine
from .places import place
from .tables import StartedCode
from .task import MAIN

_get_ident = threading.get_ident
_settrace = sys.settrace  # bound here: `undermined` replaces it
_CALLS = frozenset(code for name, code in dis.opmap.items() if "CALL" in name)
_ONLY_CALLED = frozenset({"__init__", "__new__", "__enter__", "__exit__", "__call__"})
_REAL_TIME = {id(function): name for name, function in PUBLIC.items()}  # by id; what `Patches` replaces wherever it finds it
monitoring: Any = getattr(sys, "monitoring", None)
_set_local_events: Any = getattr(monitoring, "set_local_events", None)  # bound here: `undermined` replaces that of the module


class Callbacks(StartedCode):
    """The functions that are called for the events.

    Attributes:
        one_step: modules of the standard library that code under test has called, and whose Python code makes no steps.
        imported: modules under test that threads of the program have imported, each in one step.
        takes_apart: whether a call in C is taken apart.
    """

    def __init__(self, engine: Engine, *, everything: bool) -> None:
        super().__init__(engine.takes_part, everything=everything)
        self._engine = engine
        self.one_step: dict[str, None] = {}
        self.imported: dict[str, None] = {}
        self.takes_apart = False
        self._ended = False  # whether no step is reported any more
        self._not_called: dict[int, CodeType] = {}  # code that is not under test, and is entered without a call instruction
        self._set_up: dict[int, CodeType] = {}  # code of setups and invariants that is known
        self._started_codes: dict[int, CodeType] = {}  # not under test; up to 3.11
        self._ours: dict[int, CodeType] = {}  # of this package; up to 3.11
        self._tracers: dict[int, tuple[StepTable, Callable[..., Any]]] = {}  # by the id of the code; up to 3.11
        self._covered: Covered | None = None
        self._entered: CodeType | None = None  # of the function that an instruction calls; no other one runs before it begins
        self._tool = -1

    def _started(self, code: CodeType, offset: int) -> object:
        engine = self._engine
        if not engine.exploring and engine.owner is engine.main and id(code) in self._set_up:
            return None  # every run comes here
        return self._began(code, sys._getframe(1))

    def _thrown_into(self, code: CodeType, offset: int, error: BaseException) -> None:
        if id(code) not in self._tables:  # this event cannot be disabled
            self._began(code, sys._getframe(1))

    def _began(self, code: CodeType, frame: FrameType) -> object:
        takes_part = makes_steps(code, frame.f_globals, self._takes_part)
        if id(code) in self._tables or self._imports(code, frame) or (not takes_part and _of_no_interest(code)):
            return monitoring.DISABLE
        if self._ended:
            return monitoring.DISABLE
        if not self._engine.exploring and self._engine.owner.index == MAIN:
            if self._engine.in_run:
                self._set_up[id(code)] = code
                if takes_part and not of_the_runner(code.co_filename):
                    self.names.file(code.co_filename)
                    self._let_look_into()
            return None  # of a setup or an invariant: what it stores does not count as changing
        if not takes_part:
            if _get_ident() not in self._engine.by_ident:
                return None  # in a thread that is not of the program, such as the engine's watcher
            known = self._elsewhere(code, frame)
            if not self._without_call(code, frame):
                return monitoring.DISABLE if known else None
            self._gil_is_checked()
            return None
        self._table(code, frame)
        self._let_look_into()
        try:
            _set_local_events(self._tool, code, monitoring.events.INSTRUCTION | monitoring.events.CALL)
        except ValueError:  # the tool has been ended, which must not fail in the program's place: see `lost`
            return None
        return monitoring.DISABLE

    def foresee(self, codes: Container[int], learnt: Iterable[int]) -> None:
        self._engine.chance.find_older()  # the collector tells of no function that it keeps apart
        super().foresee(codes, learnt)

    def _let_look_into(self) -> None:
        """Code under test may ask the collector for all objects."""
        if self.names.looked_into:
            self._engine.chance.find_older()

    def _imports(self, code: CodeType, frame: FrameType) -> bool:
        """Whether this is a module that is imported, which is one step and is taken note of (`imported`).

        What ``exec`` and ``eval`` run has the same name.
        """
        caller = frame.f_back
        if code.co_name != "<module>" or caller is None:
            return False
        if not caller.f_code.co_filename.startswith("<frozen importlib") and caller.f_code.co_name != "exec_module":
            return False
        if self._engine.owner.index != MAIN and self._takes_part(code.co_filename):  # nothing is explored in an import
            self.imported[str(frame.f_globals.get("__name__"))] = None
        return True

    def _gil_is_checked(self) -> None:
        """Code has started that is not under test: the interpreter looks for the GIL then, however that code was entered."""
        engine = self._engine
        if engine.exploring and engine.owner.ident == _get_ident():
            engine.owner.gil_checked = True

    def _without_call(self, code: CodeType, frame: FrameType) -> bool:
        """Whether code may be entered by a subscript, an operator, an attribute or a loop, which no call instruction shows."""
        if id(code) not in self._not_called:
            name, caller = code.co_name, frame.f_back
            found = bool(code.co_flags & CO_GENERATOR) or (name.startswith("__") and name not in _ONLY_CALLED)
            if not found and caller is not None and self._takes_part(caller.f_code.co_filename):
                found = caller.f_code.co_code[caller.f_lasti] not in _CALLS
            if not found:
                return False
            self._not_called[id(code)] = code
        return True

    def _elsewhere(self, code: CodeType, frame: FrameType) -> bool:
        """Take note of code that has started and is not under test; returns whether all about it is known."""
        if self._engine.observer is not None:
            return False  # it may be the observer that needs it
        caller = frame.f_back
        asked = caller is not None and self._takes_part(caller.f_code.co_filename)
        if asked and (module := one_step(code)):
            self.one_step[module] = None
        return self.names.started(code, under_test=False, asked_by_test=asked)

    def _listener(self, covered: Covered | None = None) -> Callable[[CodeType, int], object]:
        """The callback for instructions, which notes them if that is wanted.

        It repeats `Engine.step` in line, because it runs for every one of them.
        """
        engine, tables, disable, ident = self._engine, self._tables, monitoring.DISABLE, _get_ident

        def instruction(code: CodeType, offset: int, frame: FrameType | None = None) -> object:
            if covered is not None and engine.exploring:
                covered.add(code, offset)
            try:  # no `get`: see `looked_up`
                access, checks = tables[id(code)].locations[offset]
            except KeyError:
                return disable
            if not engine.exploring:
                return None
            if checks == BY_C and self._entered is code:  # it was called by an instruction
                self._entered = None
                engine.owner.gil_checked = True
                if access is not None and engine.recorder is not None:
                    engine.recorder.passed(access, code, offset)
                return None
            task = engine.owner
            if task.ident != ident() or engine.measuring or engine.observer is not None:
                if checks and task.ident == ident():
                    task.gil_checked = True
                if access is not None:
                    engine.step(access, frame)
                return None
            if checks:
                task.gil_checked = True
            if access is not None:
                engine.point = point = engine.point + 1
                if point == engine.next:
                    engine.decide(task, point, access, frame or sys._getframe(1))
                task.gil_checked = False
            return None

        return self._with_parts(instruction) if self.takes_apart else instruction

    def _with_parts(self, report: Callable[[CodeType, int, FrameType], object]) -> Callable[[CodeType, int], object]:
        """The same callback, after which the instruction may be taken apart."""
        tables = self._tables

        def instruction(code: CodeType, offset: int) -> object:
            frame = sys._getframe(1)
            found = report(code, offset, frame)
            table = looked_up(tables, id(code))
            if table is None or offset not in table.apart:
                return found
            if looked_up(table.calls, offset) is None or table.calls[offset][0] is None:
                self._apart(frame)
            return None

        return instruction

    def _calls(self) -> Callable[[CodeType, int, object, object], object]:
        """The callback for calls."""
        if not self.takes_apart:
            return self._call

        def call(code: CodeType, offset: int, callee: object, first: object) -> object:
            frame = sys._getframe(1)
            found = self._call(code, offset, callee, first, frame)
            table = looked_up(self._tables, id(code))
            if table is None or offset not in table.apart:
                return found
            if looked_up(table.calls, offset) is not None and table.calls[offset][0] is not None:
                self._apart(frame)
            return None

        return call

    def _apart(self, frame: FrameType) -> None:
        """Take the instruction apart that this frame is about to make, if it can be."""
        engine = self._engine
        if not engine.exploring or engine.owner.ident != _get_ident():
            return
        call = ApartCall()
        try:
            covered = taken_apart(frame, *instruction_at(frame.f_code, frame.f_lasti), call)
        except Exception:  # an error of ours would be one of the program's
            return
        if covered is not None and engine.recorder is not None:
            engine.recorder.apart(call, covered)

    def _call(self, code: CodeType, offset: int, callee: object, first: object, frame: FrameType | None = None) -> object:
        engine = self._engine
        if not engine.exploring:
            return None
        try:  # no `get`: see `looked_up`
            access, arguments, ends = self._tables[id(code)].calls[offset]
        except KeyError:
            return monitoring.DISABLE
        function = callee.__func__ if type(callee) is MethodType else callee
        if type(function) is FunctionType:
            self._entered = function.__code__
        else:
            self._entered = None
            if id(callee) in _REAL_TIME:
                clock, at = _REAL_TIME[id(callee)], place(frame or sys._getframe(1), self._takes_part)
                engine.note_uncontrolled(
                    f"{engine.owner.name} called the real time.{clock} at {at}, kept where nothing is replaced"
                )
            self.names.called(callee)
        if access is not None and (
            is_step(callee, first, self._takes_part, alone=arguments == 1) or (ends and not hands_over(callee, self._takes_part))
        ):
            engine.step(access, frame)
        elif access is not None and engine.recorder is not None:
            engine.recorder.passed(access, code, offset)
        if gil_is_checked_after(callee, self._takes_part) and engine.owner.ident == _get_ident():
            engine.owner.gil_checked = True
        return None

    def _trace(self, frame: FrameType, event: str, argument: object) -> Callable[..., Any] | None:
        """The trace function of the threads, up to 3.11: called where code starts."""
        code = frame.f_code
        if self._ended:
            _settrace(None)
            return None
        if id(code) in self._ours or self._imports(code, frame):
            return None
        if not makes_steps(code, frame.f_globals, self._takes_part):
            if ours(code.co_filename):
                self._ours[id(code)] = code
                return None
            if not _of_no_interest(code) and id(code) not in self._started_codes and self._elsewhere(code, frame):
                self._started_codes[id(code)] = code
            if self._without_call(code, frame):
                self._gil_is_checked()
            return None
        table = self._table(code, frame)
        frame.f_trace_opcodes, frame.f_trace_lines = True, False
        known = self._tracers.get(id(code))
        if known is None or known[0] is not table:
            known = self._tracers[id(code)] = table, self._tracer(table)
        return known[1]

    def _tracer(self, table: StepTable) -> Callable[..., Any]:
        """The trace function of code under test, up to 3.11. It repeats `Engine.step` in line, as `_listener` does."""
        engine, code, steps, checks, ident = self._engine, table.code, table.steps, table.checks, _get_ident
        apart = table.apart

        def instruction(frame: FrameType, event: str, argument: object) -> Any:
            if event != "opcode":
                return instruction
            if self._ended:
                _settrace(None)
                return None
            offset = frame.f_lasti
            if self._covered is not None and engine.exploring:
                self._covered.add(code, offset)
            if offset in checks:
                engine.owner.gil_checked = True
            if offset not in steps or not engine.exploring:
                return instruction
            access, task = steps[offset], engine.owner
            if task.ident != ident() or engine.measuring or engine.observer is not None:
                engine.step(access, frame)
            else:
                engine.point = point = engine.point + 1
                if point == engine.next:
                    engine.decide(task, point, access, frame)
                task.gil_checked = False
            if offset in apart:
                self._apart(frame)
            return instruction

        return instruction


def _of_no_interest(code: CodeType) -> bool:
    """Whether code that is not under test is ours, or a constructor that the standard library has made from a text."""
    return ours(code.co_filename) or (code.co_filename.startswith("<") and not code.co_filename.startswith("<frozen"))
