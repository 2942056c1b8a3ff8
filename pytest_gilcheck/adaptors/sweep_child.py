"""One test of a sweep, in a process of its own: a fork from before the test's body ran plainly.

So nothing has been made that only a first run makes. The process waits until the plain run is over, and what it did decides how the
test is swept: as it is if it has started threads, else as two clients.
"""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Sequence
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
from ..engine.schedule import BadToken, Token
from ..fuzz.check import ReplayDiverged
from ..fuzz.isolated import isolated
from ..fuzz.result import FuzzResult, NoClaim
from ..search.plan import FuzzPlan
from ..sweep.canary import broken
from ..sweep.contended import Met, Thing, packed_things, unpacked_things
from ..sweep.footprint import footprint
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
        token: of the schedule that broke the test last time; empty without one.
    """

    threads: int
    budget: float
    canary: bool = False
    opt_out: str = ""
    token: str = ""


class CanaryMissed(Exception):
    """What was planted was not found here, so nothing is claimed; the message says why."""


class WaitingFork:
    """A fork that waits, in the parent.

    Args:
        item: its test, which is set up.
        met: what the tests before it contend for; if it is searched, it is added.
    """

    def __init__(self, item: pytest.Function, met: Met) -> None:
        reading, writing = os.pipe()
        side = fork(_MARGIN)
        if isinstance(side, ChildSide):
            os.close(writing)
            _serve(item, side, OwnDescriptor(reading), met)
        os.close(reading)
        self._met = met
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
        found = Swept.unpacked(answer["swept"])
        self._met.add(found, unpacked_things(answer["things"]))
        return found

    def end(self) -> None:
        """End it: its test is not to be swept."""
        self._side.end()


def _serve(item: pytest.Function, side: ChildSide, orders: OwnDescriptor, met: Met) -> NoReturn:
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
        answer: dict[str, Any]
        try:
            found, things = _swept(item, order, met)
            answer = {"swept": found.packed(), "things": packed_things(things)}
        except CanaryMissed as missed:
            answer = {"missed": str(missed)}
        if getpid() != side.pid:
            exit_at_once(1)
        flush()
        side.answer(json.dumps(answer).encode())
    finally:
        exit_at_once(1)


def _swept(item: pytest.Function, order: Order, met: Met) -> tuple[Swept, Sequence[Thing]]:
    """What becomes of the test, and what its clients contend for, as far as that is known."""

    def found(outcome: SweepOutcome, reason: str, failed: Failed | None = None, like: str = "") -> Swept:
        return Swept(test=item.nodeid, outcome=outcome, reason=reason, threads=order.threads > 0, failed=failed, like=like)

    try:
        if order.canary and (why := broken() or _not_apart(item)):
            raise CanaryMissed(why)
        fixtures = FunctionScopedFixtures(item)
        program, ends_run = program_of(item, fixtures, 1 if order.threads else 2, None, "the sweep")
        fixtures.discard_first()
        with explanations.given_back(), ends_run():
            if order.opt_out:
                needless = not order.threads and _recorded(program)[0] is SweepOutcome.NOTHING
                return replace(found(SweepOutcome.LEFT_OUT, order.opt_out), opt_out=order.opt_out, needless=needless), ()
            outcome, why, things = (None, "", ()) if order.threads else _recorded(program)
            if outcome is not None:
                return found(outcome, why), ()
            if order.token and (again := _replayed(program, order)) is not None:
                return found(SweepOutcome.BROKEN, *again), things
            if not order.token and (instead := met.instead(things)) is not None:
                return found(instead.outcome, instead.reason, like=instead.like), ()
            return found(*_searched(program, order.budget)), things
    except CanaryMissed:
        raise
    except BaseException as error:  # whatever the test's code raises, SystemExit too
        return found(SweepOutcome.NOT_REPEATABLE, f"a client fails without any concurrency: {describe_error(error)}"), ()


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
        return SweepOutcome.BROKEN, result.reason, _failed(result)
    if result.why is None:
        return SweepOutcome.HOLDS, result.reason, None
    if result.why is NoClaim.CUT_SHORT:
        return SweepOutcome.CUT_SHORT, _SPENT, None
    return _OUTCOMES[result.why], result.told or result.reason, None


def _failed(result: FuzzResult) -> Failed:
    return Failed(
        cause=result.cause(),
        symptom=result.symptom or "",
        kind="" if result.kind is None else str(result.kind),
        code=result.code,
        preemptions=result.preemptions,
        token=result.token,
        story=result.story,
    )


def _replayed(program: Program, order: Order) -> tuple[str, Failed] | None:
    """How the schedule of last time still breaks the test; None if it does not. It runs in a fork: the search needs a first run."""

    def replayed() -> Any:
        try:
            plan = FuzzPlan(budget=order.budget, seed=_SEED, replay=Token.read(order.token))
            result = isolated(program, plan, lambda label: None, longest=order.budget + _MARGIN)
        except (BadToken, ReplayDiverged):
            return None
        return None if result.conclusion is not Verdict.VIOLATED else (result.reason, asdict(_failed(result)))

    try:
        answer = _in_a_fork(replayed, order.budget)
    except ClientFails:  # the search says how
        return None
    return None if answer is None else (answer[0], Failed.unpacked(answer[1]))


def _recorded(program: Program) -> tuple[SweepOutcome | None, str, Sequence[Thing]]:
    """What recorded runs in a further fork decide, None if the schedules have to be searched; why; what the clients contend for."""

    def recorded() -> Any:
        try:
            found = footprint(program, _RECORD)
        except NotExplorable as error:
            return SweepOutcome.REFUSED, str(error), []
        return (None, found.why, packed_things(found.things)) if found.why else (SweepOutcome.NOTHING, ", ".join(found.in_c), [])

    try:
        answer = _in_a_fork(recorded, _RECORD)
    except ClientFails as error:
        return SweepOutcome.NOT_REPEATABLE, str(error), ()
    if answer is None:
        return None, "", ()  # the search finds out which run ends its process
    found, why, things = answer
    return (None if found is None else SweepOutcome(found)), why, unpacked_things(things)


class ClientFails(Exception):
    """A client has raised something without any concurrency; the message says what."""


def _in_a_fork(work: Callable[[], Any], limit: float) -> Any:
    """What this returns in a fork, as far as JSON can carry it; None if the fork ends without an answer.

    Raises:
        ClientFails: it has raised something.
    """
    side = fork(limit + _MARGIN, own_group=False)
    if isinstance(side, ChildSide):
        try:
            answer = {"found": work()}
        except BaseException as error:
            answer = {"raised": f"a client fails without any concurrency: {describe_error(error)}"}
        flush()
        side.answer(json.dumps(answer).encode())
    outcome = side.wait()
    if outcome.ending is not Ending.ANSWERED:
        return None
    answer = json.loads(outcome.payload)
    if "raised" in answer:
        raise ClientFails(answer["raised"])
    return answer["found"]


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
