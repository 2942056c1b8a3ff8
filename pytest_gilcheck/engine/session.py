"""An engine that is installed once, in which many programs run: `Session`.

Its events, its patches, the core that it keeps to, its short time slices and the rest from collecting garbage are those of the
session. What depends on a program is set for each (`Session.use`), so nothing that one has done or taught is known of the next:

    with Session() as session:
        for program in programs:
            runs = session.use(program)                     # an `Execution`; `make=Explorer` for one that knows sequential orders
            run, failure = runs.once(policy)                # any number of runs, each from a fresh state
            with session.paused():                          # clocks, locks, chance and speed of everybody's code are real in here
                draw_the_next_one()

- `use(..., known=True)` keeps the step tables, for programs that are made of the same code: where a name is stored that counted
  as constant, `Events.tables_unchanged` says so, as within one program.
- `Program.oracle` says whether threads may wait for ever; `Execution.in_order(times_out=True)` ends waits by their timeouts.
- `operation_begins()` is a point between two operations of a thread, where a schedule may switch. It touches nothing.
- Programs may have one thread or more; the session starts threads as they are needed, and keeps those that wait.

Outside of `paused`, the caller's code between two programs is under control as a setup is: its clocks are virtual.

What does not work: to look for the locks of the whole process again for each program (60 ms). A lock that is made in a session is
under control from the beginning, also while it is paused; so only modules that are new and what the program itself refers to are
searched. A real lock that reaches a program in another way is noticed when a thread blocks on it, and no claim is made then.
"""

from __future__ import annotations

import gc
import sys
from collections.abc import Callable, Iterable, Iterator
from contextlib import ExitStack, contextmanager
from typing import Any, TypeVar

from ..core.classes import file_of_module
from ..core.errors import BadValue
from ..core.lookup import looked_up
from ..core.origin import ours, under_test
from .bytecode import switch_points
from .bytecode.library import wholly_stepped
from .execution import Execution
from .program import Program
from .running import controlling, hooks
from .running.engine import Engine
from .running.events import Events
from .running.journal import Journal
from .running.one_core import OneCore
from .running.patches import Patches
from .running.short_slices import short_slices

_Runs = TypeVar("_Runs", bound=Execution)
LIMIT = 20.0  # seconds of a run
_known: dict[str, bool] = {}  # `_takes_part`, by file
_THREADS_AT_FIRST = 2  # that a session starts before it knows its first program


class Session:
    """A context manager.

    Args:
        program: the first program, if it is known: it is searched for locks with everything else.
        include: modules and packages that are under test although they would not be, by name.
        limit: seconds after which a run is ended.
        longest: the same for a first run that goes on without reports of its steps (`Engine.may_go_on_unreported`).
        hangs: whether a run that is ended hangs; otherwise it cannot be explored.
        locks_apart: tell the locks of the programs apart (`primitives.locks_used`).

    Raises:
        BadValue: a module of ``include`` cannot be imported, or the system starts no thread.
        MonitoringConflict: other tools leave no room for the events.

    Attributes:
        engine, events: for whoever records or observes.
    """

    def __init__(
        self,
        program: Program | None = None,
        *,
        include: Iterable[str] = (),
        limit: float = LIMIT,
        longest: float = LIMIT,
        hangs: bool = True,
        locks_apart: bool = False,
    ) -> None:
        self._program, self._locks_apart = program, locks_apart
        self._takes_part = under_test_with(include)
        threads = _THREADS_AT_FIRST if program is None else len(program.threads)
        self.engine = Engine(threads, self._takes_part, limit, longest, hangs=hangs)
        self.events = Events(self.engine)
        roots, name = ([], "") if program is None else (roots_of(program), program.name)
        self._patches = Patches(self.engine, roots, name, locks_apart)
        self._core = OneCore()
        self._stack = ExitStack()
        self._fresh = False  # whether what every program can reach takes new threads for each run
        self._collects = False

    def __enter__(self) -> Session:
        with ExitStack() as stack:
            stack.enter_context(short_slices())
            stack.enter_context(self._core)  # both first: threads inherit them
            stack.enter_context(self.engine)
            self._install(stack)
            self._stack = stack.pop_all()
        return self

    def __exit__(self, *error: object) -> None:
        self._stack.close()

    @contextmanager
    def before_forks(self) -> Iterator[Session]:
        """A context manager in which all is installed that forks of this process inherit: all but the threads (`in_fork`)."""
        with ExitStack() as stack:
            stack.enter_context(short_slices())
            self._install(stack)
            yield self

    def in_fork(self) -> None:
        """Start the rest in a fork, which is to end without leaving: what was installed before is removed there."""
        self._core.__enter__()
        self.engine.__enter__()

    def learn(self, parts: Iterable[Any]) -> None:
        """Find what all programs reach by these, before they are known: `use` has less to look for then."""
        self._patches.learn(parts)

    def _install(self, stack: ExitStack) -> None:
        self._collects = gc.isenabled()
        gc.disable()  # a finalizer of a reference cycle could run at any step; `Execution` collects between runs
        stack.callback(self._collect)
        stack.enter_context(self.events)
        stack.enter_context(self._patches)
        self._fresh = self.engine.workers.fresh

    def _collect(self) -> None:
        if self._collects:
            gc.enable()

    def first(self, make: Callable[..., _Runs], **more: Any) -> _Runs:
        """The runs of the first program, with which this was made."""
        assert self._program is not None, "a session without a first program has none"
        return self._runs(self._program, make, **more)

    def use(
        self,
        program: Program,
        make: Callable[..., _Runs] = Execution,  # type: ignore[assignment]
        *,
        known: bool = False,
        include: Iterable[str] | None = None,
        **more: Any,
    ) -> _Runs:
        """The runs of another program, of which nothing is known. Those of the one before are over.

        Args:
            make: the class of what is returned; it takes a program, an engine, events, ``between_runs`` and ``more``.
            known: whether it is made of the same code as the one before, and its steps are known.
            include: modules and packages that are under test from here on, in the place of those before.

        Raises:
            BadValue: the system does not start as many threads.
        """
        anew = include is not None
        if include is not None:
            self._takes_part, known = under_test_with(include), False
        self.engine.begin_program(len(program.threads), program.name, self._takes_part, fresh=self._fresh)
        self.events.begin_program(known=known)
        self._patches.begin_program(roots_of(program), self._locks_apart, anew=anew)
        return self._runs(program, make, **more)

    def _runs(self, program: Program, make: Callable[..., _Runs], *, journal: Journal | None = None, **more: Any) -> _Runs:
        self.engine.may_end_early = program.teardown is not None
        self.engine.journal = journal
        return make(program, self.engine, self.events, between_runs=self._core.look, **more)

    def pause(self) -> None:
        """Let the code of the caller be as without a session: its clocks, its random numbers, its speed. Between two runs only."""
        self.events.pause()
        controlling.pause(self.engine)
        switch_points.hook = None
        self.engine.chance.pause()
        self._collect()

    def resume(self) -> None:
        """Go on after `pause`."""
        gc.disable()
        self.engine.chance.resume()
        switch_points.hook = self.engine.at_switch_point
        controlling.resume(self.engine)
        self.events.resume()

    @contextmanager
    def paused(self) -> Iterator[None]:
        """`pause`, and `resume` at the end."""
        self.pause()
        try:
            yield
        finally:
            self.resume()


def operation_begins() -> None:
    """A point between two operations of the calling thread: a visible step that touches nothing. Nothing outside of a run."""
    hooks.boundary(sys._getframe(1))


def roots_of(program: Program) -> list[Any]:
    """What the program is made of."""
    parts = (*program.threads, program.setup, program.invariant, program.teardown, *program.calls, program.reached)
    return [part for part in parts if part is not None]


def under_test_with(include: Iterable[str]) -> Callable[[str], bool]:
    """The predicate for files that are under test.

    Raises:
        BadValue: a module that cannot be imported, or has no source.
    """
    files: set[str] = set()
    folders: list[str] = []
    for name in include:
        try:
            __import__(name)
        except ImportError as error:
            raise BadValue("include", name, f"a module that can be imported ({error})", "argument") from None
        module = sys.modules[name]
        file = getattr(module, "__file__", None)
        if file is None:
            raise BadValue("include", name, "a module written in Python: this one has no source file", "argument")
        files |= {file, f"<frozen {name}>"}  # the second is how the code of a frozen module calls it
        folders += [f"{path}/" for path in getattr(module, "__path__", ())]
    known: dict[str, bool] = {}

    def takes_part(file: str) -> bool:
        answer = looked_up(known, file)
        if answer is None:
            included = file in files or any(file.startswith(folder) for folder in folders)
            answer = known[file] = _takes_part(file) or (included and not ours(file))
        return answer

    return takes_part


def _takes_part(file: str) -> bool:
    """Whether code of a file is under test in any case."""
    answer = looked_up(_known, file)
    if answer is None:
        made = file.startswith("<") and not file.startswith("<frozen")  # code that has no file: made by exec
        answer = _known[file] = (under_test(file) or made or wholly_stepped(file)) and not ours(file)
    return answer


def look_ahead() -> None:
    """Look at the files of all modules of this process, so that its forks need not."""
    for module in list(sys.modules.values()):
        if (file := file_of_module(module)) is not None:
            _takes_part(file)
