"""A process of a sweep that waits, a fork from before the body of a test ran plainly: it answers for that test and later ones.

So nothing has been made that only a first run makes. No test runs in this process itself. What records need is installed here once.
One fork of it records one test after another, as long as they share nothing that was seen: what such a test leaves behind, no other
one meets. Each search has a fork of its own, in which nothing has run.
"""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Sequence
from dataclasses import asdict
from functools import partial
from typing import Any, NoReturn

import pytest

from ..core import own_modules
from ..core.child import ChildSide, Outcome, fork
from ..core.descriptors import OwnDescriptor
from ..core.system import exit_at_once, getpid
from ..sweep.footprint import Records
from ..sweep.swept import SweepOutcome
from . import read_ahead, sweep_child, sweep_stress
from .sweep_child import MARGIN, Found, RecordOfTest, in_a_fork
from .sweep_fork import Answer
from .sweep_process_wide import refused

CLIENTS = 2
RECORD = 5.0  # seconds for the records of a test
_MOST = 200  # tests that one fork records: it keeps some memory of each
_PART = 65_536  # bytes


class SweepServer:
    """What the process knows.

    Args:
        items: the tests by number.
    """

    def __init__(self, items: Sequence[Any]) -> None:
        self._items = items
        self._records: Records | None = None
        self._modules: set[int] = set()  # that were searched, by id
        self._recorder: _RecordingFork | None = None

    def answer(self, order: Answer) -> Answer:
        """What is asked for: ``do`` is the name of a method below, ``test`` a number, and the rest its arguments."""
        do: Callable[..., Answer] = getattr(self, order.pop("do"))
        return do(self._items[order.pop("test")], **order)

    def canary(self, item: pytest.Function, real: bool) -> Answer:
        """Why nothing may be claimed here; empty if what is planted is found."""
        missed = in_a_fork(RECORD + MARGIN, sweep_stress.missed) if real else ""
        if not missed:
            missed = in_a_fork(RECORD + MARGIN, partial(sweep_child.missed_by_search, self._records))
        if not missed:
            missed = in_a_fork(RECORD + MARGIN, partial(sweep_child.missed_by_record, item, self._records_for(item)))
        return {"missed": str(missed)}

    def record(self, item: pytest.Function) -> Answer:
        """What the records of two clients decide."""
        records = self._records_for(item)
        while True:
            fresh = self._recorder is None
            recorder = self._recorder = self._recorder or _RecordingFork(records, self._items)
            answer = recorder.record(item)
            if answer is not None:
                read_ahead.unpacked_in_parent(answer.get("learnt", ""))
                records.read(answer.pop("started"))
            nothing = answer is not None and answer["outcome"] == SweepOutcome.NOTHING
            if not nothing or recorder.recorded == _MOST:
                self._end_recorder()
            # That clients fail, or die, may come of what earlier tests have left in that fork. A late one takes as long again.
            if nothing or fresh or (answer is not None and answer["outcome"] in (None, SweepOutcome.CUT_SHORT)):
                return answer or RecordOfTest().packed()  # the search finds out which run ends its process

    def end(self, item: pytest.Function) -> Answer:
        """There are no more orders."""
        self._end_recorder()
        return {}

    def _end_recorder(self) -> None:
        if self._recorder is not None:
            self._recorder.end()
            self._recorder = None

    def replay(self, item: pytest.Function, budget: float, token: str) -> Answer:
        return self._searched(partial(sweep_child.replayed, item, CLIENTS, budget, token), budget)

    def search(self, item: pytest.Function, budget: float, clients: int) -> Answer:
        return self._searched(partial(sweep_child.searched, item, clients, budget), budget)

    def stress(self, item: pytest.Function, budget: float, clients: int) -> Answer:
        return self._searched(partial(sweep_stress.stressed, item, clients, budget), budget)

    def _searched(self, job: Callable[[], Found | None], budget: float) -> Answer:
        """What a search in a fork says; no outcome if a replay does not break the test."""

        def search() -> Answer:
            sweep_child.give_back(self._records)
            if (found := job()) is None:
                return {"outcome": None, "reason": "", "failed": None}
            outcome, reason, failed = found
            return {"outcome": outcome, "reason": reason, "failed": None if failed is None else asdict(failed)}

        answer = in_a_fork(RECORD + budget + 2 * MARGIN, search)
        if isinstance(answer, Outcome):
            why = f"its own process ended: {answer.headline}"
            return {"outcome": SweepOutcome.REFUSED, "reason": why, "failed": None}
        found: Answer = answer
        return found

    def _records_for(self, item: pytest.Function) -> Records:
        """What is installed here, with all that is found from a test's module: the next test of it has less to look for."""
        if self._records is None:
            own_modules.keep()
            self._records = Records(RECORD, refused(CLIENTS))
        if id(item.module) not in self._modules:
            self._modules.add(id(item.module))
            definitions = (each for found in item._fixtureinfo.name2fixturedefs.values() for each in found)
            self._records.learn([item.function, *(definition.func for definition in definitions)])
        return self._records


class _RecordingFork:
    """A fork that records one test after another, in its parent.

    Attributes:
        recorded: how many tests.
    """

    def __init__(self, records: Records, items: Sequence[Any]) -> None:
        reading, writing = os.pipe()
        side = fork(MARGIN, own_group=False)
        if isinstance(side, ChildSide):
            os.close(writing)
            _record_all(side, OwnDescriptor(reading), records, items)
        os.close(reading)
        self._side, self._orders, self._items, self._lives = side, OwnDescriptor(writing), items, True
        self.recorded = 0

    def record(self, item: pytest.Function) -> Answer | None:
        """What the records of a test decide; None if they have ended the process."""
        number = next(number for number, each in enumerate(self._items) if each is item)
        try:
            self._orders.write(b"%d" % number)
        except OSError:  # it has ended meanwhile
            return None
        self.recorded += 1
        answer = self._side.wait_for_note()
        if isinstance(answer, Outcome):
            self._lives = False
            return None
        found: Answer = json.loads(answer)
        return found

    def end(self) -> None:
        self._orders.close()
        if self._lives:
            self._side.end()


def _record_all(side: ChildSide, orders: OwnDescriptor, records: Records, items: Sequence[Any]) -> NoReturn:
    files: set[str] = set()  # of which the parent knows what was learnt
    try:
        while given := orders.read(_PART):
            side.set_deadline(RECORD + MARGIN)
            found = sweep_child.recorded(items[int(given)], records, CLIENTS).packed()
            if getpid() != side.pid:  # the test has forked, and has not ended that process
                break
            side.set_deadline(None)
            found |= {"learnt": read_ahead.packed_of_child(files), "started": records.started}
            side.send_note(json.dumps(found).encode())
    finally:
        exit_at_once(1)
