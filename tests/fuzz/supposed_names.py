"""Attributes and globals that change through the dictionary which keeps them, in one step, beside two reads."""

import threading

a = b = 0


class Named:
    def __init__(self):
        self.lock = threading.Lock()
        self.seen = []
        self.a = self.b = 0
        self.names = self.__dict__


def make():
    globals().update(a=0, b=0)
    return Named()


def read_attributes(s):
    s.seen.append((s.a, s.b))


def read_globals(s):
    s.seen.append((a, b))


def update(s):
    s.__dict__.update(a=1, b=1)


def update_kept(s):
    s.names.update(a=1, b=1)


def merge(s):
    names = s.__dict__
    names |= {"a": 1, "b": 1}


def replace(s):
    s.__dict__ = {**s.__dict__, "a": 1, "b": 1}


def update_globals(s):
    globals().update(a=1, b=1)


CHANGED = {
    "updated": (read_attributes, update),
    "updated where it is kept": (read_attributes, update_kept),
    "merged": (read_attributes, merge),
    "replaced": (read_attributes, replace),
    "globals": (read_globals, update_globals),
}
