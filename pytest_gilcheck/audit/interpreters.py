"""Free-threaded interpreters: those that are given, and those that are found on this machine."""

from __future__ import annotations

import glob
import json
import os
import shutil
import subprocess
import sys
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from packaging.tags import Tag, platform_tags

from ..core.errors import BadValue
from ..core.programs import answer
from . import tags as compatibility
from .tags import FIRST_FREE_THREADED, NEWEST, Build

_PATIENCE = 30.0  # seconds for an answer
_QUESTION = """
import json, platform, sys, sysconfig
enabled = getattr(sys, "_is_gil_enabled", lambda: True)
print(json.dumps({"implementation": platform.python_implementation(), "version": list(sys.version_info[:2]),
    "free_threaded": bool(sysconfig.get_config_var("Py_GIL_DISABLED")), "gil": enabled(), "executable": sys.executable,
    "path": [one for one in sys.path if one], "text": sys.version.split()[0]}))
"""


@dataclass(frozen=True)
class Python:
    """An interpreter that answered.

    Attributes:
        command: what starts it.
        build: version, and whether it is a free-threaded build.
        text: its whole version, for instance ``"3.13.5"``.
        path: its ``sys.path``.
    """

    command: str
    build: Build
    text: str
    path: tuple[str, ...]

    def __str__(self) -> str:
        return f"Python {self.text}{'t' if self.build.free_threaded else ''}"

    def takes(self, tags: Iterable[Tag]) -> bool:
        """Whether a wheel with these tags can be installed here, on this machine."""
        tags = list(tags)
        here = compatibility.families([Tag("py3", "none", platform) for platform in platform_tags()])
        return any(
            compatibility.serves([tag], self.build) and (tag.platform == "any" or compatibility.families([tag]) & here)
            for tag in tags
        )


def environment(**more: str) -> dict[str, str]:
    """Ours, without what our own interpreter was told: ``PYTHON_GIL`` would decide what is to be found out."""
    kept = {name: value for name, value in os.environ.items() if not name.startswith(("PYTHON", "VIRTUAL_ENV"))}
    return kept | more


def ask(command: str) -> Python | None:
    """The interpreter behind a path or a name; None if it does not answer as CPython does."""
    program = shutil.which(command)
    if program is None:
        return None
    program = os.path.abspath(program)  # imports run in other folders; a link stays, for it may be a virtual environment's
    try:
        done = answer([program, "-I", "-c", _QUESTION], _PATIENCE, environment())
        said = json.loads(done.stdout)
        if done.returncode or said["implementation"] != "CPython":
            return None
        version = (int(said["version"][0]), int(said["version"][1]))
        path = tuple(str(one) for one in said["path"])
        return Python(program, Build(version, bool(said["free_threaded"])), str(said["text"]), path)
    except (OSError, subprocess.SubprocessError, ValueError, KeyError, TypeError, IndexError):
        return None


def given(commands: Sequence[str]) -> list[Python]:
    """The interpreters of ``--python``.

    Raises:
        BadValue: one that does not run.
    """
    found = []
    for command in commands:
        python = ask(command)
        if python is None:
            raise BadValue("python", command, "a CPython interpreter that can be run", "command line --python")
        found.append(python)
    return found


def find() -> list[Python]:
    """Free-threaded interpreters on this machine, the newest first: our own, those on PATH, and those of pyenv and uv."""
    names = [f"python{major}.{minor}t" for major, minor in _versions()]
    candidates = [path for name in names if (path := shutil.which(name)) is not None]
    if "free-threading" in sys.version:
        candidates.insert(0, sys.executable)
    home = os.path.expanduser("~")
    roots = (os.path.join(os.environ.get("PYENV_ROOT") or f"{home}/.pyenv", "versions"), f"{home}/.local/share/uv/python")
    for root in roots:
        for minor in _versions():  # the module glob: `Path.glob` raises where a folder is another user's (PermissionError)
            candidates += sorted(glob.glob(f"{glob.escape(root)}/*{minor[0]}.{minor[1]}*t*/bin/python3"))
    found: dict[str, Python] = {}
    for candidate in dict.fromkeys(candidates):
        python = ask(candidate)
        if python is not None and python.build.free_threaded:
            found.setdefault(os.path.realpath(candidate) if python.command != sys.executable else candidate, python)
    return sorted(found.values(), key=lambda one: (one.command != sys.executable, tuple(-part for part in one.build.version)))


def _versions() -> list[tuple[int, int]]:
    return [(3, minor) for minor in range(NEWEST[1], FIRST_FREE_THREADED[1] - 1, -1)]
