"""What is put in the place of an operand, so that a call in C is several steps, is let go with the call."""

import sys

from .programs import counted


class Key(str):
    __slots__ = ()


def test_what_is_replaced_on_the_stack_is_let_go():
    rows, taken = [Key("a"), Key("b")], []

    def gathered():
        taken.append(set(rows))

    def reversed_():
        rows[:] = rows[::-1]

    def counts():
        return sys.getrefcount(rows), sys.getrefcount(rows[0]), sys.getrefcount(rows[1])

    before = counts()
    result = counted(gathered, reversed_, invariant=taken.clear, schedules=200)
    assert "without a GIL" in result.reason, "it was not taken apart"
    assert counts() == before
