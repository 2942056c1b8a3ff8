"""A test that will measure time gets the machine before anything of it runs.

So the wait for other timing checks is nobody's time limit: pytest-timeout and pytest's ``faulthandler_timeout`` start with the
protocol of a test, inside of this hook, and their timers run in a process that a wait in a forked child would not stop.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import nullcontext

import pytest

from ..checks import FIXTURE
from ..core.clocks import monotonic
from ..core.machine_lock import turn
from ..runner import LOCK_TIMEOUT
from ..settings import Settings
from .markers import check_of, markers_of


class MachineTurn:
    """Waits for the machine, and says so."""

    def __init__(self, config: pytest.Config, settings: Settings) -> None:
        self._config = config
        self._idle = any(settings.value(name)[0] for name in ("skip", "disable"))

    @pytest.hookimpl(wrapper=True, tryfirst=True)
    def pytest_runtest_protocol(self, item: pytest.Item) -> Iterator[None]:
        begun = monotonic()
        with turn(LOCK_TIMEOUT, self._say) if not self._idle and _measures(item) else nullcontext():
            self._extend_session_timeout(monotonic() - begun)
            return (yield)

    def _say(self, pid: int) -> None:
        reporter = self._config.pluginmanager.get_plugin("terminalreporter")
        if reporter is not None:  # not in a worker of xdist
            reporter.ensure_newline()
            reporter.write_line(f"gilcheck: waiting for another check on this machine (pid {pid})")

    def _extend_session_timeout(self, seconds: float) -> None:
        """The limit of pytest-timeout for the whole run begins later by the time of the wait."""
        timeout = self._config.pluginmanager.get_plugin("timeout")
        key = getattr(timeout, "SESSION_EXPIRE_KEY", None)
        if key is not None and self._config.stash.get(key, 0):
            self._config.stash[key] += seconds


def _measures(item: pytest.Item) -> bool:
    """Whether a check of this test measures time, as far as that is known before it runs; a call of the fixture may."""
    if FIXTURE in getattr(item, "fixturenames", ()):
        return True
    return any(check_of(marker, item).exclusive for marker in markers_of(item))
