"""What became of a run: whether the program failed in it, how, and beside which sequential orders."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from enum import StrEnum

from ..core.classes import name_of_class
from ..core.source import came_through
from .program import describe_error
from .running import record
from .running.record import ScheduleRun
from .schedule import Schedule

_NUMBERS = re.compile(r"0x[0-9a-fA-F]+|\d+")


class Symptom(StrEnum):
    """What went wrong in a run."""

    INVARIANT = "invariant"
    EXCEPTION = "exception"  # one that not every sequential order raises
    DEADLOCK = "deadlock"
    NEVER_ENDS = "never ends"  # a thread waits for something that no thread will do, after a lost wake-up for instance
    LIVELOCK = "livelock"
    HANGS = record.HANGS  # a thread computes, or is blocked outside of control, until the timeout
    CRASHED = "crashed"  # the process died, in stress mode


WAITING = frozenset({Symptom.DEADLOCK, Symptom.NEVER_ENDS})  # all threads of such a run rest: an oracle may say that they should


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


class NotExplorable(Exception):
    """The program cannot be explored; the message says why."""


class StartsNoThread(NotExplorable):
    """The program has one thread, and no run of it has started another."""

    def __init__(self) -> None:
        super().__init__("it starts no thread: nothing can interleave. Run it in 2 threads, or remove the check")


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
    def of(cls, run: ScheduleRun, takes_part: Callable[[str], bool]) -> SequentialBaseline:
        """What one sequential order does."""
        return cls(
            expected=dict(Counter(name_of_class(type(error)) for _, _, error in run.errors)),
            known=frozenset(identity_of(error, takes_part) for _, _, error in run.errors),
            left=frozenset(blocked.thread for blocked in run.left),
        )

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

    def unexpected_error(self, run: ScheduleRun, takes_part: Callable[[str], bool]) -> Failure | None:
        """The failure of a run that raises what not every sequential order raises, or raises it more often."""
        expected = dict(self.expected) if run.errors else {}
        for _, name, error in run.errors:
            kind = name_of_class(type(error))
            if expected.get(kind, 0) == 0:
                more = ", more often than in any sequential order" if kind in expected else ""
                return Failure(Symptom.EXCEPTION, f"{name} raised {describe_error(error)}{more}", run, error)
            if identity_of(error, takes_part) not in self.known:
                message = f"{name} raised {describe_error(error)}, and sequential orders raise another {kind}"
                return Failure(Symptom.EXCEPTION, message, run, error)
            expected[kind] -= 1
        return None

    def unexpected_wait(self, run: ScheduleRun) -> Failure | None:
        """The failure of a run that leaves a thread waiting which not every sequential order leaves."""
        left = [blocked for blocked in run.left if blocked.thread not in self.left]
        if not left:
            return None
        message = ", ".join(f"{blocked.thread} waits for {blocked.waits_for} at {blocked.at}" for blocked in left)
        return Failure(Symptom.NEVER_ENDS, message, run)


def identity_of(error: BaseException, takes_part: Callable[[str], bool]) -> str:
    """By what an exception is recognised: its type, its message without numbers and addresses, and where it comes from."""
    where = ""
    for code, line in came_through(error):
        if takes_part(code.co_filename):
            where = f"{code.co_filename}:{line}"
    return f"{where} {_NUMBERS.sub('#', describe_error(error))}"


def stuck_failure(run: ScheduleRun, why: str = "") -> Failure:
    """The failure of a run that is stuck.

    Args:
        why: the oracle's words, if there is one.
    """
    waits = waits_in_words(run)
    return Failure(Symptom(run.stuck), f"{why}: {waits}" if why else waits, run)


def waits_in_words(run: ScheduleRun) -> str:
    """Which thread waits for what, in one line."""
    lines = []
    for waiting in run.blocked:
        held = f", which {waiting.holder} has" if waiting.holder else ""
        lines.append(f"{waiting.thread} waits for {waiting.waits_for}{held}, at {waiting.at}")
    return "; ".join(lines)
