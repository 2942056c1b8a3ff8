"""The child's side of one run: counts the steps of the workload, raises the exception at one of them, and inspects the result."""

from __future__ import annotations

import asyncio
import gc
import json
import signal
import zlib
from collections.abc import Awaitable, Callable
from types import CoroutineType, FrameType
from typing import Any

from ..core.child import ChildSide
from ..core.classes import is_unfinished, name_of_class
from ..core.errors import as_failure
from ..core.invariants import broken
from ..core.origin import foreign, module_of, of_user, standard
from ..core.own_builtins import PutBack
from ..core.packing import packed
from ..core.source import innermost
from ..core.steps import AT_ENTRY, Step, Steps, identity
from ..core.system import FAILING, exit_at_once, getframe, getpid
from ..core.workloads import Workload
from . import library
from .leaks import ResourceBaseline
from .plan import InjectionPlan

SET_UP = b"set up"  # the note before the workload begins; a further one names the step at which the exception is raised
Target = int | str
# What runs beside the workload, which may have replaced those of the modules.
_dumps, _crc32, _getsignal, _mask = json.dumps, zlib.crc32, signal.getsignal, getattr(signal, "pthread_sigmask", None)


class StepCounter:
    """Called at each step: counts it, and interrupts the workload at the target.

    A signal does what the handler of that moment does. So where the workload, or `asyncio` for it, has set a handler of SIGINT,
    this handler is called in place of raising KeyboardInterrupt: `asyncio` cancels its main task.

    Args:
        send_note: called with the fields of `InjectionRun.raised_at` right before the exception is raised.
        target: the step to interrupt at: an index for code under test, a key and the number of the visit for library code;
            None to interrupt nowhere.

    Attributes:
        steps, digest, reachable, library, raised_at: as in `InjectionRun`.
        stepped: whether a file of a library is stepped through.
    """

    def __init__(self, send_note: Callable[[bytes], object], plan: InjectionPlan, target: Target | None) -> None:
        self._send_note, self._plan, self._target = send_note, plan, target
        self._pid = getpid()
        self._anywhere = issubclass(plan.exception_class, MemoryError)  # any instruction may raise it
        self._first_handler = _getsignal(signal.SIGINT)
        self._first_ignored = _ignored()  # as in a shell's background job; a user at a terminal has it not
        self.stepped = library.chosen(plan.include)
        self._visits: dict[str, int] = {}
        self.steps = self.digest = 0
        self.reachable: list[int] = []
        self.library: list[str] = []
        self.raised_at: tuple[str, str, str, bool, str, str] | None = None

    def __call__(self, step: Step) -> None:
        if self.raised_at is not None or getpid() != self._pid:  # a process that the workload forked is not examined
            return
        can_occur = step.reachable or self._anywhere
        try:
            is_target = self._counted(step, can_occur)
            if is_target:
                self._report(step, can_occur)
        except Exception:  # it must not reach the workload, which would take it for its own
            for _ in FAILING:
                pass
        if is_target:
            self._interrupt(_stepped_frame(step))

    def _counted(self, step: Step, can_occur: bool) -> bool:
        """Count the step; returns whether it is the target."""
        if step.library:
            return can_occur and self._counted_in_library(step)
        self.steps = step.index + 1
        if can_occur and self._target is None:
            self.reachable.append(step.index)
        self.digest = _crc32(f"{step.code.co_qualname}:{step.offset}".encode(errors="surrogatepass"), self.digest)
        return step.index == self._target

    def _counted_in_library(self, step: Step) -> bool:
        """Count one visit of a step of a library; those after the first `VISITS` are neither counted nor targets."""
        frame = _stepped_frame(step)
        entered = step.kind == AT_ENTRY and frame is not None and frame.f_back is not None
        called_from = library.caller(frame.f_back if frame is not None and entered else frame, self.stepped)
        if called_from is None:
            return False
        key = library.key(step, called_from)
        visit = self._visits.get(key, 0)
        directly = entered and frame is not None and frame.f_back is called_from
        if visit >= library.VISITS and not directly:
            return False
        self._visits[key] = visit + 1
        if self._target is None:
            self.library.append(f"{key} {visit}")
        return self._target == f"{key} {visit}"

    def _report(self, step: Step, can_occur: bool) -> None:
        """Tell the parent where the exception is raised, which it needs if this run never ends."""
        frame = _stepped_frame(step)
        origin = "the standard library" if standard(step.code.co_filename) else "an installed package"
        user = innermost(frame, of_user) if foreign(step.code.co_filename) else None
        origin = origin if user is not None and not library.made(step.code.co_filename) else ""
        with PutBack():
            self.raised_at = (step.place, step.source, step.kind, can_occur, origin, library.call_line(user))
            self._send_note(_dumps(self.raised_at).encode())

    def _interrupt(self, frame: FrameType | None) -> None:
        if self._plan.interrupts and _ignored() and not self._first_ignored:
            return
        handler = _getsignal(signal.SIGINT)
        if self._plan.interrupts and handler is not self._first_handler and callable(handler):
            handler(signal.SIGINT, frame)
        else:
            raise self._plan.exception


def _ignored() -> bool:
    """Whether a SIGINT would not be handled now. (Where that ends is another step.)"""
    if _getsignal(signal.SIGINT) is signal.SIG_IGN:
        return True
    return _mask is not None and signal.SIGINT in _mask(signal.SIG_BLOCK, ())


def _stepped_frame(step: Step) -> FrameType | None:
    """The frame that is at this step; called below `StepCounter.__call__`."""
    frame: FrameType | None = getframe(1)
    while frame is not None and frame.f_code is not step.code:
        frame = frame.f_back
    return frame


def run_in_child(side: ChildSide, work: Workload, plan: InjectionPlan, target: Target | None) -> dict[str, Any]:
    """Run the workload once in this process, which must be a fork made for it.

    Args:
        target: the step to raise at; None for a run without an exception.

    Returns:
        The fields of `InjectionRun`; or ``{"failure": packed exception}`` if the setup or the workload raised by itself.
    """
    pid = getpid()
    counter = StepCounter(side.send_note, plan, target)
    stepped = Steps(counter, counter.stepped, entries=plan.include != ())
    failure: BaseException | None = None
    returned = False
    gc.freeze()  # objects of the parent: examining them in the collection after every run would take most of its time
    if plan.setup is not None:
        try:
            plan.setup()
        except BaseException as error:
            return {"failure": packed(as_failure(error, "setup"))}
    side.send_note(SET_UP)
    baseline = ResourceBaseline.now(work)
    try:
        with stepped:
            result = work()
            if type(result) is CoroutineType:
                asyncio.run(result)
        returned = counter.raised_at is not None
    except BaseException as error:  # the injected exception, or what the workload turned it into
        if counter.raised_at is None:
            failure = error
    if getpid() != pid:  # a process that the workload forked returned from the workload as well: it must not answer
        exit_at_once(0)
    if isinstance(plan.exception, BaseException):  # its traceback would keep the workload's frames, and their files, alive
        plan.exception.__traceback__ = plan.exception.__context__ = None
    if isinstance(failure, KeyboardInterrupt):
        return {"error": "the workload raises KeyboardInterrupt by itself, without any injection", "raised_at": None}
    if failure is not None:
        with PutBack():
            return {"failure": packed(failure)}
    untraced = (
        "the workload, or what it calls, began or ended a trace function, a profiler or a tool of sys.monitoring, which takes the "
        "events of the steps away, so its later lines cannot be examined; leave that out of the body"
    )
    with PutBack():
        leaks = baseline.leaks(work)
    return {
        "steps": counter.steps,
        "reachable": counter.reachable,
        "error": untraced if stepped.lost and target is None else "",
        "digest": counter.digest,
        "raised_at": counter.raised_at,
        "returned": returned,
        "broken": _broken_invariant(plan.invariant, leaks),
        "code": [identity(code) for code in stepped.seen.values()] if target is None else [],
        "library": counter.library,
        "passed": sorted({module_of(file) for file in stepped.passed if foreign(file)}) if target is None else [],
    }


def _broken_invariant(invariant: Callable[[], object] | None, leaks: list[str]) -> list[str]:
    """The leaks, preceded by a message about the invariant if that is broken.

    Args:
        leaks: found before this call, because an invariant may itself leak or hang.
    """
    if invariant is None:
        return leaks
    try:
        answer: Any = invariant()
        if is_unfinished(answer) and isinstance(answer, Awaitable):
            answer = asyncio.run(_awaited(answer))
        with PutBack():
            why = broken(invariant, (), answer)
    except BaseException as error:  # an assertion of the user's, or whatever a broken object raises
        text = str(error).splitlines()[0] if str(error) else ""
        return [f"the invariant is broken: {name_of_class(type(error))}: {text}", *leaks]
    return leaks if why is None else [why, *leaks]


async def _awaited(answer: Awaitable[object]) -> object:
    return await answer
