"""Files of evidence: written whole or not at all, by any number of runs at once, and read with mistrust.

A file is ``{"schema": 2, "run": {...}, "units": {...}, "records": [...]}``. Files of schema 1 are read as well.
"""

from __future__ import annotations

import json
import math
import os
import sys
import tempfile
import uuid
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass, field
from pathlib import Path
from types import NoneType
from typing import Any

from .clocks import utc, wall_time
from .errors import BadValue
from .evidence import SCHEMA, Record
from .machine import commit
from .verdict import Verdict

if sys.platform != "win32":
    import fcntl

LARGEST = 512 * 1024 * 1024  # bytes; a thousand checks take some 4 MB
_SINCE_SECOND = frozenset({"details", "machine", "gil"})  # schema 1 had none of them
_ABSENT = "absent"
_VERDICTS = frozenset(str(verdict) for verdict in Verdict)


class BadEvidence(ValueError):
    """A file that is not evidence, or is of a schema that this version does not read; the message names the file."""


@dataclass(frozen=True)
class EvidenceRun:
    """One run that writes one file.

    Attributes:
        id: drawn at random.
        began: UTC, as ISO 8601.
        folder: of the code under test; its commit is asked for when the file is written.
    """

    folder: Path
    id: str = field(default_factory=lambda: uuid.uuid4().hex)
    began: float = field(default_factory=wall_time)


@dataclass(frozen=True)
class RunEnd:
    """How a run of pytest ended.

    Attributes:
        exit_status: pytest's.
        collected, ran, deselected: tests; those collected are without those deselected.
        failed_to_collect: modules and other collectors with an error.
    """

    exit_status: int
    collected: int
    ran: int
    deselected: int
    failed_to_collect: int


@dataclass(frozen=True)
class EvidenceFile:
    """One file as it was read: its records, and what it says of its run."""

    path: Path
    records: list[Record]
    run: dict[str, Any]

    @property
    def unfinished(self) -> str | None:
        """Why the records may not be all that the run was to make; None if nothing says so."""
        run = self.run
        if "ended" in run and run["ended"] is None:
            return f"its run began at {run.get('began')} and has not ended"
        if (failed := _count(run, "failed_to_collect")) > 0:
            return f"{failed} test module{'s' * (failed > 1)} could not be collected"
        if (status := run.get("exit_status")) not in (None, 0, 1):
            if not isinstance(status, int):
                return "it does not say how pytest ended"
            return f"pytest ended with exit status {status}{_MEANINGS.get(status, '')}"
        if (missing := _count(run, "collected") - _count(run, "ran")) > 0:
            return f"{missing} of {run['collected']} collected tests did not run"
        return None


_MEANINGS = {2: " (interrupted)", 3: " (internal error)", 4: " (usage error)", 5: " (no tests were collected)"}


def _count(run: Mapping[str, Any], name: str) -> int:
    value = run.get(name)
    return value if isinstance(value, int) and not isinstance(value, bool) else 0


def check_target(path: Path, source: str, name: str = "json") -> None:
    """Refuse a path that `write` could not replace, while there is nothing to lose yet.

    Raises:
        BadValue: its folder does not exist or cannot be written, or it is something other than a regular file.
    """
    try:
        folder = path.resolve().parent
        if not folder.is_dir():
            raise BadValue(name, str(path), "a file in a folder that exists", source)
        if path.exists() and not path.is_file():
            raise BadValue(name, str(path), "a regular file, or one that does not exist yet", source)
        if path.suffix == ".py":
            raise BadValue(name, str(path), "a file that is no Python source", source)
        tempfile.TemporaryFile(dir=folder).close()
        path.name.encode()
        path.with_name(f"{path.name}{'x' * 16}.part").exists()  # of its draft; a name may be too long
    except (OSError, RuntimeError, UnicodeError) as error:  # RuntimeError: a link to itself, before 3.13
        why = getattr(error, "strerror", None) or str(error)
        raise BadValue(name, str(path), f"a file that can be written ({why})", source) from None


def begin(path: Path, run: EvidenceRun) -> None:
    """Write that a run has begun, in place of what the file held: if the run is killed, no reader takes older records for its own.

    Raises:
        OSError: the folder cannot be written.
    """
    document = {"schema": SCHEMA, "run": _described(run) | {"ended": None}, "units": {}, "records": []}
    path = path.resolve()
    with _alone_in(path.parent):
        replace(path, json.dumps(document, indent=1) + "\n")


def write(path: Path, records: Sequence[Record], run: EvidenceRun, units: Mapping[str, str], end: RunEnd | None = None) -> Path:
    """Write the records whole or not at all: a reader never sees half a file, and a failed write loses nothing.

    Args:
        units: the unit of each figure that is not a plain count or a word.
        end: how the run of pytest ended; None for a run of another kind.

    Returns:
        Where they are: another run that wrote this file while ours went on keeps it, and ours goes beside it, as
        ``NAME-1a2b3c4d.json`` with the beginning of the run's id.

    Raises:
        OSError: the folder cannot be written.
    """
    path = path.resolve()  # a link stays, and what it points to is replaced
    known = {name: unit for name, unit in units.items() if any(name in entry["figures"] for entry in records)}
    document = {
        "schema": SCHEMA,
        "run": _described(run) | {"ended": utc()} | ({} if end is None else asdict(end)),
        "units": known,
        "records": list(records),
    }
    text = json.dumps(document, indent=1, allow_nan=False)
    with _alone_in(path.parent):
        if _written_since(path, run):
            path = path.with_name(f"{path.stem}-{run.id[:8]}{path.suffix}")
        replace(path, text + "\n")
    return path


def _described(run: EvidenceRun) -> dict[str, Any]:
    head, changed = commit(run.folder)
    return {"id": run.id, "began": utc(run.began), "commit": head, "dirty": changed}


def replace(path: Path, text: str) -> None:
    """Put a text in place of a file, whole or not at all."""
    draft = path.with_name(f"{path.name}{uuid.uuid4().hex[:8]}.part")
    try:
        with draft.open("x", encoding="utf-8", errors="backslashreplace") as file:  # as the umask allows, which a thread may change
            file.write(text)
        os.replace(draft, path)
    except BaseException:
        draft.unlink(missing_ok=True)
        raise


def read(path: Path) -> list[Record]:
    """The records of one file; see `load`."""
    return load(path).records


def load(path: Path) -> EvidenceFile:
    """One file: its records, each with the ``run`` that it is of, whatever schema they were written with.

    Raises:
        BadEvidence: too large, not JSON, not evidence, or of another schema.
        OSError: it cannot be read.
    """
    with path.open("rb") as file:
        size = os.fstat(file.fileno()).st_size
        content = b"" if size > LARGEST else file.read(LARGEST + 1)  # it may be a pipe, which has no size
    if max(size, len(content)) > LARGEST:
        raise BadEvidence(f"{path}: evidence of more than {LARGEST / 1e6:.0f} MB is not read")
    try:
        data = json.loads(content.decode(), parse_constant=lambda name: None, parse_float=_finite, object_pairs_hook=_once)
    except (ValueError, RecursionError) as error:
        raise BadEvidence(f"{path}: not JSON, or cut off ({str(error) or type(error).__name__})") from None
    if not isinstance(data, dict) or not isinstance(data.get("records"), list):
        raise BadEvidence(f"{path}: not an evidence file")
    schema = data.get("schema")
    if not isinstance(schema, int) or isinstance(schema, bool) or schema not in range(1, SCHEMA + 1):
        raise BadEvidence(f"{path}: schema {schema!r}, this version reads 1 to {SCHEMA}")
    run = data["run"] if isinstance(data.get("run"), dict) else {}
    for index, entry in enumerate(data["records"]):
        if (why := _damage(entry)) is not None:
            raise BadEvidence(f"{path}: record {index + 1}: {why}")
    if schema > 1 and "ended" not in run:  # of an older file, nothing says whether its run has ended
        raise BadEvidence(f"{path}: not an evidence file: it does not say what became of its run")
    return EvidenceFile(path, [_from_first_schema(entry) | {"run": run} for entry in data["records"]], run)


def _finite(digits: str) -> float | None:
    value = float(digits)
    return value if math.isfinite(value) else None


def _once(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    """An object; one that says a thing twice says nothing."""
    made = dict(pairs)
    if len(made) < len(pairs):
        names = [name for name, _ in pairs]
        raise ValueError(f"an object says {_short(next(name for name in names if names.count(name) > 1))} twice")
    return made


def interpreter_key(entry: Record) -> tuple[Any, ...]:
    python = entry["interpreter"]
    return tuple(python.get(part) for part in ("implementation", "version", "build", "free_threaded_build", "platform"))


def _damage(entry: Any) -> str | None:
    """What of a record every reader relies on, and is not there; None if it is sound."""
    if not isinstance(entry, dict):
        return f"a {type(entry).__name__}, and no object"
    for name in ("check", "subject", "reason", "recorded"):
        if not isinstance(entry.get(name), str):
            return f"its {name} is {_short(entry.get(name))}, and no text"
    verdict = entry.get("verdict", _ABSENT)
    if verdict is not None and not (isinstance(verdict, str) and verdict in _VERDICTS):
        return f"its verdict is {_short(verdict)}, none of {', '.join(sorted(_VERDICTS))}"
    for name in ("claim", "figures", "interpreter", "details", "machine", "gil"):
        if not isinstance(entry.get(name, {} if name in _SINCE_SECOND else None), dict):
            return f"its {name} is {_short(entry.get(name))}, and no object"
    python = entry["interpreter"]
    for name in ("implementation", "version", "build", "platform"):
        if not isinstance(python.get(name), str):
            return f"its interpreter's {name} is {_short(python.get(name))}, and no text"
    if not isinstance(python.get("free_threaded_build"), (bool, NoneType)):
        return f"its interpreter's free_threaded_build is {_short(python['free_threaded_build'])}, neither true nor false"
    number = entry.get("number", 1)
    if isinstance(number, bool) or not isinstance(number, int):
        return f"its number is {_short(number)}, and no whole number"
    return None


def _short(value: Any) -> str:
    text = repr(value)
    return text if len(text) <= 40 else f"{text[:37]}..."


def _from_first_schema(entry: Record) -> Record:
    """Schema 1 had neither numbers nor details, and kept shots and stacks among the figures. What is there stays."""
    figures = dict(entry["figures"])
    moved = ("shots", "stacks", "breaks", "sweep", "holders", "locks")
    details = {name: figures.pop(name) for name in moved if figures.get(name) is not None}
    kept: Record = {"number": 1, "parameters": {}, "token": figures.get("token") or None, "machine": {}, "load": None}
    gil = {"before": entry["interpreter"]["build"], "after": entry["interpreter"]["build"]}
    return kept | {"gil": gil} | entry | {"figures": figures, "details": details | entry.get("details", {})}


def _written_since(path: Path, run: EvidenceRun) -> bool:
    """Whether another run wrote this file after ours began."""
    try:
        if path.stat().st_mtime < run.began:
            return False
        found = json.loads(path.read_text(encoding="utf-8"))
        return bool(found["run"]["id"] != run.id)
    except FileNotFoundError:
        return False
    except (OSError, ValueError, KeyError, TypeError, RecursionError):
        return path.is_file()  # somebody else's, and new: not ours to replace


@contextmanager
def _alone_in(folder: Path) -> Iterator[None]:
    """Keep other runs from looking at a folder while ours decides where to write; not on Windows, which locks no folder."""
    if sys.platform == "win32":
        yield
        return
    descriptor = os.open(folder, os.O_RDONLY)
    try:
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX)
        except OSError:  # a file system without locks
            pass
        yield
    finally:
        os.close(descriptor)
