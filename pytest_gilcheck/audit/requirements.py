"""Requirements, as text: which of them a free-threaded interpreter has to install, and which cannot be read."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from packaging.requirements import InvalidRequirement, Requirement
from packaging.utils import canonicalize_name

from .interpreters import Python
from .tags import FIRST_FREE_THREADED, NEWEST

_EVERY = tuple(f"{FIRST_FREE_THREADED[0]}.{minor}.0" for minor in range(FIRST_FREE_THREADED[1], NEWEST[1] + 1))


@dataclass(frozen=True)
class Wanted:
    """What has to be installed.

    Attributes:
        extras: by canonical name of the distribution, the extras that are asked of it.
        unreadable: requirements that are none, as text.
    """

    extras: dict[str, frozenset[str]]
    unreadable: tuple[str, ...]


def wanted(texts: Iterable[str], python: Python | None, extras: Iterable[str] = ()) -> Wanted:
    """What these requirements ask for.

    Args:
        python: the interpreter that markers are about, which is not our own; None: any free-threaded one.
        extras: of the distribution that has the requirements; those of other extras are left out.
    """
    found: dict[str, frozenset[str]] = {}
    unreadable = []
    for text in texts:
        try:
            one = Requirement(text)
            if not applies(one, python, ("", *extras)):
                continue
        except InvalidRequirement:
            unreadable.append(text)
            continue
        name = str(canonicalize_name(one.name))
        found[name] = found.get(name, frozenset()) | one.extras
    return Wanted(found, tuple(unreadable))


def applies(requirement: Requirement, python: Python | None = None, extras: Sequence[str] = ("",)) -> bool:
    """Whether the marker of a requirement holds, for this interpreter or for any free-threaded one.

    Raises:
        InvalidRequirement: the marker cannot be evaluated.
    """
    marker = requirement.marker
    if marker is None:
        return True
    try:
        return any(
            marker.evaluate({"extra": extra, "python_version": ".".join(full.split(".")[:2]), "python_full_version": full})
            for full in ((python.text,) if python is not None else _EVERY)
            for extra in extras
        )
    except (ValueError, KeyError, TypeError) as error:
        raise InvalidRequirement(f"{requirement}: {error}") from None
