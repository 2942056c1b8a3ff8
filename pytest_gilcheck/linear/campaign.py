"""A campaign: hypothesis draws programs, each is searched once, and the first that nothing explains is made small.

A program that is drawn again has the answer that it had, so hypothesis never meets a flaky test. What ends a campaign early (hidden
state, an error of ours, Ctrl-C, the end of the budget) is no failing example: it passes through hypothesis as an interrupt does.
What does not work: to let the rest of the draws pass, which takes 3 ms for each (8 on 3.13t).
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from typing import Any

import hypothesis
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis.errors import HypothesisException, Unsatisfiable

from ..core import stop_request
from ..core.clocks import monotonic
from ..engine.outcome import NotExplorable, SequentialFailure
from ..engine.schedule import checksum
from .class_session import Blocked, ClassSession
from .drawing import operations_of, programs, simplest
from .exploring import Explored, Finding, explored, fails_again
from .judging import Refused
from .kept import KeptFailures
from .operations import DrawnOperation, DrawnProgram, OperationKind, overlapping, pairs_of
from .plan import LEAST_OVERLAPPED, SCHEDULES, LinearPlan
from .smaller import along, smaller

_FEWEST_OF_MISSING, _ROUNDS_IN_VAIN = 4, 2  # examples of a round for pairs that have not overlapped


class NotLinearizable(AssertionError):
    """A program that no sequential order explains, for hypothesis."""


class _Over(KeyboardInterrupt):
    """The campaign has ended early. Of this type, because hypothesis keeps every other example that raises as one that fails."""


@dataclass
class Counted:
    """What a campaign has done.

    Attributes:
        programs: that were searched.
        schedules, orders: that were run, in all of them.
        settled: programs of which no conflict that was seen is left untried.
        blocked: programs that are none (`class_session.Blocked`).
        doubts: why others are not settled, with how many.
        overlapped: the pairs of operations that have.
        expired: whether the budget ended it.
    """

    programs: int = 0
    schedules: int = 0
    orders: int = 0
    settled: int = 0
    blocked: int = 0
    doubts: dict[str, int] = field(default_factory=dict)
    overlapped: set[frozenset[OperationKind]] = field(default_factory=set)
    expired: bool = False


class Campaign:
    """Searches programs of one class.

    Args:
        session: on which they run, warm.
        plan: how.
        progress: called with what was done so far.

    Attributes:
        counted: what was done.
        refusal: what says why nothing can be told of the class; None if it can.
    """

    def __init__(self, session: ClassSession, plan: LinearPlan, progress: Callable[[str], None]) -> None:
        self.session, self.plan, self._progress = session, plan, progress
        self.counted = Counted()
        self.refusal: Exception | None = None
        self._known: dict[str, Finding | None] = {}
        self._no_programs: set[str] = set()
        self._until = monotonic() + plan.budget
        self._last: Finding | None = None
        self._again: Finding | None = None  # of an earlier campaign
        self._way: list[str] = []
        subject = session.subject
        name = f"{getattr(subject.make, '__module__', '')}.{getattr(subject.make, '__qualname__', '')}.{subject.name}"
        self._settings = plan.settings or settings()
        self._digest = hashlib.sha1(name.encode()).digest()
        self._kept = KeptFailures(None if plan.seeded else self._settings.database, self._digest)

    @property
    def pairs(self) -> list[frozenset[OperationKind]]:
        """The pairs of operations that may overlap."""
        subject = self.session.subject
        return [frozenset(pair) for pair in pairs_of(subject.kinds, subject.threads)]

    @property
    def missing(self) -> list[frozenset[OperationKind]]:
        """Those that have not."""
        return [pair for pair in self.pairs if pair not in self.counted.overlapped]

    @property
    def few_overlapped(self) -> bool:
        """Whether too few have for any claim."""
        return len(self.missing) > (1 - LEAST_OVERLAPPED) * len(self.pairs)

    def too_few_pairs(self, ended: str) -> str:
        """That too few have, in words.

        Args:
            ended: what ended the campaign, if its time did.
        """
        names = ", ".join(sorted("/".join(sorted(kind.name for kind in pair)) for pair in self.missing)[:3])
        what = ended if self.counted.expired else "raise examples"
        return f"too few pairs of operations overlapped ({names}, ... did not): {what}"

    def run(self) -> Finding | None:
        """Search until a program fails, or enough hold; returns the smallest finding."""
        found = self._drawn(self.plan.examples, None)
        if self._again is not None:
            return self._again
        if found is None:
            found = self._of_missing_pairs()
        if found is None:
            return None
        self._until = float("inf")  # the rest is bounded by numbers
        return self._smallest(found)

    def _of_missing_pairs(self) -> Finding | None:
        """Search programs of the pairs that have not overlapped, in rounds, until the last rounds have changed nothing."""
        in_vain = 0
        while not self._over and in_vain < _ROUNDS_IN_VAIN and (missing := set(self.missing)):
            self._progress(f"{len(missing)} pairs have not overlapped")
            if (found := self._drawn(max(_FEWEST_OF_MISSING, len(missing)), missing.__contains__)) is not None:
                return found
            in_vain = in_vain + 1 if len(self.missing) == len(missing) else 0
        return None

    @property
    def _over(self) -> bool:
        return self.refusal is not None or self.counted.expired or stop_request.made()

    def keep(self, token: str) -> None:
        """Keep the schedule of the failure that was found for the next campaign, which tries it first."""
        if self._again is None:
            self._kept.keep(self._way[0], self._way[1:], token)

    def known_program(self, number: int) -> DrawnProgram | None:
        """The program with this checksum, of those that hypothesis has kept, or to which a way is known; None if there is none."""
        found: list[DrawnProgram] = []
        ways = [(), *(each.way for each in self._kept.all())]

        def look(drawn: DrawnProgram) -> None:
            for way in ways:
                if (program := along(drawn, way, _with_simplest)) is not None and checksum(program.text) == number:
                    found.append(program)

        self._hypothesis(look, programs(self.session.subject), 1, [Phase.reuse])
        return found[0] if found else None

    def _drawn(self, examples: int, wanted: Callable[[frozenset[OperationKind]], bool] | None) -> Finding | None:
        self._last = None
        phases = [Phase.reuse, Phase.generate, Phase.shrink]
        try:
            self._hypothesis(self._check, programs(self.session.subject, wanted), examples, phases)
        except NotLinearizable:
            return self._last
        except _Over:
            if self._again is not None:
                return self._again
            return min(filter(None, self._known.values()), key=lambda finding: finding.drawn.size, default=None)
        except Unsatisfiable:
            pass  # every program that was drawn waits before its threads
        return None

    def _hypothesis(self, check: Callable[[DrawnProgram], None], strategy: Any, examples: int, phases: Iterable[Phase]) -> None:
        def property_(drawn: DrawnProgram) -> None:
            check(drawn)

        more: dict[str, Any] = {"database": None} if self.plan.seeded else {}
        chosen: Any = settings(
            self._settings, max_examples=examples, deadline=None, phases=tuple(phases), report_multiple_bugs=False,
            print_blob=False, suppress_health_check=list(HealthCheck), derandomize=False, backend="hypothesis", **more,
        )  # fmt: skip
        # All tests made here would share one entry of hypothesis' database without this.
        property_._hypothesis_internal_add_digest = self._digest  # type: ignore[attr-defined]
        seed: Any = hypothesis.seed  # which takes the database away, so the settings come after it
        decorated: Any = given
        test: Any = chosen(seed(self.plan.seed)(decorated(strategy)(property_)))
        test()

    def _check(self, drawn: DrawnProgram) -> None:
        """Search a program, unless it is known; for hypothesis, whose errors pass through here."""
        self._try_kept(drawn)
        finding = self._finding_of(drawn)
        if drawn.text in self._no_programs:
            hypothesis.reject()
        if finding is None and self._over:
            raise _Over
        if finding is not None:
            self._last = finding
            raise NotLinearizable(str(finding.why))  # one type, from one line: hypothesis takes all for one failure

    def _try_kept(self, drawn: DrawnProgram) -> None:
        """Try the schedule that failed in an earlier campaign, if hypothesis replays the example of that; drop a stale one.

        Raises:
            _Over: it fails again.
        """
        for kept in self._kept.all() if drawn.text not in self._known else ():
            if kept.program == drawn.text:
                program = along(drawn, kept.way, _with_simplest)
                self._again = None if program is None else fails_again(self.session, program, kept.token)
                if self._again is not None:
                    self.counted.programs += 1
                    self.counted.schedules += 1
                    self.counted.orders += self._again.allowed.runs
                    self.counted.overlapped.update(overlapping(self._again.drawn, self._again.allowed.made()))
                    raise _Over
                self._kept.drop()

    def _finding_of(self, drawn: DrawnProgram) -> Finding | None:
        if drawn.text in self._known:
            return self._known[drawn.text]
        if self._over or monotonic() > self._until:
            self.counted.expired = self.counted.expired or not (self.refusal is not None or stop_request.made())
            return None
        found = self._known[drawn.text] = self._searched(drawn)
        return found

    def _searched(self, drawn: DrawnProgram) -> Finding | None:
        try:
            result = self._explored(drawn)
        except Blocked:
            self.counted.blocked += 1
            self._no_programs.add(drawn.text)
            return None
        except (Refused, NotExplorable, SequentialFailure) as error:
            self.refusal = error
            return None
        except HypothesisException:
            raise
        self._count(drawn, result)
        return result.finding

    def _explored(self, drawn: DrawnProgram) -> Explored:
        return explored(self.session, drawn, SCHEDULES)

    def _count(self, drawn: DrawnProgram, result: Explored) -> None:
        counted = self.counted
        counted.programs += 1
        counted.schedules += result.schedules
        counted.orders += result.orders
        counted.settled += result.settled
        if result.doubt:
            counted.doubts[result.doubt] = counted.doubts.get(result.doubt, 0) + 1
        counted.overlapped.update(result.overlapped)
        if counted.programs % 10 == 0:
            done = len(self.pairs) - len(self.missing)
            left = max(0.0, self._until - monotonic())
            self._progress(
                f"{counted.programs} programs, {counted.schedules:,} schedules, {done} of {len(self.pairs)} pairs overlapped, "
                f"{left:.0f} s left at most"
            )

    def _smallest(self, found: Finding) -> Finding:
        """The finding with a smaller program, if one fails."""
        self._progress("making the program smaller")
        self._way = [found.drawn.text]
        best = {found.drawn.text: found}

        def fails(drawn: DrawnProgram) -> bool:
            smaller_one = self._finding_of(drawn)
            if smaller_one is None:
                return False
            best[drawn.text] = smaller_one
            self._way.append(drawn.text)
            return True

        return best[smaller(found.drawn, fails, _with_simplest).text]


def _with_simplest(operation: DrawnOperation) -> DrawnOperation:
    made: DrawnOperation = simplest(operations_of(operation.kind))
    return made
