"""One test of a sweep, in a process of its own: a fork from before the test's body ran plainly.

So nothing has been made that only a first run makes. The process waits until the plain run is over, and what it did decides how the
test is swept: as it is if it has started threads, else as two clients.
"""

from __future__ import annotations

import json
import os
from dataclasses import asdict, dataclass, replace
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
from ..fuzz.result import NoClaim
from ..search.plan import FuzzPlan
from ..sweep.canary import broken
from ..sweep.footprint import shared_by
from ..sweep.swept import Failed, SweepOutcome, Swept
from . import explanations
from .fuzz_marker import FunctionScopedFixtures
from .sweep_clients import Clients
from .sweep_own import program_of

_MARGIN = 60.0  # seconds that a search may take beyond its budget, to minimise and explain
_RECORD = 5.0  # seconds for a record
_SEED = 1
_SPENT = "its schedules did not fit into the time"


@dataclass(frozen=True)
class Order:
    """What the fork is to do.

    Attributes:
        threads: that the plain run has started.
        budget: seconds for the search.
        canary: whether to look for what is planted first.
        opt_out: what keeps the test from running in threads: it is recorded then, and no schedule is searched.
    """

    threads: int
    budget: float
    canary: bool = False
    opt_out: str = ""


class CanaryMissed(Exception):
    """What was planted was not found here, so nothing is claimed; the message says why."""


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
        self._test, self._side, self._orders = item.nodeid, side, OwnDescriptor(writing)

    def sweep(self, order: Order) -> Swept:
        """What becomes of the test. A Ctrl-C ends the fork too.

        Raises:
            CanaryMissed: the order was to look for what is planted, and it was not found.
        """
        self._orders.write(json.dumps(asdict(order)).encode() + b"\n")
        outcome = self._side.wait()
        if outcome.ending is not Ending.ANSWERED:
            why = f"its own process ended: {outcome.headline}"
            return Swept(test=self._test, outcome=SweepOutcome.REFUSED, reason=why, threads=order.threads > 0)
        answer = json.loads(outcome.payload)
        if "missed" in answer:
            raise CanaryMissed(answer["missed"])
        return Swept.unpacked(answer)

    def end(self) -> None:
        """End it: its test is not to be swept."""
        self._side.end()


def _serve(item: pytest.Function, side: ChildSide, orders: OwnDescriptor) -> NoReturn:
    try:
        with open(os.devnull, "wb") as nowhere:  # pytest's capturing has the descriptors
            os.dup2(nowhere.fileno(), 1)
            os.dup2(nowhere.fileno(), 2)
        side.set_deadline(None)
        given = orders.read(4096)
        if not given:
            exit_at_once(1)
        order = Order(**json.loads(given))
        side.set_deadline(_RECORD + order.budget + 2 * _MARGIN)
        own_modules.keep()
        try:
            answer = _swept(item, order).packed()
        except CanaryMissed as missed:
            answer = {"missed": str(missed)}
        if getpid() != side.pid:
            exit_at_once(1)
        flush()
        side.answer(json.dumps(answer).encode())
    finally:
        exit_at_once(1)


def _swept(item: pytest.Function, order: Order) -> Swept:
    def found(outcome: SweepOutcome, reason: str, failed: Failed | None = None) -> Swept:
        return Swept(test=item.nodeid, outcome=outcome, reason=reason, threads=order.threads > 0, failed=failed)

    try:
        if order.canary and (why := broken() or _not_apart(item)):
            raise CanaryMissed(why)
        fixtures = FunctionScopedFixtures(item)
        program, ends_run = program_of(item, fixtures, 1 if order.threads else 2, None, "the sweep")
        fixtures.discard_first()
        with explanations.given_back(), ends_run():
            if order.opt_out:
                needless = not order.threads and _recorded(program)[0] is SweepOutcome.NOTHING
                return replace(found(SweepOutcome.LEFT_OUT, order.opt_out), opt_out=order.opt_out, needless=needless)
            outcome, why = (None, "") if order.threads else _recorded(program)
            return found(*_searched(program, order.budget)) if outcome is None else found(outcome, why)
    except CanaryMissed:
        raise
    except BaseException as error:  # whatever the test's code raises, SystemExit too
        return found(SweepOutcome.NOT_REPEATABLE, f"a client fails without any concurrency: {describe_error(error)}")


_OUTCOMES = {
    NoClaim.NOT_REPEATABLE: SweepOutcome.NOT_REPEATABLE,
    NoClaim.NOT_DETERMINISTIC: SweepOutcome.NOT_REPEATABLE,
    NoClaim.NOT_EXPLORABLE: SweepOutcome.REFUSED,
    NoClaim.UNCONTROLLED: SweepOutcome.REFUSED,
}


def _searched(program: Program, budget: float) -> tuple[SweepOutcome, str, Failed | None]:
    """What a search of its schedules says."""
    plan = FuzzPlan(budget=budget, seed=_SEED)
    result = isolated(program, plan, lambda label: None, longest=budget + _MARGIN)
    if result.conclusion is Verdict.VIOLATED:
        failed = Failed(
            cause=result.cause(),
            symptom=result.symptom or "",
            kind="" if result.kind is None else str(result.kind),
            code=result.code,
            preemptions=result.preemptions,
            token=result.token,
            story=result.story,
        )
        return SweepOutcome.BROKEN, result.reason, failed
    if result.why is None:
        return SweepOutcome.HOLDS, result.reason, None
    if result.why is NoClaim.CUT_SHORT:
        return SweepOutcome.CUT_SHORT, _SPENT, None
    return _OUTCOMES[result.why], result.told or result.reason, None


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
