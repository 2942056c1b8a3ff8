"""GA3xx: patterns in source that the GIL used to make harmless: Python, C, C++, Cython and Rust."""

from __future__ import annotations

import posixpath
import re
from collections.abc import Iterator, Sequence
from contextlib import suppress
from dataclasses import replace
from fnmatch import fnmatchcase
from pathlib import PurePosixPath

from ..archive import Files, Unreadable
from ..artifact import Artifact, ArtifactKind
from ..finding import AuditFinding, Known, Severity, SourcePlace, found, passed
from . import c_rules, python_rules
from .pattern import Pattern

_LEFT_OUT = frozenset(
    [
        "tests",
        "test",
        "testing",
        "docs",
        "doc",
        "examples",
        "example",
        "benchmarks",
        "benchmark",
        "asv_bench",
        "tools",
        "scripts",
        ".github",
        "site-packages",
        "_vendor",
        "vendor",
        "vendored",
        "_vendored",
        "third_party",
        "extern",
        "externals",
    ]
)
_FILES_LEFT_OUT = ("setup.py", "conftest.py", "noxfile.py", "tasks.py")
_BUILD_FILES = ("setup.py", "setup.cfg", "pyproject.toml", "meson.build", "CMakeLists.txt")
_PYO3_LOCKED = re.compile(r'name = "pyo3"\s+version = "(\d+)\.(\d+)')
_PYO3 = re.compile(
    r'^\s*pyo3\s*=\s*(?:\{[^}]*?version\s*=\s*)?"[\^=~> ]*(\d+)\.(\d+)'
    r'|^\[[\w.]*dependencies\.pyo3\]\s+version\s*=\s*"[\^=~> ]*(\d+)\.(\d+)',
    re.MULTILINE,
)
_NEEDS_NO_GIL = (0, 28)  # version of PyO3, from which a module needs no GIL unless it says so
_NANOBIND = re.compile(r"nanobind_add_module\s*\([^)]*\bFREE_THREADED\b")
_PYTHON, _C = (".py",), (".c", ".cc", ".cpp", ".cxx", ".h", ".hpp", ".pyx", ".pxi", ".rs")


def sources(artifact: Artifact, exclude: Sequence[str] = ()) -> Iterator[str]:
    """Names of the source files of an artifact; tests, documentation and what was copied from others are left out."""
    assert artifact.files is not None, "it was opened"
    for name in artifact.files.names:
        parts = PurePosixPath(name).parts
        base = parts[-1]
        if not base.endswith(_PYTHON + _C) or base in _FILES_LEFT_OUT or base.startswith("test_") or base.endswith("_test.py"):
            continue
        inner = parts[1:-1] if artifact.kind is ArtifactKind.SDIST else parts[:-1]
        if any(part.lower() in _LEFT_OUT for part in inner) or any(fnmatchcase(name, one) for one in exclude):
            continue
        yield name


def patterns(artifact: Artifact, exclude: Sequence[str] = ()) -> Iterator[Pattern | AuditFinding]:
    """What the rules find; a AuditFinding for a file that cannot be read."""
    assert artifact.files is not None, "it was opened"
    parts_of_others = _included(artifact)
    for name in sources(artifact, exclude):
        try:
            if name.endswith(_PYTHON):
                yield from _of_python(artifact, artifact.files, name)
            else:
                found_ = c_rules.scan(artifact.files.text(name), name)
                yield from (one for one in found_ if one.code != "GA322" or name not in parts_of_others)
        except Unreadable as error:
            yield found("GA313", _subject(artifact, name), str(error), Known.SOURCE)


def _of_python(artifact: Artifact, files: Files, name: str) -> Iterator[Pattern | AuditFinding]:
    try:
        yield from python_rules.scan(files.python(name), name)
    except (SyntaxError, ValueError, RecursionError, MemoryError) as error:
        why = " ".join(f"{type(error).__name__}: {error}".split())[:160]
        yield found("GA313", _subject(artifact, name), why, Known.SOURCE, place=SourcePlace(name))


def _included(artifact: Artifact) -> set[str]:
    """The Cython sources that others include."""
    assert artifact.files is not None, "it was opened"
    found_: set[str] = set()
    for name in artifact.files.names:
        if name.endswith((".pyx", ".pxi")):
            with suppress(Unreadable):
                for path in c_rules.included(artifact.files.text(name)):
                    found_ |= {posixpath.normpath(posixpath.join(posixpath.dirname(name), path)), posixpath.normpath(path)}
    return found_


def check(artifact: Artifact, exclude: Sequence[str] = ()) -> Iterator[tuple[AuditFinding, Pattern | None]]:
    """The patterns as findings, each with the pattern that it is made of; the last says what was looked at."""
    if artifact.files is None:
        return
    files = lines = count = 0
    for name in sources(artifact, exclude):
        files += 1
        try:
            lines += artifact.files.text(name).count("\n")
        except Unreadable:
            continue
    declared, pyo3 = _declared_elsewhere(artifact), _pyo3_declares(artifact)
    for one in patterns(artifact, exclude):
        if isinstance(one, AuditFinding):
            yield one, None
        elif one.code == "GA322" and (declared or (pyo3 and one.file.endswith(".rs") and c_rules.USES_GIL not in one.message)):
            continue
        else:
            count += 1
            yield as_finding(artifact, one), one
    if files:
        text = f"{count} patterns in {files} files of {lines:,} lines"
        yield passed("GA301", artifact.base, text, Known.SOURCE, key="summary"), None


def _declared_elsewhere(artifact: Artifact) -> bool:
    """Whether the GIL declaration is not the source's alone: in a binary, which is read, or in the options of the build."""
    if artifact.kind in (ArtifactKind.WHEEL, ArtifactKind.INSTALLED):
        return True
    assert artifact.files is not None, "it was opened"
    for name in artifact.files.names:
        if PurePosixPath(name).name in _BUILD_FILES:
            try:
                text = artifact.files.text(name)
                if "freethreading_compatible" in text or _NANOBIND.search(text):
                    return True
            except Unreadable:
                continue
    return False


def _pyo3_declares(artifact: Artifact) -> bool:
    """Whether all Rust modules are built with a PyO3 that declares for them that they need no GIL."""
    assert artifact.files is not None, "it was opened"
    versions: dict[str, list[tuple[int, int]]] = {"Cargo.lock": [], "Cargo.toml": []}
    for name in artifact.files.names:
        base = PurePosixPath(name).name
        if base in versions:
            with suppress(Unreadable):
                for match in (_PYO3_LOCKED if base == "Cargo.lock" else _PYO3).finditer(artifact.files.text(name)):
                    major, minor = (int(part) for part in match.groups() if part is not None)
                    versions[base].append((major, minor))
    known = versions["Cargo.lock"] or versions["Cargo.toml"]  # what is locked decides
    return bool(known) and min(known) >= _NEEDS_NO_GIL


def as_finding(artifact: Artifact, pattern: Pattern, severity: Severity | None = None) -> AuditFinding:
    """A pattern as a finding, with the call that would prove it."""
    file = pattern.file
    if artifact.kind is ArtifactKind.SDIST:
        file = file.partition("/")[2] or file
    place = SourcePlace(file, pattern.line)
    one = found(
        pattern.code,
        _subject(artifact, pattern.file),
        pattern.message,
        Known.SOURCE,
        place=place,
        severity=severity,
        key=pattern.key,
    )

    return replace(one, proof=pattern.proof)


def _subject(artifact: Artifact, name: str) -> str:
    return name if artifact.kind is ArtifactKind.PROJECT else artifact.subject(name)
