"""The primitives that stand in during a check do what the real ones do."""

import queue
import threading
import time

from .programs import counted


class Reentrant:
    def __init__(self):
        self.first, self.second = threading.RLock(), threading.RLock()


def test_a_queue_gives_its_items_in_the_order_in_which_they_were_put():
    def put(items):
        for number in range(3):
            items.put(number)

    def get(items):
        assert [items.get() for _ in range(3)] == [0, 1, 2]

    counted(put, get, setup=lambda: queue.SimpleQueue(), schedules=30).assert_holds()


def test_a_lock_waits_as_long_as_its_timeout_says():
    def hold(lock):
        with lock:
            time.sleep(1)

    def wait(lock):
        assert lock.acquire(timeout=5)
        lock.release()

    counted(hold, wait, setup=lambda: threading.Lock(), schedules=60).assert_holds()


def test_after_the_inner_release_of_a_reentrant_lock_its_holder_is_still_named():
    def twice(one, other):
        with one:
            with one:
                pass
            time.sleep(0)
            with other:
                pass

    result = counted(
        lambda pair: twice(pair.first, pair.second), lambda pair: twice(pair.second, pair.first), setup=Reentrant, schedules=200
    )
    result.assert_violated()
    assert result.symptom == "deadlock"
    assert "which T1 has" in result.reason
    assert "which T0 has" in result.reason
