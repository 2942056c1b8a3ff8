"""Waits for files with a timeout are under control, as far as the program itself serves the files."""

import gc
import os
import select
import selectors
import socket
import threading
import time

import pytest

from ..slow import one_in
from .programs import counted

# The sockets of a program may go before the object that closes them, in whatever test the garbage is collected.
pytestmark = pytest.mark.filterwarnings("ignore::ResourceWarning", "ignore::pytest.PytestUnraisableExceptionWarning")
SCHEDULES = 120
SHORT = 0.03  # seconds


@pytest.fixture(autouse=True)
def _collected():
    yield
    gc.collect()


class Wire:
    def __init__(self):
        self.left, self.right = socket.socketpair()
        self.left.setblocking(False)
        self.inlet, self.outlet = os.pipe()
        self.got = None

    def __del__(self):
        self.left.close()
        self.right.close()
        os.close(self.inlet)
        os.close(self.outlet)


def serve(wire):
    wire.right.sendall(b"x")
    os.write(wire.outlet, b"x")


def by_select(wire):
    return bool(select.select([wire.left], [], [], SHORT)[0])


def by_select_of_pipe(wire):
    return bool(select.select([wire.inlet], [], [], SHORT)[0])


def by_selector(wire):
    with selectors.DefaultSelector() as selector:
        selector.register(wire.left, selectors.EVENT_READ)
        return bool(selector.select(SHORT))


def by_selector_of_select(wire):
    with selectors.SelectSelector() as selector:
        selector.register(wire.left, selectors.EVENT_READ)
        return bool(selector.select(SHORT))


@pytest.mark.parametrize("ready", one_in(4, [by_select, by_select_of_pipe, by_selector, by_selector_of_select]))
@pytest.mark.slow
def test_a_wait_for_a_file_may_time_out_beside_a_slow_thread(ready):
    def buggy(wire):
        ready(wire)
        wire.got = ready(wire)

    def fixed(wire):
        while not ready(wire):
            pass
        wire.got = True

    def got(wire):
        return wire.got is True

    found = counted(serve, buggy, setup=Wire, invariant=got, schedules=SCHEDULES)
    found.assert_violated()
    assert found.replays == (10, 10), str(found)
    counted(serve, fixed, setup=Wire, invariant=got, schedules=SCHEDULES // 4).assert_holds()


@pytest.mark.slow
def test_a_file_that_nobody_under_control_serves_is_really_waited_for():
    ours, theirs = socket.socketpair()

    def echo():
        while data := theirs.recv(1):
            time.sleep(SHORT)  # so that the wait begins before it is over
            theirs.sendall(data)

    server = threading.Thread(target=echo)
    server.start()
    turn = threading.Lock()

    def ask(state):
        with turn:
            ours.sendall(b"x")
            assert select.select([ours], [], [], 60)[0], "it was served in time"
            ours.recv(1)

    with ours, theirs:
        result = counted(ask, ask, setup=list, schedules=6)
        ours.shutdown(socket.SHUT_RDWR)
        server.join()
    assert result.verdict == "inconclusive", str(result)
    assert "waited for a file that no thread of the program served" in result.reason
