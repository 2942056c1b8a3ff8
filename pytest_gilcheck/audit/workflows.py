"""How the project is built and tested: outdated build options (GA109), tests that hide the GIL (GA407) or never run without one
(GA408). Looked for as text in tox.ini, pyproject.toml, noxfile.py and the YAML of CI services."""

from __future__ import annotations

import re
from collections.abc import Iterator

from .archive import Unreadable
from .artifact import Artifact
from .claims import Release, ReleaseClaim
from .finding import AuditFinding, Known, SourcePlace, found, passed

_NAMES = ("tox.ini", "pyproject.toml", "noxfile.py", "setup.cfg", ".gitlab-ci.yml", "azure-pipelines.yml", ".cirrus.yml")
_OUTDATED = re.compile(r"cpython-freethreading|CIBW_FREE_THREADED_SUPPORT|free-threaded-support|cp313t")
_HIDES = re.compile(r"PYTHON_GIL[\"']?\s*[:=]\s*[\"']?[01]\b|-X\s*gil=[01]")
_FREE_THREADED = re.compile(r"3\.?1[3-9]t\b|3?1[3-9][\d,]*\}t\b|free-?thread", re.IGNORECASE)
_TESTS = re.compile(r"\bpytest\b|\bunittest\b|\btox\b|\bnox\b")


def check(release: Release, claim: ReleaseClaim) -> Iterator[AuditFinding]:
    """Findings about the files of the project that say how it is built and tested."""
    project = release.project
    if project is None or project.files is None:
        return
    tests = threaded = hidden = False
    for name, text in _texts(project):
        tests = tests or bool(_TESTS.search(text))
        for number, line in enumerate(text.splitlines(), 1):
            bare = line.split("#", 1)[0]
            if (match := _OUTDATED.search(bare)) is not None and not name.endswith("noxfile.py"):
                yield found("GA109", name, match[0], Known.SOURCE, place=SourcePlace(name, number), key=match[0])
            if (match := _HIDES.search(bare)) is not None and match[0][-1] == "0":
                hidden = True
                yield found("GA407", name, match[0], Known.SOURCE, place=SourcePlace(name, number))
            names = name != "pyproject.toml" or "Programming Language" not in bare
            threaded = threaded or (names and bool(_FREE_THREADED.search(bare)))
    if not tests:
        return
    if threaded:
        yield passed("GA408", project.label, "a test configuration names a free-threaded build", Known.SOURCE)
    elif claim.level:
        yield found("GA408", project.label, f"{claim}, and tests run on builds with a GIL alone", Known.SOURCE)
    if not hidden:
        yield passed("GA407", project.label, "no test configuration switches the GIL off itself", Known.SOURCE)


def _texts(project: Artifact) -> Iterator[tuple[str, str]]:
    assert project.files is not None, "it was opened"
    for name in project.files.names:
        if name in _NAMES or (name.startswith(".github/workflows/") and name.endswith((".yml", ".yaml"))):
            try:
                yield name, project.files.text(name)
            except Unreadable:
                continue
