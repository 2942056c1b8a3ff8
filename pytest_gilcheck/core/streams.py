"""The text that this process has printed and not yet written: a fork has a copy of it, and it must be written once."""

from __future__ import annotations

import sys


def flush() -> None:
    """Write out what ``sys.stdout`` and ``sys.stderr`` hold."""
    for stream in (sys.stdout, sys.stderr):
        try:
            stream.flush()
        except Exception:  # the stream is closed, or its replacement has no flush
            pass
