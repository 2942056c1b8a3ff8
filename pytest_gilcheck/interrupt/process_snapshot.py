"""What the kernel knows about a process, read from outside: a thread of a stalled process would be stalled too. Linux only."""

from __future__ import annotations

from dataclasses import dataclass

from ..core.clocks import time
from ..core.interpreter import GIL, build
from ..core.stat import core_times, stat_of
from ..core.system import entries, read

WAS_STOPPED = "was stopped by a signal (SIGSTOP, or a read from the terminal?), so that it handles no other until it is continued"
_HARDLY_IDLE = 0.5  # of one core: with less left by others, on all cores together, whoever is ready to run may have to wait
_AT_ONCE, _TICK = 0.0001, 0.005  # seconds between two readings of the CPU time: exact, or with the lag of a scheduler tick


@dataclass(frozen=True)
class ProcessSnapshot:
    """The state of a process at one moment.

    Attributes:
        main: number of the main thread, which is that of the process.
        running: whether the main thread had a core or was ready for one; otherwise it slept.
        stopped: whether a signal, or a debugger, had stopped it.
        switches: how often the main thread has gone to sleep by itself so far. The number does not change while a thread sleeps;
            a thread that waits for the GIL wakes every switch interval.
        main_cpu, others_cpu: CPU seconds so far, of the main thread and of all others; in scheduler ticks of about 10 ms.
        denied: for each thread by number, seconds so far in which it was ready but had no core; without a
            GIL of the main thread only.
        at: when the snapshot was taken, by ``time.monotonic``.
        uninterruptible: numbers of the threads that waited in the kernel in a way that no signal ends (state D).
        idle: seconds so far in which a core of this machine was idle, of all cores together; None if unknown.
        stolen: for each core by number, seconds so far that the hypervisor took away.
        blocked, ignored, caught, pending: numbers of the signals that the main thread blocks, that the process ignores, that it has
            a handler for, and that are pending for either.
    """

    running: bool
    stopped: bool
    switches: int
    main_cpu: float
    others_cpu: float
    denied: dict[int, float]
    main: int
    blocked: frozenset[int]
    ignored: frozenset[int]
    caught: frozenset[int]
    pending: frozenset[int]
    at: float
    uninterruptible: frozenset[int]
    idle: float | None
    stolen: dict[int, float]

    def asleep_since(self, before: ProcessSnapshot) -> bool:
        """Whether the main thread slept without a break since an earlier snapshot."""
        return not self.running and not before.running and self.switches == before.switches

    def denied_since(self, before: ProcessSnapshot) -> float:
        """Seconds since an earlier snapshot for which the process was denied a core.

        While the main thread sleeps it may wait for the GIL, for which the threads take turns: then what they were denied adds up.
        While it runs they run beside it, as the threads of a BLAS do, and it may spin until the last of them is ready. Time that a
        hypervisor steals is in no figure of a thread: the process may have been on the core that lost most.
        """
        each = {thread: max(0.0, seconds - before.denied.get(thread, 0.0)) for thread, seconds in self.denied.items()}
        own = each.pop(self.main, 0.0)
        asleep = max(0.0, self.at - before.at - own - (self.main_cpu - before.main_cpu))
        stolen = max((seconds - before.stolen.get(core, seconds) for core, seconds in self.stolen.items()), default=0.0)
        return max(own + min(sum(each.values()), asleep), *each.values(), 0.0) + stolen

    def held_by_kernel_since(self, before: ProcessSnapshot) -> frozenset[int]:
        """The threads that wait for the kernel, if other processes have used up the cores since an earlier snapshot.

        Closing an inotify descriptor, say, waits until a thread of the kernel has freed the watches. Beside busy processes that
        takes as long as they let it, and it is in no figure of this process.
        """
        return self.uninterruptible if self.crowded_since(before) else frozenset()

    def crowded_since(self, before: ProcessSnapshot) -> bool:
        """Whether other processes have left less than half a core since an earlier snapshot; False if that is not known."""
        if self.idle is None or before.idle is None:
            return False
        own = self.main_cpu - before.main_cpu + self.others_cpu - before.others_cpu
        return self.idle - before.idle + own < _HARDLY_IDLE * (self.at - before.at)


def take(pid: int) -> ProcessSnapshot | None:
    """A snapshot of a process now; None if the process is gone, or the system does not offer the data."""
    try:
        tasks = entries(f"/proc/{pid}/task")
        main = f"/proc/{pid}/task/{pid}"
        of_main = stat_of(main)
        facts = dict(line.split(":\t", 1) for line in read(f"{main}/status").splitlines() if ":\t" in line)
        others, uninterruptible = 0.0, {pid} if of_main.state == "D" else set()
        denied: dict[int, float] = {}
        for task in tasks:
            path = f"/proc/{pid}/task/{task}"
            try:
                if task == str(pid) or build() == GIL:
                    denied[int(task)] = int(read(f"{path}/schedstat").split()[1]) / 1e9
                if task != str(pid):
                    of_other = stat_of(path)
                    others += of_other.cpu_seconds
                    uninterruptible |= {int(task)} if of_other.state == "D" else set()
            except (OSError, IndexError, ValueError):  # a thread that has ended, or a kernel without scheduler statistics
                continue
        cores = core_times()
        return ProcessSnapshot(
            running=of_main.state == "R",
            stopped=of_main.state in ("T", "t"),
            switches=int(facts["voluntary_ctxt_switches"]),
            main_cpu=of_main.cpu_seconds,
            others_cpu=others,
            denied=denied,
            main=pid,
            at=time.monotonic(),
            uninterruptible=frozenset(uninterruptible),
            idle=cores[None].idle if None in cores else None,
            stolen={core: times.stolen for core, times in cores.items() if core is not None},
            blocked=_numbers(facts["SigBlk"]),
            ignored=_numbers(facts["SigIgn"]),
            caught=_numbers(facts["SigCgt"]),
            pending=_numbers(facts["SigPnd"]) | _numbers(facts["ShdPnd"]),
        )
    except (OSError, KeyError, ValueError):
        return None


def stopped(pid: int) -> bool:
    """Whether a signal has stopped a process now, or a debugger has; False where the system does not tell."""
    snapshot = take(pid)
    return snapshot is not None and snapshot.stopped


def waits_for_core(pid: int) -> bool:
    """Whether the main thread is ready to run and has no core now; False where the system does not tell.

    It has none if its CPU time stands still. The CPU clock of a process is exact at any moment; that of one of several threads is
    known only up to the last scheduler tick.
    """
    main = f"/proc/{pid}/task/{pid}"
    try:
        if stat_of(main).state != "R":
            return False
        alone = len(entries(f"/proc/{pid}/task")) == 1
        before = _cpu_time(pid, main, alone)
        time.sleep(_AT_ONCE if alone else _TICK)
        return stat_of(main).state == "R" and _cpu_time(pid, main, alone) == before
    except (OSError, ValueError, AttributeError, IndexError):
        return False


def _cpu_time(pid: int, main: str, alone: bool) -> int:
    """CPU time of the main thread in nanoseconds."""
    if alone:
        return time.clock_gettime_ns((~pid << 3) | 2)  # what `clock_getcpuclockid` returns on Linux
    return int(read(f"{main}/schedstat").split()[0])


def _numbers(mask: str) -> frozenset[int]:
    bits = int(mask, 16)
    return frozenset(number + 1 for number in range(64) if bits >> number & 1)
