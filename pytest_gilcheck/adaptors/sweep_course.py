"""The course of one test in a sweep: its clients are recorded; what they share decides whether their schedules are searched.

Each step is an order to a process that waits (`sweep_server`).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from math import inf
from typing import Any

from ..settings import option
from ..sweep.contended import Met, Thing, unpacked_things
from ..sweep.footprint import SHARED
from ..sweep.swept import SweepOutcome, Swept
from . import read_ahead
from .sweep_child import MARGIN
from .sweep_fork import Answer, WaitingFork
from .sweep_server import CLIENTS
from .sweep_stress import for_real

_PATIENCE = 4 * MARGIN  # seconds beyond the budget until the process is taken for one that hangs; its own forks end before that

UNSURE = (SweepOutcome.NOT_REPEATABLE, SweepOutcome.REFUSED)  # as what earlier tests have left may be missing
_PUT_OFF = "its schedules were to be searched after the records of other tests, and the run ended before"
_PUT_OFF_RECORD = "its record takes long and was to come after those of other tests, and the run ended before"


@dataclass(frozen=True)
class Order:
    """What is to be done with a test.

    Attributes:
        threads: that the plain run has started.
        budget: seconds for the search, if it cannot be put off; 0 if there is no time for one.
        canary: whether to look for what is planted first.
        opt_out: what keeps the test from running in threads: it is recorded then, and no schedule is searched.
        token: of the schedule that broke the test last time; empty without one.
        real: whether its clients run with real threads, in place of a search.
        dear: seconds that its record probably takes, if it is to come after those of other tests; 0 if it comes at once.
    """

    threads: int
    budget: float
    canary: bool = False
    opt_out: str = ""
    token: str = ""
    real: bool = False
    dear: float = 0.0


class CanaryMissed(Exception):
    """What was planted was not found here, so nothing is claimed; the message says why."""


class _Gone(Exception):
    """The process that was asked has ended."""


class Course:
    """The course of one test.

    Args:
        server: the process that is asked.
        number: of the test, for that process.
        test: its node id.
        met: what tests contend for; if this one is searched, it is added.

    Attributes:
        proved: whether what is planted was looked for, and found.
        shares: whether what it shares was seen: then no record of another process may say that it shares nothing.
        things: what its clients contend for, as far as that is known.
        steps: of its clients, one after the other; of a record that took too long, more than any other one has.
        can_wait: whether its record was made, or it needs none, and its search may come later.
        has_token: whether a schedule is known that broke it.
        was_searched: whether its schedules were searched.
        is_gone: whether the process that was asked has ended.
        dear: seconds that its record probably takes, if that was put off; 0 once it was made.
    """

    def __init__(self, server: WaitingFork, number: int, test: str, order: Order, met: Met) -> None:
        self._server, self._number, self._order, self._met = server, number, order, met
        self.proved = self.shares = self.can_wait = self.was_searched = self.is_gone = False
        self._lost: Swept | None = None
        self.things: Sequence[Thing] = ()
        self.steps, self.has_token, self.dear = inf, bool(order.token), order.dear
        self._found = partial(Swept, test=test, threads=order.threads > 0)

    def record(self) -> Swept | None:
        """What becomes of the test by its record; None if its schedules have to be searched.

        Raises:
            CanaryMissed: the order was to look for what is planted, and it was not found.
        """
        self.dear = 0.0
        try:
            if self._order.canary:
                if missed := self._ask("canary", real=self._order.real)["missed"]:
                    raise CanaryMissed(missed)
                self.proved = True
            swept = self._recorded()
        except _Gone:
            return self._gone()
        return swept if self._lost is None or swept is None else self._lost

    def put_off(self) -> Swept:
        """What is said of the test until it is recorded, or its schedules are searched."""
        return self._found(outcome=SweepOutcome.CUT_SHORT, reason=_PUT_OFF_RECORD if self.dear else _PUT_OFF, put_off=True)

    def spent(self) -> Swept:
        """What is said of a test for which there is no time any more."""
        return self._found(outcome=SweepOutcome.CUT_SHORT, reason=f"{option('sweep_budget')} was spent before")

    def search(self, budget: float) -> Swept:
        """What becomes of the test by its schedules, in so many seconds; or by those of tests that meet the same."""
        try:
            swept = self._searched(budget)
        except _Gone:
            return self._gone()
        return swept if self._lost is None or swept.failed is not None else self._lost

    def move_to(self, server: WaitingFork) -> None:
        """Another process is to go on, as this one has ended: it can only say what breaks the test.

        If clients fail there, it may lack what that one had. If no schedule breaks them, what they raced for may have been made.
        """
        self._lost = self._gone()
        self._server, self.is_gone = server, False

    def _gone(self) -> Swept:
        self.is_gone = True
        why = f"the process of its sweep {self._server.fate or 'has ended'}"
        return self._lost or self._found(outcome=SweepOutcome.REFUSED, reason=why)

    def _recorded(self) -> Swept | None:
        order = self._order
        record: Answer = {"outcome": None, "reason": "", "things": [], "ran": False, "steps": 0}
        if not order.threads:
            record = self._ask("record")
            read_ahead.unpacked_in_parent(record.get("learnt", ""))
        if order.opt_out:
            needless = record["outcome"] == SweepOutcome.NOTHING
            return self._found(outcome=SweepOutcome.LEFT_OUT, reason=order.opt_out, opt_out=order.opt_out, needless=needless)
        if order.real and record["outcome"] in (None, SweepOutcome.NOTHING):
            found = for_real(self._ask, order.budget, 1 if order.threads else CLIENTS)
            return Swept.unpacked(self._found(outcome=SweepOutcome.REFUSED).packed() | found)
        if record["outcome"] is not None:
            return self._found(outcome=SweepOutcome(record["outcome"]), reason=record["reason"])
        self.shares, self.can_wait = record["reason"] == SHARED, record["ran"] or order.threads > 0
        self.things, self.steps = unpacked_things(record["things"]), record["steps"] or inf
        return None

    def _searched(self, budget: float) -> Swept:
        order, answer = self._order, None
        self.was_searched = False
        if order.token and budget:
            answer = self._ask("replay", budget=budget, token=order.token)
        elif not order.token and (instead := self._met.instead(self.things)) is not None:
            return self._found(outcome=instead.outcome, reason=instead.reason, like=instead.like)
        if not budget:
            return self.spent()
        self.was_searched = True
        if answer is None or answer["outcome"] is None:
            answer = self._ask("search", budget=budget, clients=1 if order.threads else CLIENTS)
        swept = Swept.unpacked(self._found(outcome=SweepOutcome.REFUSED).packed() | answer)
        self._met.add(swept, self.things)
        return swept

    def _ask(self, do: str, **more: Any) -> Answer:
        answer = self._server.ask({"do": do, "test": self._number, **more}, more.get("budget", 0.0) + _PATIENCE)
        if answer is None:
            raise _Gone
        return answer
