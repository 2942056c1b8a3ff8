"""The hooks that other plugins and conftests may implement."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pytest


@pytest.hookspec
def pytest_gilcheck_result(item: pytest.Item, result: Any) -> None:
    """Called with each result, right after its check.

    It runs where the check ran: on an xdist worker, and for a guarded test in a child process that ends with the test. What it
    changes in memory is lost there; use `pytest_gilcheck_record` to gather results.

    Args:
        item: the test.
        result: a ``ScalingResult``, ``InterruptResult``, ``InjectionResult``, ``LatencyResult``, ``FuzzResult`` or ``CurveResult``.
    """


@pytest.hookspec
def pytest_gilcheck_record(config: pytest.Config, record: dict[str, Any]) -> None:
    """Called with each evidence record before it is shown or written, in pytest's main process (xdist's controller).

    It may add to ``record["details"]``; the verdict, the reason and the figures are the check's own.

    Args:
        config: pytest's configuration.
        record: as ``core/evidence.schema.json`` describes it.
    """


@pytest.hookspec
def pytest_gilcheck_section(config: pytest.Config, records: Sequence[dict[str, Any]]) -> tuple[str, str] | None:
    """Return a section for the end of the run, as a title and a text; None for no section.

    Args:
        config: pytest's configuration.
        records: the evidence records of the run.
    """
