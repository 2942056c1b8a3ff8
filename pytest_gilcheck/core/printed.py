"""Text on the standard output of a command, whose reader may be gone and whose disk may be full."""

from __future__ import annotations

import os
import sys
from pathlib import Path

from . import evidence_files
from .errors import BadValue


def write(text: str, output: Path | None) -> None:
    """Write a text to a file, whole or not at all, or print it where none is given.

    Raises:
        BadValue: it cannot be written.
    """
    if output is None:
        put(text)
        return
    try:
        evidence_files.replace(output.resolve(), text + "\n")
    except OSError as error:
        raise BadValue("output", str(output), f"a file that can be written ({error})", "command line --output") from None


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
