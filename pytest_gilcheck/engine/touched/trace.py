"""Records a run as a sequence of transitions: which thread made each, and what it touched.

A transition begins at a point, where its thread was chosen, and ends where the next one begins: it is a visible step with what the
thread does after it, or what a thread does that begins or goes on after a wait, up to its next step. So the transitions of a run
have the numbers of its points.

Objects are known by numbers (`objects`), and not kept alive.
"""

from __future__ import annotations

import builtins
import gc
import math
import sys
import weakref
from collections.abc import Sequence
from types import (
    CellType,
    CodeType,
    FrameType,
    FunctionType,
    GeneratorType,
    ModuleType,
)
from typing import Any

from ...core.classes import is_a
from ...core.clocks import monotonic
from ...core.lookup import looked_up
from ...core.origin import ours, standard
from ...core.source import code_position, innermost, place, position_text
from ..bytecode.apart import ApartCall
from ..bytecode.calls import makes_steps
from ..bytecode.code_facts import instruction_at
from ..bytecode.effects import touches_of
from ..bytecode.touch import ALL, UNKNOWN, Touches
from ..bytecode.visible import BOUNDARY, ENTRY, IN_C, Access
from ..bytecode.waiting import behind_a_lock
from ..running.engine import Engine
from ..running.record import HANGS, Deed, Place, ScheduleRun
from ..running.task import Task
from ..summary import LOCK, Part, Torn
from .dictionaries import Dictionaries
from .in_middle import Guess, LastSteps, TouchedParts
from .lives import Lives
from .objects import Objects

_BEFORE_CALLS = sys.version_info < (3, 12)  # a call is reported before what is behind its star is made a tuple
_STEPS_BETWEEN_LOOKS = 64  # at the clock
_CODE = (FunctionType, ModuleType, type)
_READ, _WRITE = Deed.READ, Deed.WRITE
NOTIFICATION = "a notification"  # a kind of `primitives`


class Trace:
    """A context manager in which a run is recorded.

    Args:
        focusing: whether to keep what `focus` needs.
        until: when to give up, by `monotonic`: from then on the run goes on without being recorded.
        by_dictionaries: whether the program may use the dictionaries in which objects keep their attributes.

    Attributes:
        gave_up: whether that has come.
        places: of each step of code under test and of each call that made no step, by id: it, its code and its offset; if focusing.
        outlasting: the numbers of the objects that live when the threads have ended; if focusing.
        owners: by point, the index of the thread that made the transition.
        parts: by point, what it touched.
        not_known: by point, what is in a transition of which it is not known what it touched: a text, or a code and an offset.
        in_middle: likewise, if that is a call in C that goes on later: what it touches is known, and only not when.
        no_step: the points at which the running thread could not continue.
        steps: the points of transitions that begin with a visible step.
        accesses: by point, the step of code under test that it begins with.
        spots: by point, the code and the offset of the step that it begins with, if that is known.
        guessed: the points of steps of which it is a guess what they touch.
        torn: by point, what C touches there in several steps.
        lives: of the threads that it starts.
        taken_apart: by point, likewise of what was taken apart, so that other threads could come in its middle.
        lasting: whether to look for the objects that outlast the threads; without generations, the collector looks at all for that.
    """

    lasting = True

    def __init__(self, engine: Engine, *, focusing: bool = False, until: float = math.inf, by_dictionaries: bool = False) -> None:
        self._engine = engine
        self._focusing = focusing
        self._until = until
        self.gave_up = False
        self.places: dict[int, tuple[Access, CodeType, int]] = {}
        self.outlasting: frozenset[int] = frozenset()
        self.objects = Objects()
        self.owners: dict[int, int] = {}
        self.parts: dict[int, list[Part]] = {}
        self.not_known: dict[int, str | tuple[CodeType, int]] = {}
        self.in_middle: dict[int, tuple[CodeType, int]] = {}
        self.no_step: set[int] = set()
        self.steps: set[int] = set()
        self.accesses: dict[int, Access] = {}
        self.spots: dict[int, Place] = {}
        self.guessed: set[int] = set()
        self.torn: dict[int, Torn] = {}
        self.taken_apart: dict[int, Torn] = {}
        self._dictionaries = Dictionaries(self.objects) if by_dictionaries else None
        self.lives = Lives(engine, self.parts, self.not_known, self.objects, self._dictionaries)
        self._notifications: set[int] = set()
        self._frames: dict[int, int] = {}  # by thread, the id of the frame of its last step
        self._last_steps = LastSteps()
        self._inner: set[tuple[int, Any]] = set()  # what the library's code touches behind a lock of its own
        self._reached: set[tuple[int, Any]] = set()  # what other code touches
        self._generators: dict[int, tuple[weakref.ref[GeneratorType[Any, Any, Any]], int]] = {}  # advanced, by ids of their frames
        self._inside: list[tuple[int, int]] = []  # steps of the code of generators: their points, and the numbers of these

    def __enter__(self) -> Trace:
        self._engine.observer = self._engine.recorder = self
        return self

    def __exit__(self, *error: object) -> None:
        self._stop()

    def _stop(self) -> None:
        self._engine.observer = self._engine.recorder = None

    def __call__(self, task: Task, point: int, access: Access, frame: FrameType) -> None:
        """Called when a thread is about to make a visible step, which may be long after it came there."""
        now = self._engine.point
        if not now % _STEPS_BETWEEN_LOOKS and monotonic() > self._until:
            self.gave_up = True
            self.not_known[now] = "the rest of a run that takes long"
            self._let_go(all_of_them=True)
            self._stop()
            return
        self.owners[now] = task.index
        self.steps.add(now)
        self._let_go()
        if self._generators:
            self._within(frame)
        if access is IN_C or access is BOUNDARY:
            return
        if access.kind == "end":
            self.accesses[now] = access
            self.not_known[now] = self.spots[now] = frame.f_code, frame.f_lasti
            if self._focusing:
                self.places[id(access)] = access, frame.f_code, frame.f_lasti
            return
        if access.name == LOCK:
            outer = frame.f_back if frame.f_code.co_name == "__enter__" else frame
            if outer is not None:
                self.spots[now] = outer.f_code, outer.f_lasti
            if behind_a_lock(outer, self._engine.takes_part) is UNKNOWN:
                self.not_known[now] = "a lock of the standard library"
            return
        if access.line == 0 or not makes_steps(frame.f_code, frame.f_globals, self._engine.takes_part):
            self.not_known[now] = access.name
            return
        self.accesses[now] = access
        self.spots[now] = frame.f_code, frame.f_lasti
        if self._focusing:
            self.places[id(access)] = access, frame.f_code, frame.f_lasti
        found = [] if access.name == ENTRY else self._touches(frame, unpacks=access.kind != "call" or _BEFORE_CALLS)
        if found is None:
            self.not_known[now] = frame.f_code, frame.f_lasti
            return
        around = None
        if access.name == ENTRY or looked_up(self._frames, task.index) != id(frame):
            self._frames[task.index] = id(frame)
            around = self._last_steps.around(frame)
        guess = own = Guess.of(found)
        if around is not None:
            guess = Guess(own.any or around.guess.any, own.changed or around.guess.changed)
            if around.starred or around.changes:  # when this code has ended, it goes on, and no step shows it
                self._is_in_middle(now, around.place, known=not (around.starred and _BEFORE_CALLS))
        if guess.any:
            self.guessed.add(now)
            if access.kind == "write" and guess.changed:
                self.not_known[now] = "code of the library that may look an attribute up"
        parts = self._touched(found)
        if around is not None:
            self._add(around.parts)
        if access.name != ENTRY:
            self._last_steps.note(frame, found, parts, own, self._engine.takes_part)
        if any(each.torn for each in found):
            caller = innermost(frame, lambda file: not standard(file) and not ours(file)) or frame
            torn = frozenset(self._number(each.holder, each.part)[0] for each in found if each.torn)
            self.torn[now] = Torn(told(caller.f_code, caller.f_lasti), torn)

    def _is_in_middle(self, point: int, of: tuple[CodeType, int], *, known: bool) -> None:
        """A call in C goes on when the code has ended that it has called, and no step shows it.

        Args:
            known: whether it is known what it touches.
        """
        if known and point not in self.not_known:
            self.in_middle[point] = of
        self.not_known[point] = of

    def _touches(self, frame: FrameType, *, unpacks: bool = False) -> Touches:
        try:
            return touches_of(frame, *instruction_at(frame.f_code, frame.f_lasti), self._engine.takes_part, unpacks=unpacks)
        except Exception:  # an error of ours would be one of the program's; RecursionError comes to code near the limit
            return UNKNOWN

    @property
    def doubt(self) -> str:
        """Of what it is not known what it touches, first of all; empty if everything is known."""
        if not self.not_known:
            return ""
        first = next(iter(self.not_known.values()))
        if isinstance(first, str):
            return first
        code, offset = first
        name, _, value = instruction_at(code, offset)
        return f"{name} {value or ''} at {code.co_filename}:{code_position(code, offset).line}"

    def _touched(self, found: Touches) -> TouchedParts:
        """The running thread touches this; returns the parts, with whether each is touched from within the library."""
        parts = []
        for holder, part, changes, inner, _, _ in found or ():
            number, part = self._number(holder, part)
            if changes and type(holder) is GeneratorType and holder.gi_frame is not None:
                self._generators[id(holder.gi_frame)] = weakref.ref(holder), number
            parts.append((Part(number, part, _WRITE if changes else _READ), inner))
        self._add(parts)
        return parts

    def _add(self, touched: TouchedParts) -> None:
        """The running thread touches these parts."""
        if not touched:
            return
        point = self._engine.point
        parts = self.parts.setdefault(point, [])
        for part, inner in touched:
            if inner or self._inner:
                self._from_within(part.holder, part.part, inner)
            parts.append(part)

    def _number(self, holder: Any, part: Any) -> tuple[int, Any]:
        return (self.objects.number(holder), part) if self._dictionaries is None else self._dictionaries.number(holder, part)

    def _from_within(self, number: int, part: Any, inner: bool) -> None:
        """Take note of what is touched if it may be in the middle of several steps of the library's behind a lock of its own."""
        if not self._inner:  # up to now, all has been touched by other code
            touched = (each for parts in self.parts.values() for each in parts)
            self._reached = {_attribute_or_whole(each.holder, each.part) for each in touched if each.part is not LOCK}
        what_of = _attribute_or_whole(number, part)
        (self._inner if inner else self._reached).add(what_of)
        if what_of in (self._reached if inner else self._inner):
            what = "what a queue, a condition or an event keeps, and the program reaches into,"
            self.not_known.setdefault(self._engine.point, what)

    def _within(self, frame: FrameType) -> None:
        """This step is one of the generators whose code is running: up to its end, which may be an exception that no step shows,
        another thread that advances such a generator gets an error."""
        point, generators, inside = self._engine.point, self._generators, self._inside
        inner: FrameType | None = frame
        while inner is not None:  # by ids: to ask each frame for its code takes most of a step
            if id(inner) in generators:
                reference, number = generators[id(inner)]
                generator = reference()
                if generator is not None and generator.gi_frame is inner:
                    inside.append((point, number))
            inner = inner.f_back

    def _touched_by_running(self) -> None:
        """Enter the steps of the code of generators as touching these, where several threads touch one: most are one thread's."""
        owner: dict[int, int] = {}
        numbers = {number for _, number in self._inside}
        touching = [(point, part.holder) for point, parts in self.parts.items() for part in parts if part.holder in numbers]
        users = ((number, self.owners[point]) for point, number in (*touching, *self._inside))
        several = {number for number, user in users if owner.setdefault(number, user) != user}
        for point, number in self._inside:
            if number in several:
                self.parts.setdefault(point, []).append(Part(number, ALL, _WRITE))

    def _let_go(self, *, all_of_them: bool = False) -> None:
        objects, before = self.objects, self.objects.disturbed
        objects.let_go(all_of_them=all_of_them)
        if objects.disturbed != before:  # the run proves nothing from here on, but what other steps touch is known
            self.not_known.setdefault(self._engine.point, objects.disturbed)

    def goes_on(self, task: Task) -> None:
        """A thread begins, or goes on after a wait."""
        self.owners[self._engine.point] = task.index
        self.lives.goes_on(task)
        self._let_go()

    def forced(self, point: int) -> None:
        """At this point the running thread could not continue."""
        self.no_step.add(point)

    def lock(self, lock: Any, deed: Deed) -> None:
        """The running thread does this to a lock."""
        number = self.objects.number(lock)
        self.parts.setdefault(self._engine.point, []).append(Part(number, LOCK, deed))
        woken = lock.kind == NOTIFICATION and number in self._notifications  # what it does next is a step of its own
        if deed in (Deed.ACQUIRE, Deed.TRY) and not woken:  # code of the library goes on without a step of its own
            frame: FrameType | None = sys._getframe(1)
            while frame is not None and ours(frame.f_code.co_filename):
                frame = frame.f_back
            self._touched(behind_a_lock(frame, self._engine.takes_part))
        if lock.kind == NOTIFICATION:
            self._notifications.add(number)

    def passed(self, access: Access, code: CodeType, offset: int) -> None:
        """A call makes no step."""
        if self._focusing:
            self.places[id(access)] = access, code, offset

    def apart(self, call: ApartCall, covered: Sequence[object]) -> None:
        """The call in C that a thread is about to make is taken apart. What it does to these objects has a switch at each step."""
        point = call.point = self._engine.point
        if (torn := looked_up(self.torn, point)) is None:
            return
        parts = frozenset(self._number(each, ALL)[0] for each in covered) & torn.holders
        self.taken_apart[point] = torn._replace(holders=parts)
        self.torn[point] = torn._replace(holders=torn.holders - parts)

    def inside(self, call: ApartCall) -> None:
        """A thread goes on in the middle of it: what it does there may be all that it does."""
        begun, now = call.point, self._engine.point
        self.parts[now] = [part for part in looked_up(self.parts, begun) or () if part.part is not LOCK]
        known: Any
        for known in (self.not_known, self.spots, self.torn, self.taken_apart):
            if begun in known:
                known[now] = known[begun]

    def unknown(self, what: str) -> None:
        """The running thread does what nobody records."""
        self.not_known[self._engine.point] = what

    def ended(self, run: ScheduleRun) -> None:
        """The threads of the run have ended; its invariant is still to come.

        Not so if it hangs: a thread may still compute, and enter what it touches while this looks through it.
        """
        if run.stuck != HANGS:
            self._touched_by_running()
            self._let_go(all_of_them=True)
            if self._focusing and self.lasting:
                self.outlasting = self.objects.outlasting()

    def written(self) -> dict[int, Any]:
        """The objects that the run has changed and that still live, locks excepted, by number."""
        alive = self.objects.alive()
        changed = {part.holder for parts in self.parts.values() for part in parts if part.part != LOCK and part.deed is Deed.WRITE}
        return {holder: alive[holder] for holder in changed & alive.keys()}

    def shares(self) -> bool:
        """Whether several threads touch the same object; code and names of modules aside, if nothing changes them."""
        first: dict[int, int] = {}
        several: set[int] = set()
        changed: set[int] = set()
        for point, parts in self.parts.items():
            owner = self.owners[point]
            for part in parts:
                if first.setdefault(part.holder, owner) != owner:
                    several.add(part.holder)
                if part.deed is not Deed.READ:
                    changed.add(part.holder)
        if not changed.isdisjoint(several):
            return True
        alive = self.objects.alive() if several else {}
        return any(number not in alive or not _leads_to_code(alive[number]) for number in several)


def _attribute_or_whole(number: int, part: Any) -> tuple[int, str | None]:
    """An object, and which attribute of it a part is; None for what is in a container."""
    return number, part if type(part) is str and part != ALL else None


def told(code: CodeType, offset: int) -> str:
    """A step, for a reader: its text and its place."""
    position = code_position(code, offset)
    text = position_text(code.co_filename, position)
    return f"{text or 'a step'} at {place(code.co_filename, position.line or 0, code.co_qualname)}"


def _leads_to_code(thing: object) -> bool:
    """Whether threads that have nothing to do with each other read this, to find what they call."""
    if type(thing) is CellType:
        thing = next(iter(gc.get_referents(thing)), None)
    return is_a(thing, _CODE) or (type(thing) is dict and "__builtins__" in thing) or thing is vars(builtins)
