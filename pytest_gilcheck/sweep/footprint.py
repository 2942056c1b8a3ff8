"""What the threads of a program share, by recorded runs: if that is nothing, no schedule need be spent.

What every record needs is installed once (`Records`), in a process in which no program runs, and programs are recorded in forks of
it. The collector's list is frozen: a fork that walks over it would copy all memory, which takes longer than a record.
"""

from __future__ import annotations

import gc
from collections.abc import Callable, Iterable, Sequence
from contextlib import AbstractContextManager, ExitStack
from types import CodeType
from typing import Any, NamedTuple

from ..core.build_flags import FREE_THREADED_BUILD
from ..core.clocks import monotonic
from ..engine.bytecode.visible import CLOCK_READING
from ..engine.program import Program
from ..engine.schedule import Schedule
from ..engine.touched.trace import Trace, told
from ..search.explorer import Explorer
from ..search.harness import explorer_for, session_for
from ..search.plan import FuzzPlan
from .contended import Thing, things_of
from .harmless import Harmless, is_in_code
from .in_c import modules_in_c
from .process_names import set_in_process

_CLOCK = CLOCK_READING.name  # each client reads it for itself
_WORTH_A_WALK = 20  # code objects: to find them takes a walk over all memory, as long as to read so many


OfTests = Callable[[str], bool]
SHARED = "its threads touch the same, and one changes it"


def _nothing(file: str) -> bool:
    return False


class Footprint(NamedTuple):
    """What the clients of a test share.

    Attributes:
        why: the schedules have to be searched; empty if the clients share nothing that was seen.
        things: what they contend for (`contended`), if that is all known; else empty.
        in_c: the modules of C code of which they call something.
        ran: whether its clients do what they should, one after the other, as far as that was seen.
        steps: of that run; 0 if it was not seen to its end.
        sets: which name of a module or class, that belongs to the process, a client changes and others use; empty if none.
    """

    why: str
    things: Sequence[Thing] = ()
    in_c: Sequence[str] = ()
    ran: bool = True
    steps: int = 0
    sets: str = ""


class Records:
    """What takes time to install, in this process, for records in its forks.

    Args:
        limit: seconds that the records of one program may take.
        also: what else is installed.
    """

    def __init__(self, limit: float, also: AbstractContextManager[None]) -> None:
        self.limit, self._stack = limit, ExitStack()
        self._stack.enter_context(also)
        self._session = self._stack.enter_context(session_for(None, FuzzPlan(budget=limit)).before_forks())
        self._begun = False
        self._read: set[int] = set()  # code of which everything is known that its text tells, by id
        self._started: set[int] = set()  # code that has started in forks, and of which that is not known
        gc.freeze()

    def learn(self, parts: Iterable[Any]) -> None:
        """Find what programs reach by these, so that no fork has to."""
        self._session.learn(parts)
        gc.freeze()

    @property
    def started(self) -> list[int]:
        """In a fork: the ids of code that has started there, and was not read before."""
        return list(self._session.events.codes - self._read)

    def read(self, started: Iterable[int]) -> None:
        """Read the code that has started in a fork, which took half of the time of a record there: later forks know it then.

        Args:
            started: see there.
        """
        self._started.update(started)
        if len(self._started) < _WORTH_A_WALK or FREE_THREADED_BUILD:  # there, no walk shows the functions
            return
        gc.unfreeze()
        self._session.events.foresee(self._started, ())  # `use` forgets the tables, and keeps what they were made from
        gc.freeze()
        self._read |= self._started
        self._started.clear()

    def footprint(self, program: Program, of_tests: OfTests = _nothing) -> Footprint:
        """In a fork: what the threads of this program share.

        Args:
            of_tests: whether a file is of the tests.

        Raises:
            NotExplorable: no schedule can control the program.
            BaseException: what its setup raised.
        """
        if not self._begun:
            self._begun = True
            self._session.in_fork()
        explorer = self._session.use(program, Explorer)
        if not FREE_THREADED_BUILD:  # where both walk over all memory
            gc.collect(1)  # the garbage of earlier programs
            gc.freeze()
        return _footprint(explorer, monotonic() + self.limit, of_tests)

    def give_back(self) -> None:
        """In a fork in which nothing was recorded: remove what was installed."""
        self._stack.close()
        gc.unfreeze()


def footprint(program: Program, limit: float, of_tests: OfTests = _nothing) -> Footprint:
    """What the threads of this program share, by records of at most so many seconds in this process; see `Records.footprint`."""
    with explorer_for(program, FuzzPlan(budget=limit), lambda label: None) as explorer:
        return _footprint(explorer, monotonic() + limit, of_tests)


def _footprint(explorer: Explorer, until: float, of_tests: OfTests) -> Footprint:
    """What the threads of a program share.

    The first record is of its first run in this process, which makes what only a first run makes, such as a cache. What a step may
    touch counts as touched. If it is known of each step what it touches, that is all: two clients that meet in nothing do the same
    in every order. Otherwise the first record must not show anything that both touch, changed or not, and of a later run, which
    makes nothing anew, all must be known. When a step touches it need not be known.
    """
    record = _recorded(explorer, until, of_tests)
    if record.unknown and not (record.failed or record.things or record.shares):
        explorer.events.forget()
        explorer.in_order()
        record = _recorded(explorer, until, of_tests)
    found = _told(record)
    return Footprint(str(explorer.uncontrolled[0])) if not found.why and explorer.uncontrolled else found


class _Record(NamedTuple):
    failed: str = ""  # there is none, and why
    ran: bool = True  # no client has failed in it
    things: Sequence[Thing] = ()
    unknown: str = ""
    shares: bool = False  # it shows an object that both touch, whether it changes or not
    in_c: Sequence[str] = ()
    steps: int = 0
    sets: str = ""


def _told(record: _Record) -> Footprint:
    if record.failed or not (record.things or record.unknown):
        return Footprint(record.failed, in_c=record.in_c, ran=record.ran)
    if not record.things:
        return Footprint(f"it is not known what {record.unknown} touches", steps=record.steps)
    return Footprint(SHARED, () if record.unknown else record.things, steps=record.steps, sets=record.sets)


def _recorded(explorer: Explorer, until: float, of_tests: OfTests) -> _Record:
    trace, harmless = Trace(explorer.engine, focusing=True, until=until), Harmless()
    trace.lasting = False
    explorer.prepared = harmless.look
    with trace:
        run, failure = explorer.follow(Schedule(), recording=True)
    if failure is not None:
        return _Record(failure.message, ran=False)
    if trace.gave_up or run.unreported:
        return _Record("its record takes too long")
    things, unplaced = things_of(trace, harmless)
    unknown = [what for point, what in trace.not_known.items() if not _is_harmless(trace, point, what)]
    what = _in_words(unknown[0]) if unknown else "what a thread does that it starts" if trace.lives.started else unplaced
    sets = set_in_process(trace, of_tests) if things else ""
    return _Record(things=things, unknown=what, shares=trace.shares(), in_c=modules_in_c(trace), steps=run.points, sets=sets)


def _is_harmless(trace: Trace, point: int, unknown: str | tuple[CodeType, int]) -> bool:
    """Whether nothing follows from not knowing this. What a finalizer does makes steps of its own, where an object ends."""
    access = trace.accesses.get(point)
    if (access is not None and access.kind == "end") or unknown is trace.in_middle.get(point):
        return True
    return unknown == _CLOCK or is_in_code(trace.spots.get(point))


def _in_words(unknown: str | tuple[CodeType, int]) -> str:
    return unknown if isinstance(unknown, str) else told(*unknown)
