"""The threads that a worker of pytest-xdist has before it imports any test, and that Python does not know: execnet's.

They read from the worker's pipe, and no fork needs them. The plugin imports this module when it is loaded, which is early enough.
"""

from __future__ import annotations

import os
import sys
import threading


def _count() -> int:
    if "execnet" not in sys.modules:
        return 0
    try:
        return max(0, len(os.listdir("/proc/self/task")) - threading.active_count())
    except OSError:
        return 0


EARLY_THREADS = _count()
