"""The child's side of a guarded child process."""

from __future__ import annotations

from typing import IO, NoReturn

from .child_protocol import ANSWER, DEADLINE, LISTENING, NOTE, PIPE_LOST, STANDBY, encode, encode_seconds
from .descriptors import OwnDescriptor
from .last_status import LastStatus
from .stack_dumps import write_stacks_to
from .system import exit_at_once, getpid

_of_this_process: ChildSide | None = None


def of_this_process() -> ChildSide | None:
    """The side of this process, if it is a guarded child itself; not in a process that it has forked in other ways."""
    side = _of_this_process
    return side if side is not None and side.pid == getpid() else None


class ChildSide:
    """Sends notes, deadlines and one answer to the parent.

    Args:
        pipe: descriptor to write to; this object keeps a duplicate and closes it.
        stacks: file for the stacks of this process.
        limit: seconds until the first deadline.
        ended: in which the parent tells a process that takes over how this one has ended.
    """

    def __init__(self, pipe: int, stacks: IO[bytes], limit: float, ended: LastStatus) -> None:
        self.ended = ended
        self._pipe = OwnDescriptor(pipe)
        self._stacks = OwnDescriptor.duplicate(stacks.fileno())
        write_stacks_to(self._stacks.number)
        self.set_deadline(limit)
        global _of_this_process
        self.pid, _of_this_process = getpid(), self

    def set_deadline(self, seconds: float | None) -> None:
        """Have the parent end this process in ``seconds`` from now; None suspends the deadline, for instance to wait for a lock."""
        self._send(DEADLINE, encode_seconds(seconds))

    def send_note(self, payload: bytes) -> bool:
        """Send a note to `ParentSide.receive_notes`; returns whether the pipe was still open.

        It may be called in a signal handler.
        """
        return self._send(NOTE, payload)

    def announce(self, standby: int | None) -> bool:
        """Tell the parent which process takes over if this one dies; None if none does any more. Returns whether it hears that."""
        return self._send(STANDBY, b"" if standby is None else b"%d" % standby)

    def announce_listening(self, listens: bool) -> None:
        """Tell the parent whether this process takes SIGINT as a request to stop, and so should get the user's Ctrl-C."""
        self._send(LISTENING, b"1" if listens else b"")

    @property
    def stacks(self) -> int:
        """Descriptor of the file to which this process writes its stacks when it crashes."""
        return self._stacks.number

    def answer(self, payload: bytes) -> NoReturn:
        """Send the answer and exit, without running the parent's exit handlers and flushing its buffers a second time."""
        sent = False
        try:
            sent = self._send(ANSWER, payload)
        finally:
            exit_at_once(0 if sent else PIPE_LOST)

    def _send(self, kind: bytes, payload: bytes) -> bool:
        try:
            self._pipe.write(encode(kind, payload))
        except OSError:  # the code under test closed the pipe: it must not fail because of us
            return False
        return True
