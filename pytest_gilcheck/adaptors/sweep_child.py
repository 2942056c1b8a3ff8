"""What the forks of a sweep do with one test: look for what is planted, record, search.

The test is not set up there, or what was set up is discarded: its clients set up their own fixtures for each run (`sweep_clients`).
"""

from __future__ import annotations

import json
import traceback
from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager
from pathlib import Path
from typing import Any, NamedTuple

import pytest
from _pytest.tmpdir import tmppath_result_key

from ..core.child import ChildSide, Ending, fork
from ..core.clocks import monotonic
from ..core.origin import of_user, ours
from ..core.streams import flush
from ..core.system import exit_at_once, getpid
from ..core.verdict import Verdict
from ..engine.outcome import NotExplorable
from ..engine.program import Program, describe_error
from ..engine.schedule import Token
from ..fuzz.isolated import isolated
from ..fuzz.result import FuzzResult, NoClaim
from ..search.plan import FuzzPlan
from ..sweep.canary import broken, unseen
from ..sweep.causes import of_tests
from ..sweep.contended import Thing, packed_things
from ..sweep.footprint import Records
from ..sweep.swept import Failed, SweepOutcome
from . import explanations
from .fuzz_marker import FunctionScopedFixtures
from .sweep_clients import Clients
from .sweep_own import program_of
from .sweep_process_wide import INSTEAD

MARGIN = 60.0  # seconds that a search may take beyond its budget, to minimise and explain
_SEED = 1
_SPENT = "its schedules did not fit into the time"
_SPENT_FIRST = "the schedules of its first run, which makes what later runs find, did not fit into the time"
Found = tuple[SweepOutcome, str, Failed | None]


def in_a_fork(limit: float, job: Callable[[], Any]) -> Any:
    """What a job says in a fork, as JSON can tell it; how the fork has ended, if it has not answered.

    Raises:
        NoFork: the system refuses it.
    """
    side = fork(limit, own_group=False)
    if isinstance(side, ChildSide):
        try:
            answer = job()
            if getpid() == side.pid:  # otherwise the test has forked, and has not ended that process
                flush()
                side.answer(json.dumps(answer).encode())
        finally:
            exit_at_once(1)
    outcome = side.wait()
    return json.loads(outcome.payload) if outcome.ending is Ending.ANSWERED else outcome


def missed_by_record(item: pytest.Function, records: Records) -> str:
    """Why a record of this test's clients would prove nothing; empty if it would."""
    return _not_apart(item) or unseen(records)


def missed_by_search(records: Records | None) -> str:
    """Why no search here would find anything; empty if it finds what is planted."""
    give_back(records)
    return broken()


def give_back(records: Records | None) -> None:
    """Remove what is installed here, if it is."""
    if records is not None:
        records.give_back()


class RecordOfTest(NamedTuple):
    """What the records of a test's clients decide.

    Attributes:
        outcome: None if their schedules have to be searched.
        reason: why.
        things: what they contend for.
        ran: whether they do what they should, one after the other.
        steps: of that run; 0 if it was not seen to its end.
    """

    outcome: SweepOutcome | None = None
    reason: str = ""
    things: Sequence[Thing] = ()
    ran: bool = False
    steps: int = 0

    def packed(self) -> dict[str, Any]:
        """As JSON can carry it."""
        return {**self._asdict(), "things": packed_things(self.things)}


def recorded(item: pytest.Function, records: Records, clients: int) -> RecordOfTest:
    """What the records of so many clients decide.

    Args:
        records: with what ends the run of a client that changes what belongs to the process.
    """
    begun = monotonic()
    try:
        with explanations.given_back():
            root = str(item.config.rootpath)
            found = records.footprint(clients_program(item, clients)[0], lambda file: of_user(file) and of_tests(file, root))
    except NotExplorable as error:
        late = monotonic() - begun >= records.limit  # then no other process is asked, which would take as long
        return RecordOfTest(SweepOutcome.CUT_SHORT if late else SweepOutcome.REFUSED, str(error))
    except BaseException as error:  # whatever the test's code raises, SystemExit too
        return RecordOfTest(*fails_alone(error))
    if found.sets:
        return RecordOfTest(SweepOutcome.REFUSED, f"{found.sets}, {INSTEAD}")
    if found.why:
        return RecordOfTest(None, found.why, found.things, found.ran, found.steps)
    return RecordOfTest(SweepOutcome.NOTHING, ", ".join(found.in_c))


def searched(item: pytest.Function, clients: int, budget: float) -> Found:
    """What the schedules of so many clients show."""
    try:
        program, ends_run = clients_program(item, clients)
        with explanations.given_back(), ends_run():
            return _searched(program, budget)
    except BaseException as error:
        return (*fails_alone(error), None)


def replayed(item: pytest.Function, clients: int, budget: float, token: str) -> Found | None:
    """How the schedule of this token breaks the test; None if it does not."""
    try:
        program, ends_run = clients_program(item, clients)
        with explanations.given_back(), ends_run():
            plan = FuzzPlan(budget=budget, seed=_SEED, replay=Token.read(token))
            result = isolated(program, plan, lambda label: None, longest=budget + MARGIN)
    except BaseException:  # the token is of another program, or a client fails alone: the search says how
        return None
    return None if result.conclusion is not Verdict.VIOLATED else (SweepOutcome.BROKEN, result.reason, _failed(result))


def fails_alone(error: BaseException) -> tuple[SweepOutcome, str]:
    """What an error says that came before any concurrency. One of this package is none of the test."""
    frames = [(frame.f_code.co_filename, line) for frame, line in traceback.walk_tb(error.__traceback__)]
    if error.__cause__ is None and frames and all(ours(file) for file, _ in frames):
        file, line = frames[-1]
        where = f"{Path(file).name}:{line}"
        return SweepOutcome.REFUSED, f"internal error of gilcheck: {describe_error(error)} ({where}); please report it"
    return SweepOutcome.NOT_REPEATABLE, f"a client fails without any concurrency: {describe_error(error)}"


def clients_program(item: pytest.Function, clients: int) -> tuple[Program, Callable[[], AbstractContextManager[None]]]:
    for node in item.listchain()[:-1]:  # which a client may ask for a wider fixture; perhaps no test of it was set up here
        item.session._setupstate.stack.setdefault(node, ([node.teardown], None))
    item.stash.setdefault(tmppath_result_key, {})  # as the report of a set-up does
    fixtures = FunctionScopedFixtures(item)
    made = program_of(item, fixtures, clients, None, "the sweep")
    fixtures.discard_first()
    return made


_OUTCOMES = {
    NoClaim.NOT_REPEATABLE: SweepOutcome.NOT_REPEATABLE,
    NoClaim.NOT_DETERMINISTIC: SweepOutcome.NOT_REPEATABLE,
    NoClaim.NOT_EXPLORABLE: SweepOutcome.REFUSED,
    NoClaim.UNCONTROLLED: SweepOutcome.REFUSED,
}


def _searched(program: Program, budget: float) -> Found:
    """What a search of its schedules says."""
    plan = FuzzPlan(budget=budget, seed=_SEED, first_runs=True)
    result = isolated(program, plan, lambda label: None, longest=budget + MARGIN)
    if result.conclusion is Verdict.VIOLATED:
        return SweepOutcome.BROKEN, result.reason, _failed(result)
    if result.why is None:
        return SweepOutcome.HOLDS, result.reason, None
    if result.why is NoClaim.CUT_SHORT or result.late:
        return SweepOutcome.CUT_SHORT, _SPENT_FIRST if result.late else _SPENT, None
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
        through=() if result.places else result.files(),
    )


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
