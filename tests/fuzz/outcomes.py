"""The outcomes of a generated program: with our visible steps, and by brute force with every instruction as a step."""

from __future__ import annotations

import re
import sys
import types
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from time import monotonic
from typing import Any
from unittest import mock

from hypothesis import reject

import pytest_gilcheck
from pytest_gilcheck.engine import session
from pytest_gilcheck.engine.outcome import NotExplorable, SequentialFailure
from pytest_gilcheck.engine.program import Program
from pytest_gilcheck.engine.running import events
from pytest_gilcheck.engine.schedule import Schedule
from pytest_gilcheck.search import harness
from pytest_gilcheck.search.ledger import limited
from pytest_gilcheck.search.plan import FuzzPlan
from pytest_gilcheck.search.reduction import Reduction
from pytest_gilcheck.search.search import Search
from tests.fuzz.conflicts_here import Conflicts

from .generated import Drawn

# This code runs a thread of the program. It counts as code of the package, so it makes no steps. It looks at nothing that the
# threads share: their results become text when the run is over.
_RUNNER = """
def runner(body, results, index):
    def run(state):
        try:
            results[index] = body(state)
        except Exception as error:
            results[index] = error
    return run

def observer(observe, seen):
    def observed(state):
        seen.append(observe(state))
    return observed

def follower(once, results, seen, found, address):
    def followed(policy, **how):
        results[:] = [""] * len(results)
        seen.clear()
        run, failure = once(policy, **how)
        found.setdefault(tuple([address.sub("0x", text) for text in (run.stuck, *map(shown, results), *seen)]), run.schedule)
        return run, failure
    return followed

def shown(result):
    return f"{type(result).__name__}: {result}" if isinstance(result, Exception) else repr(result)

def passed(run, broken):
    return None
"""
_ADDRESS = re.compile(r"0x[0-9a-f]+")
_TRIES = 3
Outcome = tuple[str, ...]


@dataclass
class Outcomes:
    """What the runs of a program have shown. A program that gets stuck in every sequential order is rejected.

    Attributes:
        found: by outcome, a schedule that leads to it.
        complete: the number of preemptions up to which every schedule was run.
        runs: how many that were.
        points: of the longest run in a sequential order.
    """

    found: dict[Outcome, Schedule]
    complete: int
    runs: int
    points: int


def outcomes(drawn: Drawn, preemptions: int, seconds: float, *, everything: bool = False, gil: bool = False) -> Outcomes:
    """Run every schedule of a program with at most so many preemptions, as far as the time allows.

    Args:
        everything: whether every instruction is a step.
        gil: whether to preempt only where a build with a GIL can switch.
    """
    with (
        _explored(drawn, everything) as (explorer, sequential, found),
        mock.patch.object(Search, "_by_conflicts", return_value=False),
    ):
        search = Search(explorer, preemptions, limited(monotonic() + seconds, None), 1, gil=gil, sampling=False).run(sequential)
    complete = preemptions if search.everything else search.complete
    return Outcomes(found, complete, search.enumerated, max(run.points for run in sequential))


def reduced_outcomes(drawn: Drawn, most: int, *, gil: bool = False, without_record: bool = False) -> tuple[Outcomes, str]:
    """Run the schedules that turn conflicts round; also why they are no proof, or an empty text.

    Args:
        most: schedules.
        gil: whether to preempt only where a build with a GIL can switch.
        without_record: whether each schedule is first run without a record, as if there were no time for all.
    """

    def fits(runs: int, seconds: float) -> bool:
        return not without_record

    with _explored(drawn, everything=False) as (explorer, sequential, found):
        reduction = Conflicts(explorer, gil=gil, fits=fits)

        def stop() -> bool:
            if not explorer.events.tables_unchanged():
                raise MoreSteps
            return reduction.runs >= most

        with mock.patch.object(Reduction, "_doubt_of_state", return_value=""):  # the set-up gives globals their values again
            while True:
                try:
                    reduction.search(stop)
                    break
                except MoreSteps:
                    sequential = explorer.measured()
                    found.clear()
                    reduction = Conflicts(explorer, gil=gil, fits=fits)
    why = reduction.doubt or ("" if reduction.finished else "there are more schedules")
    return Outcomes(found, 0, reduction.runs, max(run.points for run in sequential)), why


class NotComparable(AssertionError):
    """Our steps could not be searched as far as brute force was."""


class BruteForceNotEnded(NotComparable):
    """There are too many schedules of one preemption for the time that brute force has."""


class MoreSteps(Exception):
    """Code has started that makes steps of what was none, so the schedules so far are void."""


@contextmanager
def _explored(drawn: Drawn, everything: bool):
    """The explorer of a program, its sequential runs, and the outcomes that its runs will have, by outcome with a schedule."""
    names = drawn.load()
    sys.modules.setdefault("generated_module", types.ModuleType("generated_module"))
    made: dict[str, Any] = {}
    exec(compile(_RUNNER, str(Path(pytest_gilcheck.__file__).with_name("runner of generated programs")), "exec"), made)
    results = [""] * len(drawn.threads)
    seen: list[str] = []
    threads = [made["runner"](names[f"t{index}"], results, index) for index in range(len(drawn.threads))]
    bodies = tuple(names[f"t{index}"] for index in range(len(drawn.threads)))
    program = Program(tuple(threads), names["setup"], made["observer"](names["observe"], seen), calls=bodies)
    found: dict[Outcome, str] = {}

    with _every_instruction(everything), harness.explorer_for(program, FuzzPlan(timeout=30.0), lambda label: None) as explorer:
        try:
            sequential = explorer.sequential()
        except SequentialFailure:
            reject()  # it gets stuck in every order
        explorer.once = made["follower"](explorer.once, results, seen, found, _ADDRESS)
        explorer._failure_of = made["passed"]  # a deadlock is an outcome like others
        yield explorer, sequential, found


@contextmanager
def _every_instruction(wanted: bool):
    if not wanted:
        yield
        return
    with mock.patch.object(session, "Events", lambda engine: events.Events(engine, everything=True)):
        yield


def surely(drawn: Drawn, preemptions: int, seconds: float, *, everything: bool = False, gil: bool = False) -> Outcomes:
    """The outcomes; tried again if a busy machine has kept a thread from running for so long that the run was given up."""
    for _ in range(_TRIES - 1):
        try:
            return outcomes(drawn, preemptions, seconds, everything=everything, gil=gil)
        except NotExplorable:
            continue
    return outcomes(drawn, preemptions, seconds, everything=everything, gil=gil)


def missed(
    drawn: Drawn, seconds: float = 4.0, preemptions: int = 2, brute: Outcomes | None = None, longest: float = 60.0
) -> tuple[dict[Outcome, Schedule | None], Outcomes, Outcomes]:
    """The outcomes that our steps miss, or have too many, each with a schedule; what brute force found, and what ours found.

    Args:
        seconds: for the brute force.
        brute: what brute force found before.
        longest: seconds for the brute force of one preemption less.

    Raises:
        BruteForceNotEnded: if it had too much to do for that.
        NotComparable: if ours could not be searched as far.
    """
    brute = brute or surely(drawn, preemptions, seconds, everything=True)
    if brute.complete < preemptions:  # a part of the schedules with one more preemption was run, and does not count
        wanted = max(1, brute.complete)
        brute = surely(drawn, wanted, longest, everything=True)
        if brute.complete < wanted:
            raise BruteForceNotEnded(f"brute force has not run every schedule of {wanted} preemptions in {longest:.0f} s: {drawn}")
    ours = surely(drawn, brute.complete, 60.0)
    if ours.complete != brute.complete:
        raise NotComparable(f"the machine is too slow, or ours has more steps than there are instructions: {drawn}")
    differing = brute.found.keys() ^ ours.found.keys()
    return {each: brute.found.get(each, ours.found.get(each)) for each in differing}, brute, ours


def lost_by_conflicts(
    drawn: Drawn,
    preemptions: int = 1,
    most: int = 1000,
    brute: Outcomes | None = None,
    *,
    gil: bool = False,
    without_record: bool = False,
) -> tuple[dict[Outcome, Schedule], str, Outcomes]:
    """The outcomes of schedules with so many preemptions to which no conflict leads, each with a schedule; why that proves nothing,
    or an empty text; and what brute force found.

    Args:
        most: schedules that turn a conflict round.
        brute: what brute force found before.
        gil: whether to preempt only where a build with a GIL can switch, both times.
        without_record: see `reduced_outcomes`.
    """
    reduced, why = reduced_outcomes(drawn, most, gil=gil, without_record=without_record)
    if why:
        return {}, why, reduced
    brute = brute or surely(drawn, preemptions, 60.0, gil=gil)
    return {each: schedule for each, schedule in brute.found.items() if each not in reduced.found}, "", brute
