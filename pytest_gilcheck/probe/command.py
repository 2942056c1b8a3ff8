"""``gilcheck probe`` without a function: from the command line to the table."""

from __future__ import annotations

import argparse
import shutil
import sys
from collections.abc import Callable, Mapping
from pathlib import Path

from ..core import evidence_files
from ..core.errors import BadValue
from ..core.values import SECONDS
from . import session
from .check import probe
from .measuring import QUICK, THOROUGH
from .records import records
from .table import table

_WIDTH = 160  # where the output is no terminal
_OF_A_FUNCTION = ("min_speedup", "max_slowdown", "efficiency", "threads", "budget", "cores", "switchinterval", "warmup", "curve")


def run(given: argparse.Namespace, progress: Callable[[str], None], units: Mapping[str, str]) -> int:
    """Probe the interpreters that were named, print the table, and write the evidence; returns the exit status.

    Raises:
        BadValue: an option that only a function can have, or that makes no sense.
    """
    for name in _OF_A_FUNCTION:
        value = getattr(given, name)
        if value is not None and value is not False:
            raise BadValue(name, value, "nothing without MODULE:FUNCTION", "command line")
    patience = session.PATIENCE if given.timeout is None else SECONDS.read("timeout", given.timeout, "command line")
    began = evidence_files.EvidenceRun(Path.cwd())
    interpreters = given.python or [sys.executable]
    columns, refused, notes = probe(interpreters, effort=QUICK if given.quick else THOROUGH, patience=patience, progress=progress)
    progress("")
    for one in refused:
        print(f"gilcheck: {one}", file=sys.stderr)
    if columns:
        print(table(columns, shutil.get_terminal_size((_WIDTH, 24)).columns))
        for note in notes:
            print(f"note: {note}")
        if given.json is not None:
            evidence_files.write(Path(given.json), records(columns), began, units)
    return 2 if not columns else 1 if refused else 0
