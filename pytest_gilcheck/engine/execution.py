"""Runs one program under one policy after another, each time from a fresh state, and says how each run ended.

It decides nothing: which policy is next, and what the program does without concurrency (`SequentialBaseline`), it is told.
"""

from __future__ import annotations

import gc
from collections.abc import Callable, Mapping, Sequence
from contextvars import Context
from dataclasses import dataclass, field
from typing import Any

from ..core import own_modules
from ..core.build_flags import FREE_THREADED_BUILD
from ..core.clocks import monotonic
from ..core.origin import ours, standard
from ..core.own_builtins import PutBack, Replaced
from ..core.source import came_through
from .bytecode.visible import Access
from .outcome import (
    WAITING,
    Failure,
    NotExplorable,
    SequentialBaseline,
    SequentialFailure,
    Symptom,
    stuck_failure,
)
from .program import Program, describe_error
from .running.engine import Engine
from .running.events import Events
from .running.journal import Journal
from .running.policy import STARTED_FIRST, Planned, PlannedWithout, Policy, SequentialOrder, StartedFirst
from .running.record import ScheduleRun
from .running.stuck import SetupStuck
from .running.task import Uncontrolled
from .schedule import Schedule

_CONFIRMATIONS = 3  # runs of a schedule that failed while something was not under control
_MOST_SLEEPS = 100  # of a thread in a sequential run, beside which no other one of the program's own runs; after that, it polls
_LOOKS = 16  # runs after which we look closely what a run has taken, and at every so many-th one after that: it takes 25 us
_COLLECT_EVERY = 1000 if FREE_THREADED_BUILD else 50  # runs; a free-threaded collection takes 12 ms


@dataclass
class Execution:
    """The runs of one program.

    Attributes:
        baseline: what the program does in every sequential order: a run that does only that has not failed.
        progress: told what is being done.
        between_runs: called before each run.
        prepared: called with the state of a run, when it has been made and before its threads begin.
        runs: the number of runs so far.
        uncontrolled: what happened outside of control in any of them, the first ten.
        passing: the sequential orders that did not fail when they ran as the baseline.
        pace: seconds that the last run took which nobody observed or measured, with its setup and teardown, and no step hidden.
        starts_threads: whether a run had threads beside the program's own.
        setup_at_home: whether the setup runs in the thread of the invariant on a free-threaded build too.
        same_in_place: whether every order takes the same path without a thread for the setup.
        replaced: the built-in names that its runs replace.
    """

    program: Program
    engine: Engine
    events: Events
    baseline: SequentialBaseline = field(default_factory=SequentialBaseline)
    progress: Callable[[str], None] = lambda label: None
    between_runs: Callable[[], None] = lambda: None
    prepared: Callable[[tuple[Any, ...]], None] | None = None
    runs: int = 0
    uncontrolled: list[str] = field(default_factory=list)
    passing: list[tuple[int, ...]] = field(default_factory=list)
    pace: float = 0.0
    starts_threads: bool = False
    setup_at_home: bool = False
    same_in_place: bool = False
    replaced: Replaced = field(default_factory=Replaced)
    _teardown_error: Exception | None = None
    _confirming: bool = False
    _noted: int = -1
    _narrow: bool = False
    _was_set_up: bool = False
    _takes_modules: bool = False  # whether a run has taken ours, or pytest's, out of `sys.modules`

    def once(self, policy: Policy, *, recording: bool = False, measuring: bool = False) -> tuple[ScheduleRun, Failure | None]:
        """Run the program once.

        Raises:
            BaseException: what teardown raised, or setup in the first run.
            SequentialFailure: setup raised in a later run.
            NotExplorable: the program does what no schedule can control, or too many of its threads did not end.
        """
        engine = self.engine
        self._begin()
        begun = monotonic()
        engine.begin()
        broken, run, self._teardown_error = None, None, None
        self.replaced.begin()
        try:
            try:
                arguments = self._set_up()
                if self.prepared is not None:
                    with PutBack():
                        self.prepared(arguments)
                run = engine.run(self.program.threads, arguments, policy, recording=recording, measuring=measuring)
                self.starts_threads = self.starts_threads or not engine.tasks[-1].root
                if engine.recorder is not None:
                    engine.recorder.ended(run)
                if not run.stuck and not run.refused and not run.early:
                    broken = self.program.check_invariant(arguments)
                elif run.stuck in WAITING and not run.refused and self.program.oracle is not None:
                    broken = self.program.oracle(arguments, run.blocked)
                    run.explained = broken is None
            finally:
                goes_on = run is not None and not run.stuck and not run.refused
                torn = self._torn_down(run) if goes_on else None  # it may have to tell threads to end that the setup has started
                engine.end()
                torn = torn if goes_on else self._torn_down(run)
        except SetupStuck as error:
            raise NotExplorable(f"the setup or the invariant is stuck: {error}") from None
        except Uncontrolled as error:  # `refuse`, in the main thread
            raise NotExplorable(str(error)) from None
        finally:
            self._put_back()
        if engine.observer is None and not measuring and not self._narrow and type(policy) is not PlannedWithout:
            self.pace = monotonic() - begun
        if run.uncontrolled and len(self.uncontrolled) < 10:
            self.uncontrolled += run.uncontrolled
        if refused := run.refused or self.events.lost:
            raise NotExplorable(refused)
        if engine.exhausted:
            raise NotExplorable(f"{engine.leaked} threads of its runs did not end: {'; '.join(self.uncontrolled[:2])}")
        return run, self._confirmed(self._failure_of(run, broken or torn))

    def _begin(self) -> None:
        """Before a run."""
        engine, names = self.engine, self.events.names
        self.between_runs()
        self.runs += 1
        if engine.journal is not None:
            self._note_what_it_depends_on(engine.journal)
        engine.workers.fresh |= names.thread_ends_matter or (FREE_THREADED_BUILD and names.ends_noticed)
        if self.runs % _COLLECT_EVERY == 0:
            gc.collect(0)  # garbage of the last runs; during a run, a finalizer could come at any step

    def _put_back(self) -> None:
        """After a run: what it has taken of that on which our own code stands."""
        closely = self.runs <= _LOOKS or self.runs % _LOOKS == 0
        if closely or self._takes_modules:
            self._takes_modules = own_modules.put_back() or self._takes_modules
        if self.replaced.end(closely=closely):
            self.events.names.rebound(self.replaced.names)

    def _note_what_it_depends_on(self, journal: Journal) -> None:
        """What a run needs beside its schedule, to be followed again by another process."""
        journal.set_draw(self.engine.chance.draw)
        if self.events.names.facts_used != self._noted:
            self._noted = self.events.names.facts_used
            journal.learn(self.events.names.learnt())

    def _confirmed(self, failure: Failure | None) -> Failure | None:
        """The failure; None if it may come from what was not under control: it does not come again with the same schedule."""
        if failure is None or not failure.run.uncontrolled or failure.symptom is Symptom.HANGS or self._confirming:
            return failure
        recorder, self.engine.recorder = self.engine.recorder, None  # these runs are not the one that it records
        self._confirming = True
        try:
            again = any(self.follow(failure.schedule)[1] is not None for _ in range(_CONFIRMATIONS))
        finally:
            self._confirming, self.engine.recorder = False, recorder
        return failure if again else None

    def hide(self, hidden: Mapping[int, Access]) -> None:
        """From here on, these steps are no points of a run (`Events.narrow`); none of them: every step is one again."""
        self._narrow = bool(hidden)
        if hidden:
            self.events.narrow(hidden)
        else:
            self.events.widen()
        if self.engine.journal is not None:
            self.engine.journal.set_narrow(bool(hidden))

    def with_every_step(self, failure: Failure, hidden: Mapping[int, Access]) -> Failure | None:
        """The failure of a run in which these steps were hidden, in one where every step is a point.

        None if that does not fail. Then no claim is made of the program: a run of it has failed (`uncontrolled`).
        """
        _, found = self.follow_without(failure.schedule, hidden)
        if found is None:
            again = "its schedule did not fail again with every step; raise budget, so that no step is left out"
            self.uncontrolled.insert(
                0, f"a run in which steps were left out failed ({failure.symptom}: {failure.message}), and {again}"
            )
        return found

    def follow_without(self, schedule: Schedule, hidden: Mapping[int, Access]) -> tuple[ScheduleRun, Failure | None]:
        """Follow the schedule of a run in which these steps were hidden, with every step as a point."""
        self.hide({})
        return self.once(PlannedWithout(schedule, hidden))

    def follow(self, schedule: Schedule, *, recording: bool = False, measuring: bool = False) -> tuple[ScheduleRun, Failure | None]:
        """Run the program with this schedule, as far as it can be followed."""
        return self.once(Planned(schedule), recording=recording, measuring=measuring)

    def in_order(
        self, order: Sequence[int] | None = None, *, measuring: bool = False, times_out: bool = False
    ) -> tuple[ScheduleRun, Failure | None]:
        """Run the threads one after the other in this order. A sleep lets only those run that the program has started.

        Args:
            times_out: whether a wait with a timeout ends by that where its thread would have to wait for one after it.
        """
        engine, journal = self.engine, self.engine.journal
        engine.most_sleeps = _MOST_SLEEPS
        if journal is not None:
            journal.set_sequential(True)
        threads = range(len(self.program.threads))
        in_turn = SequentialOrder(threads if order is None else order, times_out=times_out)
        policy = StartedFirst(threads) if order == STARTED_FIRST else in_turn
        try:
            with engine.clock.any_delay(times_out):
                return self.once(policy, measuring=measuring)
        finally:
            engine.most_sleeps = 0
            if journal is not None:
                journal.set_sequential(False)

    def baseline_of(self, run: ScheduleRun) -> SequentialBaseline:
        """What one sequential order does."""
        return SequentialBaseline.of(run, self.engine.takes_part)

    @property
    def is_alone(self) -> bool:
        """Whether no run had more than one thread."""
        return len(self.program.threads) == 1 and not self.starts_threads

    @property
    def nobody_notices(self) -> bool:
        """Whether no code under test may notice when an object ends, or in which thread the setup runs."""
        names = self.events.names
        return not (names.ends_noticed or names.thread_matters or names.anything)

    def _set_up(self) -> tuple[Any, ...]:
        """The state of a run; if it cannot be made again, what an earlier run has left is to blame."""
        try:
            state = self._fresh_state()
        except Exception as error:
            if not self._was_set_up or isinstance(error, SetupStuck):
                raise
            raise SequentialFailure(f"its setup raised {describe_error(error)}", again=True) from error
        self._was_set_up = True
        return state

    def _fresh_state(self) -> tuple[Any, ...]:
        """The state of a run.

        A free-threaded build ends an object in the thread that made it, if that thread still runs, at a later time. So the setup
        runs in a thread of its own, which is over before the run, and an object ends where its last reference goes. But what a
        thread keeps for itself (a `threading.local`, a context variable, its own number) is gone then. Where that makes every
        order fail, the setup runs where the invariant does (`setup_at_home`), and an object may end late, as it does for users.

        The end of that thread takes 0.25 ms: it looks 1,024 times at memory that earlier threads have left (`_mi_abandoned_collect`
        in CPython's mimalloc), as soon as one has left any. So the thread is spared where nobody may notice when an object ends,
        nor which thread it is; a context variable is not kept either.
        """
        if not FREE_THREADED_BUILD or self.setup_at_home:
            return self.program.fresh_state()
        if self.same_in_place and self.nobody_notices:
            return Context().run(self.program.fresh_state)
        made: list[tuple[Any, ...]] = []
        errors: list[BaseException] = []

        def setup() -> None:
            try:
                made.append(self.program.fresh_state())
            except BaseException as error:
                errors.append(error)

        self.engine.in_a_thread(setup)
        if not errors:
            return made.pop()
        if not isinstance(errors[0], Exception) or isinstance(errors[0], SetupStuck):
            raise errors.pop()
        self.setup_at_home = True  # it may need the main thread, as `signal.signal` does
        return self.program.fresh_state()

    def _torn_down(self, run: ScheduleRun | None) -> str | None:
        """Tear down after a run, or a setup that failed; returns why the run fails, if the teardown says so."""
        if self.program.teardown is None:
            return None
        try:
            self.program.teardown()
        except SetupStuck as error:  # perhaps a lock that the run has left held, or a thread that it has left waiting
            return None if run is None or run.stuck or run.left else f"the teardown is stuck: {error}"
        except Exception as error:
            if not isinstance(error, AssertionError) and not self.passing:  # it is the program's own error, without any concurrency
                raise
            self._teardown_error = error
            return f"the teardown raised {describe_error(error)}"
        return None

    def _failure_of(self, run: ScheduleRun, broken: str | None) -> Failure | None:
        """How a run has failed; None if it has not.

        Args:
            broken: what the invariant, the oracle or the teardown says.
        """
        if run.stuck and not run.explained:
            return stuck_failure(run, "" if self.program.oracle is None else broken or "")
        for _, _, error in run.errors:
            if self.replaced.names and _raised_beneath_ours(error):
                raise NotExplorable(self.replaced.explain(describe_error(error)))
        if (failure := self.baseline.unexpected_error(run, self.engine.takes_part)) is not None:
            return failure
        if broken is not None:
            return Failure(Symptom.INVARIANT, broken, run, self._teardown_error)
        return self.baseline.unexpected_wait(run)


def _raised_beneath_ours(error: BaseException) -> bool:
    """Whether an error of a thread was raised by code of the standard library that ours had called."""
    called_by_ours = beneath = False
    for code, _ in came_through(error):
        beneath = standard(code.co_filename) and (beneath or called_by_ours)
        called_by_ours = ours(code.co_filename)
    return beneath
