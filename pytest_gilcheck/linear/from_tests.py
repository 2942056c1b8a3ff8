"""Values out of a package's own tests: they run once, in a pytest of their own, which records the arguments that a class gets.

They may fail, hang, print or exit: what was recorded by then counts.
"""

from __future__ import annotations

import base64
import json
import os
import pickle
import subprocess
import sys
import tempfile
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from ..core import stop_request
from ..core.clocks import monotonic
from ..core.errors import BadValue
from ..core.exit_status import describe_exit
from ..core.lifecycle import start_program

_PLUGIN, _RECORDS = "pytest_gilcheck.adaptors.recorded_calls", "GILCHECK_RECORDS"
_MOST = 3  # values for each name: calls of several threads are to collide
_POLL = 0.05  # seconds


@dataclass
class Recorded:
    """What tests have passed to a class.

    Attributes:
        values: up to three for each name of a parameter: first those that most methods got, then the simplest.
        left_out: parameters with values that cannot be copied, with the type of one.
        ending: how the tests ended.
    """

    values: dict[str, list[Any]] = field(default_factory=dict)
    left_out: dict[str, str] = field(default_factory=dict)
    ending: str = ""

    def __str__(self) -> str:
        text = f"from tests  {self.ending}; values for {', '.join(sorted(self.values))}"
        if not self.left_out:
            return text
        return f"{text}; not copied: {', '.join(f'{name} (a {kind})' for name, kind in sorted(self.left_out.items()))}"


def recorded(work: Any, target: str, tests: str, limit: float, progress: Callable[[str], None]) -> Recorded:
    """Run tests, and return what they have passed to a class.

    Args:
        target: the class, as MODULE:CLASS.
        tests: a folder or file of tests, or another argument of pytest.
        limit: seconds after which the tests are ended.

    Raises:
        BadValue: it is no class, or nothing was recorded.
    """
    if not isinstance(work, type):
        raise BadValue("from_tests", tests, f"a class to record the calls of, and {target} is a function", "command line")
    progress(f"the tests in {tests}")
    with tempfile.TemporaryDirectory(prefix="gilcheck-", ignore_cleanup_errors=True) as name:
        folder = Path(name)
        ending = _ran(folder, target, tests, limit)
        found = _read(folder)
        found.ending = ending
    if not found.values:
        unfit = f" that can be copied ({found})" if found.left_out else f" ({ending})"
        expected = f"tests that call {work.__name__} with arguments, and they made no such call{unfit}"
        raise BadValue("from_tests", tests, expected, "command line")
    return found


def _ran(folder: Path, target: str, tests: str, limit: float) -> str:
    """Run the tests; returns how they ended."""
    with (folder / "output").open("wb") as output:
        life = start_program(
            [sys.executable, "-m", "pytest", "-q", "-p", _PLUGIN, tests],
            group=True,
            stdin=subprocess.DEVNULL,
            stdout=output,
            stderr=subprocess.STDOUT,
            env=os.environ | {_RECORDS: f"{folder}:{target}"},
            start_new_session=True,
        )
        until = monotonic() + limit
        while not life.wait(_POLL) and not life.stopped and monotonic() < until and not stop_request.made():
            pass
        gone, status = life.gone_at is not None, life.status
        life.end()
    if not gone:
        return "the tests were ended by Ctrl-C" if stop_request.made() else f"the tests were ended after {limit:g} s"
    lines = (folder / "output").read_text(errors="replace").split("\n")
    last = next((line.strip("= ") for line in reversed(lines) if line.strip("= ")), "")
    return last if status in (0, 1) and last else f"pytest {describe_exit(status)}: {last}"


def _read(folder: Path) -> Recorded:
    found = Recorded()
    copies: dict[str, dict[str, set[str]]] = {}  # the methods that got a value, by the value's copy, by the name of the parameter
    for path in sorted(folder.glob("*.jsonl")):
        for line in path.read_text().splitlines():
            try:
                record = json.loads(line)
            except ValueError:
                continue  # the process was ended while it wrote
            if "left_out" in record:
                found.left_out[record["parameter"]] = record["left_out"]
            else:
                copies.setdefault(record["parameter"], {}).setdefault(record["copy"], set()).add(record["method"])
    for parameter, methods in copies.items():
        values = []
        for copy, names in methods.items():
            try:
                values.append((-len(names), pickle.loads(base64.b64decode(copy))))
            except Exception:  # of a module of the tests, which is not there any more
                found.left_out.setdefault(parameter, "value of a module that only the tests can import")
        if values:
            found.values[parameter] = [value for _, value in sorted(values, key=_simplest_first)][:_MOST]
    return found


def _simplest_first(counted: tuple[int, Any]) -> tuple[int, int, str]:
    count, value = counted
    text = repr(value)
    return count, len(text), text
