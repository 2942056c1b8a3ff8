"""One test of a sweep, in a process of its own: a fork from before the test's body ran plainly.

So nothing has been made that only a first run makes. The process waits until the plain run is over, and what it did decides how the
test is swept: as it is if it has started threads, else as two clients.
"""

from __future__ import annotations

import json
import os
from typing import Any, NoReturn

import pytest

from ..core import own_modules
from ..core.child import ChildSide, Ending, fork
from ..core.descriptors import OwnDescriptor
from ..core.streams import flush
from ..core.system import exit_at_once, getpid
from ..core.verdict import Verdict
from ..engine.outcome import NotExplorable
from ..engine.program import Program, describe_error
from ..fuzz.isolated import isolated
from ..search.plan import FuzzPlan
from ..sweep.accounting import SweepOutcome, Swept, cause_of
from ..sweep.canary import broken
from ..sweep.footprint import shared_by
from . import explanations
from .fuzz_marker import FunctionScopedFixtures
from .sweep_clients import Clients
from .sweep_own import program_of

_MARGIN = 60.0  # seconds that a search may take beyond its budget, to minimise and explain
_RECORD = 5.0  # seconds for a record
_SEED = 1
_NOT = "not explorable: "


class WaitingFork:
    """A fork that waits, in the parent.

    Args:
        item: its test, which is set up.
    """

    def __init__(self, item: pytest.Function) -> None:
        reading, writing = os.pipe()
        side = fork(_MARGIN)
        if isinstance(side, ChildSide):
            os.close(writing)
            _serve(item, side, OwnDescriptor(reading))
        os.close(reading)
        self._side, self._orders = side, OwnDescriptor(writing)

    def sweep(self, threads: int, budget: float, canary: bool) -> Swept:
        """What becomes of the test. A Ctrl-C ends the fork too.

        Args:
            threads: that the plain run has started.
            budget: seconds for the search.
            canary: whether to look for what is planted first.
        """
        self._orders.write(json.dumps({"threads": threads, "budget": budget, "canary": canary}).encode() + b"\n")
        outcome = self._side.wait()
        if outcome.ending is not Ending.ANSWERED:
            return Swept("", SweepOutcome.REFUSED, f"its own process ended: {str(outcome).splitlines()[0]}", threads > 0)
        return Swept(**json.loads(outcome.payload))

    def end(self) -> None:
        """End it: its test is not to be swept."""
        self._side.end()


def _serve(item: pytest.Function, side: ChildSide, orders: OwnDescriptor) -> NoReturn:
    try:
        with open(os.devnull, "wb") as nowhere:  # pytest's capturing has the descriptors
            os.dup2(nowhere.fileno(), 1)
            os.dup2(nowhere.fileno(), 2)
        side.set_deadline(None)
        order = orders.read(4096)
        if not order:
            exit_at_once(1)
        given = json.loads(order)
        side.set_deadline(_RECORD + given["budget"] + 2 * _MARGIN)
        own_modules.keep()
        swept = _swept(item, given["threads"], given["budget"], given["canary"])
        if getpid() != side.pid:
            exit_at_once(1)
        flush()
        side.answer(json.dumps(swept.packed()).encode())
    finally:
        exit_at_once(1)


def _swept(item: pytest.Function, threads: int, budget: float, canary: bool) -> Swept:
    try:
        if canary and (why := broken() or _not_apart(item)):
            return Swept(item.nodeid, "canary", why)
        count = 1 if threads else 2
        fixtures = FunctionScopedFixtures(item)
        program, ends_run = program_of(item, fixtures, count, None, "the sweep")
        fixtures.discard_first()
        with explanations.given_back(), ends_run():
            return _searched(item, program, budget)
    except BaseException as error:  # whatever the test's code raises, SystemExit too
        return Swept(
            item.nodeid,
            SweepOutcome.NOT_REPEATABLE,
            f"a client fails without any concurrency: {describe_error(error)}",
            threads > 0,
        )


def _searched(item: pytest.Function, program: Program, budget: float) -> Swept:
    of_threads = len(program.threads) == 1
    if not of_threads:
        outcome, why = _recorded(program)
        if outcome is not None:
            return Swept(item.nodeid, outcome, why)
    plan = FuzzPlan(budget=budget, seed=_SEED)
    result = isolated(program, plan, lambda label: None, longest=budget + _MARGIN)
    if result.conclusion is Verdict.VIOLATED:
        how = f"{result.kind}: " if result.kind is not None else ""
        cause = cause_of(result.story, result.rows)
        return Swept(item.nodeid, SweepOutcome.BROKEN, f"{how}{result.reason}", of_threads, result.story, result.token, cause)
    if result.conclusion is Verdict.HOLDS:
        return Swept(item.nodeid, SweepOutcome.HOLDS, result.reason, of_threads)
    if result.reason.startswith("cut short"):
        return Swept(item.nodeid, SweepOutcome.CUT_SHORT, "its schedules did not fit into the time", of_threads)
    if result.reason.startswith(("not repeatable", "not deterministic")):
        why = result.reason.partition("; otherwise")[0].partition(": ")[2]
        return Swept(item.nodeid, SweepOutcome.NOT_REPEATABLE, why, of_threads)
    return Swept(item.nodeid, SweepOutcome.REFUSED, result.reason.removeprefix(_NOT), of_threads)


def _recorded(program: Program) -> tuple[SweepOutcome | None, str]:
    """What one recorded run in a further fork decides; None if the schedules have to be searched."""
    side = fork(_RECORD + _MARGIN, own_group=False)
    if isinstance(side, ChildSide):
        answer: tuple[str | None, str]
        try:
            why = shared_by(program, _RECORD)
            answer = (None, why) if why else (SweepOutcome.NOTHING, "")
        except NotExplorable as error:
            answer = SweepOutcome.REFUSED, str(error)
        except BaseException as error:
            answer = SweepOutcome.NOT_REPEATABLE, f"a client fails without any concurrency: {describe_error(error)}"
        flush()
        side.answer(json.dumps(answer).encode())
    outcome = side.wait()
    if outcome.ending is not Ending.ANSWERED:
        return None, ""  # the search finds out which run ends its process
    found, why = json.loads(outcome.payload)
    return (None if found is None else SweepOutcome(found)), why


def _not_apart(item: pytest.Function) -> str:
    """Why this pytest does not give two clients fixtures of their own; empty if it does."""
    clients = Clients(item, 2, dict)
    try:
        clients.set_up()
        one, other = (client.item for client in clients.now)
        found = [*map(_caches, (item, one, other))]
        mixed = any(one is other for name in found[0] for one, other in _pairs([each.get(name) for each in found]))
        return "two clients of a test have the same fixtures with this version of pytest" if mixed or one is other else ""
    except NotExplorable:
        return ""
    finally:
        clients.tear_down()


def _caches(item: Any) -> dict[str, Any]:
    known = item._fixtureinfo.name2fixturedefs
    return {name: known[name][-1] for name in item.fixturenames if name in known and known[name][-1].scope == "function"}


def _pairs(definitions: list[Any]) -> list[tuple[Any, Any]]:
    return [(one, other) for index, one in enumerate(definitions) for other in definitions[index + 1 :] if one is not None]
