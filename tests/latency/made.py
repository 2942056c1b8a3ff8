"""Waits made up to say something definite. Milliseconds in, seconds out."""

from pytest_gilcheck.latency import claim as claims
from pytest_gilcheck.latency import plan as plans
from pytest_gilcheck.latency.judgement import Conditions, Observed
from pytest_gilcheck.latency.lateness import Wait

from ..given import given

PERIOD = 2.0


def claim(source="argument", **values):
    """The claim of these unchecked arguments."""
    return claims.claim(given("latency", source, **values))


def plan(source="argument", **values):
    """The plan of these unchecked arguments."""
    return plans.plan(given("latency", source, **values))


def wait(late, *, at=0.0, own=1.0, counted=True):
    """A wait of which the share ``own`` is shown to be the workload's."""
    start = at / 1e3
    return Wait(start, start + late / 1e3, PERIOD / 1e3, late / 1e3 * (1 - own) if counted else None)


def quiet(n=400, late=0.1):
    return [wait(late, at=PERIOD * index) for index in range(n)]


def stalls(count, late, *, of=400, own=1.0, counted=True):
    """So many stalls of so many milliseconds, and enough moments in time to make up a window."""
    stalled = [wait(late, own=own, counted=counted) for _ in range(count)]
    missing = max(0, of - sum(each.moments for each in stalled))
    return stalled + [wait(0.1, counted=counted) for _ in range(missing)]


def probe(beside, alone=None, name="heartbeat"):
    """Two rounds, with the waits of each kind dealt out to them in turn."""
    alone = quiet() if alone is None else alone
    return Observed(name, [alone[0::3], alone[1::3], alone[2::3]], [beside[0::2], beside[1::2]])


def conditions(**given):
    defaults = {"build": "gil", "workers": 1, "cores": 2, "oversleeps": [[0.0001] * 150] * 2, "stolen": [0.0, 0.0]}
    return Conditions(**(defaults | given))
