"""What a fuzz check learns about source files, for the tests after it.

Each test runs in a fork, and what it has read is lost with it: for a short test, reading takes longer than its search. So the child
sends what it has learnt of each file, and the parent keeps it for its next forks. What is of the process is made before a fork.
"""

from __future__ import annotations

import sys
from collections.abc import Collection, Mapping
from importlib import import_module
from typing import Any

_READER = "pytest_gilcheck.engine.bytecode.sources"
_ENTRY = "pytest_gilcheck.fuzz.entry"
_CLASSES = "pytest_gilcheck.engine.bytecode.computed"
_FILES = "pytest_gilcheck.engine.session"


def before_fork(markers: Collection[str]) -> None:
    """What takes each fork of this process time, for a test with these markers: import the check, look at classes and files."""
    if "gil_fuzz" in markers:
        import_module(_ENTRY)
        import_module(_CLASSES).computed_elsewhere()
        import_module(_FILES).look_ahead()


def of_child() -> dict[str, Any]:
    """What a fuzz check of this process has learnt, by file; nothing without such a check."""
    reader = sys.modules.get(_READER)
    facts: dict[str, Any] = {} if reader is None else reader.learnt()
    return facts


def in_parent(facts: Mapping[str, Any]) -> None:
    """Keep it here, and import the check: the next fork has both."""
    if facts:
        import_module(_ENTRY)
        import_module(_READER).keep(facts)
