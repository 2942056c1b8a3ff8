"""Busy processes beside a benchmark: what it measures must hold on a machine that others use, too."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager

_BUSY = "import os, sys\nwhile os.getppid() == int(sys.argv[1]):\n    for _ in range(100_000): pass"  # if that is killed, it ends


@contextmanager
def neighbours(number: int) -> Iterator[None]:
    """So many busy processes for the time of the block."""
    busy = [subprocess.Popen([sys.executable, "-c", _BUSY, str(os.getpid())]) for _ in range(number)]
    try:
        yield
    finally:
        for process in busy:
            process.kill()
            process.wait()
