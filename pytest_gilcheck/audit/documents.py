"""GA5xx: does the documentation say what may be shared between threads? And GA107: do a high level's promises have any ground?"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import PurePosixPath

from .archive import Unreadable
from .artifact import Artifact, ArtifactKind
from .claims import Release, ReleaseClaim
from .finding import AuditFinding, Known, Severity, SourcePlace, found, passed

_PHRASES = ("thread safety", "thread-safety", "thread safe", "thread-safe", "threadsafe", "free-threading", "free threading",
            "free-threaded", "free threaded", "nogil", "no-gil")  # fmt: skip
_TEXTS = (".md", ".rst", ".txt")
_FOLDERS = ("doc", "docs", "documentation")
STABLE = 3


def check(release: Release, claim: ReleaseClaim) -> Iterator[AuditFinding]:
    """A page that speaks of thread safety; the level decides how bad it is that there is none."""
    subject = release.name
    looked = 0
    for artifact in (*((release.project,) if release.project else ()), *release.artifacts):
        for name, text in _pages(artifact):
            looked += 1
            lowered = text.lower()
            for phrase in _PHRASES:
                if (at := lowered.find(phrase)) >= 0:
                    place = SourcePlace(name, text.count("\n", 0, at) + 1)
                    yield passed("GA501", subject, f"{place} speaks of {phrase!r}", Known.DOCS)
                    return
    if looked and (claim.level or release.project is not None):
        severity = Severity.WARNING if claim.level >= STABLE else Severity.NOTE
        yield found("GA501", subject, f"{looked} pages, and none speaks of thread safety", Known.DOCS, severity=severity)


def ground(release: Release, claim: ReleaseClaim, findings: Sequence[AuditFinding]) -> Iterator[AuditFinding]:
    """Whether levels 3 and 4 rest on evidence and documentation."""
    if claim.level < STABLE:
        return
    held = {one.code for one in findings if one.severity is Severity.OK}
    needed = {"GA401": "evidence that it scales", "GA501": "documentation of thread safety"}
    if claim.level > STABLE:
        needed["GA403"] = "evidence that it survives interleavings"
    missing = [text for code, text in needed.items() if code not in held]
    if missing:
        yield found("GA107", release.name, f"{claim}, without {' and '.join(missing)}", Known.EVIDENCE, place=claim.place)
    else:
        yield passed("GA107", release.name, f"{claim} has evidence and documentation", Known.EVIDENCE)


def _pages(artifact: Artifact) -> Iterator[tuple[str, str]]:
    """The description of the metadata, README files, and the files of a documentation folder."""
    if artifact.metadata is not None and artifact.metadata.description:
        yield "METADATA", artifact.metadata.description
    if artifact.files is None or artifact.kind in (ArtifactKind.WHEEL, ArtifactKind.INSTALLED):
        return
    for name in artifact.files.names:
        parts = PurePosixPath(name).parts[1 if artifact.kind is ArtifactKind.SDIST else 0 :]
        if not parts or not name.endswith(_TEXTS):
            continue
        if parts[0].lower() in _FOLDERS or (len(parts) == 1 and parts[0].lower().startswith("readme")):
            try:
                yield "/".join(parts), artifact.files.text(name)
            except Unreadable:
                continue
