"""Reports the visible steps of the code under test to an engine, at the moment when they happen.

From Python 3.12 on by ``sys.monitoring``, with local instruction and call events: they are switched on for a code object when it
first starts, and the callback switches them off for each location that is no step. Up to 3.11 by ``sys.settrace`` with opcode
events, where calls are classified by their source text.

Other tools can take our events silently: a second tool with instruction events suppresses ours, and a line callback that disables
itself suppresses the first event of its line. So `check_alone` counts the events of a known function, twice, before any
exploration.

What does not work: global instruction events (they stop the world on a free-threaded build, and slow all code); ``settrace`` on
3.12 and later (no opcode events in the first run of a function); regular calls of ``restart_events`` (it affects all tools).
"""

from __future__ import annotations

import dis
import gc
import importlib.util
import sys
import threading
from collections.abc import Callable, Container, Iterable, Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import replace
from inspect import CO_GENERATOR
from types import CodeType, FrameType, FunctionType, MethodType, ModuleType
from typing import Any

from ...core.classes import bases_of, derived_from, file_of_module, is_a, module_of_class, names_of_module
from ...core.clocks import PUBLIC
from ...core.lookup import looked_up
from ...core.origin import foreign, ours
from ...core.source import with_nested
from ..bytecode.apart import ApartCall, taken_apart
from ..bytecode.calls import gil_is_checked_after, hands_over, is_step, makes_steps
from ..bytecode.changing import WRAPPING, Changing
from ..bytecode.code_facts import instruction_at
from ..bytecode.library import one_step
from ..bytecode.setters import initialiser_in_c, set_by, setter, stored_by
from ..bytecode.sources import imports_of
from ..bytecode.stack import locals_of
from ..bytecode.visible import BY_C, Access, StepTable, Visibility
from ..schedule import Schedule
from . import probe
from .covered import Covered
from .engine import Engine
from .places import place
from .policy import Planned
from .task import MAIN
from .undermined import TOOL, remember_tools

_MONITORED = sys.version_info >= (3, 12)
_TOOLS = (4, 3)
_LOOKS = frozenset({1, 2, *(8**power for power in range(1, 10))})  # at which the classes under test are looked at
_get_ident = threading.get_ident
_settrace = sys.settrace  # bound here: `undermined` replaces it
_CALLS = frozenset(code for name, code in dis.opmap.items() if "CALL" in name)
_ONLY_CALLED = frozenset({"__init__", "__new__", "__enter__", "__exit__", "__call__"})
_REAL_TIME = {id(function): name for name, function in PUBLIC.items()}  # by id; what `Patches` replaces wherever it finds it
monitoring: Any = getattr(sys, "monitoring", None)
_GLOBAL = monitoring.events.PY_START | monitoring.events.PY_RESUME | monitoring.events.PY_THROW if _MONITORED else 0
_set_local_events: Any = getattr(monitoring, "set_local_events", None)  # bound here: `undermined` replaces those of the module
_set_events: Any = getattr(monitoring, "set_events", None)
_register_callback: Any = getattr(monitoring, "register_callback", None)
_free_tool_id: Any = getattr(monitoring, "free_tool_id", None)


class MonitoringConflict(Exception):
    """Another tool takes our events; the message names the tool."""


class Events:
    """A context manager during which every visible step of a controlled thread is reported to the engine.

    Args:
        everything: whether every instruction is a step.

    Attributes:
        frozen: whether the step tables are to stay as they are: a schedule was found that is to be followed again.
        one_step: modules of the standard library that code under test has called, and whose Python code makes no steps.
        imported: modules under test that threads of the program have imported, each in one step.
        takes_apart: whether a call in C is taken apart.
    """

    def __init__(self, engine: Engine, *, everything: bool = False) -> None:
        self._engine = engine
        self._everything = everything
        self._visibility = Visibility(everything=everything)
        self.frozen = False
        self.one_step: dict[str, None] = {}
        self.imported: dict[str, None] = {}
        self._looks = 0
        self._ended = False  # whether no step is reported any more
        self._not_called: dict[int, CodeType] = {}  # code that is not under test, and is entered without a call instruction
        self._tables: dict[int, StepTable] = {}
        self._foreseen: dict[int, StepTable] = {}  # of code that has not started yet
        self._whole: dict[int, StepTable] = {}  # of those that have become narrower
        self._hidden: Mapping[int, Access] = {}
        self._set_up: dict[int, CodeType] = {}  # code of setups and invariants that is known
        self._started_codes: dict[int, CodeType] = {}  # not under test; up to 3.11
        self._ours: dict[int, CodeType] = {}  # of this package; up to 3.11
        self._tracers: dict[int, tuple[StepTable, Callable[..., Any]]] = {}  # by the id of the code; up to 3.11
        self._takes_part = engine.takes_part
        self._covered: Covered | None = None
        self._entered: CodeType | None = None  # of the function that an instruction calls; no other one runs before it begins
        self.takes_apart = False
        self._tool, self._global = -1, 0

    def __enter__(self) -> Events:
        if not _MONITORED:
            self._engine.tracer = self._trace
            return self
        free = [tool for tool in _TOOLS if monitoring.get_tool(tool) is None]
        if not free:
            taken = ", ".join(repr(monitoring.get_tool(tool)) for tool in _TOOLS)
            raise MonitoringConflict(f"the monitoring tool ids {_TOOLS[0]} and {_TOOLS[1]} are taken by {taken}")
        remember_tools()
        self._tool = free[0]
        events = monitoring.events
        monitoring.use_tool_id(self._tool, TOOL)
        _register_callback(self._tool, events.PY_START, self._started)
        _register_callback(self._tool, events.PY_RESUME, self._started)  # of a generator that has started before
        _register_callback(self._tool, events.PY_THROW, self._thrown_into)  # likewise
        _register_callback(self._tool, events.INSTRUCTION, self._listener())
        _register_callback(self._tool, events.CALL, self._calls())
        self._global = _GLOBAL
        _set_events(self._tool, self._global)
        monitoring.restart_events()
        return self

    def __exit__(self, *error: object) -> None:
        if not _MONITORED:
            self._engine.tracer = None
            return
        if self.lost:  # whose tool has this number now?
            return
        _set_events(self._tool, 0)
        for table in self._tables.values():
            _set_local_events(self._tool, table.code, 0)
        for event in ("PY_START", "PY_RESUME", "PY_THROW", "INSTRUCTION", "CALL"):
            _register_callback(self._tool, getattr(monitoring.events, event), None)
        _free_tool_id(self._tool)

    @property
    def lost(self) -> str:
        """Why these events do not arrive any more, or not all of them; empty if they do."""
        if not _MONITORED or (monitoring.get_tool(self._tool) == TOOL and monitoring.get_events(self._tool) == self._global):
            return ""
        return f"the program has ended or changed the monitoring tool {TOOL!r} of the check, without which no step is seen"

    @property
    def names(self) -> Changing:
        """What is known about the names of the program."""
        return self._visibility.names

    @property
    def codes(self) -> frozenset[int]:
        """The ids of the code under test that has started so far."""
        return frozenset(self._tables)

    def foresee(self, codes: Container[int], learnt: Iterable[int]) -> None:
        """Make the step tables of code that will start, which takes each fork of this process more time than a run.

        All that can be known of these names is known before the first table is made.

        Args:
            codes: ids of code under test that has started in a fork of this process. What did not exist before that is left out.
            learnt: checksums of facts about names.
        """
        self._visibility = Visibility(everything=self._everything)
        self.names.learn_before_any_run(learnt)
        found = {id(code): (code, namespace) for code, namespace in _codes_of_functions(self._takes_part) if id(code) in codes}
        for code, _ in found.values():
            self.names.started(code, under_test=True)
        self.names.grown = True
        while self.names.grown:
            self.names.grown = False
            self._foreseen = {key: self._visibility.table(code, namespace) for key, (code, namespace) in found.items()}

    def end_reports(self) -> None:
        """Report no step of the present run any more; called in another thread than those of the run. `forget` begins anew."""
        self._ended = True
        if not _MONITORED:
            self._engine.tracer = None  # each thread takes it off itself
            return
        if self.lost:
            return
        self._global = 0
        _set_events(self._tool, 0)
        for table in list(self._tables.values()):
            _set_local_events(self._tool, table.code, 0)

    def _begin_reports(self) -> None:
        self._ended = False
        if not _MONITORED:
            self._engine.tracer = self._trace
        elif not self.lost:
            self._global = _GLOBAL
            _set_events(self._tool, self._global)

    def forget(self) -> None:
        """Forget what the runs so far have shown: a first run imports modules and fills caches, and no later one does."""
        if self._ended:
            self._begin_reports()
        self._visibility, self._looks = Visibility(everything=self._everything), 0
        for table in self._tables.values():
            if _MONITORED and not self.lost:
                _set_local_events(self._tool, table.code, 0)
        self._tables.clear()
        self._whole.clear()
        self._hidden = {}
        self._set_up.clear()
        self._started_codes.clear()
        if _MONITORED:
            monitoring.restart_events()

    @contextmanager
    def covering(self, covered: Covered) -> Iterator[None]:
        """While each instruction that a thread of the program comes to is noted."""
        self._covered = covered
        if _MONITORED:
            _register_callback(self._tool, monitoring.events.INSTRUCTION, self._listener(covered))
        try:
            yield
        finally:
            self._covered = None
            if _MONITORED and not self.lost:
                _register_callback(self._tool, monitoring.events.INSTRUCTION, self._listener())

    def narrow(self, hidden: Mapping[int, Access]) -> None:
        """Report these steps no more, until `widen`: they cost nothing then, and are no points of a run.

        Args:
            hidden: steps of the tables, by id.
        """
        if hidden is self._hidden:
            return
        self.widen()
        self._hidden = hidden
        for key, table in list(self._tables.items()):
            self._tables[key] = self._narrower(table)

    def widen(self) -> None:
        """Report every step again."""
        self._hidden = {}
        if not self._whole:
            return
        self._tables.update(self._whole)
        self._whole.clear()
        if _MONITORED:
            monitoring.restart_events()

    def _narrower(self, table: StepTable) -> StepTable:
        hidden = self._hidden
        steps = {offset: access for offset, access in table.steps.items() if id(access) not in hidden}
        calls = {
            offset: call
            for offset, call in table.calls.items()
            if (offset in steps if call[0] is None else id(call[0]) not in hidden)
        }
        if len(steps) == len(table.steps) and len(calls) == len(table.calls):
            return table
        self._whole[id(table.code)] = table
        locations: dict[int, tuple[Access | None, int]] = {
            offset: (step, BY_C if table.locations[offset][1] == BY_C else False) for offset, step in steps.items()
        }
        return replace(table, steps=steps, calls=calls, checks=frozenset(), locations=locations)

    def freeze(self) -> None:
        """Keep the step tables as they are from now on."""
        self.frozen = True

    def _classes_under_test(self) -> Iterator[type]:
        """The classes of modules of which code has started beside the threads, or that these have imported; and their bases."""
        loaded = dict(sys.modules)
        modules = {name for name, module in loaded.items() if self.names.has_file(file_of_module(module))}
        waiting = list(modules)
        while waiting:
            module = loaded.get(waiting.pop())
            found = {*_modules_of(list(names_of_module(module).values())), *self._imported_by(module)} - modules
            modules |= found
            for name in found:
                path = file_of_module(loaded.get(name))
                if path is not None and self._takes_part(path) and not foreign(path):  # of the program, and no library
                    self.names.imported(path)
                    waiting.append(name)
        for kind in derived_from(object):
            if module_of_class(kind) in modules:
                yield from bases_of(kind)[:-1]

    @staticmethod
    def _imported_by(module: ModuleType | None) -> Iterator[str]:
        """The modules that a module under test may have imported, also those of which it has kept no name."""
        package = names_of_module(module).get("__package__") or ""
        path = file_of_module(module)
        for name in imports_of(path) if path is not None else ():
            with suppress(ImportError):  # it is beyond the topmost package
                yield importlib.util.resolve_name(name, package) if name.startswith(".") else name

    def tables_unchanged(self, *, for_certain: bool = False) -> bool:
        """Whether the step tables are still valid. If not, this makes new ones, in which no step is hidden, and the steps counted
        so far are void.

        Args:
            for_certain: whether to look at all classes too, which takes milliseconds where there are thousands; otherwise that is
                done the first two times, and then the 8th, the 64th and so on.
        """
        names = self.names
        names.check_values()
        self._looks += 1
        if for_certain or self._looks in _LOOKS:
            names.in_classes(self._classes_under_test())
        if not names.grown or self.frozen:
            return True
        self._whole.clear()  # the new tables have new steps, of which none is hidden
        self._hidden = {}
        self._foreseen.clear()
        while names.grown:
            names.grown = False
            for key, table in list(self._tables.items()):
                self._tables[key] = self._visibility.table(table.code, table.namespace)
        if any(table.apart for table in self._tables.values()):
            self._take_apart()
        if _MONITORED:
            monitoring.restart_events()
        return False

    def unforeseen(self) -> tuple[int, ...]:
        """What the runs so far have shown too late for their step tables (`Changing.unforeseen`)."""
        self.names.check_values()
        self.names.in_classes(self._classes_under_test())
        return self.names.unforeseen()

    def _table(self, code: CodeType, frame: FrameType) -> StepTable:
        key = id(code)
        table = looked_up(self._tables, key)
        if table is None:
            self.names.started(code, under_test=True)
            table = None if self.names.grown else looked_up(self._foreseen, key)
            if table is None or table.namespace is not frame.f_globals:
                table = self._visibility.table(code, frame.f_globals)
            self._tables[key] = table
            if table.apart:
                self._take_apart()
        return table

    def _take_apart(self) -> None:
        """From here on, look at each step whether it is taken apart."""
        if not self.takes_apart:
            self.takes_apart = True
            if _MONITORED and not self.lost:
                _register_callback(self._tool, monitoring.events.INSTRUCTION, self._listener(self._covered))
                _register_callback(self._tool, monitoring.events.CALL, self._calls())

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
                if takes_part:
                    self.names.file(code.co_filename)
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
        try:
            _set_local_events(self._tool, code, monitoring.events.INSTRUCTION | monitoring.events.CALL)
        except ValueError:  # the tool has been ended, which must not fail in the program's place: see `lost`
            return None
        return monitoring.DISABLE

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
        if code is WRAPPING and self.names.wraps(*[locals_of(frame)[name] for name in ("wrapped", "assigned", "updated")]):
            return False  # the next function may have other attributes
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
            if setter(callee) is not None:
                self.names.set_by_call(set_by(frame or sys._getframe(1), callee, arguments))
            elif (kind := initialiser_in_c(callee)) is not None:
                for name in stored_by(kind, callee, frame or sys._getframe(1), *instruction_at(code, offset)[:2]):
                    self.names.set_by_call(name)
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


def _codes_of_functions(takes_part: Callable[[str], bool]) -> Iterator[tuple[CodeType, dict[str, Any]]]:
    """The code of each function under test of this process, with what is nested in it, and its globals.

    None on a free-threaded 3.13: it takes functions from the collector's list when the first thread starts.
    """
    for each in gc.get_objects():
        if type(each) is FunctionType and takes_part(each.__code__.co_filename):
            for code in with_nested(each.__code__):
                yield code, each.__globals__


def _modules_of(values: list[object]) -> Iterator[str]:
    """The names of modules from which something has been imported as one of these."""
    for value in values:
        if type(value) is ModuleType:
            yield value.__name__
        elif is_a(value, type):
            yield module_of_class(value)  # type: ignore[arg-type]
        elif type(value) is FunctionType:
            yield str(value.__module__)
        else:
            yield module_of_class(type(value))


def _of_no_interest(code: CodeType) -> bool:
    """Whether code that is not under test is ours, or a constructor that the standard library has made from a text."""
    return ours(code.co_filename) or (code.co_filename.startswith("<") and not code.co_filename.startswith("<frozen"))


def check_alone() -> None:
    """Check that every event arrives.

    Raises:
        MonitoringConflict: some do not; the message names the other tools.
    """
    engine = Engine(1, lambda file: file == probe.__file__, 5.0)
    seen: list[int] = []
    with engine, Events(engine):
        for _ in range(2):
            before = len(seen)
            engine.begin()
            engine.observer = lambda task, point, access, frame: seen.append(point)
            engine.run([probe.probe], (probe.Probed(),), Planned(Schedule(())))
            engine.end()
            if len(seen) - before != probe.STEPS:
                raise MonitoringConflict(
                    f"only {len(seen) - before} of {probe.STEPS} steps were seen; {_active()} takes the others"
                )


def _active() -> str:
    """The other tools that watch this process, as text."""
    found = []
    if _MONITORED:
        found = [monitoring.get_tool(tool) for tool in range(6) if monitoring.get_tool(tool) not in (None, TOOL)]
    found += [
        f"{type(function).__module__}.{type(function).__name__}" for function in (sys.gettrace(), sys.getprofile()) if function
    ]
    return " and ".join(repr(name) for name in found) or "an unknown tool"
