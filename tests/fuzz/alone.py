"""Threads that share nothing, or as good as nothing."""

import itertools
import os
import threading
import time


class Own:
    def __init__(self):
        self.lock, self.count, self.mine, self.ready, self.seen = threading.Lock(), 0, [0, 0], False, []


def count_alone(own):
    own = Own()
    for _ in range(4):
        own.count += 1


def count_shared(own):
    count_alone(own)
    own.count += 1


def count_locked(own):
    count_alone(own)
    with own.lock:
        own.count += 1


def announce(own):
    count_alone(own)
    own.ready = True


def share_if_announced(own):
    count_alone(own)
    if own.ready:
        own.seen.append(own.count)
        own.count += 1


def call_c(own):
    count_alone(own)
    next(itertools.compress("1", "1"))


def read_clock(own):
    count_alone(own)
    time.monotonic()


def use_chance(own):
    count_alone(own)
    os.urandom(1)


def start_thread(own):
    started = threading.Thread(target=count_alone, args=(own,))
    started.start()
    started.join()
