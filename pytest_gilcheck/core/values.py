"""Which values an argument takes: unchecked values in, checked ones out, or an error in one line.

A check's arguments arrive as whatever the user wrote, in a marker, a call, a command line or an ini file. Each argument has one
`Values`, which reads it in all these places and says in words what it expects.

The tables of checks, arguments and settings are built at every start of pytest. So their rows are plain classes and named tuples:
making such a class took 0.01 and 0.13 ms here, and making a frozen dataclass 0.9 ms.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from types import ModuleType
from typing import TYPE_CHECKING, Any

from .builds import BUILDS, FREE_THREADED, GIL
from .errors import BadValue

if TYPE_CHECKING:
    from typing import Protocol

    class Values(Protocol):
        """The values that an argument takes.

        Attributes:
            expected: the values in words, for errors and documentation.
        """

        @property
        def expected(self) -> str: ...

        def read(self, name: str, value: object, source: str) -> Any:
            """Return the checked value.

            Raises:
                BadValue: the value is none of these.
            """


class Accepted:
    """Values for which a predicate is true, as they are or converted.

    Args:
        expected: the values in words.
        accepts: the predicate.
        convert: called with an accepted value; returns the checked one.
        meant: called with a refused value; what was probably meant, in words, or an empty text.
    """

    def __init__(
        self,
        expected: str,
        accepts: Callable[[Any], bool],
        convert: Callable[[Any], Any] = lambda value: value,
        meant: Callable[[Any], str] = lambda value: "",
    ) -> None:
        self.expected, self.accepts, self.convert, self.meant = expected, accepts, convert, meant

    def read(self, name: str, value: object, source: str) -> Any:
        meant = ""
        try:
            if self.accepts(value):
                return self.convert(value)
            meant = self.meant(value)
        except Exception:  # of the value's own code, which compares or converts it
            pass
        raise BadValue(name, value, f"{self.expected}; did you mean {meant}?" if meant else self.expected, source)


class PerBuild:
    """One number, or a mapping with a number for each build by its name; read as they are, with checked numbers."""

    def __init__(self, number: Values) -> None:
        self.number = number

    @property
    def expected(self) -> str:
        return f"{self.number.expected}, or one for each build: {{{GIL!r}: ..., {FREE_THREADED!r}: ...}}"

    def read(self, name: str, value: object, source: str) -> Any:
        if not isinstance(value, Mapping):
            return self.number.read(name, value, source)
        if not value:
            raise BadValue(name, dict(value), f"{self.number.expected} for {GIL!r}, for {FREE_THREADED!r} or for both", source)
        if unknown := [key for key in value if key not in BUILDS]:
            raise BadValue(name, dict(value), f"only the builds {GIL!r} and {FREE_THREADED!r}, not {unknown[0]!r}", source)
        return {key: self.number.read(f"{name}[{key!r}]", each, source) for key, each in value.items()}


class OneOrMore:
    """One value, or a sequence of at least one; read as a tuple for a sequence, and as the value for a single one."""

    def __init__(self, each: Values) -> None:
        self.each = each

    @property
    def expected(self) -> str:
        return f"{self.each.expected}, or a list of them"

    def read(self, name: str, value: object, source: str) -> Any:
        if not isinstance(value, Sequence) or isinstance(value, (str, bytes)):
            return self.each.read(name, value, source)
        if not value:
            raise BadValue(name, value, f"{self.each.expected}, or a list of at least one", source)
        return tuple(self.each.read(f"{name}[{index}]", entry, source) for index, entry in enumerate(value))


class ModuleNames:
    """A module, its name, or a sequence of them; read as a tuple of names."""

    expected = "modules, or their names"

    def read(self, name: str, value: object, source: str) -> tuple[str, ...]:
        entries: object = [value] if isinstance(value, (str, ModuleType)) else value
        if not isinstance(entries, Sequence):
            raise BadValue(name, value, self.expected, source)
        names = [entry.__name__ if isinstance(entry, ModuleType) else entry for entry in entries]
        for entry in names:
            if not isinstance(entry, str) or not entry:
                raise BadValue(name, entry, "a module, or its name", source)
        return tuple(names)


def _real(value: object) -> bool:
    if not isinstance(value, (int, float)) or isinstance(value, bool):
        return False
    try:
        return math.isfinite(value)
    except OverflowError:  # a whole number that is too large for a float
        return False


MANY = 1_000_000_000  # of what is counted: no check gets that far, and far more is an error of memory or of the operating system
THREADS = 10_000  # that one check may start; the system may allow fewer, which is refused where they start
SEEDS = 2**64 - 1


def integer(text: str) -> int:
    """The number that a text of a setting or a command line writes; ``int`` would also read digits of other scripts.

    Raises:
        ValueError: it writes none.
    """
    return int(_ascii(text))


def number(text: str) -> float:
    """The number, perhaps with a fraction, that such a text writes; ``float`` would also read digits of other scripts.

    Raises:
        ValueError: it writes none.
    """
    return float(_ascii(text))


def seconds(text: str) -> float:
    """The seconds that such a text writes: ``90``, ``90s``, ``1.5m``.

    Raises:
        ValueError: it writes none.
    """
    units = {"s": 1, "m": 60}
    return number(text[:-1]) * units[text[-1]] if text[-1:] in units else number(text)


def _ascii(text: str) -> str:
    if not text.isascii():
        raise ValueError(text)
    return text


def whole(least: int, most: int = MANY) -> Accepted:
    """Whole numbers from ``least`` to ``most``."""
    return Accepted(
        f"a whole number, at least {least}, at most {most:,}",
        lambda value: isinstance(value, int) and not isinstance(value, bool) and least <= value <= most,
        int,  # of a class of its own, it may compute in its own way
    )


def seconds_between(least: float, most: float, why: str = "") -> Accepted:
    """Seconds in a closed range; ``why`` explains the range."""

    def accepts(value: Any) -> bool:
        return _real(value) and least <= value <= most and value > 0

    def meant(value: Any) -> str:
        return f"{value / 1000:g} ({value:g} ms)" if _real(value) and value > most and accepts(value / 1000) else ""

    expected = f"seconds from {least:g} to {most:g}{why}" if least else f"seconds above 0, at most {most:g}{why}"
    return Accepted(expected, accepts, float, meant)


def one_of(*choices: str) -> Accepted:
    """One of a few words."""
    *most, last = map(repr, choices)
    return Accepted(f"{', '.join(most)} or {last}", lambda value: isinstance(value, str) and value in choices)


POSITIVE = Accepted("a number above 0", lambda value: _real(value) and value > 0, float)
LONGEST = 100_000_000  # seconds, three years: a wait for much longer is an error of the operating system
SECONDS = Accepted(f"seconds above 0, at most {LONGEST:,}", lambda value: _real(value) and 0 < value <= LONGEST, float)
SCALE = Accepted("a number above 0, at most 1,000,000", lambda value: _real(value) and 0 < value <= 1_000_000, float)
PERCENT = Accepted("a percentage above 0, at most 100", lambda value: _real(value) and 0 < value <= 100, float)
SWITCH_INTERVAL = seconds_between(0.000001, 1.0)
FLAG = Accepted("True or False", lambda value: isinstance(value, bool))
NAME = Accepted("a text", lambda value: value is None or isinstance(value, str))
FUNCTION = Accepted("something to call", callable)
TOKEN = Accepted("a token from a report", lambda value: isinstance(value, str) and bool(value))
