"""What a child process sends its parent over their pipe: messages of a kind and a payload, each with its length."""

from __future__ import annotations

import struct
from collections.abc import Iterator

from .clocks import monotonic

_HEADER = struct.Struct("!cQ")  # kind, length of the payload in bytes
ANSWER = b"A"  # the payload is what the child was started for; its last message
DEADLINE = b"D"  # the payload is a number of seconds from now; empty: no deadline
NOTE = b"N"  # the payload is for whoever reads the notes
STANDBY = b"S"  # the payload is the process id, as text, of the one that takes over if this one dies; empty: none does any more
LISTENING = b"L"  # whether the child takes SIGINT as a request to stop (`stop_request`); the payload is empty if it does not
PIPE_LOST = 213  # exit status of a child that cannot answer, because code of the test has closed the pipe


def encode(kind: bytes, payload: bytes) -> bytes:
    """One message, as it is written to the pipe."""
    return _HEADER.pack(kind, len(payload)) + payload


def encode_seconds(seconds: float | None) -> bytes:
    """The payload of a deadline message."""
    return b"" if seconds is None else struct.pack("!d", seconds)


def decode_seconds(payload: bytes) -> float | None:
    """The seconds in the payload of a deadline message."""
    return struct.unpack("!d", payload)[0] if payload else None


class Decoder:
    """Makes messages of what arrives in pieces."""

    def __init__(self) -> None:
        self._received = bytearray()

    def messages(self, data: bytes) -> Iterator[tuple[bytes, bytes]]:
        """Kind and payload of each message that ``data`` completes."""
        self._received += data
        while len(self._received) >= _HEADER.size:
            kind, size = _HEADER.unpack_from(self._received)
            if len(self._received) < (end := _HEADER.size + size):
                return
            payload = bytes(self._received[_HEADER.size : end])
            del self._received[:end]
            yield kind, payload


class Inbox:
    """What a child has sent so far.

    Args:
        limit: seconds from now until it must have ended, unless it sends another deadline.
    """

    def __init__(self, limit: float) -> None:
        self.deadline: float | None = monotonic() + limit
        self.answer: bytes | None = None
        self.notes: list[bytes] = []
        self.standby: int | None = None  # the process that takes over if the child dies
        self.listens = False  # whether the child takes SIGINT as a request to stop
        self._decoder = Decoder()

    @property
    def late(self) -> bool:
        return self.deadline is not None and monotonic() > self.deadline

    def take(self, data: bytes) -> None:
        """Read the messages that ``data`` completes."""
        for kind, payload in self._decoder.messages(data):
            if kind == ANSWER:
                self.answer = payload
            elif kind == NOTE:
                self.notes.append(payload)
            elif kind == STANDBY:
                self.standby = int(payload) if payload else None
            elif kind == LISTENING:
                self.listens = bool(payload)
            else:
                seconds = decode_seconds(payload)
                self.deadline = None if seconds is None else monotonic() + seconds
