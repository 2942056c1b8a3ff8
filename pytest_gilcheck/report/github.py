"""Output for GitHub Actions: annotations at the lines of tests, and the summary of a step."""

from __future__ import annotations

from collections.abc import Sequence

from ..core.evidence import Record, asserted_violated
from .clean import clean, one_line
from .matrix import Matrix
from .tables import markdown
from .terminal import summary_title

_LEVELS = {"violated": "error", "inconclusive": "warning"}


def annotation(record: Record, file: str, line: int) -> str | None:
    """Return the workflow command that annotates a check at its test.

    Args:
        file: the file of the test, relative to the root of the repository; empty for what is of no file.
        line: counted from 1.

    Returns:
        None for a check that holds, and for a violated claim whose test passed because it asserts that.
    """
    level = _LEVELS.get(record["verdict"] or "")
    if level is None or asserted_violated(record):
        return None
    code = f" {record['code']}" if record.get("code") else ""
    title = f"gilcheck {record['check']}: {record['verdict']}{code}"
    where = f"file={_property(file)},line={line}," if file else ""
    properties = f"{where}title={_property(title)}"
    return f"::{level} {properties}::{_data(clean(record['reason']))}"


def step_summary(table: Matrix, records: Sequence[Record]) -> str:
    """Return Markdown for the file that ``GITHUB_STEP_SUMMARY`` names."""
    title = one_line(summary_title(records))
    return f"### {title}\n\n{markdown(table)}\n"


def _data(text: str) -> str:
    return text.replace("%", "%25").replace("\r", "%0D").replace("\n", "%0A")


def _property(text: str) -> str:
    return _data(one_line(text)).replace(":", "%3A").replace(",", "%2C")
