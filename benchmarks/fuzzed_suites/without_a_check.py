"""A pytest plugin: how long one schedule of each test takes without any check: what its fixtures set up, and its body twice.

SUITE_OF_GILCHECK_LOG=FILE python -m pytest -p without_a_check

Each test runs `_TIMES` times, and the fastest counts. Of the fixtures those count that are made anew for each test. The clock
goes on where freezegun freezes those of Python.
"""

from __future__ import annotations

import json
import os
from collections.abc import Generator
from time import CLOCK_MONOTONIC, clock_gettime
from typing import Any

import pytest
from _pytest.runner import runtestprotocol

_TIMES = 4
_spent: dict[str, float] = {}  # of the test that runs: seconds in its fixtures, and in its body
_in_fixtures = 0


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    items[:] = items[:: int(os.environ.get("SUITE_OF_GILCHECK_EVERY", "1"))]


@pytest.hookimpl(tryfirst=True)
def pytest_runtest_protocol(item: pytest.Item, nextitem: pytest.Item | None) -> bool | None:
    if not isinstance(item, pytest.Function):
        return None
    taken = []
    for turn in range(_TIMES):
        item._initrequest()  # type: ignore[no-untyped-call, unused-ignore]
        _spent.update(fixtures=0.0, body=0.0)
        reports = runtestprotocol(item, log=turn == _TIMES - 1, nextitem=nextitem)
        if all(report.passed for report in reports):
            taken.append(_spent["fixtures"] + 2 * _spent["body"])
    if not taken:
        return True
    with open(os.environ["SUITE_OF_GILCHECK_LOG"], "a") as file:
        file.write(json.dumps({"bare": item.nodeid, "seconds": min(taken)}) + "\n")
    return True


@pytest.hookimpl(wrapper=True)
def pytest_fixture_setup(fixturedef: pytest.FixtureDef[Any]) -> Generator[None, Any, Any]:
    global _in_fixtures
    _in_fixtures += 1
    begun = clock_gettime(CLOCK_MONOTONIC)
    try:
        return (yield)
    finally:
        _in_fixtures -= 1
        if fixturedef.scope == "function" and not _in_fixtures:
            _spent["fixtures"] += clock_gettime(CLOCK_MONOTONIC) - begun


@pytest.hookimpl(wrapper=True)
def pytest_pyfunc_call() -> Generator[None, Any, Any]:
    begun = clock_gettime(CLOCK_MONOTONIC)
    try:
        return (yield)
    finally:
        _spent["body"] += clock_gettime(CLOCK_MONOTONIC) - begun
