"""Everyday code that reads or writes shared objects by an instruction that is easily overlooked."""

import copy
import json

from .pair import Shared, pairs


class ReportOfRows(Shared):
    """A report that is formatted while a row is added."""

    def __init__(self):
        super().__init__()
        self.total, self.rows = 3, [1, 2]

    def first(self):
        rows, total = self.rows, self.total
        self.seen.append((total, f"{rows}"))

    def second(self):
        self.rows.append(4)
        self.total = 7


class PercentReport(ReportOfRows):
    def first(self):
        rows = self.rows
        total = self.total
        text = "%s" % rows  # noqa: UP031
        self.seen.append((total, text))


class Account:
    def __init__(self):
        self.entries = [5]
        self.balance = 5

    def __str__(self):
        return f"{self.balance} {self.entries}"


class LoggedAccount(Shared):
    """A log line of an account, by its ``__str__``."""

    def __init__(self):
        super().__init__()
        self.account = Account()

    def first(self):
        self.seen.append(f"now {self.account}")

    def second(self):
        self.account.balance += 2
        self.account.entries.append(2)


class JobsInTwoLists(Shared):
    """A job is neither idle nor active while it moves."""

    def __init__(self):
        super().__init__()
        self.idle, self.active = ["a"], ["b"]

    def first(self):
        idle, active = self.idle, self.active
        self.seen.append(idle + active)

    def second(self):
        job = self.idle.pop()
        self.active.append(job)


class UsersInTwoSets(Shared):
    def __init__(self):
        super().__init__()
        self.online, self.away = {"ann"}, {"bob"}

    def first(self):
        online, away = self.online, self.away
        everybody = online | away
        self.seen.append(len(everybody))

    def second(self):
        self.online.discard("ann")
        self.away.add("ann")


class MergedSettings(Shared):
    def __init__(self):
        super().__init__()
        self.defaults, self.chosen = {"host": 1, "port": 1}, {}

    def first(self):
        self.seen.append({**self.defaults, **self.chosen})

    def second(self):
        self.chosen["host"] = 2
        self.chosen["port"] = 2


class RouteAndDefault(Shared):
    """A routing table is replaced in two steps."""

    def __init__(self):
        super().__init__()
        self.routes, self.default = {"a": 1}, 1

    def first(self):
        self.seen.append((self.routes["a"], self.default))

    def second(self):
        self.routes, self.default = {"a": 2}, 2


class PoolResetByInit(Shared):
    """A reset that calls the constructor again."""

    def __init__(self):
        if not hasattr(self, "lock"):
            super().__init__()
        self.slots = ["x", "y"]
        self.index = 0

    def first(self):
        self.slots.append("z")
        self.index = 2
        self.seen.append(self.slots[self.index])

    def second(self):
        self.__init__()


class LimitResetByInit(Shared):
    """What only constructors store changes all the same."""

    def __init__(self, low=1, high=2):
        if not hasattr(self, "lock"):
            super().__init__()
        self.low = low
        self.high = high

    def first(self):
        self.seen.append(self.low < self.high)

    def second(self):
        self.__init__(5, 6)


class ClassWideCount(Shared):
    count = 0

    def __init__(self):
        super().__init__()
        type(self).count = 0

    def first(self):
        kind = type(self)
        kind.count = kind.count + 1

    second = first


class MeanOfValues(Shared):
    def __init__(self):
        super().__init__()
        self.values = [2, 4]

    def first(self):
        values = self.values
        if values:
            self.seen.append(sum(values) / len(values))

    def second(self):
        self.values.clear()


class HeaderWithLength(Shared):
    def __init__(self):
        super().__init__()
        self.parts = ["a", "b"]

    def first(self):
        parts = self.parts
        self.seen.append((len(parts), ",".join(parts)))

    def second(self):
        self.parts.append("c")


class BestScore(Shared):
    def __init__(self):
        super().__init__()
        self.scores = {"ann": 3, "bob": 5}

    def first(self):
        best = max(self.scores, key=self.scores.get)
        self.seen.append(self.scores[best])

    def second(self):
        self.scores.pop("bob", None)


class DumpedState(Shared):
    def __init__(self):
        super().__init__()
        self.waiting, self.done = ["job"], []

    def first(self):
        waiting, done = self.waiting, self.done
        self.seen.append(json.dumps(waiting) + json.dumps(done))

    def second(self):
        self.done.append(self.waiting.pop())


class VersionedCopy(Shared):
    def __init__(self):
        super().__init__()
        self.data, self.version = {"v": 0}, 0

    def first(self):
        self.seen.append((copy.copy(self.data)["v"], self.version))

    def second(self):
        self.data["v"] = 1
        self.version = 1


class LoopAfterWarmup(Shared):
    """The second loop is over what is shared."""

    def __init__(self):
        super().__init__()
        self.jobs, self.done, self.closed = ["a"], [], False

    def first(self):
        warm = 0
        for index in range(2):
            warm += index
        for job in self.jobs:
            self.done.append(job)
        self.closed = True

    def second(self):
        if not self.closed:
            self.jobs.append("b")


class BoundsInAList(Shared):
    def __init__(self):
        super().__init__()
        self.bounds = [0, 1]

    def first(self):
        bounds = self.bounds
        low, high = bounds
        self.seen.append(low < high)

    def second(self):
        self.bounds[0] = 5
        self.bounds[1] = 6


class MatchedState(Shared):
    def __init__(self):
        super().__init__()
        self.door = {"state": "open", "owner": None}

    def first(self):
        match self.door:
            case {"state": "locked", "owner": None}:
                self.seen.append("nobody")
            case {"state": state}:
                self.seen.append(state)

    def second(self):
        self.door["state"] = "locked"
        self.door["owner"] = "ann"


class BatchBySlices(Shared):
    def __init__(self):
        super().__init__()
        self.queue = [1, 2, 3, 4]

    def first(self):
        batch = self.queue[:2]
        del self.queue[:2]
        self.seen.extend(batch)

    second = first


class Interned(Shared):
    def __init__(self):
        super().__init__()
        self.index, self.names = {}, []

    def first(self):
        if "word" not in self.index:
            self.index["word"] = len(self.names)
            self.names.append("word")

    second = first


class PopIfAny(Shared):
    def __init__(self):
        super().__init__()
        self.items = ["only"]

    def first(self):
        items = self.items
        if items:
            self.seen.append(items.pop())

    second = first


class PortAllocator(Shared):
    def __init__(self):
        super().__init__()
        self.free = [80, 81]

    def first(self):
        port = min(self.free)
        self.free.remove(port)
        self.seen.append(port)

    second = first


class RoomByProperty(Shared):
    def __init__(self):
        super().__init__()
        self.guests = []

    @property
    def room(self):
        return 1 - len(self.guests)

    def first(self):
        if self.room:
            self.guests.append("guest")

    second = first


class SharedGenerator(Shared):
    """Two threads ask one generator for numbers."""

    def __init__(self):
        super().__init__()
        self.numbers = self.count()

    def count(self):
        number = 0
        while True:
            number += 1
            yield number

    def first(self):
        self.seen.append(next(self.numbers))

    second = first


class Visits:
    def __init__(self):
        self.entered = self.left = 0

    def __enter__(self):
        self.entered += 1

    def __exit__(self, *error):
        self.left += 1


class CountedVisits(Shared):
    def __init__(self):
        super().__init__()
        self.visits = Visits()

    def first(self):
        with self.visits:
            pass

    second = first


class Celsius:
    def __get__(self, owner, kind):
        return owner.values["celsius"]

    def __set__(self, owner, value):
        owner.values["celsius"] = value


class ByDescriptor(Shared):
    celsius = Celsius()

    def __init__(self):
        super().__init__()
        self.values = {"celsius": 0}

    def first(self):
        self.celsius += 1

    second = first


class LostBytes(Shared):
    def __init__(self):
        super().__init__()
        self.buffer, self.frames = bytearray(b"ab"), []

    def first(self):
        frame = bytes(self.buffer)
        self.buffer.clear()
        self.frames.append(frame)

    def second(self):
        self.buffer.extend(b"c")


class RepeatedBytes(Shared):
    """Operators of a buffer read it."""

    def __init__(self):
        super().__init__()
        self.line, self.ended = bytearray(b"ab"), False

    def first(self):
        line = self.line
        self.ended = True
        self.seen.append(line + b"\n")

    def second(self):
        if not self.ended:
            return
        self.line.extend(b"late")


class Base(Shared):
    def __init__(self):
        super().__init__()
        self.count = 0

    def add(self):
        self.count += 1


class ThroughSuper(Base):
    def add(self):
        super().add()

    def first(self):
        self.add()

    second = first


class Tokens(Shared):
    def __init__(self):
        super().__init__()
        self.tokens, self.position = ["a", "b"], 0

    def first(self):
        token = self.tokens[self.position]
        self.position += 1
        self.seen.append(token)

    second = first


class Countdown(Shared):
    def __init__(self):
        super().__init__()
        self.left = 2

    def first(self):
        if (left := self.left) > 0:
            self.left = left - 1

    second = first


class NegatedFlag(Shared):
    def __init__(self):
        super().__init__()
        self.errors, self.ok = [], True

    def first(self):
        errors = self.errors
        self.ok = not errors

    def second(self):
        self.errors.append("late")
        self.ok = False


class ComparedQueues(Shared):
    """Equal queues mean that all is delivered."""

    def __init__(self):
        super().__init__()
        self.sent, self.received, self.finished = [1], [1], False

    def first(self):
        sent, received = self.sent, self.received
        if sent == received:
            self.finished = True

    def second(self):
        if not self.finished:
            self.sent.append(2)


class FlattenedRows(Shared):
    def __init__(self):
        super().__init__()
        self.rows = [[1], [2]]

    def first(self):
        rows = self.rows
        self.seen.append([value for row in rows for value in row])

    def second(self):
        self.rows[0][0], self.rows[1][0] = 3, 4


class ArgumentsOfACall(Shared):
    def __init__(self):
        super().__init__()
        self.pair = [1, 1]

    def first(self):
        self.seen.append(max(*self.pair) - min(*self.pair))

    def second(self):
        self.pair[0] = 2
        self.pair[1] = 2


def no_duplicates(state):
    return len(state.seen) == len(set(state.seen))


PAIRS = pairs(
    (ReportOfRows, lambda state: state.seen[0] in [(3, "[1, 2]"), (7, "[1, 2, 4]")]),
    (PercentReport, lambda state: state.seen[0] in [(3, "[1, 2]"), (7, "[1, 2, 4]")]),
    (LoggedAccount, lambda state: state.seen[0] in ("now 5 [5]", "now 7 [5, 2]")),
    (JobsInTwoLists, lambda state: sorted(state.seen[0]) == ["a", "b"]),
    (UsersInTwoSets, lambda state: state.seen == [2]),
    (MergedSettings, lambda state: len(set(state.seen[0].values())) == 1),
    (RouteAndDefault, lambda state: state.seen[0][0] == state.seen[0][1]),
    (PoolResetByInit, None),
    (LimitResetByInit, lambda state: all(state.seen)),
    (ClassWideCount, lambda state: type(state).count == 2),
    (MeanOfValues, lambda state: state.seen in ([3.0], [])),
    (HeaderWithLength, lambda state: state.seen[0] in [(2, "a,b"), (3, "a,b,c")]),
    (BestScore, None),
    (DumpedState, lambda state: state.seen[0].count("job") == 1),
    (VersionedCopy, lambda state: state.seen[0][0] == state.seen[0][1]),
    (LoopAfterWarmup, lambda state: not state.closed or state.jobs == state.done),
    (BoundsInAList, lambda state: all(state.seen)),
    (MatchedState, lambda state: "nobody" not in state.seen),
    (BatchBySlices, lambda state: sorted(state.seen) == [1, 2, 3, 4]),
    (Interned, lambda state: len(state.names) == 1),
    (PopIfAny, None),
    (PortAllocator, no_duplicates),
    (RoomByProperty, lambda state: len(state.guests) == 1),
    (SharedGenerator, no_duplicates),
    (CountedVisits, lambda state: state.visits.entered == state.visits.left == 2),
    (ByDescriptor, lambda state: state.celsius == 2),
    (LostBytes, lambda state: (b"".join(state.frames) + state.buffer) == b"abc"),
    (RepeatedBytes, lambda state: state.seen == [b"ab\n"]),
    (ThroughSuper, lambda state: state.count == 2),
    (Tokens, lambda state: sorted(state.seen) == ["a", "b"]),
    (Countdown, lambda state: state.left == 0),
    (NegatedFlag, lambda state: not state.ok or not state.errors),
    (ComparedQueues, lambda state: not state.finished or state.sent == [1]),
    (FlattenedRows, lambda state: state.seen[0] in ([1, 2], [3, 4])),
    (ArgumentsOfACall, lambda state: state.seen == [0]),
)
