"""The machine beneath the interpreter: what it is, how busy it is, how fast it is right now, and which commit ran on it."""

from __future__ import annotations

import functools
import hashlib
import os
import platform
import subprocess
import time
from pathlib import Path
from typing import Any

_YARDSTICK = bytes(1 << 16)
_YARDSTICK_RUNS = 8


@functools.cache
def machine() -> dict[str, Any]:
    """What compares with nothing else: system, processor, logical cores, memory (bytes), and the library behind `yardstick`.

    No name of the host: evidence is published.
    """
    return {
        "system": f"{platform.system()} {platform.release()}",
        "processor": _processor(),
        "cores": os.cpu_count(),
        "memory": _memory(),
        "hash_library": _hash_library(),
    }


def load() -> float | None:
    """Processes that wanted a core, the mean of the last minute; None where the system does not count them."""
    try:
        return round(os.getloadavg()[0], 2)
    except (AttributeError, OSError):
        return None


def yardstick() -> float:
    """Seconds for one SHA-256 of 64 KiB, the least of eight: how fast this core is now, whatever Python runs on it.

    Runs of two interpreters are minutes apart, and a shared machine changes its speed by tens of percent in that time. What both
    run in C, out of the same library, tells a slower machine from a slower interpreter.
    """
    best = float("inf")
    for _ in range(_YARDSTICK_RUNS):
        start = time.perf_counter()
        hashlib.sha256(_YARDSTICK).digest()
        best = min(best, time.perf_counter() - start)
    return best


def commit(folder: Path) -> tuple[str | None, bool | None]:
    """The commit that is checked out in a folder, and whether files differ from it; (None, None) where git knows of none."""
    try:
        head = _git(folder, "rev-parse", "HEAD")
        return head, bool(_git(folder, "status", "--porcelain", "--untracked-files=no"))
    except (OSError, subprocess.SubprocessError):
        return None, None


def _git(folder: Path, *arguments: str) -> str:
    command = ["git", "-C", str(folder), *arguments]
    return subprocess.run(command, capture_output=True, text=True, errors="replace", check=True, timeout=10).stdout.strip()


def _processor() -> str:
    try:
        for line in Path("/proc/cpuinfo").read_text(errors="replace").splitlines():
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
    except ImportError:  # a Python without OpenSSL hashes with code of its own
        return f"{platform.python_implementation()} {platform.python_version()}"
    return str(_ssl.OPENSSL_VERSION)
