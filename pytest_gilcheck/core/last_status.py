"""How a process has ended, for the one that takes over from it and is no parent of it, so that the system does not say.

Their common parent writes it into memory that all three share. What does not work: the status in ``/proc``, which is gone when the
parent has waited for the process; a pipe, which a test may close.
"""

from __future__ import annotations

import mmap
import struct

from .clocks import monotonic, sleep

_CELLS = struct.Struct("!?q")  # whether it is known, and the status
_LOOK = 0.002  # seconds between two looks


class LastStatus:
    """Made before the fork. One process tells, and another one asks."""

    def __init__(self) -> None:
        self._memory = mmap.mmap(-1, _CELLS.size)

    def tell(self, status: int | None) -> None:
        """The process has ended with this exit status, or minus the number of the signal that killed it; None if it is unknown."""
        if status is not None:
            self._memory[:] = _CELLS.pack(True, status)

    def ask(self, seconds: float) -> int | None:
        """What was told, or is within this time; None if nothing is."""
        until = monotonic() + seconds
        while True:
            known, status = _CELLS.unpack(self._memory[:])
            if known or monotonic() > until:
                return status if known else None
            sleep(_LOOK)

    def close(self) -> None:
        self._memory.close()
