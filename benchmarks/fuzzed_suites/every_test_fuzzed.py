"""A pytest plugin: marks every test that can be with ``gil_fuzz``, and writes one line for each phase of each test.

SUITE_OF_GILCHECK_BUDGET=0.3 SUITE_OF_GILCHECK_LOG=FILE python -m pytest -p every_test_fuzzed
"""

from __future__ import annotations

import json
import os

import pytest

from pytest_gilcheck.adaptors.markers import unsupported

MARKER = "gil_fuzz"


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    items[:] = items[:: int(os.environ.get("SUITE_OF_GILCHECK_EVERY", "1"))]
    for item in items:
        if unsupported(item, MARKER) is None:
            item.add_marker(pytest.mark.gil_fuzz(budget=float(os.environ.get("SUITE_OF_GILCHECK_BUDGET", "0.3"))))
        _write({"item": item.nodeid, "marked": item.get_closest_marker(MARKER) is not None})


def pytest_deselected(items: list[pytest.Item]) -> None:
    for item in items:
        _write({"deselected": item.nodeid})


@pytest.hookimpl(trylast=True)
def pytest_runtest_logreport(report: pytest.TestReport) -> None:
    records = [
        {name: entry.get(name) for name in ("check", "verdict", "reason", "figures", "details")}
        for entry in getattr(report, "gilcheck", ())
    ]
    text = "" if report.passed else report.longreprtext[-1500:] or str(report.longrepr)[-1500:]
    _write(
        {
            "test": report.nodeid,
            "when": report.when,
            "outcome": report.outcome,
            "seconds": report.duration,
            "text": text,
            "records": records,
        }
    )


def _write(line: dict[str, object]) -> None:
    with open(os.environ["SUITE_OF_GILCHECK_LOG"], "a") as file:
        file.write(json.dumps(line, default=str) + "\n")
