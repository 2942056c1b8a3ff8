"""What the runs of a fuzz check print and log: the report shows that of the failing schedule alone, not of all schedules."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import pytest

_OF_RUN = "of the failing schedule"


class CapturedOutput:
    """Keeps the output of one run of a check, and drops that of the others; a `RunOutput`.

    It uses what pytest has captured: output that pytest does not capture (``-s``), or that a fixture such as ``capsys`` captures,
    stays where it is. If no run is kept, everything stays as pytest has it.
    """

    def __init__(self, item: pytest.Item) -> None:
        self._item = item
        manager = item.config.pluginmanager
        self._capture: Any = manager.get_plugin("capturemanager")
        self._logging: Any = getattr(manager.get_plugin("logging-plugin"), "report_handler", None)
        self._kept: dict[str, str] | None = None

    @contextmanager
    def of_a_check(self) -> Iterator[None]:
        """What is captured before the check stays; of what is captured in it, only what was kept."""
        before, self._kept = self._taken(), None
        self._show(before, "")
        try:
            yield
        finally:
            if self._kept is not None:
                self._taken()
                self._show(self._kept, f" {_OF_RUN}")

    def drop(self) -> None:
        self._taken()

    def keep(self) -> None:
        self._kept = self._taken()

    def _taken(self) -> dict[str, str]:
        """What was captured since the last call, by the name that pytest gives it."""
        found = {}
        if self._capture is not None and self._capture.is_globally_capturing():
            found["stdout"], found["stderr"] = self._capture.read_global_capture()
        if self._logging is not None:
            found["log"] = self._logging.stream.getvalue()
            self._logging.reset()
        return found

    def _show(self, found: dict[str, str], of: str) -> None:
        for name, text in found.items():
            if text.strip():
                self._item.add_report_section("call", f"{name}{of}", text)
