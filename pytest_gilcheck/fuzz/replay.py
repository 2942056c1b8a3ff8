"""A token that is followed again: whether it is one of the program, and whether the run went where it says."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from ..core.errors import ErrorWithCode
from ..core.verdict import Verdict
from ..engine.program import Program
from ..engine.running.policy import Planned
from ..engine.schedule import Choice, Schedule, Token, checksum
from ..search.explorer import Explorer
from .explaining.explain import explain
from .failing import LASTING, StateLeft
from .result import FuzzResult, Kind


class ReplayDiverged(ErrorWithCode, AssertionError):
    """A replay did not follow its token: the visible steps differ from those of the run that the token describes."""

    finding = ("fuzz", "diverged")


def check_program(token: Token, program: Program) -> None:
    """Whether a token is one of this program.

    Raises:
        ReplayDiverged: it is of another one.
    """
    if token.threads != len(program.threads) or token.program != program.checksum:
        raise ReplayDiverged(f"the token is of another program than {program.name}: its threads have other names")


def check_followed(token: Token, unused: Choice | None, schedule: Schedule, anchors: Sequence[str], points: int | None) -> None:
    """Whether a run went where its token says.

    Args:
        unused: the first choice that the run could not make.
        schedule, anchors: of the run.
        points: of a run that did not fail; None if it failed.

    Raises:
        ReplayDiverged: it did not.
    """
    if unused is not None:
        raise ReplayDiverged(f"the run cannot switch at point {unused.point} as the token does: its visible steps differ")
    for choice, expected, anchor in zip(schedule.choices, token.anchors, anchors, strict=False):
        if checksum(anchor) != expected:
            raise ReplayDiverged(f"at point {choice.point} the run is at {anchor.strip()!r}, and the token's run was elsewhere")
    if points not in (None, token.points):
        raise ReplayDiverged(f"the run has {points} points, and the token's run had {token.points}")


def does_not_fail(token: Token) -> str:
    """The reason of a replay that holds."""
    return f"the replayed schedule ({token.schedule}) does not fail any more"


def replayed(explorer: Explorer, token: Token, template: FuzzResult) -> FuzzResult:
    """Follow a token.

    Raises:
        ReplayDiverged: the run does not go where the token says.
    """
    check_program(token, explorer.program)
    explorer.learn(token.learnt)
    policy = Planned(token.schedule)
    run, failure = explorer.once(policy)
    check_followed(token, policy.unused, run.schedule, run.anchors, run.points if failure is None else None)
    template = replace(template, coverage="one schedule, replayed")
    if failure is None:
        return replace(template, conclusion=Verdict.HOLDS, reason=does_not_fail(token))
    if explorer.engine.journal is not None and failure.symptom in LASTING and (now := explorer.fails_now()) is not None:
        raise StateLeft(failure, now)
    explanation, _ = explain(explorer, failure)
    return replace(
        template,
        conclusion=Verdict.VIOLATED,
        reason=f"{failure.symptom}: {failure.message}; replayed",
        kind=Kind.GIL_MASKED if run.masked else Kind.BREAKS_TODAY,
        symptom=str(failure.symptom),
        token=str(token),
        preemptions=run.schedule.preemptions,
        story=explanation.text,
        rows=explanation.rows,
        places=explanation.places,
    )
