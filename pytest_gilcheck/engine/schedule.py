"""A schedule: which thread runs next, at those points where it is not the default thread.

By default a thread runs until it ends or has to wait; then the next thread in order runs. A *point* is a visible step of any
thread, or a moment at which the running thread cannot continue. Points are numbered through the whole run, from 1. A choice of
another thread than the default one is a *preemption* at a step; at a forced point it costs nothing.
"""

from __future__ import annotations

import base64
import binascii
import zlib
from collections.abc import Iterator
from dataclasses import dataclass
from typing import NamedTuple

CLOCK = 1 << 20  # in the place of a thread's index: the reading of a clock is delayed
TEARDOWN = CLOCK + 1  # likewise: the teardown begins, although threads that the program has started can still run
_PREFIX = "gil1_"
_FIRST = 15  # bits of the number of threads, below the mark of a first run
_DRAW = 16  # bits below the draw


class BadToken(ValueError):
    """A replay token that is damaged, or is none."""


class Choice(NamedTuple):
    """The choice of a thread at a point.

    Attributes:
        point: numbered from 1.
        thread: its index: the program's threads first, then those that they start, in order; or `CLOCK`, or `TEARDOWN`.
        forced: whether the running thread could not continue, or continues later.
    """

    point: int
    thread: int
    forced: bool = False

    def __str__(self) -> str:
        if self.thread == CLOCK:
            return f"time passes at {self.point}"
        if self.thread == TEARDOWN:
            return f"the teardown begins at {self.point}"
        return f"{'then' if self.forced else 'preempt at'} {self.point} -> T{self.thread}"


def preemptions(number: int) -> str:
    """A number of preemptions, in words."""
    return f"{number} preemption{'s' * (number != 1)}"


@dataclass(frozen=True)
class Schedule:
    """The choices of one run, in order of their points."""

    choices: tuple[Choice, ...] = ()

    @property
    def preemptions(self) -> int:
        return sum(not choice.forced for choice in self.choices)

    def __str__(self) -> str:
        return "; ".join(str(choice) for choice in self.choices) or "no preemption"


@dataclass(frozen=True)
class Token:
    """Everything that a replay needs.

    Attributes:
        program: a checksum of the names of the program's threads.
        threads: the number of those threads.
        schedule: the choices.
        anchors: a checksum of the place of each choice; a replay that is at another place there has diverged.
        points: the number of points of the whole run.
        learnt: checksums of what the search has learnt about the program's names, on which its visible steps depend.
        draw: of its random numbers and orders of sets.
        first: whether it is the schedule of a process's first run of the program.
    """

    program: int
    threads: int
    schedule: Schedule
    anchors: tuple[int, ...]
    points: int
    learnt: tuple[int, ...] = ()
    draw: int = 0
    first: bool = False

    def __str__(self) -> str:
        numbers = [self.program, self.threads | self.first << _FIRST | self.draw << _DRAW, self.points, len(self.schedule.choices)]
        last = 0
        for choice, anchor in zip(self.schedule.choices, self.anchors, strict=True):
            numbers += [choice.point - last, choice.thread * 2 + choice.forced, anchor]
            last = choice.point
        numbers += self.learnt
        body = b"".join(_varint(number) for number in numbers)
        return _PREFIX + base64.urlsafe_b64encode(zlib.crc32(body).to_bytes(4, "big")[:3] + body).decode().rstrip("=")

    @classmethod
    def read(cls, text: str) -> Token:
        """The token of a text.

        Raises:
            BadToken: the text is no token, or is damaged.
        """
        if not text.startswith(_PREFIX):
            raise BadToken(f"it does not begin with {_PREFIX!r}")
        encoded = text.removeprefix(_PREFIX)
        try:
            data = base64.b64decode(encoded + "=" * (-len(encoded) % 4), b"-_", validate=True)
        except (binascii.Error, ValueError):
            raise BadToken("it has characters that no token has") from None
        body = data[3:]
        if zlib.crc32(body).to_bytes(4, "big")[:3] != data[:3]:
            raise BadToken("its checksum does not fit: a part of it is missing or changed")
        numbers = _numbers(body)
        try:
            program, threads, points, count = (next(numbers) for _ in range(4))
            choices, anchors, last = [], [], 0
            for _ in range(count):
                last += next(numbers)
                packed = next(numbers)
                choices.append(Choice(last, packed // 2, bool(packed % 2)))
                anchors.append(next(numbers))
            learnt = tuple(numbers)
        except (StopIteration, RuntimeError, ValueError):
            raise BadToken("it ends too early") from None
        draw, first, threads = threads >> _DRAW, bool(threads >> _FIRST & 1), threads & (1 << _FIRST) - 1
        return cls(program, threads, Schedule(tuple(choices)), tuple(anchors), points, learnt, draw, first)


def checksum(text: str) -> int:
    """16 bits of a text, the same on every interpreter."""
    return zlib.crc32(text.encode(errors="surrogatepass")) & 0xFFFF  # a name may be of a file that is no UTF-8


def _varint(number: int) -> bytes:
    out = bytearray()
    while number > 0x7F:
        out.append(number & 0x7F | 0x80)
        number >>= 7
    out.append(number)
    return bytes(out)


def _numbers(body: bytes) -> Iterator[int]:
    number, shift = 0, 0
    for byte in body:
        number |= (byte & 0x7F) << shift
        shift += 7
        if not byte & 0x80:
            yield number
            number, shift = 0, 0
