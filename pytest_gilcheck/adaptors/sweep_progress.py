"""Shows how far a sweep is: behind the dots in a terminal, and with ``-v`` as a line at each tenth of the tests."""

from __future__ import annotations

import pytest

from ..core.clocks import monotonic
from ..sweep.swept import Swept
from .progress import CheckProgress

_TENTH = 10  # percent


class SweepProgress:
    """How far a sweep is, as the process sees it that gathers what becomes of the tests.

    Attributes:
        count: the tests of the run, as far as that is known.
    """

    def __init__(self, config: pytest.Config) -> None:
        self._reporter = config.pluginmanager.get_plugin("terminalreporter")
        self._in_lines = config.get_verbosity() > 0
        self._terminal = CheckProgress(config)
        self._began, self._done, self._told = monotonic(), 0, 0
        self._causes: set[object] = set()
        self.count = 0

    def begin(self) -> None:
        """Begin the time: the tests are collected."""
        self._began = monotonic()
        self._terminal.begin()

    def add(self, test: Swept) -> None:
        """Say so, now that something has become of this test."""
        self._done += 1
        if test.failed is not None:
            self._causes.add(test.failed.cause or test.test)
        if not self._in_lines:
            self._terminal.show(self._text())
        elif (tenth := self._share // _TENTH) > self._told and self._reporter is not None:
            self._told = tenth
            self._reporter.ensure_newline()
            self._reporter.write_line(self._text())

    @property
    def _share(self) -> int:
        return 100 * self._done // max(self.count, self._done)

    def _text(self) -> str:
        rest = max(0, self.count - self._done)
        left = (monotonic() - self._began) / self._done * rest
        causes = f"{len(self._causes)} cause{'s' * (len(self._causes) != 1)}"
        return f"gilcheck sweep: {self._share}% of {self.count} tests, {causes} so far, about {left:.0f} s left"

    def clear(self) -> None:
        """Remove what is shown."""
        self._terminal.clear()
