"""How a run of a drawn program fails: what none of its sequential orders explains."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from ..core.classes import name_of_class
from ..engine.outcome import WAITING, Failure, Symptom, waits_in_words
from ..engine.program import describe_error
from ..engine.running.record import ScheduleRun
from . import oracle
from .oracle import Why
from .result import LinearizableResult
from .telling import told_in_line

if TYPE_CHECKING:
    from .class_session import ClassSession

_MESSAGES = {
    Why.MODEL: "the model gives other results",
    Why.RESULTS: "no sequential order gives these results",
    Why.EXCEPTION: "no sequential order raises this",
    Why.REAL_TIME: "only orders give these results in which an operation comes before one that had returned when it was called",
}

CAUSES = {
    Why.RESULTS: "not atomic: no sequential order of these operations gives these results",
    Why.EXCEPTION: "no sequential order of these operations raises this",
    Why.REAL_TIME: "only orders explain it in which an operation comes before one that had returned when it was called",
    Why.MODEL: "it differs from the model without any concurrency",
}


class Refused(Exception):
    """Nothing can be told of the class; the message says why, and what to do.

    Attributes:
        cause: of the result, where it has a code of its own.
    """

    cause = ""


def refused(template: LinearizableResult, error: Exception) -> LinearizableResult:
    """The result where an error says why nothing can be told."""
    return replace(template, cause=error.cause if isinstance(error, Refused) else "", reason=str(error))


def failure_of(session: ClassSession, run: ScheduleRun) -> Failure | None:
    """How a run fails; None if an order explains it, or if it is an order itself."""
    if run.left:
        where = ", ".join(f"{each.thread} waits for {each.waits_for} at {each.at}" for each in run.left)
        raise Refused(f"an operation starts a thread that stays ({where}): end it in an operation, or leave that one out of ops")
    if run.explained:
        return None
    if session.merging is not None or session.allowed is None or session.run is None:
        return Failure(Symptom.HANGS, waits_in_words(run), run) if run.stuck and run.stuck not in WAITING else None
    session.why = None
    if run.stuck:
        session.why, session.outcome = Why.STUCK, session.comparable(oracle.seen(session.run))
        return Failure(Symptom(run.stuck), waits_in_words(run), run)
    session.waits = None
    for _, name, error in run.errors:  # of a thread that an operation has started
        if name_of_class(type(error)) not in session.allowed.errors:
            session.why = Why.EXCEPTION
            return Failure(Symptom.EXCEPTION, f"{name} raised {describe_error(error)}", run, error)
    session.why = oracle.unexplained(session.allowed, session.outcome, oracle.came_before(session.run), session.subject.rule)
    if session.why is None:
        return None
    if session.subject.model is not None and oracle.one_after_the_other(session.run):
        session.why = Why.MODEL
    if session.subject.only_errors and session.why is not Why.EXCEPTION:
        session.noted, session.why = (
            session.noted or f"{session.drawn.text} gave {told_in_line(session.drawn, session.outcome)}",
            None,
        )
        return None
    symptom = Symptom.EXCEPTION if session.why is Why.EXCEPTION else Symptom.INVARIANT
    return Failure(symptom, _MESSAGES[session.why], run)
