"""Runs a program under one policy after another, each time from a fresh state, and classifies each outcome."""

from __future__ import annotations

import gc
import re
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextvars import Context
from dataclasses import dataclass, field, replace
from enum import StrEnum
from itertools import cycle, islice
from math import factorial, inf
from typing import Any

from ..core import own_modules
from ..core.build_flags import FREE_THREADED_BUILD
from ..core.classes import name_of_class
from ..core.clocks import monotonic
from ..core.origin import ours, standard
from ..core.own_builtins import PutBack, Replaced
from ..core.source import came_through
from ..engine.bytecode.visible import Access
from ..engine.program import Program, describe_error
from ..engine.running import record
from ..engine.running.covered import Covered
from ..engine.running.engine import Engine
from ..engine.running.events import Events
from ..engine.running.journal import Journal
from ..engine.running.policy import Planned, PlannedWithout, Policy, SequentialOrder, StartedFirst
from ..engine.running.record import ScheduleRun
from ..engine.running.stuck import SetupStuck
from ..engine.running.task import Uncontrolled
from ..engine.schedule import Schedule
from .orders import STARTED_FIRST, Order, further_orders, orders_of

_NUMBERS = re.compile(r"0x[0-9a-fA-F]+|\d+")
_CONFIRMATIONS = 3  # runs of a schedule that failed while something was not under control
_MOST_SLEEPS = 100  # of a thread in a sequential run, beside which no other one of the program's own runs; after that, it polls
_NOTICED = 100_000_000  # nanoseconds by which the virtual clock is ahead
_OF_FILE_TIMES = re.compile(r"\bst_[abcm]|\.get[acm]time\b")
_FILE_TIMES = (
    "It reads times of files, which are real, and clocks, which are virtual in a check: set those of the files by os.utime"
)
_SHORT = 0.05  # seconds of a run, up to which it matters that the setup's thread takes 0.3 ms; on a busy machine too
_LOOKS = 16  # runs after which we look closely what a run has taken, and at every so many-th one after that: it takes 25 us
_COLLECT_EVERY = 1000 if FREE_THREADED_BUILD else 50  # runs; a free-threaded collection takes 12 ms


class Symptom(StrEnum):
    """What went wrong in a run."""

    INVARIANT = "invariant"
    EXCEPTION = "exception"  # one that not every sequential order raises
    DEADLOCK = "deadlock"
    NEVER_ENDS = "never ends"  # a thread waits for something that no thread will do, after a lost wake-up for instance
    LIVELOCK = "livelock"
    HANGS = record.HANGS  # a thread computes, or is blocked outside of control, until the timeout
    CRASHED = "crashed"  # the process died, in stress mode


@dataclass(frozen=True)
class Failure:
    """A run that broke the program.

    Attributes:
        message: what is broken, in one line.
        run: the run, with its schedule.
        error: the exception that escaped, or that the teardown raised; None if neither is the symptom.
    """

    symptom: Symptom
    message: str
    run: ScheduleRun
    error: BaseException | None = None

    @property
    def schedule(self) -> Schedule:
        return self.run.schedule


@dataclass
class SequentialBaseline:
    """What the program does in every sequential order.

    Attributes:
        expected: by type name, the exceptions that every sequential order raises, with the largest number of each.
        known: type, place and message of each exception that some sequential order raises, numbers aside.
        left: names of the threads that every sequential order leaves waiting.
    """

    expected: dict[str, int] = field(default_factory=dict)
    known: frozenset[str] = frozenset()
    left: frozenset[str] = frozenset()

    @classmethod
    def common(cls, each: Iterable[SequentialBaseline]) -> SequentialBaseline:
        """What all of several orders do."""
        runs = list(each)
        always = set.intersection(*(set(run.expected) for run in runs))
        return cls(
            expected={name: max(run.expected.get(name, 0) for run in runs) for name in always},
            known=frozenset().union(*(run.known for run in runs)),
            left=frozenset.intersection(*(run.left for run in runs)),
        )


class NotExplorable(Exception):
    """The program cannot be explored; the message says why."""


class StartsNoThread(NotExplorable):
    """The program has one thread, and no run of it has started another."""


class SequentialFailure(Exception):
    """The program fails without any concurrency. The cause is the exception, if there is one.

    Attributes:
        again: whether it passed when it ran for the first time, so that what it leaves behind makes it fail.
        hangs: whether it does not end.
        failure: how the first order fails, if that is no exception of a thread.
    """

    def __init__(self, message: str, again: bool = False, *, hangs: bool = False, failure: Failure | None = None) -> None:
        super().__init__(message)
        self.again, self.hangs, self.failure = again, hangs, failure


@dataclass
class Explorer:
    """Runs a program repeatedly.

    Attributes:
        between_runs: called before each run.
        prepared: called with the state of a run, when it has been made and before its threads begin.
        runs: the number of runs so far.
        uncontrolled: what happened outside of control in any of them, the first ten.
        passing: the sequential orders that did not fail when they ran as the baseline.
        failing: those that did.
        every_order: which sequential orders have run, in words.
        most_seconds: that the sequential orders may take, the first two runs aside; they are cut short then.
        pace: seconds that the last run took which nobody observed or measured, with its setup and teardown, and no step hidden.
        ready: when the first two runs had ended, by ``time.monotonic``: what only these do counts for no budget.
        first_alone: where the first run came and the sequential orders after it did not; empty if nowhere.
        first_seconds: what the first run took.
        unreported: where the first run went on without reports of its steps; empty if it did not.
        first_path: a checksum of where the first run came.
        replaced: the built-in names that its runs replace.
        setup_at_home: whether the setup runs in the thread of the invariant on a free-threaded build too.
        starts_threads: whether a run had threads beside the program's own.
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
    passing: list[Order] = field(default_factory=list)
    failing: list[Order] = field(default_factory=list)
    every_order: str = "every sequential order"
    most_seconds: float = inf
    ready: float = 0.0
    pace: float = 0.0
    setup_at_home: bool = False
    first_alone: str = ""
    first_path: int = 0
    first_seconds: float = 0.0
    unreported: str = ""
    starts_threads: bool = False
    replaced: Replaced = field(default_factory=Replaced)
    _explained: list[BaseException] = field(default_factory=list)  # what the first of all runs raised, before `Program.terse`
    _until: float = inf
    _ran: int | None = None  # orders; all of them before that
    _teardown_error: Exception | None = None
    _confirming: bool = False
    _noted: int = -1
    _same_in_place: bool = False  # every order takes the same path without a thread for the setup
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
        self.between_runs()
        self.runs += 1
        begun = monotonic()
        if engine.journal is not None:
            self._note_what_it_depends_on(engine.journal)
        names = self.events.names
        engine.workers.fresh |= names.thread_ends_matter or (FREE_THREADED_BUILD and names.ends_noticed)
        if self.runs % _COLLECT_EVERY == 0:
            gc.collect(0)  # garbage of the last runs; during a run, a finalizer could come at any step
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
            finally:
                goes_on = run is not None and not run.stuck and not run.refused
                torn = self._torn_down(run) if goes_on else None  # it may have to tell threads to end that the setup has started
                engine.end()
                torn = torn if goes_on else self._torn_down(run)
                broken = broken or torn
        except SetupStuck as error:
            raise NotExplorable(f"the setup or the invariant is stuck: {error}") from None
        except Uncontrolled as error:  # `refuse`, in the main thread
            raise NotExplorable(str(error)) from None
        finally:
            closely = self.runs <= _LOOKS or self.runs % _LOOKS == 0
            if closely or self._takes_modules:
                self._takes_modules = own_modules.put_back() or self._takes_modules
            if self.replaced.end(closely=closely):
                self.events.names.rebound(self.replaced.names)
        if engine.observer is None and not measuring and not self._narrow and type(policy) is not PlannedWithout:
            self.pace = monotonic() - begun
        if run.uncontrolled and len(self.uncontrolled) < 10:
            self.uncontrolled += run.uncontrolled
        if refused := run.refused or self.events.lost:
            raise NotExplorable(refused)
        if engine.exhausted:
            raise NotExplorable(f"{engine.leaked} threads of its runs did not end: {'; '.join(self.uncontrolled[:2])}")
        return run, self._confirmed(self._classify(run, broken))

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

    def in_order(self, order: Sequence[int] | None = None, *, measuring: bool = False) -> tuple[ScheduleRun, Failure | None]:
        """Run the threads one after the other in this order. A sleep lets only those run that the program has started."""
        threads = range(len(self.program.threads))
        policy = StartedFirst(threads) if order == STARTED_FIRST else SequentialOrder(threads if order is None else order)
        engine, journal = self.engine, self.engine.journal
        engine.most_sleeps = _MOST_SLEEPS
        if journal is not None:
            journal.set_sequential(True)
        try:
            return self.once(policy, measuring=measuring)
        finally:
            engine.most_sleeps = 0
            if journal is not None:
                journal.set_sequential(False)

    def in_sequence(self, runs: int) -> Iterator[Failure | None]:
        """Run so many sequential orders, each in turn, and yield how each fails."""
        for order in islice(cycle(self._orders()), runs):
            yield self.in_order(order)[1]

    def sequential(self, *, visible: bool = True) -> list[ScheduleRun]:
        """Run every sequential order, and take what all of them do as the baseline.

        Args:
            visible: whether the program must make visible steps.

        Raises:
            SequentialFailure: the program fails in every sequential order, or hangs in one.
            NotExplorable: it makes no visible step.
        """
        while True:
            try:
                return self._in_some_thread(visible)
            except NotExplorable:
                raise
            except Exception as error:  # also of setup and teardown
                hangs, again = (error.hangs, error.again) if isinstance(error, SequentialFailure) else (False, False)
                if hangs or not self.engine.chance.renew(numbers=again):
                    if self.engine.clock.now > _NOTICED and self.events.names.mention(_OF_FILE_TIMES):
                        what = str(error) if isinstance(error, SequentialFailure) else describe_error(error)
                        raise NotExplorable(f"{what}. {_FILE_TIMES}") from error
                    raise

    def _in_some_thread(self, visible: bool) -> list[ScheduleRun]:
        """Run every sequential order, with the setup where they pass."""
        try:
            return self._in_every_order(visible)
        except NotExplorable:
            raise
        except SequentialFailure as error:
            if not FREE_THREADED_BUILD or self.setup_at_home or error.hangs or error.again:
                raise
        except Exception:
            # Of the teardown, which may need the setup's thread: it resets a context variable, or closes a connection of sqlite's.
            if not FREE_THREADED_BUILD or self.setup_at_home:
                raise
        self.setup_at_home = True  # its invariant may look for what the setup has left with its thread
        return self._in_every_order(visible)

    def sequential_with(self, draw: int) -> list[ScheduleRun]:
        """Run every sequential order with another draw of chance.

        `ready`, `first_path` and `first_alone` stay what the first of all runs has made them; the first of this draw may add a
        place to which it alone came.
        """
        self.engine.chance.draw = draw
        ready, path, alone = self.ready, self.first_path, self.first_alone
        runs = self.sequential()
        self.ready, self.first_path, self.first_alone = ready, path, alone or self.first_alone
        return runs

    def _in_every_order(self, visible: bool) -> list[ScheduleRun]:
        first, second, later = Covered(), Covered(), Covered()
        with self.events.covering(first):
            run, first_failure = self._first_of_all() if self.runs == 0 else self.in_order()
        first_of_all = run.raised_beneath
        self._explained += [error for _, _, error in run.errors]
        if run.stuck == Symptom.HANGS:  # the other orders would take as long again
            raise SequentialFailure(f"it hangs in a sequential order: {blocked_message(run)}", hangs=True)
        self.program.terse()
        self.events.forget()
        with self.events.covering(second):
            self.in_order()  # for what only a first run of code that is watched does: its steps are told from its instructions
        if not FREE_THREADED_BUILD:
            gc.collect(1)  # what these have made is old from here on, so that a record finds its own among the young
        self.ready = monotonic()
        self._until = min(self._until, self.ready + self.most_seconds)
        with self.events.covering(later):
            runs, failures, others = self._measured_beside_sleeps()
        self.first_path = first.digest
        self.first_alone = "" if run.stuck or run.refused else first.beyond(second, later)
        self.passing = [order for order, failure in zip(self._orders(), failures, strict=True) if failure is None]
        self.events.names.begin()
        self.baseline = SequentialBaseline.common(self.baseline_of(run) for run in (*runs, *others))
        ran, all_fail = list(runs), all(failures)
        self.failing = [order for order, failure in zip(self._orders(), failures, strict=True) if failure is not None]
        if self.baseline.expected or self.baseline.left or all_fail:
            if len(runs) < len(orders_of(len(self.program.threads))):
                raise NotExplorable(f"its sequential orders alone take longer than {self.most_seconds:g} s: raise budget")
            all_fail = self._in_further_orders(ran, all_fail)
        if self.baseline.expected and not first_of_all and self.engine.chance.renew(numbers=True):
            return self._in_every_order(visible)  # what a later run makes may be there already, by the same name
        every = len(ran) == factorial(len(self.program.threads))
        self.every_order = "every sequential order" if every else f"each of {len(ran)} sequential orders"
        raises = self._error_of_all(ran)
        failed = failures[0] if all_fail and failures[0] is not None and failures[0].symptom is not Symptom.EXCEPTION else None
        if (raises is not None or failed is not None) and self._passes_with_started_first():
            raises = failed = None
        if raises is not None:
            again = 0 not in first_of_all and self._fails_alone()
            same = (each for each in self._explained if self._identity(each) == self._identity(raises))
            raises = next(same, raises)
            raise SequentialFailure(f"{self.every_order} fails: {describe_error(raises)}", again) from raises
        if failed is not None:
            message = f"{self.every_order} fails: {failed.symptom}: {failed.message}"
            again = first_failure is None
            raise SequentialFailure(message, again, failure=failed) from failed.error if again else None
        if len(self.program.threads) == 1 and not self.starts_threads:
            raise StartsNoThread("it starts no thread: nothing can interleave. Run it in 2 threads, or remove the check")
        if visible and not any(sum(run.lengths.values()) for run in runs):
            raise NotExplorable(
                "its threads make no visible step: what they share is in C, or in code that is not under test. Use mode='stress' "
                "on a free-threaded build, or put more modules under test with include=(...)"
            )
        short = self.pace < _SHORT or self.most_seconds == inf  # a search that ends by count decides by no clock
        if FREE_THREADED_BUILD and not self.setup_at_home and short and self._nobody_notices:
            self._same_in_place = self._same_path_in_place(later, list(zip(runs, failures, strict=True)))
        return runs

    def _error_of_all(self, ran: Sequence[ScheduleRun]) -> BaseException | None:
        """An exception that all orders raise and that is no part of what the program may do; None if there is none."""
        if not self.baseline.expected or not all(run.errors for run in ran):
            return None
        error = ran[0].errors[0][2]
        nothing_works = all(len(run.errors) >= len(self.program.threads) for run in ran)
        return error if nothing_works or not self.program.may_raise or isinstance(error, AssertionError) else None

    def _passes_with_started_first(self) -> bool:
        """Whether a program that fails in every order passes if each thread that it starts runs at once: then it has a race.

        A test that starts a thread and waits for nothing passes plainly, because a thread often does run at once.
        """
        if not self.starts_threads:
            return False
        self.every_order = f"{self.every_order}, also if each thread that it starts runs at once"
        run, failure = self.in_order(STARTED_FIRST)
        if failure is not None or run.errors:
            return False
        self.baseline = SequentialBaseline()
        self.passing.append(STARTED_FIRST)
        return True

    def _first_of_all(self) -> tuple[ScheduleRun, Failure | None]:
        """For what only the first run of a process does, such as imports, and which may take long, once."""
        begun = monotonic()
        with self.engine.may_go_on_unreported(self.events.end_reports):
            run, failure = self.in_order()
        self.first_seconds, self.unreported = monotonic() - begun, run.unreported
        return run, failure

    @property
    def _nobody_notices(self) -> bool:
        """Whether no code under test may notice when an object ends, or in which thread the setup runs."""
        names = self.events.names
        return not (names.ends_noticed or names.thread_matters or names.anything)

    def _same_path_in_place(self, path: Covered, outcomes: list[tuple[ScheduleRun, Failure | None]]) -> bool:
        """Whether every order takes this path, and ends in the same way, without a thread for the setup."""
        taken, kept = Covered(), self._kept_by_this_thread()
        self._same_in_place = True
        with self.events.covering(taken):
            in_place = [self.in_order(order, measuring=True) for order in self._orders()]
        for order, (_, before), (_, failure) in zip(self._orders(), outcomes, in_place, strict=True):
            if failure is not None and before is None and self.in_order(order)[1] is None:
                self.uncontrolled.insert(0, f"a sequential order failed once, and not again: {failure.message}")
        same = taken.digest == path.digest and [*map(self._ending, in_place)] == [*map(self._ending, outcomes)]
        return same and kept == self._kept_by_this_thread()

    def _kept_by_this_thread(self) -> list[dict[str, int]]:
        """Which objects the main thread has in each `threading.local` of the program."""
        return [{name: id(value) for name, value in vars(local).items()} for local in self.engine.thread_locals]

    def _ending(self, outcome: tuple[ScheduleRun, Failure | None]) -> tuple[object, ...]:
        run, failure = outcome
        return run.points, failure is None, self.baseline_of(run)

    def _in_further_orders(self, ran: list[ScheduleRun], all_fail: bool) -> bool:
        """Run more orders than those at first, as long as all have something in common, and narrow the baseline to that.

        Args:
            ran: the runs so far; the others are added.
            all_fail: whether all of them fail.

        Returns:
            The same of all orders.
        """
        late = {order: {index for index, _, _ in run.errors} for order, run in zip(self._orders(), ran, strict=True)}
        orders, failing = further_orders(late), None
        while (self.baseline.expected or self.baseline.left or all_fail) and not self._late:
            try:
                order = next(orders) if failing is None else orders.send(failing)
            except StopIteration:
                break
            run, failure = self.in_order(order)
            ran.append(run)
            failing = {index for index, _, _ in run.errors}
            self.baseline = SequentialBaseline.common((self.baseline, self.baseline_of(run)))
            if failure is None and not failing:
                all_fail = False
                self.passing.append(order)
        return all_fail

    @property
    def _late(self) -> bool:
        """Whether the sequential orders have taken all of their time."""
        return monotonic() > self._until

    def baseline_of(self, run: ScheduleRun) -> SequentialBaseline:
        """What one sequential order does."""
        return SequentialBaseline(
            expected=dict(Counter(name_of_class(type(error)) for _, _, error in run.errors)),
            known=frozenset(self._identity(error) for _, _, error in run.errors),
            left=frozenset(blocked.thread for blocked in run.left),
        )

    def fails_now(self) -> Failure | None:
        """A failure of the sequential orders that passed before, if all of them fail now: what earlier runs left breaks them."""
        failures = [self.in_order(order)[1] for order in self.passing]
        return failures[0] if failures and all(failures) else None

    def _fails_alone(self) -> bool:
        """Whether the first thread fails now although no other does anything, from a fresh state."""
        first, *others = self.program.threads
        alone = replace(self.program, threads=(first, *(_do_nothing for _ in others)))
        return bool(Explorer(alone, self.engine, self.events, replaced=self.replaced).in_order()[0].errors)

    def _identity(self, error: BaseException) -> str:
        """By what an exception is recognised: its type, its message without numbers and addresses, and where it comes from."""
        where = ""
        for code, line in came_through(error):
            if self.engine.takes_part(code.co_filename):
                where = f"{code.co_filename}:{line}"
        return f"{where} {_NUMBERS.sub('#', describe_error(error))}"

    def learn(self, learnt: Iterable[int]) -> None:
        """Take over what an earlier search has learnt about names (`Changing.learnt`), and what follows from it.

        When a thread is taken for one that polls depends on how many steps it makes, so these are counted anew.
        """
        self.events.names.learn(learnt)
        if not self.events.tables_unchanged():
            self.measured()

    def measured(self) -> list[ScheduleRun]:
        """Run every sequential order, after the visible steps have become more."""
        return self._measured()[0]

    def _measured(self) -> tuple[list[ScheduleRun], list[Failure | None]]:
        self.events.tables_unchanged()
        while True:
            outcomes = []
            for order in orders_of(len(self.program.threads)):
                outcomes.append(self.in_order(order, measuring=True))
                if self._late:
                    break
            self._ran = len(outcomes)
            # Otherwise, an order has started code that stores what had counted as constant.
            if self.events.tables_unchanged() or self._late:
                lengths = [run.points - run.wasted for run, _ in outcomes]
                self.engine.learn_length(min(lengths), max(lengths), max(run.points for run, _ in outcomes))
                return [run for run, _ in outcomes], [failure for _, failure in outcomes]

    def _measured_beside_sleeps(self) -> tuple[list[ScheduleRun], list[Failure | None], list[ScheduleRun]]:
        """The runs of every sequential order, how each fails, and further runs.

        A thread that sleeps may wait so for what it has started; or it sleeps between two steps of its own, and what else the
        program has started breaks it then, as in any other schedule. So if all fail, they run with sleeps that let nobody run.
        """
        self.engine.sleeps_alone = False
        runs, failures = self._measured()
        if not all(failures) or not self.engine.clock.matters or self._late:
            return runs, failures, []
        self.engine.sleeps_alone = True
        alone, failures_alone = self._measured()
        if not all(failures_alone):
            return alone, failures_alone, runs
        self.engine.sleeps_alone = False
        return runs, failures, alone

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
        if self._same_in_place and self._nobody_notices:
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

    def _orders(self) -> list[Order]:
        """The sequential orders that have run, in time."""
        return orders_of(len(self.program.threads))[: self._ran]

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

    def _classify(self, run: ScheduleRun, broken: str | None) -> Failure | None:
        if run.stuck:
            return Failure(Symptom(run.stuck), blocked_message(run), run)
        expected = dict(self.baseline.expected) if run.errors else {}
        for _, name, error in run.errors:
            if self.replaced.names and _raised_beneath_ours(error):
                raise NotExplorable(self.replaced.explain(describe_error(error)))
            kind = name_of_class(type(error))
            if expected.get(kind, 0) == 0:
                more = ", more often than in any sequential order" if kind in expected else ""
                return Failure(Symptom.EXCEPTION, f"{name} raised {describe_error(error)}{more}", run, error)
            if self._identity(error) not in self.baseline.known:
                message = f"{name} raised {describe_error(error)}, and sequential orders raise another {kind}"
                return Failure(Symptom.EXCEPTION, message, run, error)
            expected[kind] -= 1
        if broken is not None:
            return Failure(Symptom.INVARIANT, broken, run, self._teardown_error)
        if left := [blocked for blocked in run.left if blocked.thread not in self.baseline.left]:
            message = ", ".join(f"{blocked.thread} waits for {blocked.waits_for} at {blocked.at}" for blocked in left)
            return Failure(Symptom.NEVER_ENDS, message, run)
        return None


def _raised_beneath_ours(error: BaseException) -> bool:
    """Whether an error of a thread was raised by code of the standard library that ours had called."""
    called_by_ours = beneath = False
    for code, _ in came_through(error):
        beneath = standard(code.co_filename) and (beneath or called_by_ours)
        called_by_ours = ours(code.co_filename)
    return beneath


def _do_nothing(*arguments: object) -> None:
    pass


def blocked_message(run: ScheduleRun) -> str:
    """Which thread waits for what, in one line."""
    lines = []
    for waiting in run.blocked:
        held = f", which {waiting.holder} has" if waiting.holder else ""
        lines.append(f"{waiting.thread} waits for {waiting.waits_for}{held}, at {waiting.at}")
    return "; ".join(lines)
