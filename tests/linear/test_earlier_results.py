"""Methods of a class take what others have returned, where nobody gave the operations; and what takes nothing is no overlap."""

import threading

import pytest

from pytest_gilcheck import Earlier
from pytest_gilcheck.linear.inferred import inferred

from .test_refused import judged


class Pool:
    """Two connections; one that is given back twice is there once."""

    def __init__(self):
        self.free, self.lock = [1, 2], threading.Lock()

    def acquire(self):
        with self.lock:
            return self.free.pop() if self.free else None

    def release(self, conn):
        if conn not in self.free:
            self.free.append(conn)


class LockedPool(Pool):
    def release(self, conn):
        with self.lock:
            super().release(conn)


class Lease:
    def __init__(self, number):
        self.number, self.ended = number, 0


class Leases:
    def __init__(self):
        self.made, self.ended = 0, 0

    def begin(self) -> Lease:
        self.made = made = self.made + 1
        return Lease(made)

    def finish(self, item: Lease):
        if not item.ended:
            item.ended += 1
            self.ended += 1

    def label(self, text: str) -> str:
        return text


class NeverGives:
    def __init__(self):
        self.value = 0

    def acquire(self):
        if not self.value:
            raise LookupError
        return self.value

    def release(self, conn):
        self.value = conn


def kinds_of(cls):
    return {kind.name: kind for kind in inferred(cls, tuple, {}).kinds}


def test_a_handle_and_a_parameter_of_the_type_that_another_method_returns_are_earlier_results():
    assert kinds_of(Pool)["release"].positional == ((Earlier(0), Earlier(1)),)
    assert kinds_of(Pool)["acquire"].targets != ()
    kinds = kinds_of(Leases)
    assert kinds["finish"].positional == ((Earlier(0), Earlier(1)),)
    assert kinds["label"].positional == (("a", "b", "c", ""),), "of a type that is no handle"


def test_where_no_method_returns_anything_a_handle_is_left_out_with_the_line_to_write():
    class Only:
        def release(self, conn):
            self.conn = conn

        def put(self, value):
            self.value = value

    found = inferred(Only, tuple, {})
    assert [kind.name for kind in found.kinds] == ["put"]
    assert "no value for parameter 'conn'" in found.left_out["release"]


@pytest.mark.parametrize("cls", [Pool, pytest.param(Leases, marks=pytest.mark.slow)])
def test_a_race_for_what_an_earlier_call_has_returned_is_found_and_pasted(cls):
    found = judged(cls, examples=300)
    assert found.verdict == "violated", str(found)
    if cls is Pool:
        assert "release(results[" in found.program
        assert "'release', Earlier(" in found.pasted
        assert "from pytest_gilcheck import Earlier" in found.pasted


def test_a_program_with_earlier_results_can_be_given_and_its_locked_twin_holds():
    program = [("before", "acquire"), (1, "release", Earlier(0)), (2, "release", Earlier(0))]
    assert judged(Pool, program=program).verdict == "violated"
    assert judged(LockedPool, program=program).verdict == "holds"


def test_a_call_that_finds_no_earlier_result_overlaps_nothing():
    found = judged(NeverGives, examples=40)
    assert found.verdict == "inconclusive", str(found)
    assert found.overlapped == 1, "acquire beside itself"
    program = [(1, "release", Earlier(0)), (2, "release", Earlier(0))]
    assert judged(Pool, program=program).verdict == "inconclusive"
