"""What C may be in the middle of while code runs that it has called: the last step of the frame that called it.

What that step touches is kept from when it was about to be made, when its operands were all there. In its middle some may be gone:
code runs where an object ends, too, such as the ``finally`` of a generator that a loop has left.

What does not work: to read the operands of an instruction in whose middle code of an end runs. A reference to what has ended,
strong or weak, ends the process sooner or later.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from types import AsyncGeneratorType, CodeType, CoroutineType, FrameType, FunctionType, GeneratorType, MethodType
from typing import Any, NamedTuple

from ...core.classes import is_a
from ...core.lookup import looked_up
from ..bytecode.calls import made_by_steps
from ..bytecode.code_facts import instruction_at
from ..bytecode.stack import NOTHING, behind_the_star, beside_callee
from ..bytecode.touch import ALL, Touch
from ..summary import Part

_LETS_GO = frozenset({"BEFORE_WITH", "BEFORE_ASYNC_WITH"})  # of its operand, before it calls
_SUSPENDED = (GeneratorType, CoroutineType, AsyncGeneratorType)  # which are changed by their own code
TouchedParts = Sequence[tuple[Part, bool]]
"""Parts, each with whether it is touched from within the library (`Touch.inner`)."""


class Guess(NamedTuple):
    """Whether a part of what a step touches is a guess; and whether one of what it changes is, if that is no whole."""

    any: bool = False
    changed: bool = False

    @classmethod
    def of(cls, found: Sequence[Touch]) -> Guess:
        guesses = [each for each in found if each.guess]
        return cls(bool(guesses), any(each.changes and each.part is not ALL for each in guesses)) if guesses else _NO_GUESS


_NO_GUESS = Guess()


class LastStep(NamedTuple):
    """The last step of a frame.

    Attributes:
        place: the code and the offset of its instruction.
        parts: what it touches.
        guess: whether that is a guess.
        changes: whether it changes any of that which its own code does not change.
        starred: whether it calls with what is behind a star: that may be gone, and the step of the call has told of it.
    """

    place: tuple[CodeType, int]
    parts: TouchedParts
    guess: Guess
    changes: bool
    starred: bool


class LastSteps:
    """Those of the frames of a run, by their ids.

    Args:
        under_test: the predicate for files whose code makes steps of its own.
    """

    def __init__(self, under_test: Callable[[str], bool]) -> None:
        self._under_test = under_test
        self._of: dict[int, LastStep] = {}

    def note(self, frame: FrameType, found: Sequence[Touch], parts: TouchedParts, guess: Guess) -> None:
        """A frame is about to make a step that touches this. Code that it calls directly makes the steps itself."""
        self._of.pop(id(frame), None)
        name, argument, _ = instruction_at(frame.f_code, frame.f_lasti)
        if not name or name in _LETS_GO:
            return
        callee = _callee_of(frame, name, argument)
        starred = name == "CALL_FUNCTION_EX"
        if type(callee) in (FunctionType, MethodType) or (
            starred and is_a(callee, type) and made_by_steps(callee, self._under_test)
        ):
            return
        changes = any(each.changes and type(each.holder) not in _SUSPENDED for each in found)
        self._of[id(frame)] = LastStep((frame.f_code, frame.f_lasti), () if starred else parts, guess, changes, starred)

    def around(self, frame: FrameType) -> LastStep | None:
        """The step in the middle of which C may be that has called the code of this frame; None if there is none."""
        caller = frame.f_back
        last = None if caller is None else looked_up(self._of, id(caller))
        return last if last is not None and caller is not None and last.place == (caller.f_code, caller.f_lasti) else None


def _callee_of(frame: FrameType, name: str, argument: int) -> Any:
    """What the call calls that a frame is about to make; `NOTHING` if it is no call."""
    beside = beside_callee(name, argument)
    if beside is None:
        return NOTHING
    callee = behind_the_star(frame, beside + 2)
    return behind_the_star(frame, beside + 1) if callee is NOTHING else callee  # up to 3.12, of what is no method
