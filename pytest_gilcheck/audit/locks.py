"""Names and versions of packages that a lock file or a requirements file pins."""

from __future__ import annotations

import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from packaging.requirements import InvalidRequirement, Requirement
from packaging.utils import canonicalize_name

from .release import BadMetadata, toml
from .requirements import applies

_LARGEST = 64 << 20  # bytes
_INCLUDED = re.compile(r"(?:-r\s*=?|--requirement[\s=])\s*(.+)")
_EDITABLE = re.compile(r"(?:-e\s*=?|--editable[\s=])\s*(.+)")
_DEEPEST = 10  # requirements files inside requirements files


class BadLock(ValueError):
    """A lock file that cannot be read, or is of a version that this one does not read; the message is one line."""


def read(path: Path) -> dict[str, str]:
    """Canonical names, each with its pinned version, or an empty text where there is none.

    Raises:
        BadLock: it cannot be read.
    """
    text = _text(path)
    if path.suffix not in (".lock", ".toml"):
        return _requirements(path, text, 0)
    try:
        document = toml(text)
    except BadMetadata as error:
        raise BadLock(f"{path.name}: {error}") from None
    if path.name.startswith("pylock"):
        _expect(path, document.get("lock-version"), "1")
        return _packages(path, document.get("packages"))
    if path.name == "poetry.lock":
        _expect(path, (document.get("metadata") or {}).get("lock-version"), "2", "1")
    elif path.name == "uv.lock":
        _expect(path, document.get("version"), "1")
    else:
        raise BadLock(f"{path.name}: neither uv.lock, poetry.lock, pylock.toml nor a requirements file")
    return _packages(path, document.get("package"))


def _expect(path: Path, version: object, *majors: str) -> None:
    if str(version).split(".")[0] not in majors:
        raise BadLock(f"{path.name}: of version {str(version)[:20]!r}; this version reads {' and '.join(sorted(majors))}")


def _packages(path: Path, entries: Any) -> dict[str, str]:
    if not isinstance(entries, list):
        raise BadLock(f"{path.name}: there is no list of packages in it")
    found = {}
    for one in entries:
        if not isinstance(one, Mapping) or not isinstance(one.get("name"), str):
            raise BadLock(f"{path.name}: a package without a name")
        found[str(canonicalize_name(one["name"]))] = str(one.get("version") or "")
    return found


def _requirements(path: Path, text: str, depth: int) -> dict[str, str]:
    found: dict[str, str] = {}
    for line in text.replace("\\\n", " ").splitlines():
        words = line.split(" #")[0].strip()
        if not words or words.startswith("#"):
            continue
        if (included := _INCLUDED.match(words)) is not None:
            inner = path.parent / included[1].strip()
            if depth >= _DEEPEST:
                raise BadLock(f"{path.name}: requirements files inside each other, more than {_DEEPEST}")
            found |= _requirements(inner, _text(inner), depth + 1)
            continue
        if (editable := _EDITABLE.match(words)) is not None:
            words = _named(path, editable[1])
        if not words or words.startswith("-"):
            continue
        try:
            requirement = Requirement(words.split(" --hash")[0].strip())
            wanted = applies(requirement)
        except InvalidRequirement:
            raise BadLock(f"{path.name}: {words[:60]!a} is no requirement") from None
        if wanted:
            pins = [one.version for one in requirement.specifier if one.operator in ("==", "===")]
            found[str(canonicalize_name(requirement.name))] = pins[0] if pins else ""
    return found


def _named(path: Path, editable: str) -> str:
    """The name of an editable requirement; empty for the project itself, which is no dependency of its own."""
    if editable.partition("[")[0].strip() in (".", "./"):
        return ""
    _, egg, name = editable.partition("#egg=")
    if not egg:
        raise BadLock(f"{path.name}: {editable[:60]!a} has no name: write NAME @ URL, or add #egg=NAME")
    return name.partition("&")[0].strip()


def _text(path: Path) -> str:
    try:
        with path.open("rb") as file:
            data = file.read(_LARGEST + 1)
    except (OSError, ValueError) as error:
        raise BadLock(f"{path.name}: {getattr(error, 'strerror', None) or error}") from None
    if len(data) > _LARGEST:
        raise BadLock(f"{path.name}: more than {_LARGEST:,} bytes")
    return data.decode("utf-8", "replace")
