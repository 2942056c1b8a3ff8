"""The command ``gilcheck probe`` without a function: checks the arguments, probes the interpreters and prints the table."""

from __future__ import annotations

import argparse
import shutil
import sys
from collections.abc import Callable, Mapping
from pathlib import Path

from ..core import evidence_files
from ..core.errors import BadValue
from ..core.printed import put, say
from ..core.values import SECONDS
from . import session
from .check import probe
from .measuring import QUICK, THOROUGH
from .records import records
from .table import table

_WIDTH = 160  # probed, where the output is not a terminal
_OF_A_FUNCTION = ("min_speedup", "max_slowdown", "efficiency", "threads", "budget", "cores", "switchinterval", "warmup", "curve")


def run(given: argparse.Namespace, progress: Callable[[str], None], units: Mapping[str, str]) -> int:
    """Probe the interpreters of the command line, print the table, write the evidence, and return the exit status.

    Raises:
        BadValue: an option that needs a function, or a value that cannot be used.
    """
    for name in _OF_A_FUNCTION:
        value = getattr(given, name)
        if value is not None and value is not False:
            raise BadValue(name, value, "nothing without MODULE:FUNCTION", "command line")
    answer_timeout = session.ANSWER_TIMEOUT if given.timeout is None else SECONDS.read("timeout", given.timeout, "command line")
    began = evidence_files.EvidenceRun(Path.cwd())
    interpreters = given.python or [sys.executable]
    probed, refused, notes = probe(
        interpreters, effort=QUICK if given.quick else THOROUGH, answer_timeout=answer_timeout, progress=progress
    )
    progress("")
    for one in refused:
        say(f"gilcheck: {one}")
    if probed:
        if given.json is not None:
            evidence_files.write(Path(given.json), records(probed), began, units)
        put("\n".join([table(probed, shutil.get_terminal_size((_WIDTH, 24)).columns), *(f"note: {note}" for note in notes)]))
    return 2 if not probed else 1 if refused else 0
