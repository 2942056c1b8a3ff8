"""The claim of an interrupt check; its arguments are checked before anything runs."""

from __future__ import annotations

import signal
from collections.abc import Sequence
from dataclasses import dataclass

from ..core.arguments import Arguments

DEFAULT_WITHIN = 0.2  # seconds; people call 0.1 s instant, and a busy machine needs some of it
DEFAULT_EXITS_WITHIN = 2.0
_NOT_OURS = {
    "SIGKILL": "which no process can handle",
    "SIGSTOP": "which no process can handle",
    "SIGUSR2": "which gilcheck uses itself",
}

Signals = str | int | Sequence[str | int]


@dataclass(frozen=True)
class InterruptClaim:
    """The Python handler of each signal starts in time, and the process then exits in time.

    Attributes:
        within: seconds from the signal to the first line of its Python handler.
        exits_within: seconds from the start of the handler to the exit of the process.
        signals: the signals sent, in turn.
    """

    within: float
    exits_within: float
    signals: tuple[signal.Signals, ...]

    def __str__(self) -> str:
        names = " and ".join(number.name for number in self.signals)
        handled = f"the handler of {names} starts within {self.within:g} s"
        return f"{handled}, and the process exits within {self.exits_within:g} s after that"


def claim(given: Arguments) -> InterruptClaim:
    """Make the claim from the arguments; an argument that is not given takes its default.

    Args:
        given: ``within`` and ``exits_within`` in seconds; ``signals``, one or more, by name or number.

    Raises:
        BadValue: a signal does not exist or cannot be handled.
    """
    signals = given.get("signals", signal.SIGINT)
    several: Sequence[object] = [signals] if isinstance(signals, (str, int)) else signals
    if not isinstance(several, Sequence) or isinstance(several, (bytes, bytearray)) or not several:
        raise given.refused("signals", "a signal such as 'SIGINT', or a list of them")
    return InterruptClaim(
        within=given.get("within", DEFAULT_WITHIN),
        exits_within=given.get("exits_within", DEFAULT_EXITS_WITHIN),
        signals=tuple(dict.fromkeys(_signal(given, entry) for entry in several)),
    )


def _signal(given: Arguments, entry: object) -> signal.Signals:
    try:
        if isinstance(entry, bool):
            raise ValueError
        number = signal.Signals[entry.upper()] if isinstance(entry, str) else signal.Signals(entry)  # type: ignore[arg-type]
    except (ValueError, KeyError, TypeError):
        raise given.refused("signals", "a signal's name or number, such as 'SIGINT' or 'SIGTERM'", entry) from None
    if number.name in _NOT_OURS:
        raise given.refused("signals", f"a signal other than {number.name}, {_NOT_OURS[number.name]}", entry)
    return number
