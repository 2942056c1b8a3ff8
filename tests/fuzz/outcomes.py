"""The outcomes of a generated program: with our visible steps, and by brute force with every instruction as a step."""

from __future__ import annotations

import re
import sys
import types
from contextlib import contextmanager
from dataclasses import dataclass
from time import monotonic
from typing import Any
from unittest import mock

from pytest_gilcheck.fuzz.plan import FuzzPlan
from pytest_gilcheck.fuzz.program import Program
from pytest_gilcheck.fuzz.running import events
from pytest_gilcheck.fuzz.searching import harness
from pytest_gilcheck.fuzz.searching.limits import TimeLimit
from pytest_gilcheck.fuzz.searching.search import Search

from .generated import Drawn

# This code runs a thread of the program. It belongs neither to the program nor to the engine, so it makes no steps.
_RUNNER = """
def runner(body, results, index, text):
    def run(state):
        try:
            results[index] = text(body(state))
        except Exception as error:
            results[index] = text(error)
    return run
"""
_ADDRESS = re.compile(r"0x[0-9a-f]+")
Outcome = tuple[str, ...]


@dataclass
class Outcomes:
    """What the runs of a program have shown.

    Attributes:
        found: by outcome, a schedule that leads to it.
        complete: the number of preemptions up to which every schedule was run.
        runs: how many that were.
        steps: of the longest run in a sequential order.
    """

    found: dict[Outcome, str]
    complete: int
    runs: int
    steps: int


def outcomes(drawn: Drawn, preemptions: int, seconds: float, *, everything: bool = False) -> Outcomes:
    """Run every schedule of a program with at most so many preemptions, as far as the time allows.

    Args:
        everything: whether every instruction is a step.
    """
    names = drawn.load()
    sys.modules.setdefault("generated_module", types.ModuleType("generated_module"))
    made: dict[str, Any] = {}
    exec(compile(_RUNNER, "<frozen runner of generated programs>", "exec"), made)
    results = [""] * len(drawn.threads)
    seen: list[str] = []
    threads = [made["runner"](names[f"t{index}"], results, index, _text) for index in range(len(drawn.threads))]
    program = Program(tuple(threads), names["setup"], lambda state: seen.append(names["observe"](state)))
    found: dict[Outcome, str] = {}
    with _every_instruction(everything), harness.explorer_for(program, FuzzPlan(timeout=30.0), lambda label: None) as explorer:
        follow = explorer.follow

        def followed(schedule, **how):
            results[:] = [""] * len(results)
            seen.clear()
            run, failure = follow(schedule, **how)
            found.setdefault((run.stuck, *results, *seen), str(run.schedule))
            return run, failure

        sequential = explorer.sequential()
        explorer.follow = followed
        explorer._classify = lambda run, broken: None  # a deadlock is an outcome like others
        search = Search(explorer, preemptions, TimeLimit(monotonic() + seconds), 1, sampling=False).run(sequential)
    return Outcomes(found, search.complete, search.enumerated, search.steps)


@contextmanager
def _every_instruction(wanted: bool):
    if not wanted:
        yield
        return
    with mock.patch.object(harness, "Events", lambda engine: events.Events(engine, everything=True)):
        yield


def _text(value: object) -> str:
    described = f"{type(value).__name__}: {value}" if isinstance(value, Exception) else repr(value)
    return _ADDRESS.sub("0x", described)


def missed(drawn: Drawn, seconds: float = 4.0, preemptions: int = 2) -> tuple[dict[Outcome, str], Outcomes, Outcomes]:
    """The outcomes that our steps miss, or have too many, each with a schedule; what brute force found, and what ours found."""
    brute = outcomes(drawn, preemptions, seconds, everything=True)
    if brute.complete < preemptions:  # a part of the schedules with one more preemption was run, and does not count
        brute = outcomes(drawn, max(0, brute.complete), 60.0, everything=True)
    ours = outcomes(drawn, brute.complete, 60.0)
    assert ours.complete == brute.complete, "the machine is too slow, or ours has more steps than there are instructions"
    differing = brute.found.keys() ^ ours.found.keys()
    return {each: brute.found.get(each, ours.found.get(each, "")) for each in differing}, brute, ours
