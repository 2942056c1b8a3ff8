"""What a program does without concurrency: its sequential orders, the baseline of everything that a search finds."""

from __future__ import annotations

import gc
import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from itertools import cycle, islice
from math import factorial, inf

from ..core.build_flags import FREE_THREADED_BUILD
from ..core.clocks import monotonic
from ..engine.execution import Execution
from ..engine.outcome import (
    Failure,
    NotExplorable,
    SequentialBaseline,
    SequentialFailure,
    StartsNoThread,
    Symptom,
    identity_of,
    waits_in_words,
)
from ..engine.program import describe_error
from ..engine.running.covered import Covered
from ..engine.running.policy import STARTED_FIRST
from ..engine.running.record import ScheduleRun
from .orders import Order, further_orders, orders_of

_NOTICED = 100_000_000  # nanoseconds by which the virtual clock is ahead
_OF_FILE_TIMES = re.compile(r"\bst_[abcm]|\.get[acm]time\b")
_FILE_TIMES = (
    "It reads times of files, which are real, and clocks, which are virtual in a check: set those of the files by os.utime"
)
_SHORT = 0.05  # seconds of a run, up to which it matters that the setup's thread takes 0.3 ms; on a busy machine too


@dataclass
class Explorer(Execution):
    """The runs of one program, of which the sequential orders come first.

    Attributes:
        failing: the sequential orders that failed when they ran as the baseline.
        every_order: which sequential orders have run, in words.
        most_seconds: that the sequential orders may take, the first two runs aside; they are cut short then.
        ready: when the first two runs had ended, by ``time.monotonic``: what only these do counts for no budget.
        first_alone: where the first run came and the sequential orders after it did not; empty if nowhere.
        first_seconds: what the first run took.
        unreported: where the first run went on without reports of its steps; empty if it did not.
        first_path: a checksum of where the first run came.
    """

    failing: list[Order] = field(default_factory=list)
    every_order: str = "every sequential order"
    most_seconds: float = inf
    ready: float = 0.0
    first_alone: str = ""
    first_path: int = 0
    first_seconds: float = 0.0
    unreported: str = ""
    _explained: list[BaseException] = field(default_factory=list)  # what the first of all runs raised, before `Program.terse`
    _until: float = inf
    _ran: int | None = None  # orders; all of them before that

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
            raise SequentialFailure(f"it hangs in a sequential order: {waits_in_words(run)}", hangs=True)
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
            takes_part = self.engine.takes_part
            again = 0 not in first_of_all and self._fails_alone()
            same = (each for each in self._explained if identity_of(each, takes_part) == identity_of(raises, takes_part))
            raises = next(same, raises)
            raise SequentialFailure(f"{self.every_order} fails: {describe_error(raises)}", again) from raises
        if failed is not None:
            message = f"{self.every_order} fails: {failed.symptom}: {failed.message}"
            again = first_failure is None
            raise SequentialFailure(message, again, failure=failed) from failed.error if again else None
        if visible and not any(sum(run.lengths.values()) for run in runs):
            if self.is_alone:
                raise StartsNoThread
            raise NotExplorable(
                "its threads make no visible step: what they share is in C, or in code that is not under test. Use mode='stress' "
                "on a free-threaded build, or put more modules under test with include=(...)"
            )
        short = self.pace < _SHORT or self.most_seconds == inf  # a search that ends by count decides by no clock
        if FREE_THREADED_BUILD and not self.setup_at_home and short and self.nobody_notices:
            self.same_in_place = self._same_path_in_place(later, list(zip(runs, failures, strict=True)))
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

    def _same_path_in_place(self, path: Covered, outcomes: list[tuple[ScheduleRun, Failure | None]]) -> bool:
        """Whether every order takes this path, and ends in the same way, without a thread for the setup."""
        taken, kept = Covered(), self._kept_by_this_thread()
        self.same_in_place = True
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

    def fails_now(self) -> Failure | None:
        """A failure of the sequential orders that passed before, if all of them fail now: what earlier runs left breaks them."""
        failures = [self.in_order(order)[1] for order in self.passing]
        return failures[0] if failures and all(failures) else None

    def _fails_alone(self) -> bool:
        """Whether the first thread fails now although no other does anything, from a fresh state."""
        first, *others = self.program.threads
        alone = replace(self.program, threads=(first, *(_do_nothing for _ in others)))
        return bool(Explorer(alone, self.engine, self.events, replaced=self.replaced).in_order()[0].errors)

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

    def _orders(self) -> list[Order]:
        """The sequential orders that have run, in time."""
        return orders_of(len(self.program.threads))[: self._ran]


def _do_nothing(*arguments: object) -> None:
    pass
