"""What a sweep has done with each test, and what it has found: for a reader and on record. Nothing is left out silently."""

from __future__ import annotations

import os
import re
from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from typing import Any

from ..checks import SWEEP
from ..core import evidence
from ..core.verdict import Judged, Verdict
from .baseline import Baseline, KnownCause, entry_of
from .causes import SweepCause, causes_of
from .in_c import what_to_do
from .remembered import Remembered
from .swept import FAILURES, SweepOutcome, Swept

_WHOLE = "all tests"  # the subject of the record of a whole sweep
_WITH_REASONS = (
    SweepOutcome.MET,
    SweepOutcome.CUT_SHORT,
    SweepOutcome.NOT_REPEATABLE,
    SweepOutcome.REFUSED,
    SweepOutcome.LEFT_OUT,
    SweepOutcome.NOT_PASSED,
)
_MOST_TESTS = 3  # that are named for a cause
_REASONS = 12  # that are listed
_VARIES = re.compile(
    r"(T\d+ is )?at /.*?:\d+ \([^()]*\)|step [\d,]+ is '.*; so .* prove nothing"
)  # from test to test, of one reason


@dataclass(frozen=True)
class SweepGoal:
    """What a sweep has to reach.

    Attributes:
        baseline: the causes that are known; None if no file was given.
        least: percentage of the tests that have to be swept; None if none has to.
        last: what the last sweeps have found.
    """

    baseline: Baseline | None = None
    least: float | None = None
    last: Remembered = field(default_factory=Remembered)


class SweepAccount:
    """All tests of a sweep.

    Args:
        root: the folder of the suite.
        goal: what it has to reach.
    """

    def __init__(self, root: str, goal: SweepGoal) -> None:
        self._root, self._goal = root, goal
        self._tests: list[Swept] = []
        self._put_off: dict[str, int] = {}  # where each such test is

    def add(self, test: Swept) -> None:
        """What has become of a test. It takes the place of what was said when its search was put off."""
        if not test.put_off and (place := self._put_off.pop(test.test, None)) is not None:
            self._tests[place] = test
            return
        if test.put_off:
            self._put_off[test.test] = len(self._tests)
        self._tests.append(test)

    @property
    def failures(self) -> list[str]:
        """Why the sweep fails the run, each in one line."""
        new = [cause for cause, known in self._causes() if known is None and cause.fails_the_run]
        found = [f"cause {cause.whose}: {cause}" for cause in new]
        return [*found, *([self._too_few] if self._too_few else [])]

    @property
    def _too_few(self) -> str:
        least = self._goal.least
        if least is None or self._share >= least:
            return ""
        return f"{self._swept} of {self._passed} tests that passed were swept, and at least {least:g}% have to be"

    @property
    def _share(self) -> float:
        """The percentage swept, of the tests that passed plainly."""
        return 100.0 * self._swept / self._passed if self._passed else 100.0

    @property
    def _passed(self) -> int:
        return sum(test.outcome is not SweepOutcome.NOT_PASSED for test in self._tests)

    @property
    def _swept(self) -> int:
        return sum(test.decided for test in self._tests) + self._met

    @property
    def _met(self) -> int:
        """Those that were not searched, because another test meets the same."""
        return sum(test.outcome is SweepOutcome.MET for test in self._tests)

    def _causes(self) -> list[tuple[SweepCause, KnownCause | None]]:
        baseline = self._goal.baseline
        return [(cause, baseline.knows(cause) if baseline else None) for cause in causes_of(self._tests, self._root)]

    def lines(self) -> Iterator[str]:
        """How many tests were swept and what became of the others; then each cause."""
        counts = Counter(test.outcome for test in self._tests)
        causes = self._causes()
        threads = sum(test.threads for test in self._tests)
        met = f", {self._met} by what another one meets" if self._met else ""
        yield f"{self._swept} of {len(self._tests)} tests swept, {threads} of them with threads of their own{met}"
        for outcome in SweepOutcome:
            if counts[outcome]:
                causing = sum(cause.smallest.outcome is outcome for cause, _ in causes)
                found = f", by {causing} cause{'s' * (causing != 1)}" if outcome in FAILURES else ""
                yield f"{counts[outcome]:>5} {outcome}{found}"
                yield from self._reasons(outcome) if outcome in _WITH_REASONS else ()
        if self._too_few:
            yield self._too_few
        yield from self._only_in_c()
        yield from self._needless()
        for cause, known in causes:
            yield from _told(cause, known, self._goal.baseline is not None)
        if self._goal.baseline is not None:
            for entry in self._goal.baseline.gone([cause for cause, _ in causes], self._tests):
                yield f"gone: {entry.place}: no test meets {' and '.join(entry.lines)} any more: remove the entry"
        yield from self._goal.last.gone([cause for cause, _ in causes], self._tests)

    def to_remember(self) -> list[dict[str, object]]:
        """What the next sweep has to know (`Remembered`)."""
        return self._goal.last.after([cause for cause, _ in self._causes()], self._tests)

    def _only_in_c(self) -> Iterator[str]:
        """The C code of tests that share nothing else: a line for each module."""
        modules: dict[str, list[str]] = {}
        for test in self._tests:
            for module in test.reason.split(", ") if test.outcome is SweepOutcome.NOTHING and test.reason else ():
                modules.setdefault(module, []).append(test.test)
        if modules:
            yield "of these, calls into C code, whose steps are not seen:"
            for module, tests in sorted(modules.items(), key=lambda each: -len(each[1])):
                yield f"{len(tests):>9} {module} ({tests[0]}{', ...' * (len(tests) > 1)}): {what_to_do(module)}"

    def _needless(self) -> Iterator[str]:
        reasons: dict[str, list[str]] = {}
        for test in self._tests:
            if test.needless:
                reasons.setdefault(test.opt_out, []).append(test.test)
        if reasons:
            yield "opt-outs without which two clients share nothing that was seen, with fixtures of their own:"
            for opt_out, tests in reasons.items():
                yield f"{len(tests):>9} {opt_out} ({tests[0]}{', ...' * (len(tests) > 1)})"

    def _reasons(self, outcome: SweepOutcome) -> Iterable[str]:
        reasons: dict[str, list[Swept]] = {}
        for test in self._tests:
            if test.outcome is outcome:
                reasons.setdefault(_VARIES.sub("", test.reason), []).append(test)
        listed = sorted(reasons.values(), key=lambda tests: -len(tests))
        for tests in listed[:_REASONS]:
            reason = tests[0].reason.replace(f"{self._root}{os.sep}", "")  # with the place of the test that is named
            yield f"{len(tests):>9} {reason} ({tests[0].test}{', ...' * (len(tests) > 1)})"
        if len(listed) > _REASONS:
            yield f"{'':>9} and {len(listed) - _REASONS} other reasons"

    def records(self) -> Iterator[tuple[evidence.Record, str, int]]:
        """For evidence: each cause, and the whole sweep; with the file and line that each is about."""
        for cause, known in self._causes():
            record = self._record(cause, known)
            file, line = cause.places[0] if cause.places else (cause.smallest.test.partition("::")[0], 1)
            yield record, file, line
        counts = Counter(test.outcome for test in self._tests)
        figures: dict[str, Any] = {outcome.name.lower(): counts[outcome] for outcome in SweepOutcome}
        figures |= {"tests": len(self._tests), "swept": self._swept, "share": self._share / 100}
        claim = {} if self._goal.least is None else {"least": self._goal.least, "text": f"at least {self._goal.least:g}% swept"}
        reason = self._too_few or f"{self._swept} of {len(self._tests)} tests swept"
        verdict = Verdict.VIOLATED if self._too_few else Verdict.HOLDS
        result = Judged(conclusion=verdict, reason=reason) if claim else None
        tests = [test.packed() | {"failed": test.failed is not None} for test in self._tests]
        record = evidence.record(SWEEP, _WHOLE, result, claim, figures, details={"tests": tests, "text": "\n".join(self.lines())})
        yield record | {"reason": reason}, "", 0

    def _record(self, cause: SweepCause, known: KnownCause | None) -> evidence.Record:
        failed, test = cause.failed, cause.smallest
        fails = known is None and cause.fails_the_run
        why = f"; known ({known.place}): {known.reason}" if known else ""
        result = Judged(conclusion=Verdict.VIOLATED, reason=f"cause {cause.whose}: {cause}: {test.reason}{why}")
        figures = {
            "tests": len(cause.tests),
            "whose": cause.whose.name.lower(),
            "kind": failed.kind or None,
            "symptom": failed.symptom,
            "preemptions": failed.preemptions,
            "token": failed.token or None,
        }
        details = {
            "story": failed.story,
            "places": [{"file": cause.named(file), "line": line} for file, line in cause.places],
            "lines": cause.lines(),
            "met_by": [each.test for each in cause.tests],
            "known": known.reason if known else None,
        }
        record = evidence.record(
            SWEEP, test.test, result, {}, figures, parameters=_parameters(test), details=details, judged="exit status"
        )
        return record | {"code": failed.code or None} | ({} if fails else {"outcome": "passed"})


def _parameters(test: Swept) -> dict[str, object]:
    clients: dict[str, object] = {"threads": 1 if test.threads else 2, "fixtures": "own"}
    return clients | ({"mode": "stress"} if test.outcome is SweepOutcome.BROKEN_FOR_REAL and not test.threads else {})


def _told(cause: SweepCause, known: KnownCause | None, with_baseline: bool) -> Iterator[str]:
    """One cause, with the tests that meet it, and the smallest schedule."""
    tests, shown, failed = cause.tests, cause.smallest, cause.failed
    names = ", ".join(test.test for test in tests[:_MOST_TESTS]) + ", ..." * (len(tests) > _MOST_TESTS)
    yield ""
    if known is not None:
        yield f"known cause {cause.whose}: {cause}"
        yield f"  met by {len(tests)} test{'s' * (len(tests) > 1)}; {known.place}: {known.reason}"
        return
    yield f"cause {cause.whose}: {cause}"
    unsearched = sum(test.failed is None for test in tests)
    rest = f" ({unsearched} not searched themselves)" if unsearched else ""
    yield f"  met by {len(tests)} test{'s' * (len(tests) > 1)}{rest}: {names}"
    if cause.harmless:
        yield f"  harmless: {cause.harmless}"
    yield f"  {failed.kind}{': ' * bool(failed.kind)}{shown.reason}"
    yield from failed.story.splitlines()
    replay = f", replay={failed.token!r}" if failed.token else ""
    yield f"  to run it again: @pytest.mark.gil_fuzz({_marker(shown)}{replay})"
    if with_baseline:
        yield "  to have it known, with a reason:"
        yield from (f"    {line}" for line in entry_of(cause))


def _marker(test: Swept) -> str:
    return ", ".join(f"{name}={value!r}" for name, value in _parameters(test).items() if (name, value) != ("threads", 2))
