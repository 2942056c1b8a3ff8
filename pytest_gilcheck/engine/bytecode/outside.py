"""What a call in C touches of the files and processes of the system: a file by its path or its descriptor, else everything.

A path is known by the number of its file, if there is one, and by its folder's and its name. So links lead to the same file.
To change a file is to change its folder as well, and to read it is to read the folder. A function that is not known here may
touch every file. Not covered: who moves a folder that is further up.

What does not work: to compare paths as texts. Links, relative paths, and systems that do not tell capital letters would hide
conflicts. To compare descriptors: the next file that is opened gets the one that was closed, so each two files would meet.
"""

from __future__ import annotations

from os import fspath, fstat, stat
from pathlib import PosixPath, PurePath, WindowsPath
from stat import S_ISREG
from typing import Any

from .touch import ALL, Touch

_FILES = object()
_EVERYTHING = [Touch(_FILES, ALL, True, guess=True)]
_READS = frozenset({"stat", "lstat", "access", "readlink", "listdir", "scandir", "statvfs"})
_CHANGES = frozenset({"mkdir", "rmdir", "remove", "unlink", "rename", "replace", "link", "utime", "chmod", "truncate", "mkfifo"})
_OF_DESCRIPTORS = frozenset({"close", "read", "write", "lseek", "fsync", "fdatasync", "ftruncate", "pread", "pwrite"})
_READS_DESCRIPTORS = frozenset({"fstat", "isatty"})
_MODE, _WRITES = frozenset("rwaxbtU+"), frozenset("wax+")  # an encoding may have such a letter too, and then counts as a change
_PATHS = (PosixPath, WindowsPath)
_OTHERS = (int, bool, tuple, type(None))  # a mode, flags, times, or the descriptor of a folder


def touched_outside(name: str, arguments: list[Any]) -> list[Touch]:
    """What a function of `io` or `os` touches.

    Args:
        name: of the function.
        arguments: those by name included.
    """
    parts: list[tuple[Any, bool]] | None = None
    if name == "getcwd":
        parts = [("the working directory", False)]
    elif name in _OF_DESCRIPTORS or name in _READS_DESCRIPTORS:
        parts = _by_descriptor(arguments, name in _OF_DESCRIPTORS)
    elif name in _READS or name in _CHANGES or name == "open":
        parts = _by_path(name, arguments)
    return _EVERYTHING if parts is None else [Touch(_FILES, part, changes, guess=True) for part, changes in parts]


def _by_descriptor(arguments: list[Any], changes: bool) -> list[tuple[Any, bool]] | None:
    if not arguments or type(arguments[0]) is not int:
        return None
    try:
        file = fstat(arguments[0])
    except (OSError, OverflowError):
        return None
    return [(((file.st_dev, file.st_ino),), changes)] if S_ISREG(file.st_mode) else None


def _by_path(name: str, arguments: list[Any]) -> list[tuple[Any, bool]] | None:
    paths = [fspath(each) for each in arguments if type(each) is str or type(each) in _PATHS]
    numbers = any(type(each) is int for each in arguments)
    if not paths or any(type(each) not in (str, *_PATHS, *_OTHERS) for each in arguments):
        return None
    changes = name in _CHANGES
    if name == "open":
        changes = numbers or any(not _WRITES.isdisjoint(each) for each in paths[1:])  # flags, or a mode
        if _MODE.issuperset(paths[0]):  # by name, a mode may come first
            return None
        paths = paths[:1]
    elif numbers and any(path[:1] != "/" for path in paths):  # it may start from the folder of a descriptor
        return None
    found: list[tuple[Any, bool]] = []
    for path in paths:
        file = _file_of(path)
        if file is None:
            return None
        found += [(each, changes) for each in file]
    return found


def _file_of(path: str) -> list[tuple[Any, ...]] | None:
    """The folder of a path, its name there, and the file that it leads to, if there is one; None if it has no folder."""
    whole = PurePath(path)
    try:
        folder = stat(str(whole.parent))
    except (OSError, ValueError):
        return None
    number = folder.st_dev, folder.st_ino
    found: list[tuple[Any, ...]] = [(number,), (number, whole.name)]
    try:
        file = stat(path)
    except (OSError, ValueError):
        return found
    return [*found, ((file.st_dev, file.st_ino),)]
