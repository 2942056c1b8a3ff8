"""Dictionaries, lists and structures made of them: atomic one call at a time, and no longer."""

from bisect import bisect
from collections import OrderedDict
from threading import Lock

from .case import BREAKS, MASKED, case


class Groups:
    """Two threads find no group of that name, and the second replaces the first one's, with what was in it."""

    def __init__(self):
        self.groups = {}

    def add(self, item):
        if "group" not in self.groups:
            self.groups["group"] = []
        self.groups["group"].append(item)


class FixedGroups(Groups):
    def add(self, item):
        self.groups.setdefault("group", []).append(item)


def add_one(state):
    state.add("one")


def add_two(state):
    state.add("two")


def both_in_group(state):
    return set(state.groups["group"]) == {"one", "two"}


CHECK_THEN_ACT = case("check_then_act", Groups, FixedGroups, (add_one, add_two), both_in_group, kind=MASKED)


class GotGroups(Groups):
    """The same by ``get``: threads may switch when it returns."""

    def add(self, item):
        group = self.groups.get("group")
        if group is None:
            group = self.groups["group"] = []
        group.append(item)


GET_OR_ADD = case("get_or_add", GotGroups, FixedGroups, (add_one, add_two), both_in_group, kind=BREAKS)


class Sessions:
    """A session that was there expires before it is looked up."""

    def __init__(self):
        self.lock = Lock()
        self.users = {"token": "ann"}
        self.found = None

    def find(self):
        if "token" in self.users:
            self.found = self.users["token"]

    def expire(self):
        if "token" in self.users:
            del self.users["token"]


class FixedSessions(Sessions):
    def find(self):
        with self.lock:
            super().find()

    def expire(self):
        with self.lock:
            super().expire()


def find(sessions):
    sessions.find()


def expire(sessions):
    sessions.expire()


CHECK_THEN_GET = case("check_then_get", Sessions, FixedSessions, (find, expire), kind=MASKED, symptom="exception")


class Registry:
    """What was just appended is taken for the last."""

    def __init__(self):
        self.lock = Lock()
        self.names = []
        self.index_of_one = self.index_of_two = -1

    def register(self, name):
        self.names.append(name)
        return len(self.names) - 1


class FixedRegistry(Registry):
    def register(self, name):
        with self.lock:
            return super().register(name)


def register_one(registry):
    registry.index_of_one = registry.register("one")


def register_two(registry):
    registry.index_of_two = registry.register("two")


def indices_are_right(registry):
    return registry.names[registry.index_of_one] == "one" and registry.names[registry.index_of_two] == "two"


REGISTRY = case("registry", Registry, FixedRegistry, (register_one, register_two), indices_are_right, kind=BREAKS)


class RecentlyUsed:
    """An entry that was there is thrown out before it is marked as used, or read."""

    def __init__(self):
        self.lock = Lock()
        self.entries = OrderedDict(old=1)

    def get(self, key):
        if key in self.entries:
            self.entries.move_to_end(key)
            return self.entries[key]
        return None

    def put(self, key, value):
        self.entries[key] = value
        if len(self.entries) > 1:
            self.entries.popitem(last=False)


class FixedRecentlyUsed(RecentlyUsed):
    def get(self, key):
        with self.lock:
            return super().get(key)

    def put(self, key, value):
        with self.lock:
            super().put(key, value)


def get_old(cache):
    cache.get("old")


def put_new(cache):
    cache.put("new", 2)


LRU_CACHE = case("lru_cache", RecentlyUsed, FixedRecentlyUsed, (get_old, put_new), kind=BREAKS, symptom="exception")


class Numbers:
    """An iterator that two threads share gives both the same."""

    def __init__(self):
        self.lock = Lock()
        self.number = 0
        self.taken = []

    def __iter__(self):
        return self

    def __next__(self):
        number = self.number
        if number == 2:
            raise StopIteration
        self.number = number + 1
        return number


class FixedNumbers(Numbers):
    def __next__(self):
        with self.lock:
            return super().__next__()


def take_number(numbers):
    numbers.taken.append(next(numbers))


def nothing_taken_twice(numbers):
    return sorted(numbers.taken) == [0, 1]


SHARED_ITERATOR = case("shared_iterator", Numbers, FixedNumbers, (take_number, take_number), nothing_taken_twice, kind=MASKED)


class Prices:
    """A dictionary grows while somebody is going through it."""

    def __init__(self):
        self.prices = {"tea": 2, "milk": 1}
        self.sum = 0

    def add_up(self):
        for what in self.prices:
            self.sum += self.prices[what]

    def offer(self):
        self.prices["coffee"] = 3


class FixedPrices(Prices):
    def add_up(self):
        for what in list(self.prices):
            self.sum += self.prices[what]


def add_up(prices):
    prices.add_up()


def offer(prices):
    prices.offer()


RESIZED_IN_ITERATION = case(
    "resized_in_iteration", Prices, FixedPrices, (add_up, offer), kind=BREAKS, symptom="exception"
)  # fmt: skip


def audit(subject):
    subject.told.append("audit")


def mail(subject):
    subject.told.append("mail")


class Subject:
    """An observer leaves while the others are being told: the one after it is passed over."""

    def __init__(self):
        self.observers = [audit, mail]
        self.told = []

    def tell(self):
        for observer in self.observers:
            observer(self)

    def leave(self):
        self.observers.remove(audit)


class FixedSubject(Subject):
    def tell(self):
        for observer in list(self.observers):
            observer(self)


def tell(subject):
    subject.tell()


def leave(subject):
    subject.leave()


def mail_was_told(subject):
    return "mail" in subject.told


OBSERVERS = case("observers", Subject, FixedSubject, (tell, leave), mail_was_told, kind=BREAKS)


class Topic:
    """A message reaches a subscriber that has just left, and cleared up."""

    def __init__(self):
        self.lock = Lock()
        self.inbox = []
        self.deliver = self.receive

    def receive(self, message):
        self.inbox.append(message)

    def publish(self):
        deliver = self.deliver
        if deliver is not None:
            deliver("news")

    def unsubscribe(self):
        self.deliver = None
        self.inbox = None


class FixedTopic(Topic):
    def publish(self):
        with self.lock:
            super().publish()

    def unsubscribe(self):
        with self.lock:
            super().unsubscribe()


def publish(topic):
    topic.publish()


def unsubscribe(topic):
    topic.unsubscribe()


UNSUBSCRIBE = case("unsubscribe", Topic, FixedTopic, (publish, unsubscribe), kind=BREAKS, symptom="exception")


class Connection:
    def __init__(self):
        self.busy = False


class Pool:
    """Two threads find the same connection free."""

    def __init__(self):
        self.lock = Lock()
        self.connections = [Connection(), Connection()]
        self.first = self.second = None

    def check_out(self):
        for connection in self.connections:
            if not connection.busy:
                connection.busy = True
                return connection
        return None


class FixedPool(Pool):
    def check_out(self):
        with self.lock:
            return super().check_out()


def check_out_first(pool):
    pool.first = pool.check_out()


def check_out_second(pool):
    pool.second = pool.check_out()


def different_connections(pool):
    return pool.first is not pool.second


CONNECTION_POOL = case("connection_pool", Pool, FixedPool, (check_out_first, check_out_second), different_connections, kind=MASKED)


class SharedFile:
    """Two users give it back, both see that nobody is left, and both close it."""

    def __init__(self):
        self.lock = Lock()
        self.users, self.closed = 2, False

    def close(self):
        if self.closed:
            raise ValueError("closed already")
        self.closed = True

    def give_back(self):
        self.users -= 1
        if self.users == 0:
            self.close()


class FixedSharedFile(SharedFile):
    def give_back(self):
        with self.lock:
            super().give_back()


def give_back(file):
    file.give_back()


CLOSED_TWICE = case("closed_twice", SharedFile, FixedSharedFile, (give_back, give_back), kind=MASKED, symptom="exception")


class Document:
    """It is open when that is looked at, and closed when it is used."""

    def __init__(self):
        self.lock = Lock()
        self.text = "text"
        self.size = 0

    def measure(self):
        return len(self.text)

    def look(self):
        if self.text is not None:
            self.size = self.measure()

    def close(self):
        self.text = None


class FixedDocument(Document):
    def look(self):
        with self.lock:
            super().look()

    def close(self):
        with self.lock:
            super().close()


def look(document):
    document.look()


def close(document):
    document.close()


USE_AFTER_CLOSE = case("use_after_close", Document, FixedDocument, (look, close), kind=BREAKS, symptom="exception")


class Node:
    def __init__(self, name, rest=None):
        self.name, self.rest = name, rest


class FreeList:
    """A stack with compare-and-swap. The node at its head is the same one again, but what was below it has gone (ABA)."""

    def __init__(self):
        self.lock = Lock()
        self.head = Node("a", Node("b", Node("c")))
        self.one = self.other = ""

    def swap_head(self, expected, node):
        with self.lock:
            if self.head is not expected:
                return False
            self.head = node
            return True

    def pop(self):
        while True:
            head = self.head
            if self.swap_head(head, head.rest):
                return head

    def push(self, node):
        while True:
            node.rest = self.head
            if self.swap_head(node.rest, node):
                return

    def names(self):
        node = self.head
        while node is not None:
            yield node.name
            node = node.rest


class FixedFreeList(FreeList):
    """What is pushed is a new node, which nobody can take for the old one."""

    def push(self, node):
        super().push(Node(node.name))


def pop_one(nodes):
    nodes.one = nodes.pop().name


def pop_two_and_push_one(nodes):
    top = nodes.pop()
    nodes.other = nodes.pop().name
    nodes.push(top)


def nothing_handed_out_twice(nodes):
    everything = [nodes.one, nodes.other, *nodes.names()]
    return sorted(everything) == ["a", "b", "c"]


ABA = case("aba", FreeList, FixedFreeList, (pop_one, pop_two_and_push_one), nothing_handed_out_twice, kind=BREAKS)


class Routes:
    """A copy with one route more replaces the table; who has copied it before replaces it again."""

    def __init__(self):
        self.lock = Lock()
        self.routes = {}

    def add(self, route):
        self.routes = {**self.routes, route: "handler"}


class FixedRoutes(Routes):
    def add(self, route):
        with self.lock:
            super().add(route)


def both_routes(state):
    return set(state.routes) == {"one", "two"}


COPY_ON_WRITE = case("copy_on_write", Routes, FixedRoutes, (add_one, add_two), both_routes, kind=MASKED)


class Sorted:
    """The place for an item is found, and is another one when the item is put there."""

    def __init__(self):
        self.lock = Lock()
        self.items = [10, 20]

    def add(self, item):
        self.items.insert(bisect(self.items, item), item)


class FixedSorted(Sorted):
    def add(self, item):
        with self.lock:
            super().add(item)


def add_15(items):
    items.add(15)


def add_5(items):
    items.add(5)


def still_sorted(state):
    return state.items == [5, 10, 15, 20]


SORTED_INSERT = case("sorted_insert", Sorted, FixedSorted, (add_15, add_5), still_sorted, kind=BREAKS)


class Board:
    """A task on its way from one list to the other is in none of them."""

    def __init__(self):
        self.lock = Lock()
        self.waiting, self.running = ["task"], []
        self.seen = True

    def start(self):
        self.waiting.remove("task")
        self.running.append("task")

    def look(self):
        self.seen = "task" in self.waiting or "task" in self.running


class FixedBoard(Board):
    def start(self):
        with self.lock:
            super().start()

    def look(self):
        with self.lock:
            super().look()


def start(board):
    board.start()


def seen_somewhere(board):
    return board.seen


MOVE = case("move", Board, FixedBoard, (start, look), seen_somewhere, kind=BREAKS)


CASES = (
    CHECK_THEN_ACT, GET_OR_ADD, CHECK_THEN_GET, REGISTRY, LRU_CACHE, SHARED_ITERATOR, RESIZED_IN_ITERATION, OBSERVERS, UNSUBSCRIBE,
    CONNECTION_POOL, CLOSED_TWICE, USE_AFTER_CLOSE, ABA, COPY_ON_WRITE, SORTED_INSERT, MOVE,
)  # fmt: skip
