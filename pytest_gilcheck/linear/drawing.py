"""Draws programs: two operations that overlap, then others, each with its lane, in one flat list.

The first two are drawn as a pair, so that every pair of operations overlaps in some program. A lane is a part of the draw of its
operation, and the lane before the threads comes first, so hypothesis shrinks by moving operations out of the threads.

What does not work: to prefer pairs that have not overlapped yet while examples are drawn. The same choices would then make another
program, and hypothesis would call the test flaky. So what is missing is drawn afterwards, of the same strategy, filtered.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import combinations
from typing import Any

from hypothesis import HealthCheck, Phase, find, settings
from hypothesis import strategies as st

from .operations import BEFORE, MOST_IN_A_LANE, DrawnOperation, DrawnProgram, InLane, OperationKind, lanes_of, pairs_of
from .subject import Subject

EXTRA = 5  # operations beside the first two
_DIFFERENT = 3  # values of one pool in one program
_MOST_BEFORE, _MOST_AFTER = 3, 2


def from_values(values: Sequence[Any]) -> st.SearchStrategy[Any]:
    """Draws one of some values; of more than three, the same three in all of a program, so that its calls collide."""
    if len(values) <= _DIFFERENT:
        return st.sampled_from(list(values))
    chosen = st.shared(st.sampled_from(list(combinations(values, _DIFFERENT))), key=f"gilcheck {values!r}")
    return chosen.flatmap(st.sampled_from)


def operations_of(kind: OperationKind) -> st.SearchStrategy[DrawnOperation]:
    """Draws an operation of this kind."""
    if not kind.positional and not kind.named and not kind.optional:
        return st.just(DrawnOperation(kind))
    given = kind.named or kind.optional
    named = st.fixed_dictionaries(dict(kind.named), optional=dict(kind.optional)) if given else st.just({})
    return st.builds(
        lambda arguments, by_name: DrawnOperation(kind, arguments, tuple(by_name.items())), st.tuples(*kind.positional), named
    )


def programs(subject: Subject, wanted: Callable[[frozenset[OperationKind]], bool] | None = None) -> st.SearchStrategy[DrawnProgram]:
    """Draws programs of a class.

    Args:
        wanted: which pairs are to overlap in the first two operations; all if None.
    """
    threads, kinds = subject.threads, subject.kinds
    each = {kind: operations_of(kind) for kind in kinds}
    pairs = st.sampled_from(pairs_of(kinds, threads))
    if wanted is not None:
        choose = wanted
        pairs = pairs.filter(lambda pair: choose(frozenset(pair)))
    places = [(lane, kind) for lane in range(threads + 2) for kind in kinds if kind.may_be_in(lane, threads)]
    places += [(BEFORE, kind) for kind in kinds for _ in range(threads) if kind.alone]  # no less often than the others
    others = st.lists(st.sampled_from(places), max_size=EXTRA)
    init = st.tuples(*subject.init)

    @st.composite
    def drawn(draw: Callable[[st.SearchStrategy[Any]], Any]) -> DrawnProgram:
        arguments, pair = draw(init), draw(pairs)
        lanes = lanes_of(pair, threads)
        assert lanes is not None, "only those that may overlap are drawn"
        steps = [InLane(BEFORE, draw(operations_of(kind))) for kind in subject.first]
        steps += [InLane(lane, draw(each[kind])) for lane, kind in zip(lanes, pair, strict=True)]
        room = {lane: MOST_IN_A_LANE.get(threads, 1) - (lane in lanes) for lane in range(1, threads + 1)}
        room |= {BEFORE: _MOST_BEFORE, threads + 1: _MOST_AFTER}
        for lane, kind in draw(others):
            if room[lane]:
                room[lane] -= 1
                steps.append(InLane(lane, draw(each[kind])))
        return DrawnProgram(arguments, tuple(steps), threads)

    found: st.SearchStrategy[DrawnProgram] = drawn()
    return found


def simplest(strategy: st.SearchStrategy[Any]) -> Any:
    """The simplest value of a strategy: the same each time."""
    chosen = settings(
        max_examples=1,
        derandomize=True,
        database=None,
        phases=[Phase.generate],
        suppress_health_check=list(HealthCheck),
        deadline=None,
    )
    return find(strategy, lambda value: True, settings=chosen)


def warm_ups(subject: Subject) -> list[DrawnProgram]:
    """Programs that call every operation in each of two threads, one for each: one that waits must not keep others from running."""
    init = tuple(map(simplest, subject.init))
    first = [InLane(BEFORE, simplest(operations_of(kind))) for kind in subject.first]
    return [DrawnProgram(init, (*first, *_in_each_thread(kind, subject.threads)), subject.threads) for kind in subject.kinds]


def _in_each_thread(kind: OperationKind, threads: int) -> Sequence[InLane]:
    operation = simplest(operations_of(kind))
    lanes = [lane for lane in range(1, threads + 1) if kind.may_be_in(lane, threads)]
    return [InLane(lane, operation) for lane in lanes[:2] or [BEFORE]]
