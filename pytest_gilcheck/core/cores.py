"""The cores that this process may use: affinity and container quota, and a way to pin threads to some of them."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import PurePosixPath

from .errors import BadValue
from .system import HAS_AFFINITY, entries, read

CAN_PIN = HAS_AFFINITY


def affinity() -> int:
    """The number of cores that the scheduler may run the calling thread on."""
    if HAS_AFFINITY:
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


def quota() -> float | None:
    """The CPU quota of this process's control group, in cores; None without one.

    ``os.cpu_count`` ignores the quota: in a container with ``--cpus 1`` on a machine with 64 cores it returns 64.
    """
    limits = [limit for folder in _control_groups() if (limit := _read_quota(folder)) is not None]
    return min(limits, default=None)


def usable_cores() -> int:
    """The number of cores that the threads of this process can use at once; at least 1.

    Read anew at each call (0.1 ms): affinity and quota can change while the process runs.
    """
    allowed = quota()
    return max(1, affinity() if allowed is None else min(affinity(), int(allowed + 0.01)))


@contextmanager
def pinned(cores: int | None) -> Iterator[None]:
    """Pin the calling thread, and all threads that it starts, to the first ``cores`` of its cores; None changes nothing.

    Linux has one affinity for each thread, and a new thread inherits it from its creator. So the threads to be pinned must start
    inside the block.

    Raises:
        BadValue: more cores than this process may use, or a platform that cannot pin.
    """
    if cores is None:
        yield
        return
    if not CAN_PIN:
        raise BadValue("cores", cores, "no value on this platform, which has no CPU affinity")
    before = os.sched_getaffinity(0)
    if not 1 <= cores <= len(before):
        raise BadValue("cores", cores, f"1 to {len(before)}, the cores this process may use")
    os.sched_setaffinity(0, set(sorted(before)[:cores]))
    try:
        yield
    finally:
        os.sched_setaffinity(0, before)


def _control_groups() -> Iterator[PurePosixPath]:
    """The folders of this process's control groups, v2 and v1, that can hold a CPU quota; innermost first."""
    try:
        lines = read("/proc/self/cgroup").splitlines()
    except OSError:
        return
    for line in lines:
        _, controllers, path = line.split(":", 2)
        if controllers and "cpu" not in controllers.split(","):
            continue
        root = PurePosixPath("/sys/fs/cgroup") if not controllers else PurePosixPath("/sys/fs/cgroup/cpu")
        folder = root / path.lstrip("/")
        yield from (folder, *(parent for parent in folder.parents if parent.is_relative_to(root)))


def _read_quota(folder: PurePosixPath) -> float | None:
    try:
        if "cpu.max" in entries(str(folder)):
            limit, period = read(f"{folder}/cpu.max").split()
            return None if limit == "max" else int(limit) / int(period)
        limit = read(f"{folder}/cpu.cfs_quota_us")
        return None if int(limit) <= 0 else int(limit) / int(read(f"{folder}/cpu.cfs_period_us"))
    except (OSError, ValueError, ZeroDivisionError):
        return None
