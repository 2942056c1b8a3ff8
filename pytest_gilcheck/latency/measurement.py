"""The measurement of one latency check: rounds of windows with all probes, and the result."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack, closing
from dataclasses import dataclass, field, replace
from itertools import chain

from ..core.clocks import time
from ..core.cores import usable_cores
from ..core.gil_holders import HolderPlace, Holders
from ..core.held_fraction import Held, held_fraction
from ..core.interpreter import GIL, build, switch_interval
from ..core.stat import stolen
from ..core.team import Team
from ..core.verdict import Verdict
from .culprit import FEWEST, Culprit, culprits
from .echo import Echo, Exchange
from .heartbeat import Heartbeat, native_ids
from .holds import held_for
from .judgement import Conditions, LatencyJudgement, Observed, judge
from .lateness import LatenessSpread, Wait
from .load import Load, LoadRun
from .loop import Loop
from .peer import Peer
from .plan import LatencyPlan
from .result import LatencyResult, Lateness, SweepRow
from .window import Probe, Window

ALONE, BESIDE = 0.15, 0.4  # seconds of a window without and beside the workload; two windows beside it show a p99
FEWEST_ROUNDS = 2  # each window beside the workload has one without it before and after
COVER = 1.1  # length of a window in calls, at least: so one window covers a whole call
_WORK_ALONE, _HELD_SECONDS = 0.2, 0.25
_KEPT_SECONDS, _KEPT_MOST = 0.2, 3.0  # of one window of samples, and of all, where the first is not enough
_LEAD = 0.005  # seconds between ordering a window and its begin
_WORTH_NAMING = 0.02  # of the time: with less waiting for the GIL, no holder is named
_MOSTLY_HELD = 0.5  # of the time: then what the held fraction has seen is named, if the heartbeat has seen nobody


@dataclass
class _Observations:
    """The measurements so far."""

    alone: dict[str, list[list[Wait]]] = field(default_factory=dict)
    beside: dict[str, list[list[Wait]]] = field(default_factory=dict)
    exchanges_alone: list[Exchange] = field(default_factory=list)
    exchanges_beside: list[Exchange] = field(default_factory=list)
    stretches: list[LoadRun] = field(default_factory=list)
    rounds: int = 0
    covered: bool = False
    stolen: list[float] = field(default_factory=list)
    seconds: float = 0.0  # of the windows beside the workload


class LatencyMeasurement:
    """Runs the probes of one check and judges after each round."""

    def __init__(
        self,
        template: LatencyResult,
        load: Load,
        team: Team,
        peer: Peer,
        plan: LatencyPlan,
        progress: Callable[[str], None],
        stack: ExitStack,
    ) -> None:
        limits = [limit for limit in (template.claim.p99, template.claim.max) if limit is not None]
        long, workers = min(0.001, *(limit / 2 for limit in limits)), native_ids(team.idents())
        self._workers = workers
        self._holders = Holders() if template.interpreter.build == GIL else None
        self._probes: list[Probe] = [Heartbeat(workers, long, self._holders)]
        if plan.loop:
            self._probes.append(Loop(workers, long))
        for probe in self._probes:
            stack.enter_context(closing(probe))
        self._echo = stack.enter_context(closing(Echo(peer, workers, long, plan.think)))
        self._template, self._load, self._plan, self._progress = template, load, plan, progress
        self._cores = usable_cores()
        self._seen = _Observations()

    def measure(self, budget: float, beside: float, start: float) -> LatencyResult:
        """Run rounds until the claim is decided or the budget is spent, and return the result."""
        seen = self._seen
        self._alone("alone, before round 1")
        before = time.monotonic()
        while True:
            seen.rounds += 1
            stretch = self._beside(f"round {seen.rounds}, beside the workload", beside)
            self._alone(f"alone, after round {seen.rounds}")
            now = time.monotonic()
            last, before = now - before, now
            call = self._plan.workers / stretch.rate
            seen.covered = seen.covered or beside >= call
            beside = max(beside, min(COVER * call, budget))
            if seen.rounds >= FEWEST_ROUNDS:
                judgement = self._judged(start)
                if judgement.verdict is not Verdict.INCONCLUSIVE or now - start + last > budget:
                    break
        self._progress("the workload alone")
        alone = self._load.until(time.perf_counter() + _WORK_ALONE, "the workload alone")
        return self._result(judgement, alone, _held(self._load, self._plan, self._progress))

    def sweep(self, seconds: float) -> Iterator[SweepRow]:
        """Measure lateness and throughput at each switch interval to compare."""
        for interval in self._plan.sweep:
            with switch_interval(interval):
                label = f"switch interval {interval * 1e3:g} ms"
                self._progress(label)
                waits, exchange, stretch = self._window(seconds, label)
                heartbeat = LatenessSpread.of(waits["heartbeat"])
                yield SweepRow(
                    interval, heartbeat, LatenessSpread.of(waits["echo"]), exchange.rate, stretch.rate if stretch else 0.0
                )

    def _alone(self, label: str) -> None:
        self._progress(label)
        waits, exchange, _ = self._window(ALONE, None)
        for name, of in waits.items():
            self._seen.alone.setdefault(name, []).append(of)
        self._seen.exchanges_alone.append(exchange)

    def _beside(self, label: str, seconds: float) -> LoadRun:
        self._progress(label)
        stolen_before = stolen()
        waits, exchange, stretch = self._window(seconds, label, judged=True)
        self._seen.stolen.append(stolen() - stolen_before)
        self._seen.seconds += seconds
        assert stretch is not None, "a label loads the window"
        for name, of in waits.items():
            self._seen.beside.setdefault(name, []).append(of)
        self._seen.exchanges_beside.append(exchange)
        self._seen.stretches.append(stretch)
        return stretch

    def _window(
        self, seconds: float, label: str | None, judged: bool = False
    ) -> tuple[dict[str, list[Wait]], Exchange, LoadRun | None]:
        """Run all probes through one window; beside the workload if there is a label for it."""
        begin = time.perf_counter() + _LEAD
        window = Window(begin, begin + seconds, judged)
        for probe in self._probes:
            probe.start(window)
        self._echo.start(window)
        stretch = None if label is None else self._load.until(window.end, label)
        limit = max(0.0, window.end - time.perf_counter()) + self._plan.timeout
        waits = {probe.name: probe.waits(limit) for probe in self._probes}
        exchange = self._echo.exchange(limit)
        waits[self._echo.name] = exchange.waits
        if stretch is not None:  # moments before the workload began do not count
            waits = {name: [wait for wait in of if wait.intended >= stretch.begin] for name, of in waits.items()}
        return waits, exchange, stretch

    def _judged(self, start: float) -> LatencyJudgement:
        seen = self._seen
        observed = [Observed(name, seen.alone[name], seen.beside[name]) for name in seen.beside]
        moments = min(sum(wait.moments for wait in probe.all_beside) for probe in observed)
        conditions = Conditions(
            build=self._template.interpreter.build,
            workers=self._plan.workers,
            cores=self._cores,
            oversleeps=[exchange.oversleeps for exchange in seen.exchanges_beside],
            stolen=seen.stolen,
            covered=seen.covered,
            rate=(time.monotonic() - start) / max(1, moments),
        )
        return judge(self._template.claim, observed, conditions)

    def _result(self, judgement: LatencyJudgement, alone: LoadRun, held: Held | None) -> LatencyResult:
        seen = self._seen
        holders = self._culprits(held, judgement.verdict is Verdict.HOLDS)
        reason = judgement.reason
        if judgement.verdict is Verdict.VIOLATED and holders:
            reason = f"{reason}; held by {holders[0]}"
        figures = {
            name: Lateness(
                LatenessSpread.of(chain.from_iterable(seen.alone[name])), LatenessSpread.of(chain.from_iterable(windows))
            )
            for name, windows in seen.beside.items()
        }
        return replace(
            self._template,
            conclusion=judgement.verdict,
            reason=reason,
            heartbeat=figures.get("heartbeat"),
            echo=figures.get("echo"),
            loop=figures.get("loop"),
            requests_alone=_mean([exchange.rate for exchange in seen.exchanges_alone]),
            requests_beside=_mean([exchange.rate for exchange in seen.exchanges_beside]),
            calls_alone=alone.rate,
            calls_beside=_mean([stretch.rate for stretch in seen.stretches]),
            stall=max((answer for exchange in seen.exchanges_beside for answer in exchange.answers), default=None),
            oversleep=max((late for exchange in seen.exchanges_beside for late in exchange.oversleeps), default=None),
            held=held,
            holders=holders,
            cores_used=_mean([stretch.cores for stretch in seen.stretches]),
            rounds=seen.rounds,
        )

    def _culprits(self, held: Held | None, holds: bool) -> tuple[Culprit, ...]:
        """What held the GIL while the heartbeat waited for it.

        If the heartbeat knows only "after the end of a call", the places of the held fraction are used: its sampler is the only
        thread that waits, while the heartbeat may get the GIL after the echo, and so at a later place.
        """
        holdings = () if self._holders is None else self._holders.holdings()
        if sum(sum(holding.waits) for holding in holdings) < _WORTH_NAMING * self._seen.seconds:
            if holds or held is None or not held.holdings or held.fraction < _MOSTLY_HELD:
                return ()
            holdings = held.holdings  # on a busy machine nothing may be left of the heartbeat's waits
        if holdings[0].place.file is None and held is not None and held.holdings and held.holdings[0].place.file is not None:
            holdings = held.holdings
        unknown = any(holding.place.file is None for holding in holdings)
        last = self._load.slowest_line() if unknown else None
        interval = max(self._template.switch_interval, sys.getswitchinterval())  # the workload may have set a longer one
        kept = self._kept(holdings[0].place)
        return culprits(holdings, interval, self._plan.workers, self._load.work, last, self._template.switch_interval, kept)

    def _kept(self, first: HolderPlace) -> Mapping[HolderPlace, Sequence[float]]:
        """For how long each place keeps the GIL; windows until the first place has enough samples, or for some time."""
        kept: dict[HolderPlace, list[float]] = {}
        end = time.monotonic() + _KEPT_MOST
        self._progress("how long the GIL is kept")
        while len(kept.get(first, ())) < FEWEST and time.monotonic() < end:
            found = held_for(
                self._load, self._workers, self._template.switch_interval, _KEPT_SECONDS, _KEPT_SECONDS + self._plan.timeout
            )
            if found is None:
                break
            for place, holds in found.items():
                kept.setdefault(place, []).extend(holds)
        return kept


def _held(load: Load, plan: LatencyPlan, progress: Callable[[str], None]) -> Held | None:
    if build() != GIL:
        return None
    progress("GIL-held fraction")
    call = load.for_seconds(_HELD_SECONDS)
    return held_fraction(call, seconds=_HELD_SECONDS, limit=_HELD_SECONDS + plan.timeout, threads=plan.workers)


def _mean(values: list[float]) -> float | None:
    return sum(values) / len(values) if values else None
