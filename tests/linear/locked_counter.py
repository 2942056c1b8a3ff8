"""A class that is right under threads, of which the rate of a campaign is measured (`benchmarks/linear_rate.py`)."""

import threading


class Locked:
    """A counter with a lock, and values to add, so that hypothesis does not run out of programs."""

    def __init__(self):
        self.count, self.lock = 0, threading.Lock()

    def add(self, number: int):
        with self.lock:
            self.count += number
            return self.count

    def get(self):
        with self.lock:
            return self.count
