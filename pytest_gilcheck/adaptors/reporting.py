"""What the user sees at the end: one summary, and the evidence file."""

from __future__ import annotations

from collections import Counter

import pytest

from ..core import evidence
from ..core.errors import BadValue
from ..core.interpreter import Interpreter
from ..report.terminal import summary_line, summary_title
from .options import settings_of

_PROPERTIES = (
    "speedup", "low", "high", "ceiling", "efficiency", "threshold", "threads", "cores_used", "cause", "rounds", "seconds", "held",
    "delivery_min", "delivery_median", "delivery_max", "unwinding_max", "exit_max", "signals", "trouble", "culprit", "seed",
    "steps", "reachable", "tried", "broken", "workers", "heartbeat_alone_p99", "heartbeat_beside_p99",
    "echo_alone_p99", "echo_beside_p99", "loop_beside_p99", "convoy", "stall",
)  # fmt: skip


def figures_as_properties(record: evidence.Record, number: int) -> list[tuple[str, object]]:
    """A check's verdict and figures as user properties, which JUnit XML shows; a test's second check is ``gilcheck.2``."""
    prefix = "gilcheck" if number == 1 else f"gilcheck.{number}"
    figures = {name: record["figures"].get(name) for name in _PROPERTIES}
    pairs: list[tuple[str, object]] = [(f"{prefix}.verdict", record["verdict"]), (f"{prefix}.reason", record["reason"])]
    return pairs + [
        (f"{prefix}.{name}", round(value, 4) if isinstance(value, float) else value)
        for name, value in figures.items()
        if value is not None
    ]


class Summary:
    """Gathers the evidence out of the reports, of this process or of xdist's workers, and shows it."""

    def __init__(self, config: pytest.Config) -> None:
        self._config = config
        self._records: list[evidence.Record] = []
        self._unwritten = ""

    def pytest_report_collectionfinish(self, config: pytest.Config) -> list[str]:
        return [] if config.get_verbosity() < 0 else [f"gilcheck: {Interpreter.current()}"]

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        self._records += getattr(report, "gilcheck", [])

    def pytest_sessionfinish(self, session: pytest.Session) -> None:
        path, source = settings_of(self._config).value("json")
        if path is None:
            return
        try:
            evidence.write(self._config.invocation_params.dir / path, self._records)
        except OSError as error:  # the failures of the run must still be shown
            self._unwritten = f"gilcheck: {BadValue('json', path, f'a file that can be written ({error})', source)}"
            session.exitstatus = pytest.ExitCode.USAGE_ERROR

    def pytest_terminal_summary(self, terminalreporter: pytest.TerminalReporter) -> None:
        if self._unwritten:
            terminalreporter.write_line(self._unwritten, red=True)
        if not self._records or self._config.get_verbosity() < 0:
            return
        verdicts = Counter(record["verdict"] for record in self._records)
        terminalreporter.section(summary_title(verdicts))
        for record in self._records:
            terminalreporter.write_line(summary_line(record, self._config.get_verbosity() > 0))
