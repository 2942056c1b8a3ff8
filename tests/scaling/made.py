"""Rounds made up to say something definite."""

from pytest_gilcheck.core.team import Lap, ThreadTiming
from pytest_gilcheck.scaling.sampling import LapPair, Round

MS = 1_000_000


def lap(walls, *, denied=0.0, cpu=1.0, sequential=False, switches=(2, 1), counted=True):
    """Timings of these milliseconds from a joint start; shares of them denied a core and on the CPU."""
    timings = tuple(
        ThreadTiming(0, int(wall * MS), int(wall * MS * cpu), int(wall * MS * denied) if counted else None) for wall in walls
    )
    return Lap(timings, switches, sequential)


def pair(speedup, *, threads=2, unit=20.0, denied=0.0, denied_sequential=0.0, cpu=None, counted=True):
    """A sequential lap of ``threads`` units, and a threaded one that is ``speedup`` times as fast."""
    sequential = lap([unit] * threads, denied=denied_sequential, sequential=True, counted=counted)
    wall = unit * threads / speedup
    share = cpu if cpu is not None else min(1.0, speedup / threads)
    return LapPair(sequential, lap([wall] * threads, denied=denied, cpu=share, counted=counted))


def rounds(speedups, *, reference=1.95, reference_denied=0.0, **work):
    """One round for each speedup, beside a reference that reaches ``reference``."""
    threads = work.get("threads", 2)
    return [
        Round(
            i + 1,
            pair(speedup, **work),
            pair(reference, threads=threads, unit=6, denied=reference_denied, cpu=1.0, counted=work.get("counted", True)),
        )
        for i, speedup in enumerate(speedups)
    ]
