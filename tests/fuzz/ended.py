"""Programs that see where an object ends, which C brings about; each buggy one beside its fixed twin. One more has a step in C.

Each thread reads a list many times first, so that few samples switch where it matters.
"""

import io
import re
import struct

from .reached import spend


class State:
    def __init__(self):
        self.pads = [0]
        self.done, self.at_end = False, False
        self.data, self.found = bytearray(b"abcd"), []


def no_early_end(state):
    return not state.at_end


class Raw(io.RawIOBase):
    def __init__(self, state):
        self.state = state

    def close(self):
        self.state.at_end = self.state.done


class WithRaw(State):
    def __init__(self):
        super().__init__()
        self.job = Raw(self)


def steps_in_else(state):
    try:
        pass
    except ValueError:
        pass
    else:
        yield 1
    finally:
        state.at_end = state.done


class WithGenerator(State):
    def __init__(self):
        super().__init__()
        self.job = steps_in_else(self)
        next(self.job)


def hold_for_a_moment(state):
    spend(state)
    mine = state.job
    mine = None  # noqa: F841


def hold_nothing(state):
    spend(state)


def let_go(state):
    state.job = None
    state.done = True
    spend(state)


def export(state):
    spend(state)
    for each in re.finditer(rb"ab", state.data):
        state.found.append(each.start())


def unpack(state):
    spend(state)
    for each in struct.iter_unpack("1s", state.data):
        state.found.append(len(each))


def copied(function):
    def of_copy(state):
        copy = State()
        copy.data, copy.found, copy.pads = bytes(state.data), state.found, state.pads
        function(copy)

    return of_copy


def grow(state):
    state.data.append(65)
    spend(state)


# In a long program, a step in C of which nothing is known.


class WithView(State):
    def __init__(self):
        super().__init__()
        self.view = memoryview(bytearray(2))


def view_add(state):
    spend(state)
    view = state.view
    view[0] = view[0] + 1
    spend(state)


def view_is_two(state):
    return state.view[0] == 2
