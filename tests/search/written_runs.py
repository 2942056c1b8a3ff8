"""A program that is written down, and no thread runs: how many steps each thread makes, and which orders of them fail.

`Written` is the executor of the strategies under test. A step is (thread, number of its step).
"""

from types import SimpleNamespace

from pytest_gilcheck.engine.bytecode.visible import Access
from pytest_gilcheck.engine.outcome import Failure, Symptom
from pytest_gilcheck.engine.running.record import ScheduleRun
from pytest_gilcheck.engine.running.task import READY
from pytest_gilcheck.engine.schedule import Choice, Schedule
from pytest_gilcheck.search.ledger import Account
from pytest_gilcheck.search.strategy import Driver, Ran, following

from ..fuzz.programs import Clock

STEP = Access("write", "x", 0)


class Written:
    """Threads that make so many steps each.

    Args:
        steps: of each thread.
        fails: whether an order of all steps breaks the program; or the symptom.
        reachable: the points at which a build with a GIL can switch; None for all.
    """

    pace = 0.01

    def __init__(self, *steps, fails=lambda order: False, reachable=None):
        self.steps, self.fails, self.reachable = steps, fails, reachable
        self.proposals, self.schedules, self.labels = [], [], []
        self.new_steps_after = None  # runs

    def run(self, proposal):
        self.proposals.append(proposal)
        run = ScheduleRun(recording=True, measuring=True)
        tasks = [SimpleNamespace(index=index, state=READY, starter=None) for index in range(len(self.steps))]
        made, order, current = [0] * len(tasks), [], None
        policy = proposal.policy
        policy.begin(tasks)
        run.reachable = set(range(1, 1000)) if self.reachable is None else set(self.reachable)
        while ready := [task for task in tasks if made[task.index] < self.steps[task.index]]:
            run.points += 1
            if current not in ready:  # nobody has begun, or the last one has ended: a point of its own
                current = policy.forced(run.points, ready, ready[0], [])
                run.forks.append((run.points, tuple(task.index for task in ready), current.index, ()))
                if current is not ready[0]:
                    run.choices.append((Choice(run.points, current.index, True), STEP, None, False))
                run.spans.append((run.points + 1, current.index, tuple(task.index for task in ready if task is not current)))
                continue
            others = [task for task in ready if task is not current]
            chosen = policy.at(run.points, current, others, STEP) if 0 < policy.next <= run.points and others else current
            if chosen is not current:
                masked = run.points not in run.reachable
                run.choices.append((Choice(run.points, chosen.index), STEP, None, masked))
                run.spans.append((run.points, chosen.index, tuple(task.index for task in ready if task is not chosen)))
                current = chosen
            if proposal.observer is not None:
                proposal.observer(current, run.points, STEP, None)
            made[current.index] += 1
            order.append((current.index, made[current.index]))
        run.lengths = dict(enumerate(self.steps))
        self.schedules.append(run.schedule)
        found = self.fails(order)
        symptom = found if isinstance(found, Symptom) else Symptom.INVARIANT
        return Ran(run, Failure(symptom, "it is broken", run) if found else None)

    def plain(self, schedule=None):
        """The run of a schedule, which is none of the strategy."""
        ran = self.run(following(schedule or Schedule()))
        self.proposals.pop()
        self.schedules.pop()
        return ran

    def steps_unchanged(self, *, for_certain=False):
        if self.new_steps_after is not None and len(self.proposals) > self.new_steps_after:
            self.new_steps_after = None
            return False
        return True

    def hide(self, hidden):
        assert not hidden

    def progress(self, label):
        self.labels.append(label)


def driven(strategy, executor, account):
    """The number of schedules that a strategy has run."""
    Driver(executor, account).run(strategy)
    return account.ran


def counted(schedules, clock=None):
    """An account of so many schedules, which no time ends."""
    clock = clock or Clock()
    return Account(clock.now + 1e9, schedules, now=clock)


def before(one, other):
    """The orders in which one step comes right between two of another thread: ``one`` is (thread, step), between step and the
    one after it of ``other``."""

    def fails(order):
        thread, step = other
        return order.index((thread, step)) < order.index(one) < order.index((thread, step + 1))

    return fails
