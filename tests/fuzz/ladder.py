"""Programs with one racy pair among many visible steps that have nothing to do with it: the ladder that a search climbs.

A thread makes its noise before and after the racy part. Half of the noise is private, on objects of the same class and attribute as
what is racy; the other half is shared, and guarded by a lock.
"""

import threading
from dataclasses import dataclass

STEPS_OF_NOISE = 8  # visible steps of one round of noise, about
PLACES = {"early": 0.0, "middle": 0.5, "late": 1.0}


class Cell:
    def __init__(self, value=0):
        self.value = value


class State:
    def __init__(self):
        self.racy = Cell()
        self.hot = Cell()
        self.guard = threading.Lock()
        self.ready = False
        self.lexer = None
        self.made = 0
        self.first, self.second = threading.Lock(), threading.Lock()
        self.seen = []


class Lexer:
    pass


def lost_update(state, which):
    state.racy.value += 1


def check_then_act(state, which):
    if state.lexer is None:
        state.made += 1
        state.lexer = state.made


def publication(state, which):
    if state.lexer is None:
        lexer = Lexer()
        state.lexer = lexer
        lexer.rules = 1
    assert state.lexer.rules == 1


def lock_order(state, which):
    one, other = (state.first, state.second) if which else (state.second, state.first)
    with one:  # noqa: SIM117 # they are acquired one after the other
        with other:
            pass


RACY = {
    "lost update": (lost_update, lambda state: state.racy.value == 2),
    "check then act": (check_then_act, lambda state: state.made == 1),
    "publication": (publication, None),
    "lock order": (lock_order, None),
}


def noise(state, mine, rounds):
    for _ in range(rounds):
        mine.value += 1
        with state.guard:
            state.hot.value += 1


@dataclass(frozen=True)
class Rung:
    """A program of the ladder.

    Attributes:
        racy: what its racy pair is, a key of `RACY`.
        steps: about how many visible steps its two threads make.
        place: where the pair is, a key of `PLACES`.
        count: the number of threads.
    """

    racy: str
    steps: int
    place: str = "middle"
    count: int = 2

    @property
    def threads(self):
        act, _ = RACY[self.racy]
        rounds = max(1, self.steps // self.count // STEPS_OF_NOISE)
        before = int(rounds * PLACES[self.place])

        def thread(which):
            def run(state):
                mine = Cell()
                noise(state, mine, before)
                act(state, which)
                noise(state, mine, rounds - before)

            return run

        return [thread(which % 2) for which in range(self.count)]

    @property
    def invariant(self):
        if self.racy == "lost update":
            return lambda state: state.racy.value == self.count
        return RACY[self.racy][1]
