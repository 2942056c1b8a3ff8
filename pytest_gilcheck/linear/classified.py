"""The shortest schedule of a finding, whether a build with a GIL can show it, and how it is told."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from math import inf
from typing import Any

from ..core import stop_request
from ..core.clocks import monotonic
from ..engine.outcome import Failure
from ..engine.schedule import Token, checksum
from ..search.explorer import Explorer
from ..search.ledger import Account
from ..search.minimise import minimised
from ..search.search import Search
from .class_session import ClassSession
from .exploring import Finding

BREAKS_TODAY, GIL_MASKED = "BREAKS-TODAY", "GIL-MASKED"
_MINIMISING, _CLASSIFYING = 400, 300  # schedules
_LONGEST = 60.0  # seconds of each
_REPLAYS = 5
_PREEMPTIONS = 2

Teller = Callable[[Explorer, Failure], tuple[Any, Failure]]  # makes the text and the rows of a failing run


@dataclass(frozen=True)
class Told:
    """A finding with everything that a report shows.

    Attributes:
        finding: with its shortest schedule.
        kind: under which conditions it fails; empty if that was not decided.
        token: replays the schedule.
        replays: (how many replays failed, how many there were).
        story: the run, as text.
        rows: the same, as rows.
    """

    finding: Finding
    kind: str
    token: str
    replays: tuple[int, int]
    story: str
    rows: Sequence[Any]


def told(session: ClassSession, finding: Finding, tell: Teller) -> Told:
    """Make the schedule of a finding short, classify it, replay it, and tell it."""
    with session.listening():
        session.begin(finding.drawn, finding.allowed)
        failure, kind = _classified(session, _shortest(session, finding.failure))
        failed = sum(session.explorer.follow(failure.schedule)[1] is not None for _ in range(_REPLAYS))
        last = session.explorer.follow(failure.schedule)[1] or failure
        finding = replace(finding, failure=last, outcome=session.outcome, why=session.why or finding.why, waits=session.waits)
        explanation, _ = tell(session.explorer, failure)
    return Told(finding, kind, token_of(session, last), (failed, _REPLAYS), explanation.text, explanation.rows)


def _shortest(session: ClassSession, failure: Failure) -> Failure:
    if failure.schedule.preemptions <= 1 or stop_request.made():
        return failure
    return minimised(session.explorer, failure, _account(_MINIMISING))


def _account(schedules: int) -> Account:
    """So many schedules at most, as long as the user does not ask to stop."""
    return Account(monotonic() + _LONGEST, schedules, now=lambda: inf if stop_request.made() else monotonic())


def _classified(session: ClassSession, failure: Failure) -> tuple[Failure, str]:
    """The failure in a form that a build with a GIL can show, if there is one, and its kind."""
    if not failure.run.masked:
        return failure, BREAKS_TODAY
    if stop_request.made():
        return failure, ""
    explorer = session.explorer
    search = Search(explorer, _PREEMPTIONS, _account(_CLASSIFYING), 0, gil=True)
    found = search.run(explorer.measured())
    explorer.hide({})
    if found.failure is not None:
        return _shortest(session, found.failure), BREAKS_TODAY
    return failure, "" if found.expired else GIL_MASKED


def token_of(session: ClassSession, failure: Failure) -> str:
    """The token that replays a failing run of a program."""
    explorer, run = session.explorer, failure.run
    anchors = tuple(map(checksum, run.anchors))
    learnt, draw = explorer.events.names.learnt(), explorer.engine.chance.draw
    return str(Token(checksum(session.drawn.text), session.drawn.threads, failure.schedule, anchors, run.points, learnt, draw))
