"""A process of a sweep that waits, a fork from before the body of a test ran plainly: it answers for that test and later ones.

So nothing has been made that only a first run makes. Nothing runs in this process itself: each record and each search is made in a
fork of it (`sweep_child`). What a record needs is installed here once.
"""

from __future__ import annotations

import json
import os
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from functools import partial
from typing import Any, NoReturn

import pytest

from ..core import own_modules
from ..core.child import ChildSide, Outcome, fork
from ..core.descriptors import OwnDescriptor
from ..core.fork_safety import NoFork
from ..core.system import exit_at_once
from ..sweep.footprint import Records
from ..sweep.swept import Failed, SweepOutcome, Swept
from . import sweep_child
from .sweep_child import MARGIN, in_a_fork
from .sweep_process_wide import refused

_CLIENTS = 2
_RECORD = 5.0  # seconds for a record


@dataclass(frozen=True)
class Order:
    """What is to be done with a test.

    Attributes:
        threads: that the plain run has started.
        budget: seconds for the search.
        canary: whether to look for what is planted first.
        opt_out: what keeps the test from running in threads: it is recorded then, and no schedule is searched.
        number: of the test; that before whose body the process was forked is the last one.
    """

    threads: int
    budget: float
    canary: bool = False
    opt_out: str = ""
    number: int = -1


class CanaryMissed(Exception):
    """What was planted was not found here, so nothing is claimed; the message says why."""


class SweepServer:
    """The process, in its parent.

    Args:
        item: the test that is about to run; it is set up.
        items: those that may be asked for later, by number.

    Attributes:
        lives: whether it can be asked.
    """

    def __init__(self, item: pytest.Function, items: Sequence[pytest.Item]) -> None:
        reading, writing = os.pipe()
        try:
            side = fork(MARGIN)
        except NoFork:
            os.close(reading)
            os.close(writing)
            raise
        if isinstance(side, ChildSide):
            os.close(writing)
            _serve([*items, item], side, OwnDescriptor(reading))
        os.close(reading)
        self._side, self._orders, self.lives = side, OwnDescriptor(writing), True

    def sweep(self, test: str, order: Order) -> Swept:
        """What becomes of a test. A Ctrl-C ends the process too.

        Raises:
            CanaryMissed: the order was to look for what is planted, and it was not found.
        """
        try:
            self._orders.write(json.dumps(asdict(order)).encode())
            answer = self._side.wait_for_note()
        except BrokenPipeError:
            answer = self._side.wait()
        except BaseException:
            self.lives = False  # waiting has ended it
            raise
        if isinstance(answer, Outcome):
            self.lives = False
            why = f"the process of its sweep ended: {str(answer).splitlines()[0]}"
            return Swept(test=test, outcome=SweepOutcome.REFUSED, reason=why, threads=order.threads > 0)
        found = json.loads(answer)
        if "missed" in found:
            raise CanaryMissed(found["missed"])
        return Swept.unpacked(found)

    def end(self) -> None:
        """End it; a second call does nothing."""
        if self.lives:
            self.lives = False
            self._side.end()


def _serve(items: Sequence[Any], side: ChildSide, orders: OwnDescriptor) -> NoReturn:
    try:
        with open(os.devnull, "wb") as nowhere:  # pytest's capturing has the descriptors
            os.dup2(nowhere.fileno(), 1)
            os.dup2(nowhere.fileno(), 2)
        side.set_deadline(None)
        served = _Served(items)
        while given := orders.read(65536):
            order = Order(**json.loads(given))
            side.set_deadline(3 * (_RECORD + MARGIN) + order.budget + 2 * MARGIN)
            try:
                answer = served.swept(order).packed()
            except CanaryMissed as missed:
                answer = {"missed": str(missed)}
            side.set_deadline(None)
            side.send_note(json.dumps(answer).encode())
    finally:
        exit_at_once(1)


class _Served:
    """The tests of this process, and what is installed for them."""

    def __init__(self, items: Sequence[Any]) -> None:
        self._items = items
        self._records: Records | None = None
        self._known: set[int] = set()  # the modules that were searched, by id

    def swept(self, order: Order) -> Swept:
        item = self._items[order.number]
        found = partial(Swept, test=item.nodeid, threads=order.threads > 0)
        if order.canary:
            self._look_for_what_is_planted(item)
        recorded = None
        if not order.threads:
            recorded = in_a_fork(_RECORD + MARGIN, partial(sweep_child.recorded, item, self._records_for(item), _CLIENTS))
        outcome, why = (
            (None, "") if recorded is None or isinstance(recorded, Outcome) else recorded
        )  # the search finds out what ends it
        if order.opt_out:
            needless = outcome == SweepOutcome.NOTHING
            return found(outcome=SweepOutcome.LEFT_OUT, reason=order.opt_out, opt_out=order.opt_out, needless=needless)
        if outcome is not None:
            return found(outcome=SweepOutcome(outcome), reason=why)
        clients = 1 if order.threads else _CLIENTS
        job = partial(sweep_child.searched, item, self._records, clients, order.budget)
        answer = in_a_fork(_RECORD + order.budget + 2 * MARGIN, lambda: _packed(*job()))
        if isinstance(answer, Outcome):
            return found(outcome=SweepOutcome.REFUSED, reason=f"its own process ended: {str(answer).splitlines()[0]}")
        return Swept.unpacked(found(outcome=SweepOutcome.REFUSED).packed() | answer)

    def _look_for_what_is_planted(self, item: pytest.Function) -> None:
        records = self._records_for(item)
        for job in (partial(sweep_child.missed_by_record, item), sweep_child.missed_by_search):
            if missed := in_a_fork(_RECORD + MARGIN, partial(job, records)):
                raise CanaryMissed(str(missed))

    def _records_for(self, item: pytest.Function) -> Records:
        """What is installed here, with all that is found from a test's module: the next test of it has less to look for."""
        if self._records is None:
            own_modules.keep()
            self._records = Records(_RECORD, refused(_CLIENTS))
        if id(item.module) not in self._known:
            self._known.add(id(item.module))
            definitions = (each for found in item._fixtureinfo.name2fixturedefs.values() for each in found)
            self._records.learn([item.function, *(definition.func for definition in definitions)])
        return self._records


def _packed(outcome: SweepOutcome, reason: str, failed: Failed | None) -> dict[str, Any]:
    return {"outcome": str(outcome), "reason": reason, "failed": None if failed is None else asdict(failed)}
