"""The machine: its hardware, its load, its current speed, and the commit under test."""

from __future__ import annotations

import functools
import hashlib
import os
import platform
import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import Any

from .clocks import time
from .programs import answer
from .system import read

_YARDSTICK = bytes(1 << 16)
_YARDSTICK_RUNS = 8


@functools.cache
def machine() -> dict[str, Any]:
    """System, processor, logical cores, memory (bytes), and the library that `yardstick` uses; figures of others are not
    comparable.

    The name of the host is left out, because evidence may be published. The values cannot change while the process runs: they are
    asked for once, before a test may replace what answers. Nothing is raised: a fact may be unknown.
    """
    return {
        "system": _answer(lambda: f"{platform.system()} {platform.release()}", "unknown"),
        "processor": _answer(_processor, "unknown"),
        "cores": _answer(os.cpu_count, None),
        "memory": _answer(_memory, None),
        "hash_library": _answer(_hash_library, "unknown"),
    }


def _answer(fact: Callable[[], Any], unknown: str | None) -> Any:
    try:
        return fact()
    except Exception:  # whatever a test, or a plugin, has put in the place of the standard library
        return unknown


def load() -> float | None:
    """The number of processes that were ready to run, as a mean over the last minute; None where the system does not count them."""
    load: float | None = _answer(lambda: round(os.getloadavg()[0], 2), None)
    return load


def yardstick() -> float:
    """Seconds for one SHA-256 of 64 KiB, the minimum of eight: the current speed of this core, independent of the interpreter.

    Runs of two interpreters are minutes apart, and a shared machine changes its speed by tens of percent in that time. Both run
    the same C library, so this figure distinguishes a slower machine from a slower interpreter. It must not be cached: it is
    taken before and after each measurement, to show whether the speed changed.
    """
    best = float("inf")
    for _ in range(_YARDSTICK_RUNS):
        start = time.perf_counter()
        hashlib.sha256(_YARDSTICK).digest()
        best = min(best, time.perf_counter() - start)
    return best


def commit(folder: Path) -> tuple[str | None, bool | None]:
    """The commit that is checked out in a folder, and whether files differ from it; (None, None) if it is no git repository."""
    try:
        head = _git(folder, "rev-parse", "HEAD")
        return head, bool(_git(folder, "status", "--porcelain", "--untracked-files=no"))
    except (OSError, subprocess.SubprocessError):
        return None, None


def _git(folder: Path, *arguments: str) -> str:
    command = ["git", "-C", str(folder), *arguments]
    done = answer(command, 10.0)
    done.check_returncode()
    return done.stdout.decode(errors="replace").strip()


def _processor() -> str:
    try:
        for line in read("/proc/cpuinfo").splitlines():
            if line.startswith("model name"):
                return line.partition(":")[2].strip()
    except OSError:
        pass
    return platform.processor() or platform.machine()


def _memory() -> int | None:
    try:
        return os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    except (AttributeError, OSError, ValueError):
        return None


def _hash_library() -> str:
    try:
        import _ssl  # the module ssl itself would take 50 ms
    except ImportError:  # without OpenSSL, Python hashes with its own code
        return f"{platform.python_implementation()} {platform.python_version()}"
    return str(_ssl.OPENSSL_VERSION)
