"""What the heartbeat does between two beats is not charged to the workload."""

import itertools
import time

from pytest_gilcheck.latency import heartbeat
from pytest_gilcheck.latency.heartbeat import Heartbeat
from pytest_gilcheck.latency.run_queue_clock import RunQueueClock
from pytest_gilcheck.latency.window import Window


class SlowToRead(RunQueueClock):
    """As beside a thread that keeps the GIL when a reading releases it."""

    def unattributed(self, late):
        time.sleep(0.3)
        return super().unattributed(late)


def test_moments_that_pass_while_the_probe_reads_its_counters_are_not_intended(monkeypatch):
    monkeypatch.setattr(heartbeat, "RunQueueClock", SlowToRead)
    begin = time.perf_counter()
    probe = Heartbeat([], 0.001)
    probe.start(Window(begin, begin + 1.0, judged=True))
    waits = probe.waits(60)
    assert len(waits) >= 2
    assert all(after.intended - before.ended >= 0.29 for before, after in itertools.pairwise(waits))
