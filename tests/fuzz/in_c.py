"""Programs with two threads that meet in calls of the standard library in C; each is (setup, two threads, invariant).

With `Shared.lock` around both threads each is correct, and it is known what its calls touch.
"""

import bisect
import collections
import collections.abc
import contextlib
import contextvars
import dataclasses
import datetime
import decimal
import enum
import functools
import hashlib
import heapq
import io
import json
import random
import threading
import typing

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
        self.rows = [5, 7]
        self.digest = hashlib.sha256()
        self.own = threading.local()


_random = random.Random(3)
DRAWN = [_random.random() for _ in range(4)]


def of_bytes(data):
    return hashlib.sha256(data).hexdigest()


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


@contextlib.contextmanager
def changed(s):
    s.n += 1
    yield s
    s.n -= 1


def change_twice(s, value):
    s.rows[0] -= value
    s.rows[1] += value
    return True


def total(s, _):
    return sum(row for row in s.rows) == 12


def text(s, _):
    return json.dumps(s.rows) in ("[5, 7]", "[4, 8]")


def mapped(s, _):
    return list(map(str, map(abs, s.rows))) in (["5", "7"], ["4", "8"])


def digest_twice(s, data):
    s.digest.update(data)
    s.digest.update(data)


def inside(s, _):
    with changed(s) as same:
        return typing.cast(int, same.n)


def look_up(s, value):
    import math

    s.own.value = datetime.timedelta(days=value), decimal.Decimal("1.5"), Color["RED"], [color.name for color in Color]
    span, number, color, _ = s.own.value
    seconds = (span * 2).days * math.floor(number) + datetime.date(2020, 1, 1).day
    if color == Color.RED and seconds:
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
    "a generator that C goes through": (Shared, first(change_twice, 1), second(total, 0), lambda s: s.second),
    "json.dumps": (Shared, first(change_twice, 1), second(text, 0), lambda s: s.second),
    "map": (Shared, first(change_twice, 1), second(mapped, 0), lambda s: s.second),
    "a digest": _both(digest_twice, b"a", b"b", lambda s: s.digest.hexdigest() in (of_bytes(b"aabb"), of_bytes(b"bbaa"))),
    "a context manager": _both(inside, 0, 0, lambda s: (s.first, s.second, s.n) == (1, 1, 0)),
    "values, members, locals and imports": _both(look_up, 1, 2, lambda s: s.n == 2),
    "what touches nothing": _both(count_beside, 1, 2, lambda s: s.n == 2),
}
