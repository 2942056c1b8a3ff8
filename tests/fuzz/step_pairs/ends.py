"""What happens when an object ends: weak references, their callbacks, finalizers."""

import weakref

from .pair import Pair, Shared, locked


class Kept:
    pass


class WeakCache(Shared):
    """The entry ends between the question and the look-up."""

    def __init__(self):
        super().__init__()
        self.held = Kept()
        self.cache = weakref.WeakValueDictionary(key=self.held)

    def first(self):
        if "key" in self.cache:
            self.seen.append(self.cache["key"])

    def second(self):
        self.held = None


class WeakTarget(Shared):
    def __init__(self):
        super().__init__()
        self.held = Kept()
        self.held.name = "kept"
        self.target = weakref.ref(self.held)

    def first(self):
        if self.target() is not None:
            self.seen.append(self.target().name)

    def second(self):
        self.held = None


class Counted:
    def __init__(self, owner):
        self.owner = owner
        owner.live += 1

    def __del__(self):
        live = self.owner.live
        self.owner.live = live - 1


class FinalizedCount(Shared):
    """Finalizers run in whichever thread drops the last reference."""

    def __init__(self):
        super().__init__()
        self.live = 0
        self.one, self.other = Counted(self), Counted(self)

    def first(self):
        self.one = None

    def second(self):
        self.other = None


class CallbackCount(Shared):
    def __init__(self):
        super().__init__()
        self.ended = 0
        self.one, self.other = Kept(), Kept()
        self.watched = [weakref.ref(self.one, self.gone), weakref.ref(self.other, self.gone)]

    def gone(self, _):
        self.ended += 1

    def first(self):
        self.one = None

    def second(self):
        self.other = None


PAIRS = (
    Pair(WeakCache, locked(WeakCache)),
    Pair(WeakTarget, locked(WeakTarget)),
    Pair(FinalizedCount, locked(FinalizedCount), lambda state: state.live == 0),
    Pair(CallbackCount, locked(CallbackCount), lambda state: state.ended == 2),
)
