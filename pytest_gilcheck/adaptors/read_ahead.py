"""What a fuzz check learns about source files, for the tests after it.

Each test runs in a fork, and what it has read is lost with it: for a short test, reading takes longer than its search. So the child
sends what it has learnt of each file, and the parent keeps it for its next forks. What is of the process is made before a fork.
"""

from __future__ import annotations

import sys
from base64 import b64decode, b64encode
from collections.abc import Collection, Mapping
from importlib import import_module
from pickle import dumps, loads
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


def packed_of_child(sent: set[str]) -> str:
    """What this process has learnt, as text, without these files; those that it tells of are added."""
    facts = {path: found for path, found in of_child().items() if path not in sent}
    sent.update(facts)
    return b64encode(dumps(facts)).decode() if facts else ""


def unpacked_in_parent(packed: str) -> None:
    """Keep what a fork has packed."""
    if packed:
        in_parent(loads(b64decode(packed)))
