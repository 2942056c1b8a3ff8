"""One open explorer for the many programs of a campaign: what takes time to install is installed once.

A drawn program takes milliseconds then. Between two programs the session is paused: hypothesis draws four times as slowly while the
start of each function is an event.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from typing import Any

from ..core.classes import name_of_class
from ..engine.outcome import Failure, NotExplorable, SequentialBaseline
from ..engine.program import Program, describe_error
from ..engine.running.record import BlockedThread, ScheduleRun
from ..engine.running.stuck import SetupStuck
from ..engine.running.task import Abort, Uncontrolled
from ..engine.schedule import Token
from ..engine.session import Session
from ..search.explorer import Explorer
from . import copies, oracle
from .judging import Refused, failure_of
from .merging import MergePolicy, Waiting
from .operations import DrawnOperation, DrawnProgram, OperationKind, value_text
from .oracle import Allowed, Outcome, Why
from .subject import Subject
from .worker import PENDING, RAISED, Run, do_each, perform

_TURN = 20_000  # steps of an operation in an order, at least, after which another one may run
_MADE_ONCE = (
    "each run needs a new object, and only the first could be made: give a function that makes one with all that it registers"
)


class Blocked(Exception):
    """An operation before the threads waits for ever, or a precondition is not met in some order: this is no program."""


class Unmade(Blocked):
    """The object of a program cannot be made; the message says why."""


class _Judging(Explorer):
    """An explorer that asks a session how a run has failed."""

    session: ClassSession

    def _failure_of(self, run: ScheduleRun, broken: str | None) -> Failure | None:
        return self.session.judged(run)


class ClassSession:
    """A context manager, in which programs of one class run.

    Args:
        subject: the class.
        timeout: seconds of one run after which it hangs.
        include: modules that are under test although they would not be.
        progress: called with the name of each phase.

    Attributes:
        drawn: the program that runs.
        outcome: of the last run whose threads have ended.
        why: what is wrong with the last run that failed.
        waits: the thread that waits in it, and in no order.
        steps: visible steps of the longest order so far.
        written: what each operation has written of what `Subject.watched` gives.
        noted: the first program with results that no order gives, where these are no failure.
        allowed: what the orders of that program give; None while they run.
        merging: the policy of the order that runs; None in other runs.
        timed: whether the class has read a clock: then times are not compared, nor attributes that may be made of them.
    """

    def __init__(
        self, subject: Subject, timeout: float, include: tuple[str, ...] = (), progress: Callable[[str], None] = lambda label: None
    ) -> None:
        self.subject = subject
        self._timeout, self._include, self._progress = timeout, include, progress
        self.drawn = DrawnProgram(threads=subject.threads)
        self.outcome: Outcome = ()
        self.why: Why | None = None
        self.waits: int | None = None
        self.steps = 0
        self.timed = False
        self.noted = ""
        self.written: dict[OperationKind, set[str]] = {}
        self._broken = ""
        self._watched: dict[str, Any] = {}
        self.allowed: Allowed | None = None
        self.merging: MergePolicy | None = None
        self._on_model = False
        self.run: Run | None = None

    def __enter__(self) -> ClassSession:
        count = self.subject.threads
        jobs = tuple(self._job(index) for index in range(count))
        reached = {"the class": self.subject.make, "the model": self.subject.model, "final": self.subject.final}
        reached |= {kind.name: kind.call for kind in self.subject.kinds}
        program = Program(
            jobs,
            self._set_up,
            self._look,
            f"linearizable {self.subject.name}",
            calls=self.subject.functions,
            reached={name: each for name, each in reached.items() if each is not None},
            oracle=self._looked_at_stuck,
        )
        with ExitStack() as stack:
            self._session = Session(program, include=self._include, limit=self._timeout, longest=self._timeout)
            stack.enter_context(self._session)
            explorer = self._session.first(_Judging, progress=self._progress)
            explorer.session = self
            self.explorer: Explorer = explorer
            self._session.pause()
            stack.callback(self._session.resume)
            self._stack = stack.pop_all()
        return self

    def __exit__(self, *error: object) -> None:
        self._stack.close()

    @contextmanager
    def listening(self) -> Iterator[None]:
        """Locks and clocks are under control, and steps are heard, in this block alone."""
        self._session.resume()
        try:
            yield
        finally:
            self._session.pause()

    # The generic program

    def _job(self, index: int) -> Callable[[Run], None]:
        def job(run: Run) -> None:
            merging = self.merging
            do_each(run, index, self.drawn.parallel[index], None if merging is None else merging.between)

        return job

    def _set_up(self) -> Run:
        subject = self.subject
        make = subject.model if self._on_model and subject.model is not None else subject.make
        arguments = [copies.fresh(each) for each in self.drawn.init]
        try:
            target = make(*arguments)
        except (Abort, SetupStuck, Uncontrolled):
            raise
        except Exception as error:
            raise Unmade(
                f"{subject.constructor}({', '.join(map(value_text, self.drawn.init))}) raised {describe_error(error)}"
            ) from None
        self.run = run = Run(target, subject.threads, timed=self.timed, asks=self.merging is not None)
        run.before = [perform(run, operation, run.bundles) for operation in self.drawn.lanes[0]]
        if self.subject.watched is not None:
            self._watched = self.subject.watched(run.target)
        return run

    def _look(self, run: Run) -> bool:
        """Do what comes after the threads, and make the outcome; `judged` says whether it is right."""
        after = [self._performed(run, operation) for operation in self.drawn.lanes[-1]]
        self.timed = self.timed or self.explorer.engine.clock.read
        self.outcome = self.comparable(oracle.seen(run, after, self._final(run.target)))
        return True

    def comparable(self, outcome: Outcome) -> Outcome:
        masked: Outcome = copies.without_times(outcome) if self.timed else outcome
        return masked

    def _final(self, target: Any) -> Any:
        look = self.subject.final
        if look is None:
            return None if self.subject.model is not None or self.timed else copies.public_state(target)
        try:
            return copies.copied(copies.used_up(look(target)), target)
        except SetupStuck:
            return PENDING
        except Exception as error:
            if self.merging is not None and not self._on_model:
                self._broken = f"without any concurrency, after {self.drawn.text}, {describe_error(error)}"
            return (RAISED, copies.copied(error))

    @staticmethod
    def _performed(run: Run, operation: DrawnOperation) -> tuple[Any, ...]:
        try:
            return perform(run, operation, run.bundles)
        except SetupStuck:
            return PENDING

    # Judging a run

    def _looked_at_stuck(self, arguments: tuple[Any, ...], blocked: Sequence[BlockedThread]) -> str | None:
        """Why a run in which all threads wait for ever fails, of which the engine asks; None if an order is stuck in that way."""
        state = self._present()
        if self.allowed is None or self.merging is not None:
            return None
        self.waits = oracle.unexplained_wait(self.allowed, state)
        return None if self.waits is None else "no sequential order waits there"

    def judged(self, run: ScheduleRun) -> Failure | None:
        """How a run fails, of which the explorer asks; None if an order explains it, or if it is an order itself."""
        return failure_of(self, run)

    # Sequential orders

    def warm(self, programs: list[DrawnProgram]) -> None:
        """Do what only first runs do: imports, caches, step tables. These programs depend on the class alone.

        Raises:
            Refused: an object cannot be made again.
        """
        with self.listening():
            try:
                for index, drawn in enumerate(programs):
                    self._warm_with(drawn, first=index == 0)
            except Unmade as error:
                raise Refused(f"{_MADE_ONCE}: {error}") from None
            self.explorer.events.tables_unchanged(for_certain=True)

    def _warm_with(self, drawn: DrawnProgram, *, first: bool) -> None:
        self.drawn, self.allowed = drawn, None
        with self._orders(()):
            if first:
                self.explorer.sequential(visible=False)
            else:
                self.explorer.measured()
            if self.subject.watched is not None and self.run is not None:
                now = self.subject.watched(self.run.target)
                changed = {name for name in now.keys() | self._watched.keys() if now.get(name) != self._watched.get(name)}
                for kind in {operation.kind for lane in drawn.parallel for operation in lane}:
                    self.written.setdefault(kind, set()).update(changed)

    @contextmanager
    def _orders(self, choices: tuple[int, ...], *, on_model: bool = False, rule: str = "") -> Iterator[MergePolicy]:
        policy = MergePolicy(self.explorer.engine, self._present, choices, rule or self.subject.waiting)
        self.merging, self._on_model = policy, on_model
        try:
            yield policy
        finally:
            self.merging, self._on_model = None, False

    def _present(self) -> Run:
        assert self.run is not None, "a policy is asked in a run"
        return self.run

    def orders(self, drawn: DrawnProgram) -> Allowed:
        """Run every sequential order of a program, on the model if there is one; returns what they give.

        If an operation waits in each of them, they only return when others meet them, as those of a barrier. Then an operation that
        waits may go on between two others.

        Raises:
            Blocked: an operation before the threads waits for ever.
            Refused: an order hangs, or leaves a thread.
        """
        self.drawn, found = drawn, Allowed()
        self._run_orders(found, self.subject.waiting)
        if not found.orders and self.subject.waiting != Waiting.VISIBLE:
            self._run_orders(found, Waiting.VISIBLE)
        return found

    def _run_orders(self, found: Allowed, rule: str) -> None:
        drawn = self.drawn
        waiting: list[tuple[int, ...]] = [()]
        points = []
        self.explorer.engine.learn_length(
            _TURN, _TURN, _TURN
        )  # what another program has taught would end the turn of a longer operation
        while waiting:
            with self._orders(waiting.pop(), on_model=self.subject.model is not None, rule=rule) as policy:
                run, failure = self._once(policy)
            if failure is not None:
                raise Refused(f"a sequential order hangs: {drawn.text}: {failure.message}")
            found.runs += 1
            found.errors |= {name_of_class(type(error)) for _, _, error in run.errors}
            self.steps = max(self.steps, sum(run.lengths.values()) - policy.places)
            points.append(run.points)
            self._enter(found, policy, run)
            waiting += policy.further()
        self.explorer.engine.learn_length(min(points), max(points), max(points))

    def followed(self, drawn: DrawnProgram, token: Token) -> tuple[Allowed, ScheduleRun, Failure | None]:
        """What the orders of a program give, and how it runs under the schedule of a token.

        Raises:
            Blocked, Refused: see `orders`.
        """
        self.explorer.engine.chance.draw = token.draw
        allowed = self.orders(drawn)
        self.begin(drawn, allowed)
        self.explorer.learn(token.learnt)
        return (allowed, *self.explorer.follow(token.schedule))

    def _once(self, policy: MergePolicy) -> tuple[ScheduleRun, Failure | None]:
        try:
            return self.explorer.once(policy, measuring=True)
        except NotExplorable as error:
            if isinstance(error.__context__, SetupStuck):
                raise Blocked from None
            raise

    def _enter(self, found: Allowed, policy: MergePolicy, run: ScheduleRun) -> None:
        state = self._present()
        if self._broken:
            raise Refused(f"what must hold in the end does not: {self._broken}")
        if state.unmet:
            raise Blocked
        if run.stuck and policy.waits is None:
            policy.ends_here()
            found.stuck |= {(policy.done, index) for index in state.waiting()}
        if policy.waits is not None:
            found.stuck.add((policy.done, policy.waits))
        elif policy.visible or oracle.one_after_the_other(state):
            found.add(self.outcome, oracle.order_of(state))
        else:  # it has lost its turn to another thread, as one that polls does: this run is no order
            raise Refused(f"an operation of {self.drawn.text} polls, or makes too many steps for its turn in a sequential order")

    # For a search

    def begin(self, drawn: DrawnProgram, allowed: Allowed) -> None:
        """From here on, runs are of this program, and judged by what its orders give. Forget what was learnt of another one."""
        explorer = self.explorer
        self.drawn, self.allowed = drawn, allowed
        explorer.baseline, explorer.passing, explorer.failing = SequentialBaseline(), [], []
        explorer.uncontrolled.clear()
        explorer.events.frozen = False
        explorer.hide({})
