"""Which processes descend from a child of ours, also after they have lost their parent or left their group and session; Linux only.

The child sets its soft limit on the number of file locks, which no kernel since Linux 2.4 enforces, to a number that no other
process has. Every process that it starts inherits the limit, over ``fork`` and ``exec``, and ``/proc`` shows it.

What does not work: the parent's list of children before and after (a background thread of the user's may start processes too);
an environment variable (``/proc`` shows the environment at the last ``exec``, so a fork shows that of our own process).
"""

from __future__ import annotations

import os
import sys

from .system import read

_RLIMIT_LOCKS = 10
_BASE = 1 << 40  # far above any limit that somebody would set


def available() -> bool:
    """Whether this process and its children can be marked: on Linux, unless their hard limit is too low."""
    if sys.platform != "linux":
        return False
    import resource

    hard = resource.getrlimit(_RLIMIT_LOCKS)[1]
    return hard == resource.RLIM_INFINITY or hard >= 2 * _BASE


def mark() -> None:
    """Mark this process and all that it will start; nothing happens where that is not `available`."""
    if not available():
        return
    import resource

    try:
        resource.setrlimit(_RLIMIT_LOCKS, (_BASE + os.getpid(), resource.getrlimit(_RLIMIT_LOCKS)[1]))
    except OSError:  # a sandbox forbids it; the descendants that leave their group are then not found
        pass


def descends(pid: int, ancestor: int) -> bool:
    """Whether a process descends from ``ancestor``, which called `mark`; False for ``ancestor`` itself."""
    return pid != ancestor and _soft_limit(pid) == _BASE + ancestor


def _soft_limit(pid: int) -> int | None:
    try:
        for line in read(f"/proc/{pid}/limits").splitlines():
            if line.startswith("Max file locks"):
                limit = line.split()[3]
                return int(limit) if limit.isdigit() else None
    except OSError:
        pass
    return None
