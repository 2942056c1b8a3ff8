"""What a killed target would have removed itself: temporary directories and files, and the semaphores of ``multiprocessing``.

The names that a target gives to these carry the token of its check, and at the end of the check what has such a name is removed.
What the workload makes to stay, as with ``tempfile.mkdtemp``, has a usual name.

What does not work: to remove what is new (other programs make such files too); to let the targets report what they make by an audit
hook (a Python function that is called inside C code looks for signals there, which the code does not do without it).
"""

from __future__ import annotations

import os
import re
import shutil
import sys
import tempfile
from multiprocessing import process
from types import FrameType
from typing import Any

_Names: Any = vars(tempfile)["_RandomNameSequence"]
_REMOVE_THEIRS = frozenset(  # module and name of each function that makes what its own process removes
    {("tempfile", "__init__"), ("tempfile", "NamedTemporaryFile"), ("multiprocessing.util", "get_temp_dir")}
)
_FRAMES = 4  # between such a function and the choice of a name, at most
_SEMAPHORES = "/dev/shm"  # of Linux; other systems do not list them
_OF_A_NAME = r"[a-z0-9_]{8}"  # what the standard library adds


class _MarkedNames(_Names):  # type: ignore[misc]
    """Random names, as those of ``tempfile``; with the mark for what its process removes."""

    def __init__(self, mark: str) -> None:
        self._mark = mark

    def __next__(self) -> str:
        name: str = super().__next__()
        return self._mark + name if _is_removed_by_its_process(sys._getframe(1)) else name


def mark_names(token: str) -> None:
    """In a target: have what it will make, and remove, carry the token of the check."""
    vars(tempfile)["_name_sequence"] = _MarkedNames(_mark(token))
    vars(process.current_process())["_config"]["semprefix"] = _semaphores(token)


def remove(token: str) -> None:
    """Remove what the targets of a check have left; none of them may be running any more."""
    marked = re.compile(rf"{_mark(token)}{_OF_A_NAME}")
    for path in _paths(tempfile.gettempdir(), marked):
        if os.path.isdir(path) and not os.path.islink(path):
            shutil.rmtree(path, ignore_errors=True)
        else:
            _unlink(path)
    if sys.platform == "linux":
        for path in _paths(_SEMAPHORES, re.compile(rf"sem\.{_semaphores(token)[1:]}-{_OF_A_NAME}$")):
            _unlink(path)


def _mark(token: str) -> str:
    return f"gc{token}_"


def _semaphores(token: str) -> str:
    return f"/mp-gc{token}"  # macOS allows 31 characters, with the nine that are added


def _is_removed_by_its_process(frame: FrameType | None) -> bool:
    for _ in range(_FRAMES):
        if frame is None:
            return False
        if (frame.f_globals.get("__name__"), frame.f_code.co_name) in _REMOVE_THEIRS:
            return bool(frame.f_locals.get("delete", True))
        frame = frame.f_back
    return False


def _paths(folder: str, pattern: re.Pattern[str]) -> list[str]:
    try:
        return [os.path.join(folder, name) for name in os.listdir(folder) if pattern.search(name)]
    except OSError:
        return []


def _unlink(path: str) -> None:
    try:
        os.unlink(path)
    except OSError:  # a process that removes it itself was faster
        pass
