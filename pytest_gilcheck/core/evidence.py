"""Evidence: the JSON record of every check, which reports, matrices and audits read.

A file is ``{"schema": 1, "records": [...]}``; a record holds the check's kind, the test, the interpreter, the verdict with
its reason, the claim, and named figures (seconds, ratios; never formatted text).
"""

from __future__ import annotations

import json
import os
import tempfile
import time
from collections.abc import Iterable, Mapping
from dataclasses import asdict
from pathlib import Path
from typing import Any, Protocol

from .errors import BadValue
from .interpreter import Interpreter
from .verdict import Verdict

SCHEMA = 1

Record = dict[str, Any]


class Concluded(Protocol):
    """A check's result, as far as evidence is concerned."""

    @property
    def verdict(self) -> Verdict: ...
    @property
    def reason(self) -> str: ...


class BadEvidence(ValueError):
    """A file that is not evidence, or is of a schema this version does not read."""


def record(check: str, subject: str, result: Concluded, claim: Mapping[str, Any], figures: Mapping[str, Any]) -> Record:
    """The record of one finished check.

    Args:
        check: which question, for instance ``"scaling"``.
        subject: what was checked: a test's node id or a dotted name.
        result: its verdict and reason.
        claim: what was claimed, by name.
        figures: what was measured, by name.
    """
    return {
        "check": check,
        "subject": subject,
        "verdict": str(result.verdict),
        "reason": result.reason,
        "claim": dict(claim),
        "figures": dict(figures),
        "interpreter": asdict(Interpreter.current()),
        "recorded": time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime()),
    }


def check_target(path: Path, source: str) -> None:
    """Refuse a path that `write` could not, or should not, replace.

    Raises:
        BadValue: its folder does not exist, or it is something other than a regular file.
    """
    if not path.absolute().parent.is_dir():
        raise BadValue("json", str(path), "a file in a folder that exists", source)
    if path.exists() and not path.is_file():
        raise BadValue("json", str(path), "a regular file, or one that does not exist yet", source)


def write(path: Path, records: Iterable[Record]) -> None:
    """Write the records whole or not at all: a reader never sees half a file, and a failed write loses nothing.

    Raises:
        OSError: the folder cannot be written.
    """
    path = path.resolve()  # a link stays, and what it points to is replaced
    text = json.dumps({"schema": SCHEMA, "records": list(records)}, indent=1, allow_nan=False)
    descriptor, draft = tempfile.mkstemp(dir=path.parent, prefix=path.name, suffix=".part")
    try:
        with os.fdopen(descriptor, "w") as file:
            file.write(text + "\n")
        os.chmod(draft, 0o666 & ~_umask())
        os.replace(draft, path)
    except BaseException:
        Path(draft).unlink(missing_ok=True)
        raise


def _umask() -> int:
    mask = os.umask(0)
    os.umask(mask)
    return mask


def read(path: Path) -> list[Record]:
    """The records of one file.

    Raises:
        BadEvidence: not JSON, not evidence, or of another schema; the message names the file.
        OSError: it cannot be read.
    """
    try:
        data = json.loads(path.read_text())
    except ValueError as error:
        raise BadEvidence(f"{path}: not JSON ({error})") from error
    if not isinstance(data, dict) or not isinstance(data.get("records"), list):
        raise BadEvidence(f"{path}: not an evidence file")
    if data.get("schema") != SCHEMA:
        raise BadEvidence(f"{path}: schema {data.get('schema')!r}, this version reads {SCHEMA}")
    return list(data["records"])


def merge(files: Iterable[Path]) -> list[Record]:
    """The records of all files, the newest for each check, subject and interpreter, in order of first appearance."""
    newest: dict[tuple[Any, ...], Record] = {}
    for path in files:
        for entry in read(path):
            python = entry["interpreter"]
            key = (entry["check"], entry["subject"], *(python[part] for part in ("implementation", "version", "build", "platform")))
            if key not in newest or newest[key]["recorded"] <= entry["recorded"]:
                newest[key] = entry
    return list(newest.values())
