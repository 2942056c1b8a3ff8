"""Shows in a terminal what a check that takes long is doing, behind what pytest has written of the line."""

from __future__ import annotations

import pytest

from ..core.clocks import monotonic
from ..core.descriptors import OwnDescriptor

_SILENT = 1.0  # seconds before a check says anything: most are over by then
_PAUSE = 0.2  # seconds between two writes
_LEAST_ROOM = 20  # columns
_SAVE, _RESTORE, _ERASE = "\x1b7", "\x1b8", "\x1b[K"  # cursor positions and the rest of the line, of a VT100


class CheckProgress:
    """Writes to the terminal itself, because the output of tests is captured while they run, and a fork of pytest runs them.

    Nothing is shown where pytest's output is no terminal, with ``-q``, and in workers of pytest-xdist.
    """

    def __init__(self, config: pytest.Config) -> None:
        self._reporter = config.pluginmanager.get_plugin("terminalreporter")
        self._terminal: OwnDescriptor | None = None
        self._began, self._last, self._shown = monotonic(), 0.0, False
        writer = getattr(self._reporter, "_tw", None)
        if writer is None or config.get_verbosity() < 0 or hasattr(config, "workerinput"):
            return
        try:
            if writer._file.isatty():
                self._terminal = OwnDescriptor.duplicate(writer._file.fileno())
        except (AttributeError, OSError, ValueError):  # a stream that another plugin has put in the place of the terminal
            pass

    def begin(self) -> None:
        """Begin the time of a check."""
        self._began = monotonic()

    def show(self, label: str) -> None:
        """Show what the check does now, if it has taken long enough for people to wonder."""
        now = monotonic()
        if self._terminal is None or now - self._began < _SILENT or now - self._last < _PAUSE:
            return
        writer = self._reporter._tw  # type: ignore[union-attr] # where there is a terminal there is one
        room = writer.fullwidth - writer.width_of_current_line - 2
        if room < _LEAST_ROOM:
            return
        text = f"{now - self._began:.0f} s: {label}"
        self._last, self._shown = now, True
        self._write(f"{_SAVE} {text[:room]}{_ERASE}{_RESTORE}")

    def clear(self) -> None:
        """Remove what is shown."""
        if self._shown:
            self._shown = False
            self._write(_ERASE)

    def _write(self, text: str) -> None:
        assert self._terminal is not None
        try:
            self._terminal.write(text.encode(errors="replace"))
        except OSError:  # the terminal is gone, or the test has closed everything
            self._terminal = None
