"""Sampled schedules: where enumeration would go beyond the account, and when no conflict is left.

A portfolio samples: uniform random walks, partial order sampling, and priorities with change points.
"""

from __future__ import annotations

import random
from _random import Random
from collections.abc import Callable, Iterator, Mapping, Sequence
from itertools import islice

from ..engine.running.policy import Policy
from . import ledger
from .focus import Focus
from .ledger import FEWEST, PCT_DEPTH, Account
from .outcome import SearchOutcome
from .sampling import PartialOrder, Priorities, UniformWalk
from .strategy import How, LiveExecutor, PartOfSearch, Proposal, SeenRun, Steps

KINDS = "WOPWOPWOPW"  # of ten samples
TESTING = "WOPOPOPOPO"  # when no conflict is left: 90 so find what 100 of the others do, in seven tenths of the time


class Sampling(PartOfSearch):
    """What all strategies do that sample.

    Args:
        sequential: the runs of the sequential orders.
    """

    def __init__(
        self, executor: LiveExecutor, account: Account, found: SearchOutcome, how: How, sequential: Sequence[SeenRun]
    ) -> None:
        super().__init__(executor, account, found, how)
        longest = max(sequential, key=lambda run: run.points)
        self.points, self._lengths = longest.points, lengths_of(longest.lengths)
        self._draw = random.Random(f"{how.seed}.{how.share[0]}")

    def _portfolio(
        self, lengths: list[int], points: int, *, seldom: bool, most: int = 10, focused: bool = False, kinds: str = KINDS
    ) -> Steps[set[int]]:
        """Ten samples; fewer if the account is spent.

        Args:
            seldom: priorities alone, which switch twice and not at every other step: a tenth of the time, in a long program.
                The first samples of a search by time are these: only their number bounds what was missed.
            most: of these samples.
            focused: whether some steps are hidden.
            kinds: see `portfolio`.

        Returns:
            The numbers of points of these runs.
        """
        found, seen = self.found, set[int]()
        seed = self._draw.randrange(1 << 32)
        for policy in islice(portfolio(Random(seed), lengths, points, seldom=seldom, kinds=kinds), most):
            if self.account.reached():
                break
            run, found.failure = yield Proposal(policy, gil_only=self.how.gil)
            seen.add(run.points)
            found.sampled += 1
            found.priorities += isinstance(policy, Priorities) and not focused
            if found.failure is not None:
                break
        return seen


class Samples(Sampling):
    """Samples until the account is spent, or there are enough.

    Attributes:
        focus: the steps at which threads may touch the same; None if that is not known.
        too_long: whether there is no time for samples at every step, so that all others are hidden.
    """

    focus: Focus | None = None
    too_long: Callable[[], bool] = staticmethod(lambda: False)

    def _search(self) -> Steps[None]:
        self.executor.progress("sampled schedules")
        while not self.enough and self.found.failure is None:
            if self.focus is not None and self.too_long():
                yield from self._in_focus(self.focus)
                self.focus = None  # its steps are others now, or it is over
                continue
            if not self.executor.steps_unchanged():
                self.focus = None
            seldom = not self.account.counted and self.found.sampled < FEWEST
            yield from self._portfolio(self._lengths, self.points, seldom=seldom)

    def _in_focus(self, focus: Focus) -> Steps[None]:
        """Samples that switch only where several threads touch the same."""
        executor, found = self.executor, self.found
        executor.hide(focus.hidden)
        while not self.enough and found.failure is None and executor.steps_unchanged():
            before = found.sampled
            yield from self._portfolio(lengths_of(focus.lengths), found.focus, seldom=True, focused=True)
            found.focused += found.sampled - before
        executor.hide({})
        if found.failure is not None:
            found.failure = executor.with_every_step(found.failure, focus.hidden)


class StoppingTest(Sampling):
    """Samples when no conflict is left. They take no notice of what a step touches, so they find most mistakes in that.

    Attributes:
        same: whether each had as many points as the sequential orders, or may have more or fewer.
    """

    same = True

    def _search(self) -> Steps[None]:
        found, account = self.found, self.account
        fit = max(ledger.LEAST_TEST, ledger.TESTED_POINTS // max(1, self.points))
        samples = min(ledger.AFTER_INDEPENDENCE, fit) if found.independent else ledger.AFTER_CONFLICTS
        few = samples < ledger.AFTER_INDEPENDENCE
        before, mark = found.sampled, account.mark(ledger.TESTING, samples)
        while (left := before + samples - found.sampled) > 0 and found.failure is None and not account.reached(mark):
            first = left == samples
            most = 1 if few and first else left
            seen = yield from self._portfolio(self._lengths, self.points, seldom=few and not first, most=most, kinds=TESTING)
            self.same = self.same and (not found.independent or seen <= {self.points})
            self._only_if_steps_unchanged(found.failure)


def lengths_of(steps: Mapping[int, int]) -> list[int]:
    """The visible steps of each thread, by its index."""
    return [steps.get(index, 1) for index in range(max(steps, default=0) + 1)]


def portfolio(draw: Random, lengths: list[int], points: int, *, seldom: bool = False, kinds: str = KINDS) -> Iterator[Policy]:
    """Policies of samples.

    Args:
        lengths: the visible steps of each of the program's threads.
        points: of a run.
        seldom: priorities alone, which switch seldom.
        kinds: the kind of each, by its letter: a walk that is uniform, a partial order, or priorities.
    """
    for kind in kinds:
        if seldom or kind == "P":
            yield Priorities(draw, points, PCT_DEPTH)
        elif kind == "W":
            yield UniformWalk(draw, lengths)
        else:
            yield PartialOrder(draw)
