"""Runs a program in this process, and says what each run was like."""

from __future__ import annotations

from dataclasses import replace
from typing import Protocol

from ..core.clocks import monotonic
from ..engine.outcome import Failure, Symptom
from ..engine.running.policy import Planned, Policy
from ..engine.running.record import ScheduleRun
from ..engine.summary import PLAIN, RunSummary, Touched, Want
from ..engine.touched.focusing import focusing_of
from ..engine.touched.summarised import Written, doubt_of, summarised, touched_of
from ..engine.touched.trace import Trace
from .explorer import Explorer
from .orders import Order


class Executor(Protocol):
    """What makes runs of one program."""

    def run(self, how: Policy | Order, want: Want = PLAIN) -> RunSummary | None:
        """What one run was like; None if it has ended its process."""


class Here:
    """The executor of this process.

    Args:
        confirms: whether a recorded run that fails is run again without a record; a first run cannot be.

    Attributes:
        failure: how the last run failed, with its live exception; None if it did not.
    """

    def __init__(self, explorer: Explorer, *, confirms: bool = True) -> None:
        self._explorer, self._confirms = explorer, confirms
        self._written = Written()
        self.failure: Failure | None = None

    def run(self, how: Policy | Order, want: Want = PLAIN) -> RunSummary:
        """What one run was like.

        Args:
            how: a policy; or a sequential order, in which a sleep lets only those run that the program has started.

        Raises:
            NotExplorable, SequentialFailure: see `Explorer.once`.
        """
        begun = monotonic()
        explorer = self._explorer
        explorer.hide(want.hidden)
        doubt, touched = "", None
        if want.touched:
            run, self.failure, doubt, touched = self._recorded(how, want)
        else:
            run, self.failure = self._once(how, want)
            if self.failure is not None and want.hidden:
                self.failure = explorer.with_every_step(self.failure, want.hidden)
        return outcome_of(explorer, how, want, run, self.failure, doubt=doubt, touched=touched, seconds=monotonic() - begun)

    def _once(self, how: Policy | Order, want: Want) -> tuple[ScheduleRun, Failure | None]:
        if isinstance(how, tuple):
            return self._explorer.in_order(how, measuring=want.switches)
        return self._explorer.once(how, recording=want.choices, measuring=want.switches)

    def _recorded(self, how: Policy | Order, want: Want) -> tuple[ScheduleRun, Failure | None, str, Touched | None]:
        """Run the program and record what it touches: also why nothing follows from the run, and what it touched if it passed.

        What fails each time that it is recorded, and not otherwise, is no failure of the program: it may count references, say. A
        failure that comes and goes is one, whatever the reason.
        """
        explorer, codes = self._explorer, self._explorer.events.codes if want.focusing else frozenset[int]()
        self._written.let_go()
        trace = self._trace(want)
        with trace:
            run, failure = self._once(how, want)
        doubt = ""
        if failure is not None and self._confirms and failure.symptom is not Symptom.HANGS:  # which would take as long again
            if (plain := self._once(how, Want(switches=want.switches))[1]) is not None:
                return run, plain, "", None
            doubt = f"it is not known what {trace.objects.disturbed} touches"
            if not trace.objects.disturbed:
                with self._trace(want):
                    if self._once(how, want)[1] is None:
                        return run, failure, "", None
                doubt = "the program notices that it is recorded"
            failure = None
        if failure is not None:
            return run, failure, "", None
        doubt = doubt or doubt_of(run, trace, explorer.engine, explorer.events.names, len(explorer.program.threads))
        focusing = focusing_of(trace, codes) if want.focusing else None
        return run, None, doubt, touched_of(trace, found_again=self._written.again(trace), focusing=focusing)

    def _trace(self, want: Want) -> Trace:
        names = self._explorer.events.names
        by_dictionaries = names.anything
        return Trace(self._explorer.engine, focusing=want.focusing, until=want.until, by_dictionaries=by_dictionaries)


def outcome_of(
    explorer: Explorer,
    how: Policy | Order,
    want: Want,
    run: ScheduleRun,
    failure: Failure | None,
    *,
    doubt: str = "",
    touched: Touched | None = None,
    seconds: float = 0.0,
) -> RunSummary:
    """The summary of a run; of one that failed, no more than how it did and the way there."""
    known = not (explorer.uncontrolled or explorer.events.names.grown)
    summary = summarised(run if failure is None else failure.run, want if failure is None else Want(anchors=want.anchors))
    return replace(
        summary,
        symptom="" if failure is None else str(failure.symptom),
        message="" if failure is None else failure.message,
        unused=how.unused if isinstance(how, Planned) else None,
        known=known,
        doubt=doubt,
        touched=touched,
        seconds=seconds,
    )
