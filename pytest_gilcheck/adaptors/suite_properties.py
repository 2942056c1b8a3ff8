"""The properties that ``record_testsuite_property`` writes in the process of a test come home with the test."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pytest
from _pytest.junitxml import xml_key


def suite_properties(config: pytest.Config) -> list[tuple[str, str]]:
    """Those of this process; they are escaped already."""
    return list(getattr(_report(config), "global_properties", ()))


def add_to_suite(config: pytest.Config, properties: Sequence[tuple[str, str]]) -> None:
    """Add those that a test's process has sent."""
    if (report := _report(config)) is not None:
        report.global_properties += [tuple(each) for each in properties]


def _report(config: pytest.Config) -> Any:
    return config.stash.get(xml_key, None)
