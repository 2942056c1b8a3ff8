"""``--prove``: the fuzz engine on what the source rules found, where the function can be called as it stands.

A pattern that a schedule breaks becomes a warning, with the schedule's token. One that holds under every explored schedule is no
finding any more, and says how far it was explored; but only where what must hold is known: a counter that counts, a function that
returns the one object of the variable. Every other one stays what it is: functions with required arguments, methods, and modules
that cannot be imported here.

The engine runs in a process of its own: it imports the user's module and calls its functions.
"""

from __future__ import annotations

import json
import sys
import tempfile
from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path

from . import guarded
from .artifact import Artifact, ArtifactKind
from .finding import AuditFinding, Known, Severity
from .interpreters import environment
from .source.pattern import Pattern

SECONDS = 3.0  # of search for one pattern
_GRACE = 30.0  # seconds for the import and the shrinking of a failure
_MOST = 50  # patterns that are tried
_SCRIPT = Path(__file__).with_name("prove_child.py")
_PROVABLE = ("GA301", "GA302", "GA304", "GA305", "GA306", "GA307", "GA310")


def can_be_tried(artifact: Artifact, pattern: Pattern) -> bool:
    """Whether inputs can be had for a pattern: a module's function without required arguments, in a project's folder."""
    return (
        artifact.kind is ArtifactKind.PROJECT
        and pattern.code in _PROVABLE
        and pattern.callable_without_arguments
        and bool(pattern.module)
        and pattern.function.isidentifier()
    )


def prove(artifact: Artifact, findings: Sequence[tuple[AuditFinding, Pattern | None]]) -> Iterator[AuditFinding]:
    """The findings, each promoted, demoted or as it was."""
    tried = 0
    for finding, pattern in findings:
        if pattern is None or tried >= _MOST or not can_be_tried(artifact, pattern):
            yield finding
            continue
        tried += 1
        yield _judged(finding, _explored(artifact.path.resolve(), pattern))


def _judged(finding: AuditFinding, answer: dict[str, object]) -> AuditFinding:
    reason = " ".join(str(answer.get("reason")).split())
    if answer.get("verdict") == "violated":
        token = f" (schedule {answer['token']})" if answer.get("token") else ""
        message = f"{finding.message}; proved: {reason}{token}"
        return replace(finding, severity=Severity.WARNING, known=Known.PROOF, message=message)
    if answer.get("verdict") == "holds" and answer.get("decides"):
        message = f"{finding.message}; explored, and it held: {reason}"
        return replace(finding, severity=Severity.OK, known=Known.PROOF, message=message)
    what = "explored, without an exception" if answer.get("verdict") == "holds" else "not proved"
    return replace(finding, message=f"{finding.message}; {what}: {reason}")


def _explored(project: Path, pattern: Pattern) -> dict[str, object]:
    root = next((project / name for name in ("src", "lib", "python") if pattern.file.startswith(f"{name}/")), project)
    with tempfile.TemporaryDirectory(prefix="gilcheck-audit-") as scratch:
        folder = Path(scratch)
        result, words, work = folder / "result", folder / "stderr", folder / "work"
        work.mkdir()
        command = [sys.executable, "-P", "-B", str(_SCRIPT), pattern.code, pattern.module, pattern.function, pattern.variable,
                   str(result), str(SECONDS), str(root)]  # fmt: skip
        own = environment(HOME=str(work), TMPDIR=str(work))
        try:
            status = guarded.run(command, work, own, words, SECONDS + _GRACE)
            if status == 0:
                return dict(json.loads(result.read_text(encoding="utf-8")))
            said = words.read_bytes()[-2000:].decode("utf-8", "replace").strip().splitlines()
        except (OSError, ValueError) as error:
            return {"verdict": "inconclusive", "reason": str(error)}
    ending = f"no end within {SECONDS + _GRACE:g} s" if status is None else f"exit status {status}"
    return {"verdict": "inconclusive", "reason": f"{ending}: {said[-1][:200] if said else 'it said nothing'}"}
