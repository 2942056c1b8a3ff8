"""A function with a known number of visible steps, by which `events.check_alone` finds out whether every event arrives."""

from __future__ import annotations

STEPS = 6  # a store, two loads, an addition, a store, a deletion


class Probed:
    """What `probe` works on."""

    def __init__(self) -> None:
        self.value = 0


def probe(thing: Probed) -> None:
    """Make `STEPS` visible steps."""
    thing.value = 1
    thing.value = thing.value + thing.value
    del thing.value
