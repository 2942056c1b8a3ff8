"""Summaries of runs that are written down: no thread runs."""

from pytest_gilcheck.engine.running.record import Deed
from pytest_gilcheck.engine.schedule import Schedule
from pytest_gilcheck.engine.summary import LOCK, Part, RunSummary, Spot, Touched

NO_PREEMPTION = Schedule()
COUNTER, LIST, ONE_LOCK, OTHER_LOCK = 1, 2, 3, 4  # objects


def reads(thing, part=5):
    return thing, part, Deed.READ


def writes(thing, part=5):
    return thing, part, Deed.WRITE


def acquires(lock):
    return lock, LOCK, Deed.ACQUIRE


def releases(lock):
    return lock, LOCK, Deed.RELEASE


def run(*transitions, schedule=NO_PREEMPTION, **of):
    """The summary of a run: of each transition its thread, and what it touches; all threads can run up to their last one.

    Args:
        of: more of what it touched.
    """
    owners = {point: thread for point, (thread, *_) in enumerate(transitions, 1)}
    parts = {point: [Part(*each) for each in touched] for point, (_, *touched) in enumerate(transitions, 1) if touched}
    last = {thread: point for point, thread in owners.items()}
    others = {point: tuple(each for each in last if each != owner and last[each] > point) for point, owner in owners.items()}
    spans = [(point, owner, others[point]) for point, owner in owners.items()]
    of.setdefault("spots", {point: Spot("mine.py", 1, 2 * point) for point in owners})
    of.setdefault("no_step", {point for point in owners if point > 1 and last[owners[point - 1]] == point - 1})
    touched = Touched(owners, parts, set(owners) - of["no_step"], **of)
    forks = [(point, (owners[point],), owners[point], ()) for point in of["no_step"]]
    return RunSummary(schedule, len(owners), spans=spans, forks=forks, touched=touched)
