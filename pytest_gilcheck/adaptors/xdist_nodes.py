"""Workers of pytest-xdist that are other interpreters, as in ``--dist each --tx popen//python=python3.13 --tx popen//python=...``.

xdist sends every local worker the ``sys.path`` of the controller. For another interpreter this is the wrong standard library: the
worker fails at its first import, and xdist starts another one, without end (pytest-xdist issue 1049, open since 2024). So this
module asks such a worker for its own path before its set-up, and has xdist send it that path.

What does not work:

- To set ``spec.popen`` to None: xdist then inserts the current folder and requires ``--rsyncdir``.
- A remote module of our own: every worker would have to use it.
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

from ..core.programs import answer

_OLDEST = (3, 11)
_START = 30.0  # seconds
_VERSION = "import sys; sys.stdout.write('%d %d' % sys.version_info[:2])"
_QUERY = """
import sys
from importlib.util import find_spec  # instead of an import: pytest warns if it can no longer rewrite a plugin's assertions
missing = [name for name in ("pytest", "xdist", "pytest_gilcheck") if find_spec(name) is None]
channel.send((sys.prefix, sys.path, missing))
"""


def refuse_missing(specs: Sequence[Any]) -> None:
    """Check the interpreter of each ``--tx`` before xdist starts a worker.

    Raises:
        pytest.UsageError: a local interpreter does not exist, does not start or is too old.
    """
    for python in dict.fromkeys(str(spec.python) for spec in specs if spec.popen and getattr(spec, "python", None) is not None):
        if (why := _unusable(python)) is not None:
            expected = f"an interpreter of Python {_OLDEST[0]}.{_OLDEST[1]} or later that can be started, but {why}"
            raise pytest.UsageError(f"gilcheck: python={python!r} (from command line --tx): expected {expected}")


def _unusable(python: str) -> str | None:
    """Return why a worker cannot run on this interpreter, or None if it can.

    Args:
        python: a path or name, also with options: ``python3.14t -X gil=1``.
    """
    try:
        command = shlex.split(python)
        if not command or shutil.which(command[0]) is None:
            return "there is no such program"
        asked = answer([*command, "-c", _VERSION], _START)
        version = tuple(int(part) for part in asked.stdout.split())
    except subprocess.TimeoutExpired:
        return f"it did not answer within {_START:g} s"
    except (OSError, ValueError) as error:
        return f"it is not an interpreter ({error})"
    if asked.returncode or len(version) != 2:
        return f"it is not an interpreter (exit status {asked.returncode})"
    return None if version >= _OLDEST else f"it is Python {version[0]}.{version[1]}"


def keep_own_path(node: Any) -> None:
    """Have xdist send a worker on another interpreter of this machine its own ``sys.path``, and every other the controller's.

    Raises:
        pytest.UsageError: the interpreter lacks a package that a worker needs.
    """
    from xdist import workermanage

    if not hasattr(workermanage, "_sys_path"):  # another version of xdist, which does not send the path
        return
    controller_path = _controller_path(workermanage)
    workermanage._sys_path = controller_path
    spec = node.gateway.spec
    if not spec.popen or not spec.python:
        return
    prefix, path, missing = node.gateway.remote_exec(_QUERY).receive()
    if missing:
        expected = f"an interpreter with pytest, pytest-xdist and pytest-gilcheck, but it has no {', '.join(missing)}"
        raise pytest.UsageError(f"gilcheck: python={spec.python!r} (from command line --tx): expected {expected}")
    if prefix != sys.prefix:
        here = os.getcwd()
        own = [entry for entry in path if entry not in ("", here)]
        workermanage._sys_path = [entry for entry in controller_path[:1] if entry in ("", here)] + own


def _controller_path(workermanage: Any) -> list[str]:
    """The controller's path as xdist stores it, without what `keep_own_path` set for the worker before."""
    from xdist import plugin

    return list(getattr(plugin, "_sys_path", workermanage._sys_path))
