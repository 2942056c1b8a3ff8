"""Whose code a file is: of the standard library, an installed package, a test tool, this package, or the user."""

from __future__ import annotations

import os
import site
import sys
import sysconfig
from collections.abc import Iterable
from pathlib import Path

_OURS = str(Path(__file__).parents[1])
_LIBRARY = tuple(str(Path(sysconfig.get_path(name))) for name in ("stdlib", "platstdlib"))
_FOLDERS = ("site-packages", "dist-packages")


def _installed() -> tuple[str, ...]:
    """The folders of installed packages: of this environment, of the system and of the user, and others on the path so called."""
    found = [sysconfig.get_path("purelib"), sysconfig.get_path("platlib"), *site.getsitepackages(), site.getusersitepackages()]
    return tuple(dict.fromkeys(str(Path(each)) for each in (*found, *sys.path) if Path(each).name in _FOLDERS or each in found[:2]))


_INSTALLED = _installed()
_TEST_TOOLS = (
    "_pytest", "pytest", "pluggy", "hypothesis", "xdist", "execnet", "_hypothesis_pytestplugin.py", "freezegun", "time_machine",
)  # fmt: skip


def of_test_tool(module: str) -> bool:
    """Whether a module is of a test tool, by its name: code that it makes from a text has no file."""
    return module.partition(".")[0] in _TEST_TOOLS


_of_the_runner: set[str] = set()


def declare_of_the_runner(files: Iterable[str]) -> None:
    """These files are of what runs the tests: of plugins, of which some code runs in the setup of each test."""
    _of_the_runner.update(files)


def of_the_runner(file: str) -> bool:
    """Whether a file is of what runs the tests. It may be code under test all the same, where a test calls it."""
    return file in _of_the_runner


def ours(file: str) -> bool:
    """Whether a file belongs to this package."""
    return file.startswith(_OURS)


def standard(file: str) -> bool:
    """Whether a file is of the standard library, frozen parts included; packages installed in a folder below it are not."""
    return file.startswith((*_LIBRARY, "<frozen")) and not file.startswith(_INSTALLED)


def foreign(file: str) -> bool:
    """Whether a file is of the standard library or an installed package, or is not a file: code that users rarely can change."""
    return file.startswith((*_LIBRARY, *_INSTALLED, "<"))


def of_package(file: str) -> bool:
    """Whether a file is of an installed package that is code under test."""
    return file.startswith(_INSTALLED) and under_test(file)


def of_user(file: str) -> bool:
    """Whether a file is the user's own: neither foreign nor of this package."""
    return not foreign(file) and not ours(file)


def module_of(file: str) -> str:
    """The name of the module that a library's file is: ``"concurrent.futures.thread"``; the file itself if it is in no library."""
    if file.startswith("<frozen "):
        return file[len("<frozen ") : -1]
    for folder in (*_INSTALLED, *_LIBRARY):
        if file.startswith(f"{folder}{os.sep}"):  # no `Path`, which takes many times as long: a check asks for hundreds of files
            parts = os.path.splitext(file[len(folder) + 1 :])[0].split(os.sep)
            return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)
    return file


def under_test(file: str) -> bool:
    """Whether a source file is code under test: not of the standard library, of a test tool or of this package.

    Installed packages are code under test, because a test may test an installed package.
    """
    if file.startswith(("<", _OURS)):
        return False
    for folder in _INSTALLED:
        if file.startswith(f"{folder}{os.sep}"):  # no Path: each check asks for hundreds of files
            return file[len(folder) + 1 :].partition(os.sep)[0] not in _TEST_TOOLS
    return not file.startswith(_LIBRARY)
