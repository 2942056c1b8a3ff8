"""Objects whose class is changed: their methods and attributes change with it, and no instruction stores any of them."""

from .pair import Shared, pairs


class Low:
    low, high = 0, 1


class High:
    low, high = 8, 9


class ChangedClass(Shared):
    """The limits of a level are read while it becomes another one."""

    def __init__(self):
        super().__init__()
        self.level = Low()

    def first(self):
        self.seen.append((self.level.low, self.level.high))

    def second(self):
        self.level.__class__ = High


PAIRS = pairs((ChangedClass, lambda state: state.seen[0] in [(0, 1), (8, 9)]))
