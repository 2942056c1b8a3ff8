"""What a release says of itself: the metadata of its artifacts, and the level of support that it claims."""

from __future__ import annotations

import tomllib
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from email.parser import BytesParser
from email.policy import compat32
from typing import Any

from packaging.specifiers import InvalidSpecifier, SpecifierSet
from packaging.version import InvalidVersion, Version

from .finding import SourcePlace

BARE = "Programming Language :: Python :: Free Threading"
LEVELS = {
    f"{BARE} :: 1 - Unstable": 1,
    f"{BARE} :: 2 - Beta": 2,
    f"{BARE} :: 3 - Stable": 3,
    f"{BARE} :: 4 - Resilient": 4,
}
LEVEL_NAMES = {0: "none", 1: "1 - Unstable", 2: "2 - Beta", 3: "3 - Stable", 4: "4 - Resilient"}
SUPPORTED = 2  # from this level on users may expect a wheel for free-threaded builds; "unstable" may be built from source


class BadMetadata(ValueError):
    """Metadata that cannot be read; the message is one line."""


@dataclass(frozen=True)
class Metadata:
    """The fields that the audit reads.

    Attributes:
        requires_python: None where it is not given.
        requires: of ``Requires-Dist``, as text.
        places: of the fields, where they are in a file of the project.
        untold: fields that the files of a project do not tell, each with the file and the reason: only a build would.
    """

    name: str
    version: Version | None
    classifiers: tuple[str, ...] = ()
    requires_python: SpecifierSet | None = None
    requires: tuple[str, ...] = ()
    description: str = ""
    places: Mapping[str, SourcePlace] = field(default_factory=dict)
    untold: Mapping[str, str] = field(default_factory=dict)

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
    """Of a METADATA file.

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
        version=version(str(message["Version"])),
        classifiers=tuple(str(one).strip() for one in message.get_all("Classifier", [])),
        requires_python=specifiers(None if message["Requires-Python"] is None else str(message["Requires-Python"])),
        requires=tuple(str(one).strip() for one in message.get_all("Requires-Dist", [])),
        description=description,
    )


def from_pkg_info(data: bytes) -> Metadata:
    """Of a PKG-INFO file: one without dependencies may leave them to the build (PEP 643), and old setuptools leaves them out.

    Raises:
        BadMetadata: as `from_email`.
    """
    said = from_email(data)
    message = BytesParser(policy=compat32).parsebytes(data, headersonly=True)
    dynamic = [str(one).strip().lower() for one in message.get_all("Dynamic", [])]
    standard = str(message.get("Metadata-Version", "")).strip()
    if said.requires or not (standard.startswith(("1.", "2.0", "2.1")) or "requires-dist" in dynamic):
        return said
    why = "are dynamic" if "requires-dist" in dynamic else f"are not promised by version {standard} of the format"
    return replace(said, untold={"dependencies": f"PKG-INFO: they {why}"})


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


def version(text: str) -> Version:
    """A version.

    Raises:
        BadMetadata: it is none.
    """
    try:
        return Version(text.strip())
    except InvalidVersion:
        raise BadMetadata(f"version {text[:60]!a} is none") from None


def specifiers(text: str | None) -> SpecifierSet | None:
    """A ``requires-python``; None where nothing is given.

    Raises:
        BadMetadata: it cannot be read.
    """
    if text is None or not text.strip():
        return None
    try:
        return SpecifierSet(text)
    except InvalidSpecifier:
        raise BadMetadata(f"requires-python {text[:60]!a} cannot be read") from None
