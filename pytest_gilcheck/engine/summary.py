"""What one run was like, as a value: it can be pickled, written down in a test, and read where nothing of the program lives.

Objects are numbers here, and so are the keys of their elements. `touched.summarised` makes one from a run and its record.
"""

from __future__ import annotations

import math
from bisect import bisect_right
from collections.abc import Mapping, Sequence, Set
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, NamedTuple, Protocol

from .bytecode.visible import Access
from .running.record import Deed
from .schedule import Choice, Schedule

LOCK = "a lock"  # a part
NO_HIDDEN: Mapping[int, Access] = {}


class Want(NamedTuple):
    """What a run is to say of itself, beside how it ended: each costs time.

    Attributes:
        choices: where it could have gone elsewhere (`RunSummary.spans`, `forks`, `readings`).
        switches: where a build with a GIL can switch, and how long each thread is.
        touched: what its transitions touch.
        until: when to give that up, by `monotonic`.
        focusing: whether a focus is to be made of that.
        hidden: the steps that are no points of it, by number.
        anchors: where each of its choices was made.
    """

    choices: bool = False
    switches: bool = False
    touched: bool = False
    until: float = math.inf
    focusing: bool = False
    hidden: Mapping[int, Access] = NO_HIDDEN
    anchors: bool = False


PLAIN = Want()


class Part(NamedTuple):
    """Something that a transition touches: an object, what of it, and what is done to it."""

    holder: int  # the number of the object
    part: Any  # an attribute, `ALL`, `SIZE`, `LOCK`, or an element: here the number of its key, in a record the key in a tuple
    deed: Deed


class Spot(NamedTuple):
    """An instruction, the same in each process: the first line is that of its function."""

    file: str
    first_line: int
    offset: int


class Torn(NamedTuple):
    """A call in C that is several steps without a GIL.

    Attributes:
        text: of it, and the place of what calls it, for a reader.
        holders: the numbers of the objects that it touches in several steps.
        call: its name, by which it can be taken apart; empty if it has none.
    """

    text: str
    holders: frozenset[int]
    call: str = ""


class Transitions(Protocol):
    """What can be asked of the transitions of a run, in the order of its points or in another one."""

    @property
    def owners(self) -> Mapping[int, int]:
        """By point, the index of the thread that made the transition."""

    @property
    def parts(self) -> Mapping[int, Sequence[Part]]:
        """By point, what it touched."""

    @property
    def not_known(self) -> Mapping[int, object]:
        """By point, what is in a transition of which it is not known what it touched."""

    @property
    def steps(self) -> Set[int]:
        """The points of transitions that begin with a visible step."""

    @property
    def after(self) -> Mapping[int, Sequence[int]]:
        """By point, the transitions that come before it because a thread was started or has ended (`touched.lives`)."""


@dataclass(frozen=True)
class Focusing:
    """What a `focus` is made of.

    Attributes:
        steps: by number, the steps of code under test that the run has made, and the calls that made no step. A number means
            something in the process of the run, as long as its step is kept.
        of_point: by point, the number of the step that it begins with.
        hideable: the steps that can be hidden in other runs.
        entries: the points at which a function begins that C has called.
        outlasting: the objects that live when the threads have ended.
        anchors: by step, where it is made (`record.anchor_of`).
    """

    steps: Mapping[int, Access]
    of_point: Mapping[int, int]
    hideable: Set[int]
    entries: Set[int] = frozenset()
    outlasting: Set[int] = frozenset()
    anchors: Mapping[int, str] = field(default_factory=dict)


@dataclass(frozen=True)
class Touched:
    """What the transitions of a recorded run have touched: `Transitions`, in the order of the run.

    Attributes:
        not_known: for each, a text, or the instruction.
        no_step: the points at which the running thread could not continue.
        ends: the points of steps of which all that can be seen is that an object ends.
        after: see `Transitions`.
        spots: by point, the instruction that it begins with, if that is known.
        guessed: the points of steps of which it is a guess what they touch.
        torn: by point, what C touches there in several steps.
        taken_apart: by point, likewise of what was taken apart, so that other threads could come in its middle.
        told: the steps that touch what is touched so, for a reader.
        shares: whether several threads touch the same object; code and names of modules aside, if nothing changes them.
        found_again: whether it has changed what an earlier run had changed: the setup does not make that anew.
        gave_up: whether it went on without being recorded, because it took too long.
        focusing: if wanted.
    """

    owners: Mapping[int, int]
    parts: Mapping[int, Sequence[Part]]
    steps: Set[int] = frozenset()
    not_known: Mapping[int, str | Spot] = field(default_factory=dict)
    no_step: Set[int] = frozenset()
    ends: Set[int] = frozenset()
    after: Mapping[int, Sequence[int]] = field(default_factory=dict)
    spots: Mapping[int, Spot] = field(default_factory=dict)
    guessed: Set[int] = frozenset()
    torn: Mapping[int, Torn] = field(default_factory=dict)
    taken_apart: Mapping[int, Torn] = field(default_factory=dict)
    told: Mapping[int, str] = field(default_factory=dict)
    shares: bool = False
    found_again: bool = False
    gave_up: bool = False
    focusing: Focusing | None = None


@dataclass(frozen=True)
class RunSummary:
    """What one run was like.

    Attributes:
        schedule: the choices that it made.
        points: how many it had.
        symptom: what went wrong (`Symptom`); empty if nothing did.
        message: what is broken, in one line.
        stuck: why it was broken off; empty if its threads came to their ends, or to waits that may last for ever.
        masked: whether a build with a GIL cannot follow the schedule.
        anchors: if wanted, the place of each choice.
        unused: the first choice of the schedule that it should have followed which could not be made.
        polls: whether a thread polled.
        known: whether all of it was under control, and it has shown nothing of names that its step tables did not know.
        seconds: what it took, with its setup and teardown.
        spans, forks, readings: see `ScheduleRun`; if wanted.
        reachable, lengths: likewise.
        doubt: why nothing follows from it for the schedules that were not run; empty if there is no reason.
        touched: if wanted.
    """

    schedule: Schedule = field(default_factory=Schedule)
    points: int = 0
    symptom: str = ""
    message: str = ""
    stuck: str = ""
    masked: bool = False
    anchors: tuple[str, ...] = ()
    unused: Choice | None = None
    polls: bool = False
    known: bool = True
    seconds: float = 0.0
    spans: Sequence[tuple[int, int, tuple[int, ...]]] = ()
    forks: Sequence[tuple[int, tuple[int, ...], int, tuple[int, ...]]] = ()
    readings: Sequence[int] = ()
    reachable: Set[int] = frozenset()
    lengths: Mapping[int, int] = field(default_factory=dict)
    doubt: str = ""
    touched: Touched | None = None

    @property
    def failed(self) -> bool:
        return bool(self.symptom)

    def enabled(self, point: int) -> tuple[int, ...]:
        """The threads that could be chosen at a point, the one that was first; of a run with choices and what it touched."""
        touched = self.touched
        assert touched is not None, "it was not recorded"
        if point in touched.no_step:
            return self._forks_at.get(point) or (touched.owners[point],)
        _, owner, others = self.spans[bisect_right(self.spans, point, key=lambda span: span[0]) - 1]
        return (owner, *[each for each in others if each != owner])

    @cached_property
    def _forks_at(self) -> Mapping[int, tuple[int, ...]]:
        return {point: candidates for point, candidates, _, _ in self.forks}
