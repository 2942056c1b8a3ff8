"""The harness for runs of a program: engine, events and patches, installed for a while and removed without a trace."""

from __future__ import annotations

import gc
import sys
from collections.abc import Callable, Iterable, Iterator
from contextlib import ExitStack, contextmanager
from typing import Any

from ..core.errors import BadValue
from ..core.lookup import looked_up
from ..core.origin import ours, under_test
from ..engine.bytecode.library import wholly_stepped
from ..engine.program import Program
from ..engine.running.engine import Engine
from ..engine.running.events import Events
from ..engine.running.journal import Journal
from ..engine.running.one_core import OneCore
from ..engine.running.patches import Patches
from ..engine.running.short_slices import short_slices
from .explorer import Explorer
from .plan import FuzzPlan

_LEAST_LIMIT = 2.0  # seconds for one run, however small the budget is


@contextmanager
def installed(program: Program, plan: FuzzPlan) -> Iterator[tuple[Events, Callable[[Journal], Explorer]]]:
    """What takes time to install, for the forks of this process, in each of which the program is to run once.

    Yields:
        The events, which each fork has as they are then; and what makes the explorer in a fork, which has to end without leaving:
        what was installed here is removed here.
    """
    engine = _engine(program, plan)
    with ExitStack() as stack:
        stack.enter_context(short_slices())
        events = stack.enter_context(Events(engine))
        stack.enter_context(Patches(engine, _roots(program), program.name, plan.sensitivity))

        def begin(journal: Journal) -> Explorer:
            core = OneCore()
            core.__enter__()
            engine.journal = journal
            engine.__enter__()
            return Explorer(program, engine, events, between_runs=core.look)

        stack.enter_context(_without_collection())
        yield events, begin


@contextmanager
def explorer_for(program: Program, plan: FuzzPlan, progress: Callable[[str], None], journal: Journal | None = None) -> Any:
    """A context manager that yields an `Explorer` of this program, with everything installed.

    Args:
        journal: notes the choices of each run, in case that the process dies.
    """
    with ExitStack() as stack:
        stack.enter_context(short_slices())
        core = stack.enter_context(OneCore())  # both first: threads inherit them
        engine = stack.enter_context(_engine(program, plan))
        engine.journal = journal
        events = stack.enter_context(Events(engine))
        stack.enter_context(Patches(engine, _roots(program), program.name, plan.sensitivity))
        stack.enter_context(_without_collection())
        yield Explorer(program, engine, events, progress=progress, between_runs=core.look)


@contextmanager
def _without_collection() -> Iterator[None]:
    """A finalizer of a reference cycle could run at any step; the explorer collects between runs."""
    collecting = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if collecting:
            gc.enable()


def _engine(program: Program, plan: FuzzPlan) -> Engine:
    limit = run_limit(plan)
    engine = Engine(len(program.threads), _takes_part(plan.include), limit, plan.timeout, hangs=limit == plan.timeout)
    engine.may_end_early = program.teardown is not None
    return engine


def _roots(program: Program) -> list[Any]:
    return [part for part in (*program.threads, program.setup, program.invariant, program.reached) if part is not None]


def run_limit(plan: FuzzPlan) -> float:
    """Seconds after which a run is ended. It hangs if that is the plan's timeout; otherwise it is too long for the budget."""
    return min(plan.timeout, max(plan.budget, _LEAST_LIMIT))


def _takes_part(include: Iterable[str]) -> Callable[[str], bool]:
    """The predicate for files that are under test."""
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
            made = file.startswith("<") and not file.startswith("<frozen")  # code that has no file: made by exec
            included = file in files or any(file.startswith(folder) for folder in folders)
            answer = known[file] = (under_test(file) or made or wholly_stepped(file) or included) and not ours(file)
        return answer

    return takes_part
