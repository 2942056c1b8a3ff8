"""What a user claims about interrupts, checked for sense before anything runs."""

from __future__ import annotations

import signal
from collections.abc import Sequence
from dataclasses import dataclass

from ..core.errors import BadValue
from ..core.values import seconds

DEFAULT_WITHIN = 0.2  # seconds; people call 0.1 s instant, and a busy machine needs some of it
DEFAULT_EXITS_WITHIN = 2.0
_NOT_OURS = {
    "SIGKILL": "which no process can handle",
    "SIGSTOP": "which no process can handle",
    "SIGUSR2": "which we use ourselves",
}

Signals = str | int | Sequence[str | int]


@dataclass(frozen=True)
class InterruptClaim:
    """Each signal is seen in time, and the process then ends in time.

    Attributes:
        within: seconds from the signal to the first line of its Python handler.
        exits_within: seconds from there to the end of the process.
        signals: the signals sent, in turn.
    """

    within: float
    exits_within: float
    signals: tuple[signal.Signals, ...]

    def __str__(self) -> str:
        names = " and ".join(number.name for number in self.signals)
        return f"{names} seen within {self.within:g} s, and the process gone {self.exits_within:g} s later"


def claim(
    *, within: object = None, exits_within: object = None, signals: Signals | None = None, source: str = "argument"
) -> InterruptClaim:
    """The claim out of unchecked values; None takes the default.

    Args:
        signals: one or more, by name or number; SIGINT by default.
        source: where the arguments came from, for errors.

    Raises:
        BadValue: a value of the wrong type or range, or a signal that cannot be handled.
    """
    given: Sequence[object] = (signal.SIGINT,) if signals is None else [signals] if isinstance(signals, (str, int)) else signals
    if not isinstance(given, Sequence) or not given:
        raise BadValue("signals", signals, "a signal such as 'SIGINT', or a list of them", source)
    return InterruptClaim(
        within=DEFAULT_WITHIN if within is None else seconds("within", within, source),
        exits_within=DEFAULT_EXITS_WITHIN if exits_within is None else seconds("exits_within", exits_within, source),
        signals=tuple(dict.fromkeys(_signal(entry, source) for entry in given)),
    )


def _signal(given: object, source: str) -> signal.Signals:
    try:
        if isinstance(given, bool):
            raise ValueError
        number = signal.Signals[given.upper()] if isinstance(given, str) else signal.Signals(given)  # type: ignore[arg-type]
    except (ValueError, KeyError, TypeError):
        raise BadValue("signals", given, "a signal's name or number, such as 'SIGINT' or 'SIGTERM'", source) from None
    if number.name in _NOT_OURS:
        raise BadValue("signals", given, f"a signal other than {number.name}, {_NOT_OURS[number.name]}", source)
    return number
