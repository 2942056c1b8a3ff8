"""Names that are rebound without an instruction that stores them."""

from unittest import mock

from .pair import Shared, pairs

LIMIT, BURST = 1, 1


def fetch():
    return "real"


def fake():
    return "fake"


class ThroughGlobals(Shared):
    """A configuration is read while it is replaced."""

    def __init__(self):
        super().__init__()
        globals().update(LIMIT=1, BURST=1)

    def first(self):
        self.seen.append((LIMIT, BURST))

    def second(self):
        globals()["LIMIT"] = 2
        globals()["BURST"] = 2


class LeakingPatch(Shared):
    """One thread replaces a function for itself, and the other meets it."""

    def first(self):
        self.seen.append(fetch())

    def second(self):
        with mock.patch(f"{__name__}.fetch", new=fake):
            self.lock.acquire()
            self.lock.release()


class AppliedSettings(Shared):
    def __init__(self):
        super().__init__()
        self.host, self.port = "a", 1

    def first(self):
        self.seen.append((self.host, self.port))

    def second(self):
        for name, value in (("host", "b"), ("port", 2)):
            setattr(self, name, value)


class DroppedConnection(Shared):
    def __init__(self):
        super().__init__()
        self.connection = "open"

    def first(self):
        if hasattr(self, "connection"):
            self.seen.append(self.connection)

    def second(self):
        delattr(self, "connection")


class UpdatedDictionary(Shared):
    def __init__(self):
        super().__init__()
        self.low, self.high = 0, 1

    def first(self):
        self.seen.append(self.low < self.high)

    def second(self):
        values = vars(self)
        values["low"] = 5
        values["high"] = 6


class MadeByExec(Shared):
    """Code that has no file."""

    def __init__(self):
        super().__init__()
        self.count = 0
        names = {}
        exec("def add(state):\n    count = state.count\n    state.count = count + 1\n", names)
        self.add = names["add"]

    def first(self):
        self.add(self)

    second = first


PAIRS = pairs(
    (ThroughGlobals, lambda state: state.seen[0][0] == state.seen[0][1]),
    (LeakingPatch, lambda state: state.seen == ["real"]),
    (AppliedSettings, lambda state: state.seen[0] in [("a", 1), ("b", 2)]),
    (DroppedConnection, None),
    (UpdatedDictionary, lambda state: all(state.seen)),
    (MadeByExec, lambda state: state.count == 2),
)
