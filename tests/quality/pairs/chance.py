"""Unseeded randomness, and orders that depend on addresses."""

from __future__ import annotations

import os
import random
import secrets
import threading
import time
import uuid

from .declare import pair


@pair("chance")
class RandomShard:
    """Counters are spread over random shards; two threads may take the same one."""

    class Buggy:
        def __init__(self):
            self.shards = [0, 0]

        def add(self):
            shard = random.randrange(2)
            self.shards[shard] += 1

    class Fixed(Buggy):
        def __init__(self):
            super().__init__()
            self.locks = [threading.Lock(), threading.Lock()]

        def add(self):
            shard = random.randrange(2)
            with self.locks[shard]:
                self.shards[shard] += 1

    threads = (lambda s: s.add(), lambda s: s.add(), lambda s: s.add())

    def holds(s):
        return sum(s.shards) == 3


@pair("chance")
class ShuffledLocks:
    """Locks are taken in a random order."""

    class Buggy:
        def __init__(self):
            self.locks = [threading.Lock() for _ in range(3)]

        def order(self):
            order = [0, 1, 2]
            random.shuffle(order)
            return order

        def freeze(self):
            order = self.order()
            for index in order:
                self.locks[index].acquire()
            for index in order:
                self.locks[index].release()

    class Fixed(Buggy):
        def order(self):
            return sorted(super().order())

    threads = (lambda s: s.freeze(), lambda s: s.freeze())


class Node:
    """An object with a lock, which sets order by its address."""

    def __init__(self, name):
        self.name, self.lock = name, threading.Lock()


@pair("chance")
class LocksOfSetByAddress:
    """Two sets of the same nodes, of different sizes, are locked in their own orders."""

    class Buggy:
        def __init__(self):
            self.nodes = [Node(number) for number in range(6)]
            self.small = set(self.nodes[:4])
            self.large = set(self.nodes[:4]) | {object() for _ in range(40)}

        def ordered(self, group):
            return [node for node in group if isinstance(node, Node)]

        def lock_all(self, group):
            nodes = self.ordered(group)
            for node in nodes:
                node.lock.acquire()
            for node in nodes:
                node.lock.release()

    class Fixed(Buggy):
        def ordered(self, group):
            return sorted(super().ordered(group), key=lambda node: node.name)

    threads = (lambda s: s.lock_all(s.small), lambda s: s.lock_all(s.large))


@pair("chance")
class LocksInOrderOfId:
    """Given order against the order of ``id()``."""

    class Buggy:
        def __init__(self):
            self.a, self.b = Node("a"), Node("b")

        def pair(self, one, other):
            return one, other

        def both(self, one, other):
            first, second = self.pair(one, other)
            with first.lock, second.lock:
                pass

    class Fixed(Buggy):
        def pair(self, one, other):
            return sorted((one, other), key=id)

    threads = (lambda s: s.both(s.a, s.b), lambda s: s.both(s.b, s.a))


@pair("chance")
class UuidPrefixCollides:
    """Keys are made from a UUID; a free one is looked for, and then stored at."""

    class Buggy:
        def __init__(self):
            self.rows = {}

        def key(self):
            return uuid.uuid4().int % 3

        def insert(self, row):
            key = self.key()
            while key in self.rows:
                key += 1
            self.rows[key] = row

    class Fixed(Buggy):
        def insert(self, row):
            key = self.key()
            while self.rows.setdefault(key, row) is not row:
                key += 1

    threads = (lambda s: s.insert(["a"]), lambda s: s.insert(["b"]), lambda s: s.insert(["c"]))

    def holds(s):
        return len(s.rows) == 3


@pair("chance")
class PathByUrandom:
    """A random bit chooses between a path with a lock and one without."""

    class Buggy:
        def __init__(self):
            self.count, self.lock = 0, threading.Lock()

        def add(self):
            if os.urandom(1)[0] & 1:
                with self.lock:
                    self.count += 1
            else:
                self.count += 1

    class Fixed(Buggy):
        def add(self):
            os.urandom(1)
            with self.lock:
                self.count += 1

    threads = (lambda s: s.add(), lambda s: s.add())

    def holds(s):
        return s.count == 2


@pair("chance")
class PopFromSetOfObjects:
    """A free worker is popped from a set of objects after a test."""

    class Buggy:
        def __init__(self):
            self.free, self.busy = {Node(1)}, []

        def take(self):
            if self.free:
                self.busy.append(self.free.pop())

    class Fixed(Buggy):
        def take(self):
            try:
                self.busy.append(self.free.pop())
            except KeyError:
                pass

    threads = (lambda s: s.take(), lambda s: s.take())

    def holds(s):
        return len(s.busy) == 1


@pair("chance")
class BucketByHash:
    """Objects go into buckets by their hash, which is their address."""

    class Buggy:
        def __init__(self):
            self.buckets, self.lock = [(), ()], threading.Lock()

        def add(self, item):
            at = (hash(item) >> 4) % 2
            self.buckets[at] = (*self.buckets[at], item)

    class Fixed(Buggy):
        def add(self, item):
            with self.lock:
                super().add(item)

    threads = (lambda s: s.add(object()), lambda s: s.add(object()), lambda s: s.add(object()))

    def holds(s):
        return len(s.buckets[0]) + len(s.buckets[1]) == 3


@pair("chance", also=("random",))
class ChoiceOfShrinkingList:
    """``random.choice`` asks for the length, and then for an item."""

    class Buggy:
        def __init__(self):
            self.hosts = ["a", "b"]

        def pick(self):
            return self.hosts[int(random.random() * len(self.hosts))]

        def drop(self):
            self.hosts.pop()

    class Fixed(Buggy):
        def pick(self):
            return random.choice(tuple(self.hosts))

    threads = (lambda s: s.pick(), lambda s: s.drop(), lambda s: s.pick())


@pair("chance")
class TokenBySecrets:
    """Short tokens are tested for uniqueness, and then stored."""

    class Buggy:
        def __init__(self):
            self.owners = {}

        def issue(self, who):
            while (token := secrets.randbelow(3)) in self.owners:
                pass
            self.owners[token] = who

    class Fixed(Buggy):
        def issue(self, who):
            while self.owners.setdefault(secrets.randbelow(3), who) != who:
                pass

    threads = (lambda s: s.issue("a"), lambda s: s.issue("b"))

    def holds(s):
        return len(s.owners) == 2


@pair("chance")
class RandomBackOff:
    """Try-locks with a random back-off; the update is outside the lock."""

    class Buggy:
        def __init__(self):
            self.lock, self.count = threading.Lock(), 0

        def locked(self):
            while not self.lock.acquire(blocking=False):
                time.sleep(random.uniform(0, 0.01))

        def add(self):
            self.locked()
            count = self.count
            self.lock.release()
            self.count = count + 1

    class Fixed(Buggy):
        def add(self):
            self.locked()
            self.count += 1
            self.lock.release()

    threads = (lambda s: s.add(), lambda s: s.add())

    def holds(s):
        return s.count == 2


@pair("chance")
class GlobalSeed:
    """Two threads seed the one global generator, and want their own sequence."""

    class Buggy:
        def draw(self, seed):
            random.seed(seed)
            return random.random()

        def check(self, seed):
            if self.draw(seed) != random.Random(seed).random():
                raise RuntimeError("the draw is not reproducible")

    class Fixed(Buggy):
        def draw(self, seed):
            return random.Random(seed).random()

    threads = (lambda s: s.check(1), lambda s: s.check(2))


@pair("chance", requires="numpy")
class NumpyGenerator:
    """numpy's generator without a seed chooses the slot."""

    class Buggy:
        def __init__(self):
            import numpy

            self.generator, self.hits = numpy.random.default_rng(), [0, 0]
            self.lock = threading.Lock()

        def hit(self):
            slot = int(self.generator.integers(2))
            self.hits[slot] += 1

    class Fixed(Buggy):
        def hit(self):
            with self.lock:
                super().hit()

    threads = (lambda s: s.hit(), lambda s: s.hit(), lambda s: s.hit())

    def holds(s):
        return sum(s.hits) == 3
