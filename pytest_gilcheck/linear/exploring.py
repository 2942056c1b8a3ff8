"""Searches the schedules of one drawn program for one that no sequential order explains; by counts alone, so it is repeatable."""

from __future__ import annotations

from dataclasses import dataclass
from random import Random

from ..engine.outcome import Failure, NotExplorable, SequentialFailure
from ..engine.running.record import ScheduleRun
from ..engine.schedule import Token, checksum
from ..search.conflicts import TurnedConflicts, reduction_of
from ..search.orders import orders_of
from ..search.sampling import RandomWalk
from ..search.strategy import run_all
from .class_session import Blocked, ClassSession
from .judging import Refused
from .operations import DrawnProgram, OperationKind, overlapping
from .oracle import Allowed, Outcome, Why
from .telling import told_in_line

_ATTEMPTS = 4  # to search with step tables that do not grow meanwhile
_SAMPLES = 12  # of a program of which it is not known what all its steps touch


@dataclass(frozen=True, eq=False)
class Finding:
    """A program with a schedule that no sequential order explains.

    Attributes:
        failure: how its run fails.
        outcome: what its operations returned.
        allowed: what the orders give.
        why: what is wrong with it.
        waits: the thread that waits and should not; None if none does.
    """

    drawn: DrawnProgram
    failure: Failure
    outcome: Outcome
    allowed: Allowed
    why: Why
    waits: int | None = None


@dataclass(frozen=True, eq=False)
class Explored:
    """What a search of one program has found.

    Attributes:
        finding: None if every schedule is explained.
        schedules: how many were run.
        orders: how many sequential orders were.
        settled: whether no conflict that was seen is left untried.
        overlapped: the pairs of operations that did.
        doubt: why nothing is known of other schedules.
    """

    finding: Finding | None
    schedules: int
    orders: int
    settled: bool
    overlapped: frozenset[frozenset[OperationKind]]
    doubt: str = ""


class Hidden(Refused):
    """The same program gives two answers: the class keeps state outside of its objects; the message has both."""

    cause = "hidden state"

    def __init__(self, drawn: DrawnProgram, first: Allowed, second: Allowed) -> None:
        differing = [_differing(first, second), _differing(second, first)]
        answers = " and then ".join(told_in_line(drawn, each) for each in differing if each is not None) or "others"
        what = "make that state anew for each object, or reset it in the constructor"
        super().__init__(f"hidden state: the sequential orders of {drawn.text} gave {answers}: {what}")


def _differing(one: Allowed, other: Allowed) -> Outcome | None:
    return next((outcome for outcome in one.orders if outcome not in other.orders), None)


def explored(session: ClassSession, drawn: DrawnProgram, most: int) -> Explored:
    """Search the schedules of a program.

    Args:
        most: schedules at most.

    Raises:
        Hidden: what its orders give is not the same twice.
        Blocked: an operation before the threads waits for ever.
    """
    with session.listening():
        for _ in range(_ATTEMPTS):
            timed = session.timed
            allowed = session.orders(drawn)
            found = _searched(session, drawn, allowed, most) if session.timed == timed else None
            if found is not None and session.timed == timed:
                return found
    pairs = frozenset(overlapping(drawn, allowed.made()))
    return Explored(None, most, allowed.runs, False, pairs, "its steps become more with every run")


def _searched(session: ClassSession, drawn: DrawnProgram, allowed: Allowed, most: int) -> Explored | None:
    """The same with the step tables as they are; None if they have grown."""
    explorer = session.explorer
    session.begin(drawn, allowed)
    reduction, grown = reduction_of(explorer), False

    def stop() -> bool:
        nonlocal grown
        grown = not explorer.events.tables_unchanged()
        return grown or reduction.runs >= most

    turned = TurnedConflicts(reduction, stop)
    run_all(explorer, turned)
    explorer.hide({})
    failure, runs = turned.failure, reduction.runs
    if grown and failure is None:
        return None
    if failure is None and reduction.doubt:
        failure, more = _sampled(session, drawn)
        runs += more
    if failure is not None and session.subject.model is not None:
        failure = _failing_in_order(session) or failure
    finding = None if failure is None else _confirmed(session, drawn, allowed, failure)
    settled = reduction.finished and not reduction.doubt and not explorer.uncontrolled
    doubt = reduction.doubt or (explorer.uncontrolled[0] if explorer.uncontrolled else "")
    return Explored(finding, runs, allowed.runs, settled, frozenset(overlapping(drawn, allowed.made())), doubt)


def _failing_in_order(session: ClassSession) -> Failure | None:
    """How a sequential order of the threads fails: then the model says other things, whichever schedule was found first."""
    orders = len(orders_of(len(session.explorer.program.threads)))
    return next(filter(None, session.explorer.in_sequence(orders)), None)


def _sampled(session: ClassSession, drawn: DrawnProgram) -> tuple[Failure | None, int]:
    draw = Random(drawn.text)
    for index in range(_SAMPLES):
        _, failure = session.explorer.once(RandomWalk(draw))
        if failure is not None:
            return failure, index + 1
    return None, _SAMPLES


def _confirmed(session: ClassSession, drawn: DrawnProgram, allowed: Allowed, failure: Failure) -> Finding:
    """The failure as it comes when its schedule is followed again.

    Raises:
        Hidden: see `explored`.
        Refused: it does not come again, so a pass would prove nothing.
    """
    again = session.orders(drawn)
    if not again.same_as(allowed):
        raise Hidden(drawn, allowed, again)
    session.begin(drawn, allowed)
    followed: tuple[ScheduleRun, Failure | None] = session.explorer.follow(failure.schedule)
    if followed[1] is None or session.why is None:
        what = f"a schedule of {drawn.text} failed once, and passes when it is followed again ({failure.message})"
        raise Refused(f"not deterministic: {what}: something that is not under control plays a part")
    return Finding(drawn, followed[1], session.outcome, allowed, session.why, session.waits)


def fails_again(session: ClassSession, drawn: DrawnProgram, token: Token) -> Finding | None:
    """The finding of a program if the schedule of a token still fails; None if it does not, or the token is of another program."""
    if checksum(drawn.text) != token.program:
        return None
    chance = session.explorer.engine.chance
    before = chance.draw
    try:
        with session.listening():
            allowed, _, failure = session.followed(drawn, token)
            if failure is not None and session.why is not None:
                return _confirmed(session, drawn, allowed, failure)
    except (Blocked, Refused, NotExplorable, SequentialFailure):
        pass  # a search says it again, if it is true of more than this program
    chance.draw = before
    return None
