"""N threads that start together, with their timings, all their exceptions and a time limit.

The threads live as long as the team, so that a lap does not include their start. They are daemon threads, because a workload that
never returns must not keep the process alive. Each lap starts them on different cores, as far as there are enough.

No exception of a workload is lost: SystemExit, KeyboardInterrupt, a warning turned into an error and the skip of a test framework
are all raised in the exception group.
"""

from __future__ import annotations

import ctypes
import os
import queue
import threading
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from types import TracebackType
from typing import NoReturn

from . import stacks
from .clocks import context_switches, cpu_with_children_ns, monotonic, perf_counter_ns, run_queue_wait_ns, thread_time_ns
from .cores import CAN_PIN
from .errors import BadValue, ErrorWithCode
from .system import has_children, read

_EXIT = 0.2  # seconds that a thread has to end after it was asked to


@dataclass(frozen=True)
class ThreadTiming:
    """The times of one thread in one lap, in nanoseconds.

    Attributes:
        start, end: by ``time.perf_counter_ns``.
        cpu: CPU time.
        run_queue: time for which the thread was ready to run without a core; None where the kernel does not count it.
    """

    start: int
    end: int
    cpu: int
    run_queue: int | None

    @property
    def wall(self) -> int:
        return self.end - self.start


@dataclass(frozen=True)
class Lap:
    """One run of some threads of a team, at once or one after the other.

    Attributes:
        timings: one for each thread that took part.
        switches: voluntary and involuntary context switches of the process during the lap; None where not counted.
        sequential: whether the threads ran one after the other.
        elsewhere: CPU nanoseconds of other threads of this process, and of child processes that ended in the lap. Whether they had
            a core is in no figure of the threads, which waited for them.
        children: whether this process has child processes that have not been waited for; they may work for the threads.
    """

    timings: tuple[ThreadTiming, ...]
    switches: tuple[int, int] | None = None
    sequential: bool = False
    elsewhere: int = 0
    children: bool = False

    @property
    def wall(self) -> int:
        """Nanoseconds from the first start to the last end; in a sequential lap the sum over the threads, without the gaps."""
        if self.sequential:
            return sum(timing.wall for timing in self.timings)
        return max(timing.end for timing in self.timings) - min(timing.start for timing in self.timings)

    @property
    def thread_time(self) -> int:
        """Wall time in nanoseconds, summed over the threads; at least 1."""
        return max(1, sum(timing.wall for timing in self.timings))

    @property
    def cpu(self) -> int:
        return sum(timing.cpu for timing in self.timings)

    @property
    def run_queue(self) -> int | None:
        """Run-queue time in nanoseconds, summed over the threads; None where the kernel does not count it."""
        waits = [timing.run_queue for timing in self.timings]
        return None if None in waits else sum(wait for wait in waits if wait is not None)

    @property
    def own_wall(self) -> int:
        """The wall time of a sequential lap without the run-queue time of its threads; at least 1 ns."""
        return max(1, self.wall - (self.run_queue or 0))

    @property
    def denied(self) -> float | None:
        """The share of the threads' time in which they were ready to run without a core; None where it is not counted."""
        if self.run_queue is None:
            return None
        return self.run_queue / self.thread_time

    @property
    def blocked(self) -> float:
        """The share of the threads' time in which they neither ran nor were ready to run, as far as that is counted."""
        return max(0.0, 1 - (self.cpu + (self.run_queue or 0)) / self.thread_time)

    @property
    def cores_used(self) -> float:
        """CPU time divided by wall time."""
        return self.cpu / max(1, self.wall)


class TeamHung(ErrorWithCode):
    """A lap did not end within its limit.

    Attributes:
        stacks: the stacks of all threads at the time limit.
        alive: the number of threads that could not be ended and still run.
    """

    finding = ("scaling", "hangs")

    def __init__(self, message: str, stacks: str, alive: int) -> None:
        super().__init__(message)
        self.stacks, self.alive = stacks, alive

    def __str__(self) -> str:
        return f"{self.args[0]}\n{self.stacks}"


class _Abandoned(BaseException):
    """Raised inside a workload that has exceeded its time limit, to end it."""


class Team:
    """``size`` threads that run laps; a context manager.

    Args:
        size: the number of threads.
        name: the beginning of their names.
        argument: the argument that gave their number, for errors.

    Raises:
        BadValue: the system does not allow that many threads.
    """

    def __init__(self, size: int, name: str = "gilcheck", argument: str = "threads") -> None:
        if size > (most := _most_threads()):
            raise BadValue(argument, size, f"at most {most}, the system's limit")
        self._outbox: queue.SimpleQueue[tuple[int, ThreadTiming | BaseException]] = queue.SimpleQueue()
        self._members: list[_Member] = []
        for index in range(size):
            try:
                self._members.append(_Member(f"{name}-{index + 1}", index, self._outbox))
            except (RuntimeError, MemoryError) as error:
                self.close()
                raise refused_thread(index, size, error, argument) from error

    def __enter__(self) -> Team:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        self.close()

    def __len__(self) -> int:
        return len(self._members)

    def idents(self) -> list[int]:
        """The ``threading`` idents of the threads, in order."""
        return [member.ident for member in self._members]

    def run_sequentially(self, call: Callable[[], object], *, limit: float, label: str) -> Lap:
        """Run the call in every thread, one thread after the other; raises as `lap`.

        This is the sequential side of a comparison: the same threads on the same cores. With one thread only, the comparison
            would be
        the speed of one core against the mean of all cores, and the cores of a shared machine differ by up to 2x for seconds.
        """
        laps = [self.lap([call], limit=limit, label=label, first=index) for index in range(len(self))]
        counted = [lap.switches for lap in laps if lap.switches is not None]
        switches = (sum(s[0] for s in counted), sum(s[1] for s in counted)) if len(counted) == len(laps) else None
        timings = tuple(timing for lap in laps for timing in lap.timings)
        elsewhere, children = sum(lap.elsewhere for lap in laps), any(lap.children for lap in laps)
        return Lap(timings, switches, sequential=True, elsewhere=elsewhere, children=children)

    def lap(self, calls: Sequence[Callable[[], object]], *, limit: float, label: str, first: int = 0) -> Lap:
        """Run each call in a thread of its own; all start from one barrier.

        Args:
            calls: one for each thread that takes part, at most ``len(self)``.
            limit: seconds for the whole lap.
            first: index of the first thread that takes part; the next ones follow.
            label: names the lap in errors, for instance ``"round 3, threaded"``.

        Raises:
            BaseExceptionGroup: all exceptions of the threads; each has a note with its thread and lap. It contains a `TeamHung`
                too if a thread did not return.
            TeamHung: a thread did not return within the limit, and no thread raised an exception.
        """
        barrier = threading.Barrier(len(calls))
        deadline = monotonic() + limit
        before, used_before = context_switches(), cpu_with_children_ns()
        members = {member.index: member for member in self._members[first : first + len(calls)]}
        for member, call in zip(members.values(), calls, strict=True):
            member.inbox.put((call, barrier))
        ends: dict[int, ThreadTiming | BaseException] = {}
        while len(ends) < len(calls):
            try:
                index, end = self._outbox.get(timeout=max(0.0, deadline - monotonic()))
            except queue.Empty:
                break
            ends[index] = end
        after, used = context_switches(), cpu_with_children_ns() - used_before
        errors = [_noted(ends[index], index, len(self), label) for index in sorted(ends)]
        raised = [error for error in errors if error is not None]
        if missing := [member for index, member in members.items() if index not in ends]:
            raised.append(_hung(missing, limit, label))
            if len(raised) == 1:
                raise raised[0]
        if raised:
            raise BaseExceptionGroup(f"{label}: {len(raised)} of {len(calls)} threads failed", raised)
        switches = None if before is None or after is None else (after[0] - before[0], after[1] - before[1])
        timings = tuple(end for _, end in sorted(ends.items()) if isinstance(end, ThreadTiming))
        return Lap(timings, switches, elsewhere=max(0, used - sum(timing.cpu for timing in timings)), children=has_children())

    def close(self) -> None:
        """End the threads; a thread that is stuck in a workload is abandoned."""
        for member in self._members:
            member.inbox.put(None)
        for member in self._members:
            member.thread.join(_EXIT)


class _Member:
    """One thread of a team, with its queue of calls."""

    def __init__(self, name: str, index: int, outbox: queue.SimpleQueue[tuple[int, ThreadTiming | BaseException]]) -> None:
        self.inbox: queue.SimpleQueue[tuple[Callable[[], object], threading.Barrier] | None] = queue.SimpleQueue()
        self.index, self.outbox = index, outbox
        self.thread = threading.Thread(target=self._work, name=name, daemon=True)
        self.thread.start()

    @property
    def ident(self) -> int:
        assert self.thread.ident is not None, "a started thread has an ident"
        return self.thread.ident

    def _work(self) -> None:
        cores = sorted(os.sched_getaffinity(0)) if CAN_PIN else []
        home = {cores[self.index % len(cores)]} if len(cores) > 1 else None
        while (job := self.inbox.get()) is not None:
            end: ThreadTiming | BaseException
            try:
                end = _timed(*job, home, cores)
            except BaseException as error:  # any exception of the workload is reported
                end = error
            if isinstance(end, _Abandoned):
                return
            self.outbox.put((self.index, end))
            del job, end  # so that neither the workload nor its exception stays alive until the next lap


def _timed(call: Callable[[], object], barrier: threading.Barrier, home: set[int] | None, cores: list[int]) -> ThreadTiming:
    """Make the call after all threads have reached the barrier.

    Threads that wake together often start on one core, and an idle core takes one of them only at the next scheduler tick: after
    a workload that sleeps, a perfectly parallel kernel of 5 ms measures 1.0x. So each thread waits at the barrier on a core of
    its own, and may run on any core after it. The run-queue clock starts before the barrier, because a late wake-up is a missing
    core too.
    """
    if home is not None:
        os.sched_setaffinity(0, home)
    queue_before = run_queue_wait_ns()
    try:
        barrier.wait()
    finally:
        if home is not None:
            os.sched_setaffinity(0, cores)
    cpu_before, start = thread_time_ns(), perf_counter_ns()
    call()
    end, cpu_after, queue_after = perf_counter_ns(), thread_time_ns(), run_queue_wait_ns()
    waited = None if queue_before is None or queue_after is None else queue_after - queue_before
    return ThreadTiming(start, end, cpu_after - cpu_before, waited)


def raise_plainly(group: BaseExceptionGroup[BaseException]) -> NoReturn:
    """Raise the exception of a first call in one thread without its group, because it does not depend on threads.

    A group of several exceptions is raised as it is. So is one with a KeyboardInterrupt: the user did not press Ctrl-C.
    """
    if len(group.exceptions) > 1 or isinstance(group.exceptions[0], (KeyboardInterrupt, GeneratorExit)):
        raise group
    error = group.exceptions[0]
    if notes := getattr(error, "__notes__", None):
        notes.pop()  # the note with the thread; there was only one
    raise error from None


def _noted(end: ThreadTiming | BaseException, index: int, of: int, label: str) -> BaseException | None:
    if isinstance(end, ThreadTiming):
        return None
    try:
        end.add_note(f"raised in thread {index + 1} of {of}, {label}")
    except Exception:  # the object is frozen or overrides add_note; the exception matters more than the note
        pass
    return end


def _hung(missing: list[_Member], limit: float, label: str) -> TeamHung:
    text = stacks.dump()
    for member in missing:
        ctypes.pythonapi.PyThreadState_SetAsyncExc(ctypes.c_ulong(member.ident), ctypes.py_object(_Abandoned))
    deadline = monotonic() + _EXIT
    for member in missing:
        member.thread.join(max(0.0, deadline - monotonic()))
    alive = sum(member.thread.is_alive() for member in missing)
    names = ", ".join(repr(member.thread.name) for member in missing)
    left = f"; {alive} could not be ended and still run" if alive else ""
    return TeamHung(f"{label}: no end after {limit:g} s in thread {names}{left}", text, alive)


def refused_thread(started: int, wanted: int, error: BaseException, argument: str = "threads") -> BadValue:
    """The error for a check whose next thread the system did not start.

    Args:
        argument: the argument that gave their number.
    """
    return BadValue(argument, wanted, f"at most {started}, the system refused more ({error})")


def _most_threads() -> int:
    """The limit of the kernel and of the control group on threads; a very large number where neither is known."""
    bounds = []
    for path in ("/proc/sys/kernel/threads-max", "/sys/fs/cgroup/pids.max"):
        try:
            bounds.append(int(read(path)))
        except (OSError, ValueError):
            continue
    return min(bounds, default=1_000_000)
