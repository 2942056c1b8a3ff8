"""File descriptors that this package keeps open in a process whose other code may close and reuse any number.

A test may call ``os.closerange``, and the next file that is opened gets the number of a descriptor of ours: our next message would
go into the user's file. So each descriptor is a duplicate with a high number, and every use asks ``fstat`` first whether the number
still refers to the same file.

The functions are bound when this module is imported, as attributes of a class: a test may replace those of ``os`` in every module.
"""

from __future__ import annotations

import os
import sys

if sys.platform != "win32":
    import fcntl
    import resource

_HIGHEST = 4000  # every fork copies the table of descriptors up to the highest one
_ROOM = 32  # numbers below the process's limit that are left to others


class DescriptorLost(OSError):
    """Other code of this process has closed the descriptor."""


class OwnDescriptor:
    """Takes a descriptor over, under another number."""

    _fstat, _write, _read, _close = staticmethod(os.fstat), staticmethod(os.write), staticmethod(os.read), staticmethod(os.close)
    _dup = staticmethod(os.dup)

    def __init__(self, descriptor: int) -> None:
        self._number = self._raised(descriptor)
        self._identity = self._identity_now()

    @classmethod
    def duplicate(cls, descriptor: int) -> OwnDescriptor:
        """One for the same file; the descriptor itself stays open."""
        return cls(cls._dup(descriptor))

    @property
    def number(self) -> int:
        return self._number

    def write(self, data: bytes) -> None:
        """Write all of the data.

        Raises:
            DescriptorLost: it was closed.
            OSError: nobody reads any more.
        """
        rest = memoryview(data)
        while rest:
            self.require()
            rest = rest[self._write(self._number, rest) :]

    def read(self, size: int) -> bytes:
        """Read at most ``size`` bytes; empty at the end of the file.

        Raises:
            DescriptorLost: it was closed.
        """
        self.require()
        return self._read(self._number, size)

    def close(self) -> None:
        """Close it, unless other code has."""
        if self._identity_now() == self._identity:
            self._close(self._number)

    def require(self) -> None:
        """Return only if it is still open.

        Raises:
            DescriptorLost: it was closed.
        """
        if self._identity_now() != self._identity:
            raise DescriptorLost(f"descriptor {self._number} was closed by other code of this process")

    def _identity_now(self) -> tuple[int, int] | None:
        try:
            status = self._fstat(self._number)
        except OSError:
            return None
        return status.st_dev, status.st_ino

    @classmethod
    def _raised(cls, descriptor: int) -> int:
        """Give the descriptor a high number, which loops over the usual ones do not reach, if the system lets it."""
        if sys.platform == "win32":
            return descriptor
        soft = resource.getrlimit(resource.RLIMIT_NOFILE)[0]
        floor = _HIGHEST if soft == resource.RLIM_INFINITY else min(soft - _ROOM, _HIGHEST)
        try:
            high = fcntl.fcntl(descriptor, fcntl.F_DUPFD_CLOEXEC, max(floor, 0))
        except (OSError, ValueError):
            return descriptor
        cls._close(descriptor)
        return high
