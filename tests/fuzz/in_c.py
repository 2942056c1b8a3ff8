"""Programs with two threads that meet in calls of the standard library in C; each is (setup, two threads, invariant).

With `Shared.lock` around both threads each is correct, and it is known what its calls touch.
"""

import bisect
import collections
import collections.abc
import contextvars
import dataclasses
import enum
import functools
import heapq
import io
import random
import threading

NAME = contextvars.ContextVar("NAME")
Pair = collections.namedtuple("Pair", "a b")


class Color(enum.Enum):
    RED = 1


@dataclasses.dataclass
class Point:
    x: int = 0
    y: int = 0


class Shared:
    def __init__(self):
        self.lock = threading.Lock()
        self.first = self.second = None
        self.n = 0
        self.heap, self.sorted = [5, 7], [5, 7]
        self.recent = collections.OrderedDict(a=1, b=1, c=1)
        self.out = io.StringIO()
        self.random = random.Random(3)
        self.error = ValueError([1])
        self.by_class = {}
        self.log = []
        self.add = functools.partial(self.log.append, 1)
        self.point = Point()


_random = random.Random(3)
DRAWN = [_random.random() for _ in range(4)]


def push_and_pop(s, value):
    heapq.heappush(s.heap, value)
    return heapq.heappop(s.heap)


def insort_and_look(s, value):
    bisect.insort(s.sorted, value)
    return bisect.bisect_left(s.sorted, 6)


def use_recently(s, key):
    s.recent.move_to_end(key)
    return next(reversed(s.recent))


def write_twice(s, text):
    s.out.write(text)
    s.out.write(text)


def draw_twice(s, _):
    return [s.random.random(), s.random.random()]


def show_twice(s, _):
    return str(s.error) == str(s.error)


def change_error(s, _):
    s.error.args[0].append(2)


def register(s, value):
    s.by_class[int] = value
    return s.by_class[int]


def call_partly(s, _):
    s.add()
    return len(s.log)


def move_point(s, _):
    s.point.x = 1
    s.point.y = 1


def compare_point(s, _):
    return s.point == Point(1, 0)


def count_beside(s, _):
    """The calls touch nothing that can change."""
    kept = Pair(Color(1).value, 2), Color.RED.name, functools.partial(int, "3"), NAME.set("a"), NAME.get()
    if kept and isinstance(kept, collections.abc.Sequence):
        s.n += 1


def first(call, argument):
    def thread(s):
        s.first = call(s, argument)

    return thread


def second(call, argument):
    def thread(s):
        s.second = call(s, argument)

    return thread


def _both(call, one, other, invariant):
    return Shared, first(call, one), second(call, other), invariant


PROGRAMS = {
    "heapq": _both(push_and_pop, 1, 0, lambda s: (s.first, s.second) == (1, 0)),
    "bisect": _both(insort_and_look, 1, 2, lambda s: {s.first, s.second} == {2, 3}),
    "OrderedDict.move_to_end": _both(use_recently, "a", "b", lambda s: (s.first, s.second) == ("a", "b")),
    "StringIO": _both(write_twice, "a", "b", lambda s: s.out.getvalue() in ("aabb", "bbaa")),
    "Random": _both(draw_twice, 1, 2, lambda s: sorted([s.first, s.second]) == sorted([DRAWN[:2], DRAWN[2:]])),
    "str of an exception": (Shared, first(show_twice, 0), second(change_error, 0), lambda s: s.first),
    "a class as a key": _both(register, 1, 2, lambda s: (s.first, s.second) == (1, 2)),
    "partial": _both(call_partly, 1, 2, lambda s: {s.first, s.second} == {1, 2}),
    "== of a dataclass": (Shared, first(move_point, 0), second(compare_point, 0), lambda s: s.second is False),
    "what touches nothing": _both(count_beside, 1, 2, lambda s: s.n == 2),
}
