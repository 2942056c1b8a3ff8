"""A planted lost update, which a sweep must find before it claims anything: here, in this process, beside these plugins."""

from __future__ import annotations

from ..core.verdict import Verdict
from ..engine.program import Program
from ..fuzz.check import fuzz
from ..search.plan import FuzzPlan
from .footprint import SHARED, Records

_PLANTED = """
def setup():
    return [0]

def adds(total):
    total[0] += 1


def is_two(total):
    return total[0] == 2
"""
_FILE = "<gilcheck canary>"  # code without a file is under test
_SCHEDULES = 20


def broken() -> str:
    """Why a sweep of this process would find nothing; empty if it finds what was planted."""
    result = fuzz(planted(), FuzzPlan(schedules=_SCHEDULES, seed=1))
    if result.verdict is Verdict.VIOLATED:
        return ""
    return f"a planted lost update was not found here ({result.verdict}: {result.reason})"


def unseen(records: Records) -> str:
    """In a fork: why a record here would show nothing; empty if it shows what was planted."""
    found = records.footprint(planted()).why
    return "" if found == SHARED else f"a planted lost update is not in its record here ({found or 'nothing shared'})"


def planted() -> Program:
    """Two threads that lose an update."""
    names: dict[str, object] = {}
    exec(compile(_PLANTED, _FILE, "exec"), names)
    setup, adds, is_two = (names[name] for name in ("setup", "adds", "is_two"))
    return Program((adds, adds), setup, is_two, "canary")  # type: ignore[arg-type]
