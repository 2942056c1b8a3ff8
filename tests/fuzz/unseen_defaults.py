"""A default that is changed: in a file of its own, because all instructions of such a file are visible."""

import threading


class Defaults:
    def __init__(self):
        self.lock, self.same = threading.Lock(), None

        def level(*, value=1):
            return value

        self.level, self.options = level, level.__kwdefaults__


def change_default(s):
    s.options["value"] = 2


def call_twice(s):
    level = s.level
    first = level()
    s.same = first == level()
