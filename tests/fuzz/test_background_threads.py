"""Threads that the setup starts: what they may do when the program's own threads have ended, and where nobody controls them."""

import os
import socket
import sys
import threading
import time

import pytest

from pytest_gilcheck import gilcheck

from ..slow import one_in


class Flusher:
    """Writes its rows every ten seconds; ``close`` may write what is left."""

    def __init__(self, at_close):
        self.rows, self.written, self.stopping, self.at_close = [], [], threading.Event(), at_close
        self.thread = threading.Thread(target=self.run)
        self.thread.start()

    def run(self):
        while not self.stopping.wait(10):
            self.flush()

    def flush(self):
        self.written += self.rows
        self.rows = []

    def add(self):
        self.rows.append(1)

    def close(self):
        self.stopping.set()
        self.thread.join()
        if self.at_close:
            self.flush()
        return self.written == [1, 1]


@pytest.mark.slow
@pytest.mark.parametrize(("at_close", "verdict"), [(False, "violated"), (True, "holds")])
def test_no_timeout_of_seconds_ends_between_the_threads_and_the_invariant_that_stops_its_thread(at_close, verdict):
    result = gilcheck.fuzz(
        setup=lambda: Flusher(at_close), threads=[Flusher.add] * 2, invariant=Flusher.close, schedules=100, judge=False
    )
    assert result.verdict == verdict, str(result)


class Session:
    """Expires after five minutes, unless it is closed."""

    def __init__(self, seconds=300):
        self.expired, self.hits, self.lock = False, 0, threading.Lock()
        self.timer = threading.Timer(seconds, self.expire)
        self.timer.start()

    def expire(self):
        self.expired = True

    def hit(self):
        with self.lock:
            self.hits += 1

    def close(self):
        self.timer.cancel()
        self.timer.join()
        return not self.expired


@pytest.mark.parametrize(("seconds", "verdict"), [(300, "holds"), (0.2, "violated")])
def test_a_timer_that_the_invariant_cancels_fires_only_if_it_is_due_within_the_delays_of_a_schedule(seconds, verdict):
    result = gilcheck.fuzz(
        setup=lambda: Session(seconds), threads=[Session.hit] * 2, invariant=Session.close, schedules=100, judge=False
    )
    assert result.verdict == verdict, str(result)


def test_a_thread_of_the_program_that_works_for_a_moment_is_done_before_the_invariant():
    class Jobs:
        done = 0

        def work(self):
            time.sleep(0.1)
            self.done += 1

        def start(self):
            threading.Thread(target=self.work).start()

    gilcheck.fuzz(
        setup=Jobs, threads=[Jobs.start, lambda jobs: None], invariant=lambda jobs: jobs.done == 1, schedules=60
    ).assert_holds()


class Reader:
    """A thread waits for a pipe until ``close``."""

    def __init__(self):
        self.inlet, self.outlet = os.pipe()
        self.n = 0
        self.thread = threading.Thread(target=os.read, args=(self.inlet, 1))
        self.thread.start()

    def add(self):
        self.n += 1

    def close(self):
        os.write(self.outlet, b"x")
        self.thread.join()
        os.close(self.inlet)
        os.close(self.outlet)
        return self.n == 2


class Server(Reader):
    """A thread waits for a connection until ``close``."""

    def __init__(self):
        self.n = 0
        self.server = socket.create_server(("127.0.0.1", 0))
        self.thread = threading.Thread(target=lambda: self.server.accept()[0].close())
        self.thread.start()

    def close(self):
        socket.create_connection(self.server.getsockname()).close()
        self.thread.join()
        self.server.close()
        return self.n == 2


@pytest.mark.slow
@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="whether a thread sleeps is seen in /proc")
@pytest.mark.parametrize("kind", one_in(2, [Reader, Server]))
def test_beside_a_thread_that_waits_for_a_file_a_race_is_found_and_a_correct_program_is_undecided_and_neither_hangs(kind):
    lock = threading.Lock()

    def guarded(state):
        with lock:
            state.add()

    racy = gilcheck.fuzz(setup=kind, threads=[kind.add] * 2, invariant=kind.close, schedules=40, judge=False)
    assert racy.verdict == "violated", str(racy)
    correct = gilcheck.fuzz(setup=kind, threads=[guarded] * 2, invariant=kind.close, schedules=40, judge=False)
    assert correct.verdict == "inconclusive", str(correct)
    assert correct.why == "partly uncontrolled"
    assert correct.told.startswith("T2"), correct.told


@pytest.mark.slow
def test_a_setup_that_waits_for_what_never_comes_is_not_explorable_and_ends():
    def stuck():
        inlet, outlet = os.pipe()
        thread = threading.Thread(target=os.read, args=(inlet, 1), daemon=True)
        thread.start()
        thread.join()
        return outlet

    result = gilcheck.fuzz(setup=stuck, threads=[lambda outlet: None] * 2, budget=1, judge=False)
    assert result.verdict == "inconclusive", str(result)
    assert "stuck" in result.reason or "has not ended" in result.reason, result.reason
    assert result.seconds < 30
