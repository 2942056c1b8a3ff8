import linecache
import queue
import sys
import threading
from dataclasses import dataclass

import pytest

from pytest_gilcheck.scaling import watch


@pytest.mark.parametrize(
    ("line", "found"),
    [
        ("with lock:", [("lock",)]),
        ("    with self._lock:", [("self", "_lock")]),
        ("with a.b.c as x, other:", [("a", "b", "c"), ("other",)]),
        ("async with gate:", [("gate",)]),
        ("self.lock.acquire()", [("self", "lock")]),
        ("if lock.acquire(timeout=3):", [("lock",)]),
        ("with open(path) as file:", []),
        ("without = lock", []),
        ("x = 'with lock:'", []),
        ("with (", []),
    ],
)
def test_the_locks_a_line_takes(tmp_path, line, found):
    path = tmp_path / "source.py"
    path.write_text(line + "\n")
    linecache.checkcache()
    assert list(watch._lock_expressions(str(path), 1)) == found


class Guarded:
    shared = threading.Lock()

    def __init__(self):
        self.own = threading.Lock()

    @property
    def computed(self):
        pytest.fail("a property of the program was run")


def test_a_lock_is_resolved_through_plain_attributes_and_never_through_a_property():
    import sys

    guarded = Guarded()
    frame = sys._getframe()
    assert watch._resolved(("guarded", "own"), frame) is guarded.own
    assert watch._resolved(("guarded", "shared"), frame) is Guarded.shared
    assert not hasattr(watch._resolved(("guarded", "computed"), frame), "acquire")
    assert watch._resolved(("nowhere", "at", "all"), frame) is None


class Told:
    """A lock that asks where its caller is whenever it is taken or released."""

    def __init__(self):
        self.seen = []

    def acquire(self):
        self.seen.append(watch._lock_taken(sys._getframe(1))[1])

    def release(self):
        self.acquire()

    def __enter__(self):
        self.seen.append(watch._lock_taken(sys._getframe(1))[1])

    def __exit__(self, *_):
        self.seen.append(watch._lock_taken(sys._getframe(1))[1])


def test_a_with_takes_its_lock_at_its_beginning_and_not_at_its_end():
    lock = Told()
    with lock:
        lock.seen.append("inside")
    assert lock.seen == ["lock", "inside", ""]


def test_a_thread_is_at_the_lock_that_it_acquires_until_it_has_it():
    lock = Told()
    lock.acquire()
    lock.seen.append("inside")
    lock.release()
    assert lock.seen[:2] == ["lock", "inside"]


@dataclass
class FrameWithoutLine:
    f_code: object
    f_lineno: None = None
    f_lasti: int = 0


def test_an_instruction_without_a_line_takes_no_lock():
    assert watch._lock_taken(FrameWithoutLine(test_an_instruction_without_a_line_takes_no_lock.__code__)) == (None, "")


def test_a_function_that_ended_with_a_lock_leaves_nobody_at_that_lock():
    places, seen, lock = watch._RecordedPlaces(), [], threading.Lock()

    def locked():
        with lock:
            pass

    def work():
        locked(), seen.append(places.read([threading.get_ident()]))

    thread = threading.Thread(target=places.around(work))
    thread.start()
    thread.join()
    ((spot,),) = [at.values() for at in seen]
    assert (spot.lock, spot.places[0][0]) == (None, work.__code__)


def test_a_line_inside_the_standard_library_is_reported_where_it_was_called():
    stack = (f"{queue.__file__}:137 (Queue.put)", "/home/me/work.py:3 (produce)")
    assert watch._own_line(stack) == "/home/me/work.py:3 (produce), in Queue.put"
    assert watch._own_line(stack[1:]) == "/home/me/work.py:3 (produce)"


def test_a_long_call_is_recorded_only_until_the_sampling_has_ended():
    places, seen = watch._RecordedPlaces(), []

    def work():
        ident = threading.get_ident()
        for number in range(6):
            if number == 3:
                places.stop()
            seen.append((len(places.read([ident])), sys.gettrace() is None))

    thread = threading.Thread(target=places.around(work))
    thread.start()
    thread.join()
    assert seen == [(1, False)] * 3 + [(0, True)] * 3


@pytest.mark.parametrize(("module", "seen"), [("pytest_gilcheck.core.team", False), ("workload", True)])
def test_a_thread_that_waits_for_the_lap_is_in_no_lock_of_the_workload(module, seen):
    names = {"__name__": module}
    exec("def wait(event, begun):\n    begun.set()\n    event.wait()", names)
    event, begun = threading.Event(), threading.Event()
    thread = threading.Thread(target=names["wait"], args=(event, begun))
    thread.start()
    begun.wait()
    try:
        while (frame := sys._current_frames()[thread.ident]).f_code is names["wait"].__code__:
            pass  # it has not come to its wait
        assert (watch._spot(frame) is not None) is seen
    finally:
        event.set()
        thread.join()
