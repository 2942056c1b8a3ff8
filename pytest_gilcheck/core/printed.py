"""Text on the standard output and error of a command, which may be closed, whose reader may be gone and whose disk may be full."""

from __future__ import annotations

import os
import sys
from contextlib import suppress
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


def say(text: str, end: str = "\n") -> None:
    """Print a text on standard error, or nothing where that cannot be: the exit status says the same."""
    if sys.stderr is None:  # closed before the start
        return
    with suppress(OSError, ValueError):
        sys.stderr.write(text + end)
        sys.stderr.flush()


def show_progress(label: str) -> None:
    """Show what is being done, in the line of a terminal; an empty label clears it."""
    say(f"\r\x1b[K{label}", end="")


def talks_to_a_terminal() -> bool:
    """Whether standard error is a terminal."""
    return sys.stderr is not None and sys.stderr.isatty()


def flush() -> None:
    """Write what others have printed, as far as that can be."""
    for stream in (sys.stdout, sys.stderr):
        if stream is not None:
            with suppress(OSError, ValueError):
                stream.flush()
