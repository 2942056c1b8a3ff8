"""Each tool in an interpreter and an environment of its own, and a process of its own for every question that it is asked.

Some of them hang, some patch ``threading`` for good, and some leave threads behind: nothing of one may reach the next.
"""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Any

HERE = Path(__file__).resolve().parent
REQUIREMENTS = {"frontrun": "frontrun==0.7.0", "interleave-test": "interleave-test==0.1.0"}
IDENTITY = """
import platform, sys, sysconfig
print("CPython", platform.python_version() + ("t" if sysconfig.get_config_var("Py_GIL_DISABLED") else ""))
"""


@dataclass(frozen=True)
class Side:
    """One tool on one interpreter."""

    tool: str
    python: str  # as it names itself
    command: tuple[str, ...]

    def ask(self, limit: float, **question: Any) -> dict[str, Any]:
        """What it answers; ``{"said": "hang" | "crash", ...}`` if it gives no answer, or none within ``limit`` seconds.

        ``warm`` in the question: search another program before, so that what the first search imports is not counted.
        """
        process = subprocess.Popen(
            [*self.command, json.dumps(question)],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            start_new_session=True,
        )
        try:
            out, errors = process.communicate(timeout=limit)
        except subprocess.TimeoutExpired:
            os.killpg(process.pid, signal.SIGKILL)
            out, _ = process.communicate()
            answer = _answer(out)  # some answer, and then do not end
            return answer or {"said": "hang", "seconds": limit, "schedules": 0, "why": f"nothing within {limit:.0f} s"}
        answer = _answer(out)
        if answer is not None:
            return answer
        last = (errors.strip().splitlines() or [""])[-1]
        return {"said": "crash", "seconds": 0.0, "schedules": 0, "why": f"exit status {process.returncode}: {last}"[:300]}


def _answer(out: str) -> dict[str, Any] | None:
    for line in reversed(out.splitlines()):
        if line.startswith("{"):
            try:
                answer: dict[str, Any] = json.loads(line)
            except ValueError:
                return None
            return answer
    return None


def identity(python: str) -> str:
    return subprocess.run([python, "-c", IDENTITY], capture_output=True, text=True, check=True).stdout.strip()


def ours(python: str) -> Side:
    return Side("gilcheck", identity(python), (python, str(HERE / "side_ours.py")))


def stress(python: str) -> Side:
    return Side("barrier stress", identity(python), (python, str(HERE / "side_stress.py")))


def peer(tool: str, python: str, folder: Path) -> Side | str:
    """An environment with the peer, made with this interpreter in a new folder; or why there is none."""
    name = identity(python)
    place = folder / f"{tool}-{name.replace(' ', '-')}"
    requirement = REQUIREMENTS[tool]
    for command in (
        [python, "-m", "venv", str(place)],
        [str(place / "bin" / "python"), "-m", "pip", "install", "-q", "--disable-pip-version-check", requirement],
    ):
        done = subprocess.run(command, capture_output=True, text=True, env=_clean())
        if done.returncode:
            words = (done.stderr.strip() or done.stdout.strip()).splitlines()
            errors = [line for line in words if "error" in line.lower()] or words
            return f"{requirement} could not be installed for {name}: {errors[-1] if errors else 'no reason given'}"
    script = (str(place / "bin" / "python"), str(HERE / f"side_{tool.split('-')[0]}.py"))
    return Side(tool, name, (str(place / "bin" / "frontrun"), *script) if tool == "frontrun" else script)


def install(python: str, requirements: tuple[str, ...], target: Path) -> str | None:
    """Install exactly these, without what they depend on, into a folder; None, or why it did not work."""
    command = [python, "-m", "pip", "install", "-q", "--disable-pip-version-check", "--no-deps", "--target", str(target)]
    done = subprocess.run([*command, *requirements], capture_output=True, text=True, env=_clean())
    return None if done.returncode == 0 else (done.stderr.strip().splitlines() or ["no reason given"])[-1]


def _clean() -> dict[str, str]:
    return {name: value for name, value in os.environ.items() if name not in ("PYTHONPATH", "VIRTUAL_ENV")} | {
        "PIP_ROOT_USER_ACTION": "ignore"
    }


def say(text: str) -> None:
    print(text, file=sys.stderr, flush=True)
