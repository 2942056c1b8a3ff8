"""Classes that are derived from a container in C, or stand for one, and programs in which two threads meet in them."""

import abc
import collections
import collections.abc
import threading


class Rows(list):
    def add(self, row):
        self.append(row)
        return len(self)


class Registry(dict):
    def register(self, name):
        if name in self:
            return False
        self[name] = True
        return True

    def __repr__(self):
        return f"{len(self)} names"


class Missing(dict):
    def __missing__(self, key):
        self[key] = value = len(self)
        return value


class Recent(collections.OrderedDict):
    def __getitem__(self, key):
        value = super().__getitem__(key)
        self.move_to_end(key)
        return value

    def __setitem__(self, key, value):
        super().__setitem__(key, value)
        if len(self) > 2:
            del self[next(iter(self))]


class Line(collections.deque):
    def swap(self):
        self.append(self.popleft())
        return list(self)


class Tags(set):
    def tag(self, name):
        new = name not in self
        self.add(name)
        return new


class Groups(collections.defaultdict):
    def count(self, name):
        self[name].append(len(self[name]))
        return self[name][-1]


class Bag(abc.ABC):
    @abc.abstractmethod
    def name(self): ...

    def __init__(self):
        self.rows = []

    def __len__(self):
        return len(self.rows)

    def __iter__(self):
        return iter(self.rows)

    def __getitem__(self, place):
        return self.rows[place]

    def __setitem__(self, place, row):
        self.rows[place] = row

    def __contains__(self, row):
        return row in self.rows

    def add(self, row):
        self.rows.append(row)


class OwnBag(Bag):
    def name(self):
        return "own"


class Folded(collections.abc.MutableMapping):
    def __init__(self):
        self.data = {}

    def __getitem__(self, key):
        return self.data[key.lower()]

    def __setitem__(self, key, value):
        self.data[key.lower()] = value

    def __delitem__(self, key):
        del self.data[key.lower()]

    def __iter__(self):
        return iter(self.data)

    def __len__(self):
        return len(self.data)


def made_once():
    class Once:
        made = None

        def __new__(cls):
            if cls.made is None:
                cls.made = super().__new__(cls)
            return cls.made

    return Once


class Failure(Exception):
    def __init__(self, shared):
        super().__init__(shared.n)
        shared.n += 1


class Shared:
    def __init__(self):
        self.lock = threading.Lock()
        self.rows, self.names, self.missing, self.recent = Rows(), Registry(), Missing(), Recent(a=1)
        self.line, self.tags, self.groups, self.bag, self.folded = Line([1, 2, 3]), Tags(), Groups(list), OwnBag(), Folded()
        self.n = 0
        self.seen = []
        self.once = made_once()


def see(s, value):
    s.seen.append(value)


def add_row(s):
    see(s, s.rows.add(1))


def register(s):
    see(s, s.names.register("a"))


def fill_missing(s):
    see(s, s.missing["a"] + s.missing["b"])


def use_recent(s):
    s.recent["b"] = 1
    see(s, s.recent["b"])
    s.recent["c"] = 1


def swap(s):
    see(s, s.line.swap())


def tag(s):
    see(s, s.tags.tag("a"))


def count_in_group(s):
    see(s, s.groups.count("a"))


def use_bag(s):
    if 1 not in s.bag:
        s.bag.add(1)
    s.bag[0] = s.bag[0] + len(s.bag)
    for row in s.bag:
        see(s, row)


def use_mapping(s):
    s.folded["A"] = s.folded.get("a", 0) + 1


def make_once(s):
    see(s, s.once())


def fail(s):
    try:
        raise Failure(s)
    except Failure as failure:
        see(s, failure.args[0])


PROGRAMS = {
    "list": (add_row, lambda s: s.seen == [1, 2]),
    "dict with a text of its own": (register, lambda s: sorted(s.seen) == [False, True]),
    "dict with missing keys": (fill_missing, lambda s: s.seen == [1, 1]),
    "OrderedDict with items of its own": (use_recent, lambda s: sorted(s.recent) == ["b", "c"]),
    "deque": (swap, lambda s: sorted(s.seen) == [[2, 3, 1], [3, 1, 2]]),
    "set": (tag, lambda s: sorted(s.seen) == [False, True]),
    "defaultdict": (count_in_group, lambda s: sorted(s.seen) == [0, 1]),
    "an abstract class with operators": (use_bag, lambda s: s.seen == [2, 4, 1]),
    "a mapping of collections.abc": (use_mapping, lambda s: s.folded.data == {"a": 2}),
    "__new__ of object": (make_once, lambda s: s.seen[0] is s.seen[1]),
    "__init__ of an exception": (fail, lambda s: sorted(s.seen) == [0, 1]),
}
