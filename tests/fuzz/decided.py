"""Programs of which the pair of accesses that decides is known: what makes the state, and what the threads do with it."""

import functools
import threading


class Hits:
    def __init__(self):
        self.hits = {}


def hit(s):
    s.hits["a"] = s.hits.get("a", 0) + 1


class Client:
    pass


class Lazy:
    def __init__(self):
        self.client = None
        self.made = 0


def make_once(s):
    if s.client is None:
        s.client = Client()
        s.made += 1
    return s.client


class Cached:
    def __init__(self):
        self.calls = 0
        self.load = functools.lru_cache(self._load)

    def _load(self):
        self.calls += 1
        return 7


def load(s):
    s.load()


class Published:
    def __init__(self):
        self.ready = False
        self.value = None


def publish(s):
    s.ready = True
    s.value = 1


def use(s):
    if s.ready:
        assert s.value == 1


class Counting:
    def __init__(self):
        self.value = 0


def count_up(s):
    s.value = 1
    s.value = 2
    s.value = 3


def see_both(s):
    first = s.value
    second = s.value
    assert (first, second) != (1, 2)


class Queued:
    def __init__(self):
        self.waiting, self.table, self.taken = [1], {"a": 1}, 0

    def is_there(self):
        return "a" in self.table


def take_one(s):
    if not s.waiting:
        return
    s.waiting.pop()


def drop(s):
    if s.is_there():
        del s.table["a"]


class Loading(dict):
    def __init__(self):
        super().__init__()
        self.loads, self.label = 0, Label("x")

    def __missing__(self, key):
        self.loads += 1
        self[key] = value = key.upper()
        return value


class Label(str):
    def __repr__(self):
        return "label"


class Counted(dict):
    def __init__(self):
        super().__init__(a=1)
        self.reads = 0

    def __getitem__(self, key):
        self.reads += 1
        return super().__getitem__(key)


class Computing:
    __slots__ = ("asked",)

    def __init__(self):
        self.asked = 0

    @property
    def __dict__(self):
        self.asked += 1
        return {"asked": 5}


def load_missing(s):
    assert s["a"] == "A"
    assert s.label == "x"


def read_twice(s):
    assert s["a"] == 1


def ask(s):
    s.asked = s.asked + 1


class Prepared:
    """What is made once, by a thread that uses other attributes of the same object before."""

    def __init__(self):
        self.lock = threading.Lock()
        self.value = None
        self.made = 0
        self.count = 0


def prepare_once(s):
    if s.value is None:
        for _ in range(30):
            s.count += 1
        s.value = 1
        s.made += 1


def fail_locked(s):
    try:
        with s.lock:
            old = s.count
            raise KeyError
    except KeyError:
        pass
    s.count = old + 1


def count_each(s):
    for each in (each for each in (1, 2)):
        s.count += each
