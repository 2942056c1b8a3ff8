"""What a thread does to an object that it shares, in one call in C: several steps where there is no GIL, or one on every build."""

import bisect
import collections
import collections.abc
import functools
import heapq
import io
import itertools
import json
import operator
import statistics
import threading


class Shared:
    def __init__(self):
        self.lock = threading.Lock()
        self.counts, self.lists = collections.Counter(), collections.defaultdict(list)
        self.recent, self.table = collections.OrderedDict(), {1: 1}
        self.own_recent, self.stored, self.own_lists, self.own_rows = Ordered(), Recent(), Lists(list), Rows([1, 2])
        self.pop_first = functools.partial(heapq.heappop, [1, 2, 3])
        self.heap, self.rows, self.raw = [5, 7], [1, 2], bytearray()
        self.out = io.BytesIO()
        self.numbers, self.pairs, self.tickets = iter([1, 2, 3]), zip([1, 2, 3], [1, 2, 3], strict=True), itertools.count()
        self.taken, self.objects, self.turns = collections.deque([1]), [], itertools.cycle([1, 2])
        self.queues, self.own_objects = collections.defaultdict(collections.deque), collections.defaultdict(lambda: object())
        self.seen, self.handle = [], Handler()
        self.taken_names, self.latest = {0}, collections.deque([1, 2], 2)
        self.point, self.named, self.pair = Point(), {"x": 0, "y": 0}, ([], [])


def see(shared, value):
    shared.seen.append(value)


class Ordered(collections.OrderedDict):
    pass


class Recent(collections.OrderedDict):
    def __setitem__(self, key, value):
        super().__setitem__(key, value)


class Lists(collections.defaultdict):
    pass


class Rows(list):
    pass


class Point:
    def __init__(self):
        self.x = self.y = 0


def match_attributes(s):
    match s.point:
        case Point(x=x, y=y):
            see(s, (x, y))
    s.point.x = 1
    s.point.y = 1


def both_keys(s):
    s.named["x"] = 1
    s.named["y"] = 1


def match_keys(s):
    match s.named:
        case {"x": x, "y": y}:
            see(s, (x, y))
    both_keys(s)


def add_both(s):
    names = s.taken_names
    names |= {1, 2}
    see(s, len(names))


def both_lists(s):
    for rows in s.pair:
        rows.append(1)


SEVERAL_STEPS = {
    "Counter.update": lambda s: s.counts.update("ab"),
    "heappush": lambda s: heapq.heappush(s.heap, 6),
    "insort": lambda s: bisect.insort(s.heap, 6),
    "a missing key of a defaultdict": lambda s: s.lists["a"],
    "an item of an OrderedDict": lambda s: s.recent.update(a=1),
    "BytesIO": lambda s: s.out.write(b"ab"),
    "bytearray": lambda s: s.raw.append(1),
    "the iterator of a list": lambda s: next(s.numbers),
    "zip": lambda s: next(s.pairs),
    "sum beside an append": lambda s: (see(s, sum(s.rows)), s.rows.append(3)),
    "sum(*rows) beside an append": lambda s: (see(s, sum(*(s.rows,))), s.rows.append(3)),
    "a partial": lambda s: s.pop_first(),
    "an item of a derived OrderedDict": lambda s: s.own_recent.update(a=1),
    "a method of OrderedDict itself": lambda s: collections.OrderedDict.__setitem__(s.stored, "a", 1),
    "a missing key of a derived defaultdict": lambda s: s.own_lists["a"],
    "sum of a derived list beside an append": lambda s: (see(s, sum(s.own_rows)), s.own_rows.append(3)),
    "max of a dictionary beside a new key": lambda s: (see(s, max(s.table)), s.table.update({len(s.table) + 1: 1})),
    "json.dumps beside an append": lambda s: (see(s, json.dumps(s.rows)), s.rows.append(3)),
    "json.dumps of a dictionary beside a new key": lambda s: (see(s, json.dumps(s.table)), s.table.update({len(s.table) + 1: 1})),
    "repr of a deque beside an append": lambda s: (see(s, repr(s.taken)), s.taken.append(1)),
    "an f-string of a deque beside an append": lambda s: (see(s, f"{s.taken}"), s.taken.append(1)),
    "deque * 2 beside an append": lambda s: (see(s, s.taken * 2), s.taken.append(1)),
    "sort beside len": lambda s: (s.heap.sort(), see(s, len(s.heap))),
    "max by a key beside a new key": lambda s: (see(s, max(s.table, key=s.table.get)), s.table.update({len(s.table) + 1: 1})),
    "dict.update beside len": lambda s: (s.table.update({2: 2, 3: 3}), see(s, len(s.table))),
    "|= of a set beside len": add_both,
    "deque.extend beside len": lambda s: (s.taken.extend((1, 2)), see(s, len(s.taken))),
    "list.extend of a text beside len": lambda s: (s.rows.extend("ab"), see(s, len(s.rows))),
    "append to a full deque beside len": lambda s: (s.latest.append(1), see(s, len(s.latest))),
    "a pattern of two attributes": match_attributes,
    "a pattern of two keys": match_keys,
    "itemgetter of two keys": lambda s: (see(s, operator.itemgetter("x", "y")(s.named)), both_keys(s)),
    "the text of a tuple of lists": lambda s: (see(s, str(s.pair)), both_lists(s)),
    "== of tuples of lists": lambda s: (see(s, s.pair == ([], [1])), both_lists(s)),
    "functools.reduce beside an append": lambda s: (see(s, functools.reduce(operator.add, s.rows)), s.rows.append(3)),
    "fmean beside an append": lambda s: (see(s, statistics.fmean(s.rows)), s.rows.append(3)),
    "itertools.chain beside an append": lambda s: (see(s, list(itertools.chain(s.rows, [1]))), s.rows.append(3)),
    "heappush of objects": lambda s: heapq.heappush(s.objects, (1, s.lock)),
    "itertools.cycle": lambda s: next(s.turns),
    "a missing key of a defaultdict of queues": lambda s: s.queues["a"],
    "a missing key of a defaultdict of objects": lambda s: s.own_objects["a"],
    "in beside an insert": lambda s: (see(s, 2 in s.rows), s.rows.insert(0, 3)),
}


# No row of the table of trials shows these, so they count on a free-threaded build alone.
WITHOUT_A_ROW = frozenset({
    "sum of a derived list beside an append", "dict.update beside len", "|= of a set beside len", "deque.extend beside len",
    "list.extend of a text beside len", "append to a full deque beside len", "a pattern of two attributes", "a pattern of two keys",
    "itemgetter of two keys", "the text of a tuple of lists", "== of tuples of lists",
})  # fmt: skip


def count_both(s):
    s.counts.update("xy")


def is_counted(s):
    return s.counts["x"] == s.counts["y"] == 2


def put(s):
    s.lists["a"].append(1)


def is_put(s):
    return len(s.lists["a"]) == 2


def add_up(s):
    s.seen.append(sum(s.rows))


def replace_rows(s):
    s.rows[:] = [10, 20]


def is_a_sum(s):
    return s.seen[0] in (3, 30)


LOSING = {
    "Counter.update": ((count_both, count_both), is_counted),
    "a missing key of a defaultdict": ((put, put), is_put),
    "sum beside a store": ((add_up, replace_rows), is_a_sum),
}


def is_some_sum(s):
    return s.seen[0] in (3, 12, 21, 30)


class Handler(collections.abc.Callable):
    """Its calls are code under test, of which each step is seen."""

    def __getattr__(self, name):
        raise AssertionError(f"{name} was asked for")

    def __call__(self, rows):
        return rows[0]


ONE_STEP = {
    "append to a derived list": lambda s: s.own_rows.append(3),
    "list.append": lambda s: s.rows.append(3),
    "list.pop": lambda s: s.rows.pop(0),
    "deque": lambda s: s.taken.append(1),
    "itertools.count": lambda s: next(s.tickets),
    "setdefault": lambda s: s.table.setdefault(3, 4),
    "sorted beside an append": lambda s: (see(s, sorted(s.rows)), s.rows.append(3)),
    "list of a dictionary beside a new key": lambda s: (see(s, list(s.table)), s.table.update({len(s.table) + 1: 1})),
}
