"""One interrupt check, from the workload to the result."""

from __future__ import annotations

import random
import signal
import time
from collections.abc import Callable, Iterator
from dataclasses import replace

from ..core.errors import BadValue
from ..core.interpreter import GIL, Interpreter, build
from ..core.verdict import Verdict
from ..core.workloads import Workload, name_of
from . import judgement
from .catcher import Catcher
from .ccalls import CCalls
from .claim import InterruptClaim
from .culprit import trimmed
from .explain import culprit, reason, refined, told_who_caught
from .plan import InterruptPlan
from .result import InterruptResult, Spread
from .shot import Rehearsal, Shot, Trouble, fire, rehearse
from .starting import Start

_IDLE_SHOTS = 5
_IDLE_MOMENT = 0.005
_TOO_SHORT = 0.001  # seconds in which no signal can be aimed
_EXAMINATIONS = 3  # until one finds the same trouble
_TRIES = 2  # times the repeats, before too many that came too late make it inconclusive
_AT_ONCE = 0.05  # seconds in which any workload may end
_OWN_END, _MUCH_LEFT = 0.9, 0.25  # of the time it takes alone: reached all the same, although so much was left at the signal
_LAST_MOMENT = 0.9  # of the rehearsed time: the next run may be faster


def interrupt(
    work: Workload,
    claimed: InterruptClaim,
    how: InterruptPlan,
    *,
    name: str | None = None,
    progress: Callable[[str], None] = lambda label: None,
) -> InterruptResult:
    """Try whether ``work`` can be interrupted.

    Args:
        work: called without arguments in the main thread of a child process, once for each signal; a coroutine function is run
            by ``asyncio.run``.
        claimed: what to judge.
        how: how to try.
        name: for the report; the callable's own by default.
        progress: told what comes before each run of the workload.

    Raises:
        BaseException: what the workload raised when it was left alone.
        BadValue: this process cannot have such children now.
    """
    begun = time.monotonic()
    start = Start(work, how.setup, tuple(int(number) for number in claimed.signals))
    if (why := start.impossible()) is not None:
        raise BadValue("work", name or name_of(work), f"a workload for a child process, but {why}")
    blank = InterruptResult(
        verdict=Verdict.INCONCLUSIVE,
        reason="",
        workload=name or name_of(work),
        claim=claimed,
        interpreter=Interpreter.current(),
        over=how.over,
        seed=how.seed,
    )
    progress("an idle process")
    blank = replace(blank, idle=_idle())
    progress("the workload alone")
    rehearsal = rehearse(start, how.over, how.timeout)
    blank = replace(blank, lasted=rehearsal.seconds)
    if (ended := _no_shots(rehearsal, blank)) is not None:
        return replace(ended, seconds=time.monotonic() - begun)
    shots = _shots(start, claimed, how, rehearsal, begun, progress)
    shots = _went_on(start, shots, claimed, how, rehearsal, progress)
    result = _concluded(blank, start, shots, how, rehearsal, progress)
    return replace(result, seconds=time.monotonic() - begun)


def _idle() -> Spread | None:
    """How fast a signal gets through here at all."""
    easy = InterruptClaim(1.0, 5.0, (signal.SIGINT,))
    start = Start(_asleep, None, (signal.SIGINT,))
    return Spread.of(fire(start, signal.SIGINT, _IDLE_MOMENT, easy, 10.0).delivery for _ in range(_IDLE_SHOTS))


def _asleep() -> None:
    time.sleep(30)


def _no_shots(rehearsal: Rehearsal, blank: InterruptResult) -> InterruptResult | None:
    """What the rehearsal alone decides."""
    if rehearsal.error is not None:
        raise rehearsal.error
    if rehearsal.trouble is Trouble.CRASHED:
        words = f"crashed: {rehearsal.words.splitlines()[0]}, before any signal"
        trace = "\n".join(rehearsal.words.splitlines()[1:])
        return replace(blank, verdict=Verdict.VIOLATED, reason=words, trouble=rehearsal.trouble, stacks=trace)
    if rehearsal.trouble is not None:
        return replace(blank, reason=f"no signal could be sent: {rehearsal.words.splitlines()[0]}", trouble=rehearsal.trouble)
    if rehearsal.seconds is not None and rehearsal.seconds < _TOO_SHORT:
        words = f"the workload is too short: it ends after {rehearsal.seconds * 1e3:.2g} ms, before any signal; give it more to do"
        return replace(blank, reason=words, trouble=Trouble.MISSED)
    return None


def _shots(
    start: Start, claimed: InterruptClaim, how: InterruptPlan, rehearsal: Rehearsal, begun: float, progress: Callable[[str], None]
) -> list[Shot]:
    shots: list[Shot] = []
    wanted = how.repeats * len(claimed.signals)
    for number, moment in _aims(claimed, how, rehearsal):
        landed = sum(shot.trouble is None for shot in shots)
        if landed >= wanted or len(shots) >= _TRIES * wanted or judgement.proven(shots, claimed) is not None:
            break
        if how.budget is not None and time.monotonic() - begun > how.budget:
            break
        progress(f"{number.name} {landed + 1} of {wanted}, {moment * 1e3:.0f} ms after the start")
        shots.append(fire(start, number, moment, claimed, how.timeout))
        trouble = shots[-1].trouble
        if trouble in judgement.TO_BE_SEEN_TWICE and sum(shot.trouble is trouble for shot in shots) == 1:
            shots.append(fire(start, number, moment, claimed, how.timeout))  # once more, at the same moment
    return shots


def _went_on(
    start: Start,
    shots: list[Shot],
    claimed: InterruptClaim,
    how: InterruptPlan,
    rehearsal: Rehearsal,
    progress: Callable[[str], None],
) -> list[Shot]:
    """Find the shots after which the workload went on to its own end as if nothing had been: it swallowed the signal, and only
    looks interrupted because that end was near. To tell it from a clean-up, its own end must be known."""
    slow = [shot for shot in shots if shot.trouble is None and shot.how == "returned" and (shot.unwinding or 0) > _AT_ONCE]
    if not slow or judgement.proven(shots, claimed) is not None:
        return shots
    natural = rehearsal.seconds
    if natural is None:
        progress("the workload alone, to its end")
        natural = rehearse(start, how.over + claimed.exits_within + 1, how.timeout).seconds
    if natural is None:
        return shots

    def as_if_nothing_had_been(shot: Shot) -> bool:
        took = shot.moment + ((shot.left or shot.sent) - shot.sent) / 1e9
        return took > _OWN_END * natural and natural - shot.moment > _MUCH_LEFT * natural

    found = [shot for shot in slow if as_if_nothing_had_been(shot)]
    if len(found) < min(2, len(shots)):
        return shots
    return [replace(shot, trouble=Trouble.SWALLOWED) if shot in found else shot for shot in shots]


def _aims(claimed: InterruptClaim, how: InterruptPlan, rehearsal: Rehearsal) -> Iterator[tuple[signal.Signals, float]]:
    """Signals and moments without end: each round puts one of each signal into each of ``repeats`` equal parts of the time."""
    span = how.over if rehearsal.seconds is None else min(how.over, _LAST_MOMENT * rehearsal.seconds)
    draw = random.Random(how.seed)
    while True:
        aims = [(number, (part + draw.random()) / how.repeats * span) for number in claimed.signals for part in range(how.repeats)]
        draw.shuffle(aims)
        yield from aims


def _concluded(
    blank: InterruptResult,
    start: Start,
    shots: list[Shot],
    how: InterruptPlan,
    rehearsal: Rehearsal,
    progress: Callable[[str], None],
) -> InterruptResult:
    claimed = blank.claim
    judged = judgement.judge(shots, claimed, how.repeats * len(claimed.signals))
    shot = judged.decided_by
    result = replace(blank, verdict=judged.verdict, shots=tuple(shots), reason=judged.reason)
    if judged.verdict is Verdict.HOLDS:
        words = (
            "never seen by a handler, and the process gone"
            if result.delivery is None
            else f"seen within {_ms(result.delivery)}, and"
        )
        words = f"{words} the process gone {_ms(result.exit)} later"
        if rehearsal.seconds is None:
            words = f"{words}, in the first {how.over:g} s of it"
        names = " and ".join(number.name for number in claimed.signals)
        return replace(result, reason=f"{len([s for s in shots if s.trouble is None])} of {names}: {words}")
    if shot is None or judged.verdict is Verdict.INCONCLUSIVE:
        return replace(result, trouble=None if shot is None else shot.trouble)
    if shot.trouble in (Trouble.LATE, Trouble.DEAF) and (again := _idle()) is not None and again.max > claimed.within / 2:
        words = f"even an idle process sees a signal only after {again.max:.2g} s: this machine is too busy to say"
        return replace(result, verdict=Verdict.INCONCLUSIVE, reason=words, trouble=Trouble.BUSY)
    shot, blamed = _blamed(start, shot, claimed, how, progress)
    return replace(result, reason=reason(shot, blamed, claimed), trouble=shot.trouble, culprit=blamed, stacks=trimmed(shot.stacks))


def _blamed(
    start: Start, shot: Shot, claimed: InterruptClaim, how: InterruptPlan, progress: Callable[[str], None]
) -> tuple[Shot, str]:
    """The culprit; where the shot alone does not tell, by one more with instruments."""
    number = signal.Signals(shot.number)
    if shot.trouble in (Trouble.DEAF, Trouble.LATE):
        progress("once more, to see in which C call")
        if (seen := _running(start, shot, claimed, how)) is None:
            return shot, culprit(shot)
        running, examined = seen[0].when_stuck() or [], seen[1]
        if not shot.stacks:
            shot = replace(shot, stacks=examined.stacks, place=shot.place or examined.place)
        return shot, culprit(shot, running, examined.pid)
    if shot.trouble is Trouble.SWALLOWED:
        progress("once more, to see who caught it")
        for _ in range(_EXAMINATIONS):
            examined = fire(start, number, shot.moment, claimed, how.timeout, Catcher())
            if told_who_caught(examined) and (examined.trouble is Trouble.SWALLOWED or shot.how == examined.how == "returned"):
                break
        else:  # free-threaded builds sometimes lose the trace
            examined = replace(examined, notes=())
            if shot.dozed and shot.others_busy and build() == GIL and (seen := _running(start, shot, claimed, how)) is not None:
                kept = seen[0].long_ones(seen[1].pid, claimed.exits_within / 2)
                if kept:  # on its way out, and another thread kept the GIL from it
                    shot = replace(shot, trouble=Trouble.UNWINDING)
                    return shot, culprit(shot, kept, seen[1].pid)
        shot = refined(shot, examined)
    return shot, culprit(shot)


def _running(start: Start, shot: Shot, claimed: InterruptClaim, how: InterruptPlan) -> tuple[CCalls, Shot] | None:
    """The C calls that ran while it was stuck, from one more shot at the same moment, and that shot; None if all went well then."""
    for _ in range(_EXAMINATIONS):
        calls = CCalls()
        examined = fire(start, signal.Signals(shot.number), shot.moment, claimed, how.timeout, calls)
        if calls.when_stuck() is not None:
            return calls, examined
    return None


def _ms(spread: Spread | None) -> str:
    return "an unknown time" if spread is None else f"{spread.max * 1e3:.3g} ms"
