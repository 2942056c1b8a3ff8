"""Whose code a file is: the standard library's, an installed package's, a test tool's, ours, or the user's own."""

from __future__ import annotations

import sysconfig
from pathlib import Path

_OURS = str(Path(__file__).parents[1])
_LIBRARY = tuple(str(Path(sysconfig.get_path(name))) for name in ("stdlib", "platstdlib"))
_INSTALLED = tuple(str(Path(sysconfig.get_path(name))) for name in ("purelib", "platlib"))
_TEST_TOOLS = ("_pytest", "pytest", "pluggy", "hypothesis", "xdist", "execnet", "_hypothesis_pytestplugin.py")


def ours(file: str) -> bool:
    """Whether a file belongs to this package."""
    return file.startswith(_OURS)


def standard(file: str) -> bool:
    """Whether a file is the standard library's, or a frozen part of it; installed packages lie below it, and are not."""
    return file.startswith((*_LIBRARY, "<frozen")) and not file.startswith(_INSTALLED)


def foreign(file: str) -> bool:
    """Whether a file is the standard library's, or installed, or of no file at all: rarely what a user can change."""
    return file.startswith((*_LIBRARY, *_INSTALLED, "<"))


def under_test(file: str) -> bool:
    """Whether a source file is neither the standard library's nor a test tool's, nor ours. What is installed counts: it may be
    what is being tested."""
    if file.startswith(("<", _OURS)):
        return False
    for folder in _INSTALLED:
        if file.startswith(folder):
            return Path(file).relative_to(folder).parts[0] not in _TEST_TOOLS
    return not file.startswith(_LIBRARY)
