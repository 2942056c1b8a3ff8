"""The reports of a test that runs in a child process, in the place of those that its parent would make.

The parent raises an exception that represents the child's outcome, so that every hook around a phase sees that outcome. Its report
is replaced twice. The innermost hook replaces it so that the hooks of other plugins see the child's outcome. The outermost hook
replaces the outcome again, because pytest's own hook for xfail evaluates the exception that represents it.

The report of the teardown is the parent's own, which tears the wider fixtures down; only a failure of the child replaces it.
"""

from __future__ import annotations

from copy import deepcopy  # pytest changes the data while it reads it
from typing import Any

import pytest
from _pytest.outcomes import Skipped

from .messages import Message, show_warnings


class ChildFailed(Exception):
    """Represents in the parent a phase that failed in the child; the child's report replaces the parent's."""


class ChildSkipped(Skipped):
    """Represents in the parent a phase that was skipped, or failed as expected, in the child."""


class ChildReport:
    """Replaces the parent's report of a phase by the child's: as the innermost hook, and in `applied_to` for the outermost."""

    def __init__(self, config: pytest.Config) -> None:
        self._config = config
        self._data: dict[str, Any] | None = None

    def receive(self, item: pytest.Item, message: Message) -> None:
        """Keep the child's report of the phase; show its sections and its warnings as this process' own."""
        self._data = message["report"]
        item._report_sections[:] = message["sections"]
        item.user_properties[:] = [(name, value) for name, value in self._data["user_properties"]]
        show_warnings(message["warnings"])

    def represent(self) -> None:
        """Raise what represents the report that was received last; nothing if that phase passed.

        Raises:
            ChildFailed: the phase failed.
            ChildSkipped: it was skipped, or failed as expected.
        """
        __tracebackhide__ = True
        if self._data is None or self._data["outcome"] == "passed":
            return
        if self._data["outcome"] == "skipped":
            raise ChildSkipped("in the child")
        raise ChildFailed

    def text(self) -> str:
        """What the report that was received last says of its failure."""
        return "" if self._data is None or self._data["outcome"] != "failed" else str(self._report().longreprtext)

    @pytest.hookimpl(wrapper=True, trylast=True)
    def pytest_runtest_makereport(self, item: pytest.Item, call: pytest.CallInfo[None]) -> Any:
        report = yield
        if self._data is not None and self._data["when"] == report.when == "teardown":  # what other plugins have added, and records
            report.__dict__.update({name: value for name, value in vars(self._report()).items() if name not in vars(report)})
        return self._child(report, call) or report

    def applied_to(self, report: Any, call: pytest.CallInfo[None]) -> Any:
        """Return the report with the child's outcome, or unchanged if the phase failed in the parent."""
        child, self._data = self._child(report, call), None
        if child is None:
            return report
        report.outcome, report.longrepr = child.outcome, child.longrepr
        report.__dict__.pop("wasxfail", None)
        if hasattr(child, "wasxfail"):
            report.wasxfail = child.wasxfail
        return report

    def _child(self, report: Any, call: pytest.CallInfo[None]) -> Any:
        """The child's report; None if there is none, or if it would hide what the parent's says."""
        data = self._data
        if data is None or data["when"] != report.when or not _represents_child(call):
            return None
        if report.when == "teardown" and call.excinfo is None:
            return None
        child = self._report()
        if report.when == "teardown":
            child.sections, child.duration = report.sections, report.duration
            child.start, child.stop = report.start, report.stop
        return child

    def _report(self) -> Any:
        return self._config.hook.pytest_report_from_serializable(config=self._config, data=deepcopy(self._data))


def _represents_child(call: pytest.CallInfo[None]) -> bool:
    """Whether the parent's phase has no failure of its own, which the child's report would hide."""
    return call.excinfo is None or isinstance(call.excinfo.value, (ChildFailed, ChildSkipped))
