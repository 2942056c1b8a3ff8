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

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from ..schedule import Schedule
from . import probe
from .callbacks import Callbacks
from .covered import Covered
from .engine import Engine
from .policy import Planned
from .undermined import TOOL, remember_tools

_MONITORED = sys.version_info >= (3, 12)
_TOOLS = (4, 3)
monitoring: Any = getattr(sys, "monitoring", None)
_GLOBAL = monitoring.events.PY_START | monitoring.events.PY_RESUME | monitoring.events.PY_THROW if _MONITORED else 0
_set_local_events: Any = getattr(monitoring, "set_local_events", None)  # bound here: `undermined` replaces those of the module
_set_events: Any = getattr(monitoring, "set_events", None)
_register_callback: Any = getattr(monitoring, "register_callback", None)
_free_tool_id: Any = getattr(monitoring, "free_tool_id", None)


class MonitoringConflict(Exception):
    """Another tool takes our events; the message names the tool."""


class Events(Callbacks):
    """A context manager during which every visible step of a controlled thread is reported to the engine.

    Args:
        everything: whether every instruction is a step.
    """

    def __init__(self, engine: Engine, *, everything: bool = False) -> None:
        super().__init__(engine, everything=everything)
        self._global = 0

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

    def begin_program(self, *, known: bool) -> None:
        """The next runs are those of another program.

        Args:
            known: whether it is made of the same code, so that what is known of names, and the step tables, are to be kept.
        """
        self._takes_part = self._engine.takes_part
        self.frozen = False
        self.one_step.clear()
        self.imported.clear()
        self.widen()
        if not known or self._ended:
            self._not_called.clear()
            self._foreseen.clear()
            self.forget()

    def pause(self) -> None:
        """Report nothing, and take no time of other code, until `resume`."""
        if _MONITORED and not self.lost:
            self._global = 0
            _set_events(self._tool, 0)

    def resume(self) -> None:
        """Report again."""
        if _MONITORED and not self.lost and not self._ended:
            self._global = _GLOBAL
            _set_events(self._tool, self._global)

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
        for table in self._tables.values():
            if _MONITORED and not self.lost:
                _set_local_events(self._tool, table.code, 0)
        self._forget_tables()
        self._set_up.clear()
        self._started_codes.clear()
        self._restart()

    def _restart(self) -> None:
        if _MONITORED:
            monitoring.restart_events()

    def _take_apart(self) -> None:
        """From here on, look at each step whether it is taken apart."""
        if not self.takes_apart:
            self.takes_apart = True
            if _MONITORED and not self.lost:
                _register_callback(self._tool, monitoring.events.INSTRUCTION, self._listener(self._covered))
                _register_callback(self._tool, monitoring.events.CALL, self._calls())

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
