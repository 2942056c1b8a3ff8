"""Workers of pytest-xdist that are other interpreters, as in ``--dist each --tx popen//python=python3.13 --tx popen//python=...``.

xdist hands every local worker the ``sys.path`` of the controller, which to another interpreter is the wrong standard library: the
worker dies on its first import, and xdist starts another, without end (pytest-xdist issue 1049, open since 2024). So such a worker
is asked for its own path before it is set up, and gets that. What does not work: setting ``spec.popen`` to None, which inserts the
current folder and wants ``--rsyncdir``; and a remote module of our own, through which then every worker would go.
"""

from __future__ import annotations

import os
import shlex
import shutil
import subprocess
import sys
from collections.abc import Sequence
from typing import Any

import pytest

_OLDEST = (3, 11)
_START = 30.0  # seconds
_VERSION = "import sys; sys.stdout.write('%d %d' % sys.version_info[:2])"
_ASK = """
import sys
from importlib.util import find_spec  # and no import: pytest warns of plugins that it comes too late to rewrite
missing = [name for name in ("pytest", "xdist", "pytest_gilcheck") if find_spec(name) is None]
channel.send((sys.prefix, sys.path, missing))
"""


def refuse_missing(specs: Sequence[Any]) -> None:
    """Look at every ``--tx`` before any worker is started.

    Raises:
        pytest.UsageError: a local interpreter that does not exist, or that does not start.
    """
    for python in dict.fromkeys(str(spec.python) for spec in specs if spec.popen and getattr(spec, "python", None) is not None):
        if (why := _unusable(python)) is not None:
            words = f"an interpreter of Python {_OLDEST[0]}.{_OLDEST[1]} or later that can be started, but {why}"
            raise pytest.UsageError(f"gilcheck: python={python!r} (from command line --tx): expected {words}")


def _unusable(python: str) -> str | None:
    """Why this is no interpreter that a worker could be; None if it is one. Options may follow: ``python3.14t -X gil=1``."""
    try:
        command = shlex.split(python)
        if not command or shutil.which(command[0]) is None:
            return "there is no such program"
        asked = subprocess.run([*command, "-c", _VERSION], capture_output=True, text=True, errors="replace", timeout=_START)
        version = tuple(int(part) for part in asked.stdout.split())
    except subprocess.TimeoutExpired:
        return f"it says nothing in {_START:g} s"
    except (OSError, ValueError) as error:
        return f"it is none ({error})"
    if asked.returncode or len(version) != 2:
        return f"it is none (exit status {asked.returncode})"
    return None if version >= _OLDEST else f"it is Python {version[0]}.{version[1]}"


def keep_own_path(node: Any) -> None:
    """Give a worker on another interpreter of this machine its own ``sys.path``, and one on the controller's the controller's.

    Raises:
        pytest.UsageError: it has not got what a worker needs.
    """
    from xdist import workermanage

    if not hasattr(workermanage, "_sys_path"):  # an xdist that no longer does so
        return
    ours = _frozen(workermanage)
    workermanage._sys_path = ours
    spec = node.gateway.spec
    if not spec.popen or not spec.python:
        return
    prefix, path, missing = node.gateway.remote_exec(_ASK).receive()
    if missing:
        words = f"an interpreter with pytest, pytest-xdist and pytest-gilcheck, but it has no {', '.join(missing)}"
        raise pytest.UsageError(f"gilcheck: python={spec.python!r} (from command line --tx): expected {words}")
    if prefix != sys.prefix:
        here = os.getcwd()
        own = [entry for entry in path if entry not in ("", here)]
        workermanage._sys_path = [entry for entry in ours[:1] if entry in ("", here)] + own


def _frozen(workermanage: Any) -> list[str]:
    """The controller's path as xdist keeps it, whatever we put there for the worker before."""
    from xdist import plugin

    return list(getattr(plugin, "_sys_path", workermanage._sys_path))
