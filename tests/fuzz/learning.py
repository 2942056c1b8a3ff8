"""A program of which a search learns something: in a file of its own, because names in a file decide what is constant there."""


class Late:
    """Only a preemption starts the code that stores ``limit``, which counts as constant until then."""

    def __init__(self):
        self.limit, self.ready, self.seen = 1, False, []

    def use(self):
        self.ready = True
        limit = self.limit
        self.seen.append((limit, self.limit))
        self.ready = False

    def raise_limit(self):
        if self.ready:
            self.store()

    def store(self):
        self.limit = 2


def same_twice(state):
    first, second = state.seen[0]
    return first == second
