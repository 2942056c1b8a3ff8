"""What a fuzz check learns about source files, for the tests after it.

Each test runs in a fork, and what it has read is lost with it: for a short test, reading takes longer than its search. So the child
names the files, and the parent reads those that it has imported itself, which the test cannot have changed for it.
"""

from __future__ import annotations

import sys
from collections.abc import Iterable
from importlib import import_module

_READER = "pytest_gilcheck.fuzz.steps.changing"
_ENTRY = "pytest_gilcheck.fuzz.entry"


def files_of_child() -> list[str]:
    """The files that a fuzz check of this process has read; none without such a check."""
    reader = sys.modules.get(_READER)
    files: list[str] = [] if reader is None else reader.files_read()
    return files


def in_parent(files: Iterable[str]) -> None:
    """Read them here too, and import the check: the next fork has both."""
    if files:
        import_module(_ENTRY)
        import_module(_READER).read_ahead(files)
