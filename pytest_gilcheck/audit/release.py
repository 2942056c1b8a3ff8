"""What a release says of itself: the metadata of its artifacts, and the level of support that it claims."""

from __future__ import annotations

import tomllib
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from email.parser import BytesParser
from email.policy import compat32
from typing import Any

from packaging.specifiers import InvalidSpecifier, SpecifierSet
from packaging.version import InvalidVersion, Version

BARE = "Programming Language :: Python :: Free Threading"
LEVELS = {
    f"{BARE} :: 1 - Unstable": 1,
    f"{BARE} :: 2 - Beta": 2,
    f"{BARE} :: 3 - Stable": 3,
    f"{BARE} :: 4 - Resilient": 4,
}
LEVEL_NAMES = {0: "none", 1: "1 - Unstable", 2: "2 - Beta", 3: "3 - Stable", 4: "4 - Resilient"}
SUPPORTED = 2  # from this level on users may expect that the GIL stays off


class BadMetadata(ValueError):
    """Metadata that cannot be read; the message is one line."""


@dataclass(frozen=True)
class Metadata:
    """The fields that the audit reads.

    Attributes:
        requires_python: None where it is not given.
        requires: of ``Requires-Dist``, as text.
        lines: the line of each field in its file, where that is a file of the project.
        dynamic: fields that the build backend computes, which a pyproject.toml does not tell.
    """

    name: str
    version: Version | None
    classifiers: tuple[str, ...] = ()
    requires_python: SpecifierSet | None = None
    requires: tuple[str, ...] = ()
    description: str = ""
    lines: Mapping[str, int] = field(default_factory=dict)
    dynamic: frozenset[str] = frozenset()

    @property
    def free_threading(self) -> tuple[str, ...]:
        """Its classifiers about free-threading, those included that do not exist."""
        return tuple(one for one in self.classifiers if one == BARE or one.startswith(BARE + " "))

    @property
    def level(self) -> int | None:
        """The claimed level, 1 to 4; 1 for the bare classifier; None for no claim."""
        levels = [LEVELS[one] for one in self.free_threading if one in LEVELS]
        return max(levels) if levels else 1 if BARE in self.free_threading else None


def from_email(data: bytes) -> Metadata:
    """Of a METADATA or PKG-INFO file.

    Raises:
        BadMetadata: it has no name or version, or one of its fields cannot be read.
    """
    message = BytesParser(policy=compat32).parsebytes(data)
    if message.get("Name") is None or message.get("Version") is None:
        raise BadMetadata("there is no Name or no Version in it")
    payload = message.get_payload()
    description = str(message.get("Description") or (payload if isinstance(payload, str) else ""))
    return Metadata(
        name=str(message["Name"]).strip(),
        version=_version(str(message["Version"])),
        classifiers=tuple(str(one).strip() for one in message.get_all("Classifier", [])),
        requires_python=_specifiers(None if message["Requires-Python"] is None else str(message["Requires-Python"])),
        requires=tuple(str(one).strip() for one in message.get_all("Requires-Dist", [])),
        description=description,
    )


def from_pyproject(text: str) -> Metadata | None:
    """Of a pyproject.toml; None if it has no [project] table.

    Raises:
        BadMetadata: it is no TOML, or a field is not of its type.
    """
    table = toml(text).get("project")
    if table is None:
        return None
    if not isinstance(table, dict) or not isinstance(table.get("name"), str):
        raise BadMetadata("[project] has no name")
    classifiers, requires = table.get("classifiers", []), table.get("dependencies", [])
    for name, value in (("classifiers", classifiers), ("dependencies", requires), ("dynamic", table.get("dynamic", []))):
        if not isinstance(value, list) or not all(isinstance(one, str) for one in value):
            raise BadMetadata(f"project.{name} is no list of texts")
    python, version = table.get("requires-python"), table.get("version")
    if not isinstance(python, (str, type(None))) or not isinstance(version, (str, type(None))):
        raise BadMetadata("project.requires-python or project.version is no text")
    return Metadata(
        name=table["name"],
        version=None if version is None else _version(version),
        classifiers=tuple(classifiers),
        requires_python=_specifiers(python),
        requires=tuple(requires),
        lines=_lines(text),
        dynamic=frozenset(table.get("dynamic", [])),
    )


def toml(text: str) -> dict[str, Any]:
    """A TOML document.

    Raises:
        BadMetadata: it is none.
    """
    try:
        return tomllib.loads(text)
    except (tomllib.TOMLDecodeError, RecursionError) as error:
        raise BadMetadata(f"no TOML ({str(error) or type(error).__name__})") from None


def admits(python: SpecifierSet | None, version: tuple[int, int]) -> bool:
    """Whether ``requires-python`` admits some release of that Python."""
    if python is None:
        return True
    return any(python.contains(f"{version[0]}.{version[1]}.{patch}", prereleases=True) for patch in (0, 1, 5, 99))


def known_level(names: Iterable[str]) -> bool:
    """Whether all of these classifiers exist."""
    return all(name == BARE or name in LEVELS for name in names)


def _version(text: str) -> Version:
    try:
        return Version(text.strip())
    except InvalidVersion:
        raise BadMetadata(f"version {text[:60]!a} is none") from None


def _specifiers(text: str | None) -> SpecifierSet | None:
    if text is None or not text.strip():
        return None
    try:
        return SpecifierSet(text)
    except InvalidSpecifier:
        raise BadMetadata(f"requires-python {text[:60]!a} cannot be read") from None


def _lines(text: str) -> dict[str, int]:
    """Where the fields are that findings are about; the first line of [project] for those that are not there."""
    found: dict[str, int] = {}
    table = ""
    for number, line in enumerate(text.splitlines(), 1):
        stripped = line.strip()
        if stripped.startswith("["):
            table = stripped.strip("[]").strip()
            found.setdefault(f"[{table}]", number)
        elif table == "project":
            key, equals, _ = stripped.partition("=")
            if equals and key.strip() in ("classifiers", "requires-python", "dependencies", "version", "name"):
                found.setdefault(key.strip(), number)
        if BARE in line:
            found.setdefault(BARE, number)
    return found
