"""``--gilcheck-sweep=stress``: the clients of a test run with real threads, at the same time, in forks of its process.

A test need not pass twice in one process. So its clients run one after the other first, in a fork: as often as that passes, and no
more often, they run with real threads in each child. Each child begins before the first run, and so meets what only that makes.

What it finds, it finds by chance. So the schedules are searched afterwards: one that fails can be replayed, and has a cause.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from functools import partial
from typing import Any

import pytest

from ..core.child import Outcome
from ..core.clocks import monotonic
from ..core.codes import code_of
from ..core.cores import usable_cores
from ..engine.program import Program, describe_error
from ..engine.stress.child import SharedCount, StressBounds
from ..engine.stress.guard import CRASHED, StressChild, run
from ..engine.stress.stress import DEFAULT_TIMEOUT, GIL_NOTE, ONE_CORE_NOTE, stress
from ..fuzz.result import Kind
from ..settings import option
from ..sweep.canary import planted
from ..sweep.swept import Failed, SweepOutcome
from . import explanations
from .sweep_child import Found, clients_program, fails_alone, in_a_fork
from .sweep_fork import Answer

_MOST = 20  # instances of a child
_PLAIN = 0.2  # of the budget, for runs one after the other
_SLOWER = 10.0  # times the time of a run alone, until one with real threads hangs, beyond the default
_PLANTED = 5.0  # seconds, to find what is planted
_LONGEST = 5.0  # seconds for one test
_FEWEST = 10  # runs in which threads overlapped, for a claim


def share_of(left: float, to_come: float) -> float:
    """The seconds for a test: none takes those of the tests to come."""
    return max(0.0, min(_LONGEST, left / (1 + to_come)))


def missed() -> str:
    """Why real threads would find nothing here; empty if they find what is planted."""
    if usable_cores() < 2:
        return ONE_CORE_NOTE
    report = stress(planted(), _PLANTED)
    return (
        ""
        if report.hits
        else f"a planted lost update was not seen with real threads here ({report.undecided or report.headline()})"
    )


def for_real(ask: Callable[..., Answer], budget: float, clients: int) -> Answer:
    """What becomes of a test whose clients run with real threads, as fields of `Swept`.

    Args:
        ask: gives an order to the process of the test.
    """
    if not budget:
        return {"outcome": SweepOutcome.CUT_SHORT, "reason": f"{option('sweep_budget')} was spent before"}
    answer = ask("stress", budget=budget, clients=clients)
    if answer["outcome"] != SweepOutcome.BROKEN_FOR_REAL or answer["failed"]["symptom"] == CRASHED:
        return answer
    again = ask("search", budget=budget, clients=clients)
    if again["outcome"] != SweepOutcome.BROKEN:
        why = f"{answer['reason']}; its schedules were searched then: {again['outcome']}"
        kind = Kind.C_LEVEL if again["outcome"] == SweepOutcome.HOLDS else ""  # otherwise it is not known what a schedule shows
        return answer | {"reason": why, "failed": answer["failed"] | {"kind": kind}}
    return again | {"reason": f"{again['reason']}; seen with real threads first"}


def stressed(item: pytest.Function, clients: int, budget: float) -> Found:
    """What so many clients show with real threads, in a process in which the test has not run."""
    until = monotonic() + budget
    try:
        program = clients_program(item, clients)[0]
        with explanations.given_back():
            return _stressed(program, until, budget)
    except BaseException as error:  # whatever the test's code raises, SystemExit too
        return (*fails_alone(error), None)


def _stressed(program: Program, until: float, budget: float) -> Found:
    alone: Any = in_a_fork(DEFAULT_TIMEOUT + budget, partial(_in_sequence, program, budget * _PLAIN))
    if isinstance(alone, Outcome):
        return SweepOutcome.REFUSED, f"its own process ended: {alone.headline}", None
    passes, longest, error = alone
    if not passes:
        return SweepOutcome.NOT_REPEATABLE, f"a client fails without any concurrency: {error}", None
    runs = overlapped = 0
    while (left := until - monotonic()) > 0 or not runs:
        child = run(program, StressBounds(max(0.0, left), DEFAULT_TIMEOUT + _SLOWER * longest, passes))
        runs += child.counts[SharedCount.FINISHED] + (child.outcome is not None)
        overlapped += child.counts[SharedCount.OVERLAPPED]
        if not child.counts[SharedCount.FREE_THREADED]:
            return SweepOutcome.REFUSED, GIL_NOTE, None
        if child.failure is not None:
            return (*fails_alone(child.failure), None)
        if child.outcome is not None or child.first is not None:
            return _broken(child, runs)
    told = f"{runs:,} runs with real threads"
    if len(program.threads) > 1:
        told += f", of which threads overlapped in {overlapped:,}"
    if len(program.threads) > 1 and overlapped < _FEWEST:
        return SweepOutcome.CUT_SHORT, "too few runs in which its clients overlapped: raise the budget", None
    return SweepOutcome.UNBROKEN, told, None


def _in_sequence(program: Program, seconds: float) -> tuple[int, float, str]:
    """How often its clients pass one after the other in this process, the seconds of the longest time, and how they fail then."""
    until, longest, orders = monotonic() + seconds, 0.0, (program, replace(program, threads=program.threads[::-1]))
    for passes in range(_MOST):
        begun = monotonic()
        if passes and begun > until:
            return passes, longest, ""
        try:
            orders[passes % 2].run_sequentially()
        except BaseException as error:
            return passes, longest, describe_error(error)
        longest = max(longest, monotonic() - begun)
    return _MOST, longest, ""


def _broken(child: StressChild, runs: int) -> Found:
    """How real threads have broken a test."""
    symptom, message, story = child.end() if child.outcome is not None else child.first or ("", "", "")
    failed = Failed(
        cause=(),
        symptom=symptom,
        kind=Kind.C_LEVEL,
        code=code_of("stress", CRASHED if symptom == CRASHED else Kind.C_LEVEL),
        preemptions=None,
        token="",
        story="\n".join(f"    {line}" for line in story.splitlines()),
    )
    reason = f"{symptom}: {message}; in run {runs:,} with real threads, by chance: nothing replays it"
    return SweepOutcome.BROKEN_FOR_REAL, reason, failed
