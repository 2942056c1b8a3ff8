"""Text on the standard output of a command, whose reader may be gone and whose disk may be full."""

from __future__ import annotations

import os
import sys

from .errors import BadValue


def put(text: str) -> None:
    """Print a text, with ``?`` for what the encoding lacks. Nothing where there is no output: the exit status counts.

    Raises:
        BadValue: it cannot be written, and not because the reader has read enough.
    """
    if sys.stdout is None:  # closed before the start
        return
    encoding = sys.stdout.encoding or "ascii"
    try:
        sys.stdout.write(text.encode(encoding, "replace").decode(encoding) + "\n")
        sys.stdout.flush()
    except OSError as error:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())  # otherwise Python reports the error again when it exits
        if not isinstance(error, BrokenPipeError):
            raise BadValue("output", "standard output", f"a place that can be written ({error})", "command line") from None
