"""Programs with two threads whose conflict no instruction shows: C copies, asks or stores, or a name means something else.

Each is (setup, two threads, invariant); the broken one in `PROGRAMS`. With `State.lock` around both threads, it is correct.
"""

import collections
import statistics
import threading
import types

from . import unseen_defaults
from .unseen_helper import Job


class State:
    def __init__(self):
        self.lock = threading.Lock()
        self.seen = self.same = None
        self.rows, self.source = [0, 0, 0, 0], [0, 0]
        self.every_second = slice(None, None, 2)


def fill_slice(s):
    s.rows[0:2] = s.source


def fill_every_second(s):
    s.rows[::2] = s.source


def fill_by_a_slice(s):
    s.rows[s.every_second] = s.source


def change_source(s):
    s.source[0] = 1
    s.source[1] = 1


def first_two_alike(s):
    return s.rows[0] == s.rows[1]


def every_second_alike(s):
    return s.rows[0] == s.rows[2]


class Number:
    def __init__(self, value):
        self.value, self.asked = value, 0

    def __index__(self):
        self.asked += 1
        return self.value


class Numbers(State):
    def __init__(self):
        super().__init__()
        self.rows, self.out = [Number(1), Number(2)], bytearray()


def pack(s):
    s.seen = bytes(s.rows)


def extend(s):
    s.out.extend(s.rows)
    s.seen = bytes(s.out)


def swap(s):
    s.rows.reverse()


def packed_whole(s):
    return sorted(s.seen) == [1, 2]


class Scopes(State):
    def __init__(self):
        super().__init__()
        self.parents = []
        self.scopes = collections.ChainMap({}, {"a": 1})


def look_at_parents(s):
    first = s.scopes.parents
    s.same = first.maps == s.scopes.parents.maps


def leave(s):
    del s.scopes.maps[1]


class Jobs(State):
    def __init__(self):
        super().__init__()
        self.status = "none"
        self.job = Job()


def change_status(s):
    s.job._status = "run"


def look_at_status(s):
    first = s.job.status
    s.same = first == s.job.status


class Models(State):
    def __init__(self):
        super().__init__()
        self.meta = type("Meta", (type,), {})
        self.model = self.meta("Model", (), {})


def look_for_registry(s):
    first = hasattr(s.model, "registry")
    s.same = first == hasattr(s.model, "registry")


def install(s):
    s.meta.registry = 1


class Renamed(State):
    def __init__(self):
        super().__init__()
        self.ns = {"rate": 1}
        self.read = types.FunctionType(_template.__code__, self.ns)


def _template():
    return rate


rate = 0


def change_rate(s):
    s.ns["rate"] = 2


def read_twice(s):
    first = s.read()
    s.same = first == s.read()


class Box:
    def __init__(self):
        self.x = 0


class Boxes(State):
    def __init__(self):
        super().__init__()
        self.box = Box()
        self.state = self.box.__reduce_ex__(2)[2]


def change_state(s):
    s.state["x"] = 1


def look_at_x(s):
    first = s.box.x
    s.same = first == s.box.x


class Point:
    __slots__ = ("x",)


def _renamed_point():
    return type("Renamed", (Point,), {"__slots__": (), "amount": Point.x})


class Points(State):
    amount = 0

    def __init__(self):
        super().__init__()
        self.point = _renamed_point()()
        self.point.x = 0


def change_x(s):
    s.point.x = 1


def look_at_amount(s):
    first = s.point.amount
    s.same = first == s.point.amount


class Worn(Exception):
    def __init__(self):
        self.__suppress_context__ = False

    def again(self, code):
        super().__init__(code, "x")


class Errors(State):
    args = ()

    def __init__(self):
        super().__init__()
        self.error = Worn()


def raise_it_from_none(s):
    try:
        raise s.error from None
    except Worn:
        pass


def look_at_suppress(s):
    error = s.error
    first = error.__suppress_context__
    s.same = first == error.__suppress_context__


def initialise_again(s):
    s.error.again(7)


def look_at_args(s):
    first = s.error.args
    s.same = first == s.error.args


class Namespace(State):
    code = compile("n += 1", "<rule>", "exec")

    def __init__(self):
        super().__init__()
        self.ns = {"n": 0}


def run_rule(s):
    exec(s.code, s.ns)


def same(s):
    return s.same


PROGRAMS = {
    "a slice copies": (State, fill_slice, change_source, first_two_alike),
    "a slice with a step copies": (State, fill_every_second, change_source, every_second_alike),
    "a slice object copies": (State, fill_by_a_slice, change_source, every_second_alike),
    "bytes ask for an index": (Numbers, pack, swap, packed_whole),
    "a bytearray asks for an index": (Numbers, extend, swap, packed_whole),
    "a property of the library": (Scopes, look_at_parents, leave, same),
    "a property in C of a module that never ran": (Jobs, look_at_status, change_status, same),
    "a new attribute of a metaclass": (Models, look_for_registry, install, same),
    "a dict that is a function's globals": (Renamed, read_twice, change_rate, same),
    "the dictionary of an object by another name": (Boxes, look_at_x, change_state, same),
    "a slot by another name": (Points, look_at_amount, change_x, same),
    "an attribute that raise stores": (Errors, look_at_suppress, raise_it_from_none, same),
    "an attribute that an exception's __init__ stores": (Errors, look_at_args, initialise_again, same),
    "a default that is changed": (unseen_defaults.Defaults, unseen_defaults.call_twice, unseen_defaults.change_default, same),
    "code that exec runs": (Namespace, run_rule, run_rule, lambda s: s.ns["n"] == 2),
}


class Groups(State):
    def __init__(self):
        super().__init__()
        self.groups = collections.defaultdict(lambda: [])  # noqa: PIE807 # a function, which C enters
        self.jobs = {"a": 1, "b": 2, "c": 3}
        self.rows = [3, 1, 2]


def append_to_group(s):
    s.groups["k"].append(1)


def least_job(s):
    s.seen = min(s.jobs, key=lambda name: name)


def remove_job(s):
    s.jobs.pop("b")


def sort_rows(s):
    s.rows.sort(key=lambda row: row)


def look_whether_there_are_rows(s):
    s.seen = len(s.rows)


ENTERED = {  # C calls a function that does nothing which others can notice
    "the factory of a defaultdict": (Groups, append_to_group, append_to_group, lambda s: len(s.groups["k"]) == 2),
    "the key of a minimum": (Groups, least_job, remove_job, None),
    "the key of a sort": (Groups, sort_rows, look_whether_there_are_rows, lambda s: s.seen == 3),
}


class Shared(State):
    def __init__(self):
        super().__init__()
        self.counts = collections.Counter(a=5)
        self.users = collections.UserDict()
        self.found = []
        self.config = {"a": [0], "b": [0]}


def subtract(s):
    s.counts.subtract(a=1)


def set_default(s):
    s.found.append(s.users.setdefault("a", []))


def copy_config(s):
    import copy

    s.seen = copy.deepcopy(s.config)


def update_config(s):
    s.config.update(a=[1], b=[1])


LIBRARY = {  # code of the standard library that works on shared objects in several steps
    "Counter.subtract": (Shared, subtract, subtract, lambda s: s.counts["a"] == 3),
    "UserDict.setdefault": (Shared, set_default, set_default, lambda s: s.found[0] is s.found[1]),
    "copy.deepcopy": (Shared, copy_config, update_config, lambda s: s.seen["a"] == s.seen["b"]),
}


class Waiting(State):
    def __init__(self):
        super().__init__()
        self.condition, self.items, self.ready = threading.Condition(), [], threading.Event()


def wait_for_items(s):
    with s.condition:
        s.condition.wait_for(lambda: s.items)


def notify_too_early(s):
    with s.condition:
        s.condition.notify_all()
    s.items.append(1)


def notify_in_time(s):
    with s.condition:
        s.items.append(1)
        s.condition.notify_all()


def wait_for_an_event(s):
    with s.condition:
        s.condition.wait_for(s.ready.is_set)


def set_too_late(s):
    with s.condition:
        s.condition.notify_all()
    s.ready.set()


def set_in_time(s):
    with s.condition:
        s.ready.set()
        s.condition.notify_all()


class Averaged(State):
    def __init__(self):
        super().__init__()
        self.rows = [1, 1]


def average_rows(s):
    s.seen = statistics.fmean(s.rows)


def append_row(s):
    s.rows.append(1)
