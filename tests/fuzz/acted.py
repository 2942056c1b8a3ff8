"""Programs that check and then act: what a thread learns is untrue when it acts on it. And two of which no single pair decides."""

import threading


class Pools:
    """One pool for all who ask, as long as nobody else makes it meanwhile; each thread keeps what it got."""

    def __init__(self):
        self.data, self.lock, self.whole, self.got = {}, threading.Lock(), threading.RLock(), []

    def get(self, key):
        raise NotImplementedError

    def get_alone(self, key):
        with self.whole:
            return self.get(key)


class ByExceptionBehindLocks(Pools):
    def get(self, key):
        try:
            with self.lock:
                self.data[key] = item = self.data.pop(key)
                return item
        except KeyError:
            pool = object()
            with self.lock:
                self.data[key] = pool
            return pool


class ByException(Pools):
    def get(self, key):
        try:
            return self.data[key]
        except KeyError:
            pool = object()
            self.data[key] = pool
            return pool


class ByGet(Pools):
    def get(self, key):
        pool = self.data.get(key)
        if pool is None:
            pool = object()
            self.data[key] = pool
        return pool


class ByIn(Pools):
    def get(self, key):
        if key in self.data:
            return self.data[key]
        pool = object()
        self.data[key] = pool
        return pool


class ByGetBehindLocks(Pools):
    def get(self, key):
        with self.lock:
            pool = self.data.get(key)
        if pool is None:
            pool = object()
            with self.lock:
                self.data[key] = pool
        return pool


class ByNext(Pools):
    def __init__(self):
        super().__init__()
        self.data = []

    def get(self, key):
        pool = next((pool for name, pool in self.data if name == key), None)
        if pool is None:
            pool = object()
            self.data.append((key, pool))
        return pool


def take(pools):
    pools.got.append(pools.get("a"))


def take_alone(pools):
    pools.got.append(pools.get_alone("a"))


def one_pool(pools):
    return pools.got[0] is pools.got[1]


class Sums:
    """Two values that both must be right: the failure goes only if both updates are turned round."""

    def __init__(self):
        self.first = self.second = 0
        self.told = []


def add_to_both(sums):
    first = sums.first
    second = sums.second
    sums.first = first + 1
    sums.second = second + 1


def add_to_first(sums):
    first = sums.first
    sums.told.append(first)
    sums.first = first + 1


def both_right(sums):
    return sums.first == 2 and sums.second == 2


def first_right(sums):
    return sums.first == 2
