"""Two stores of one thread, beside one step in C of another thread that reads what both store, or the other way round.

Each is (the two stores or reads, the one step), as functions of the state; `beside_loops` makes threads of them.
"""

import functools
import operator
import struct
import threading
import types
import zlib

from . import supposed_names


class State:
    def __init__(self):
        self.lock = threading.Lock()
        self.seen = []
        self.by_name = {"a": 0, "b": 0}
        self.rows = [0, 0]
        self.buffer = bytearray(2)
        self.space = types.SimpleNamespace(a=0, b=0)


def store_by_name(s):
    s.by_name["a"] = 1
    s.by_name["b"] = 1


def store_rows(s):
    s.rows[0] = 1
    s.rows[1] = 1


def store_bytes(s):
    s.buffer[0] = 1
    s.buffer[1] = 1


def store_in_space(s):
    s.space.a = 1
    s.space.b = 1


READ_IN_ONE_STEP = {  # with the two answers that are right
    "sum of a map": (store_by_name, lambda s: s.seen.append(sum(map(s.by_name.get, "ab"))), (0, 2)),
    "reduce": (store_rows, lambda s: s.seen.append(functools.reduce(operator.add, s.rows)), (0, 2)),
    "format_map": (store_by_name, lambda s: s.seen.append("{a}{b}".format_map(s.by_name)), ("00", "11")),
    "a checksum": (store_bytes, lambda s: s.seen.append(zlib.crc32(s.buffer)), (zlib.crc32(bytes(2)), zlib.crc32(b"\1\1"))),
    "unpacked": (store_bytes, lambda s: s.seen.append(struct.unpack("2B", s.buffer)), ((0, 0), (1, 1))),
    "attributes of what a list has": (
        store_in_space, lambda s: s.seen.append(list(map(operator.attrgetter("a", "b"), [s.space]))), ([(0, 0)], [(1, 1)])
    ),
}  # fmt: skip

CHANGED_IN_ONE_STEP = supposed_names.CHANGED


def beside_loops(thread, *, locked=False, steps=120):
    """A thread with a long loop before and after what it does, so that few samples switch in there."""

    def run(state):
        rows = []
        for number in range(steps):
            rows.append(number)
        if locked:
            with state.lock:
                thread(state)
        else:
            thread(state)
        for _ in range(steps):
            rows.pop()

    return run
