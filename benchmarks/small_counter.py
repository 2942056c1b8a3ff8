"""The program of `small_checks`, in a file whose other words say nothing about it."""

from __future__ import annotations

import threading


class Counter:
    def __init__(self) -> None:
        self.value, self.lock = 0, threading.Lock()

    def add(self) -> None:
        with self.lock:
            self.value += 1


def twice(counter: Counter) -> None:
    counter.add()
    counter.add()


def lost_nothing(counter: Counter) -> bool:
    return counter.value == 4
