"""Ctrl-C as a request to stop: what runs long asks for it between two steps, and reports what it has so far.

An exception would come in the middle of a run whose threads are parked. The second Ctrl-C is one, as ever.
"""

from __future__ import annotations

import os
import signal
from types import FrameType

EXIT_INTERRUPTED = 130  # as shells say it: 128 and the number of SIGINT


class _Request:
    """Whether the user has asked this process to stop.

    Attributes:
        made: whether.
        forward_to: the child that has the work, in a process group of its own; the terminal does not reach it.
    """

    def __init__(self) -> None:
        self.made, self.forward_to = False, 0

    def listen(self) -> None:
        """Take the first Ctrl-C from here on; a forked child does, too. One that is ignored stays so."""
        if signal.getsignal(signal.SIGINT) is signal.default_int_handler:
            signal.signal(signal.SIGINT, self._take)

    def _take(self, number: int, frame: FrameType | None) -> None:
        self.made = True
        signal.signal(signal.SIGINT, signal.default_int_handler)
        if self.forward_to:
            os.kill(self.forward_to, signal.SIGINT)


REQUEST = _Request()
