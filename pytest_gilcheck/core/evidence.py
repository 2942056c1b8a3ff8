"""Evidence: the JSON record of every check, which reports, matrices and audits read.

What a record holds is written down in ``evidence.schema.json`` beside this file; a test holds every kind of check to it. Figures
are plain numbers, in the units that the table of checks names; only reasons and the full report are formatted text.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import asdict, fields, is_dataclass
from typing import Any, Protocol

from .classes import qualified_name_of_class
from .clocks import utc
from .interpreter import Interpreter, build
from .machine import load, machine
from .texts import name_in
from .verdict import Verdict

SCHEMA = 2

Record = dict[str, Any]
_FAILS_THE_TEST = ("marker", "assert_holds", "nobody")  # if such a test passed, something has kept its failure from pytest


class Concluded(Protocol):
    """A check's result, as far as evidence is concerned."""

    @property
    def conclusion(self) -> Verdict: ...
    @property
    def reason(self) -> str: ...


def record(
    check: str,
    subject: str,
    result: Concluded | None,
    claim: Mapping[str, Any],
    figures: Mapping[str, Any],
    *,
    parameters: object = None,
    details: Mapping[str, Any] | None = None,
    gil_before: str | None = None,
    judged: str = "nothing to judge",
) -> Record:
    """The record of one finished check, or of a measurement.

    Args:
        check: which question, for instance ``"scaling"``.
        subject: what was checked: a test's node id or a dotted name.
        result: its verdict and reason; None for a measurement, which has neither.
        claim: what was claimed, by name.
        figures: what was measured, by name.
        parameters: how it was measured: a dataclass or a mapping.
        details: what a report draws: series, stacks, the report's own text.
        judged: how the result is judged.
        gil_before: the build as it was when the check began (`interpreter.build`); what it is now by default.
    """
    return {
        "check": check,
        "subject": subject,
        "number": 1,
        "judged": judged,
        "verdict": None if result is None else str(result.conclusion),
        "reason": "" if result is None else result.reason,
        "code": getattr(result, "code", None) or None,
        "rerun": None,
        "claim": plain(dict(claim)),
        "parameters": plain(parameters or {}),
        "figures": plain(dict(figures)),
        "details": plain(dict(details or {})),
        "token": figures.get("token") or None,
        "interpreter": asdict(Interpreter.current()),
        "gil": {"before": gil_before or build(), "after": build()},
        "machine": dict(machine()),
        "load": load(),
        "recorded": utc(),
    }


def asserted_violated(record: Record) -> bool:
    """Whether the claim is violated, and the test says so of a known limit: it passed by that, or was expected to fail."""
    if record["verdict"] != "violated" or record.get("outcome") not in ("passed", "xfailed"):
        return False
    return record["outcome"] == "xfailed" or not decides_the_test(record)


def decides_the_test(record: Record) -> bool:
    """Whether the test fails if the claim is violated, and did not read the verdict to decide for itself."""
    return record.get("judged") in _FAILS_THE_TEST


def plain(value: Any) -> Any:
    """The value as JSON can hold it: callables, types and modules become their names, what is not finite becomes None."""
    if value is None or isinstance(value, (bool, int, str)):
        return str(value) if isinstance(value, str) else value
    if isinstance(value, float):
        return value if math.isfinite(value) else None
    if isinstance(value, Mapping):
        return {str(key): plain(each) for key, each in value.items()}
    if is_dataclass(value) and not isinstance(value, type):
        return {field.name: plain(getattr(value, field.name)) for field in fields(value)}
    if isinstance(value, (Sequence, set, frozenset)) and not isinstance(value, (bytes, bytearray)):
        return [plain(each) for each in value]
    return name_in(value) or qualified_name_of_class(type(value))
