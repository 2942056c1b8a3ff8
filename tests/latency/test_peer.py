"""The client process: started in each way, answered, and gone afterwards."""

import os
import signal
import subprocess
import sys
import textwrap
import time
from contextlib import closing

import pytest

from pytest_gilcheck.core.fork_safety import can_fork
from pytest_gilcheck.latency.echo import Echo
from pytest_gilcheck.latency.peer import ClientGone, Peer
from pytest_gilcheck.latency.window import Window

from ..slow import one_in
from ..undecided import undecided

WAYS = [
    pytest.param("fork", marks=pytest.mark.skipif(not hasattr(os, "fork"), reason="no fork here")),
    pytest.param("unix", marks=pytest.mark.skipif(os.name == "nt", reason="sockets are not inherited here")),
    "tcp",
]


def start(way):
    if way == "fork" and (reason := can_fork()) is not None:
        pytest.skip(reason)
    return Peer(way)


def pid_of(peer):
    return peer._life.pid


def alive(pid):
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    return True


def in_a_moment(seconds=0.2, lead=0.01):
    begin = time.perf_counter() + lead
    return Window(begin, begin + seconds, True)


@pytest.mark.parametrize("way", WAYS)
def test_every_request_of_a_window_is_answered_and_timed_from_its_intended_time(way):
    with closing(start(way)) as peer, closing(Echo(peer, [], 0.001)) as echo:
        for _ in range(2):
            window = in_a_moment()
            echo.start(window)
            exchange = echo.exchange(20)
            if len(exchange.waits) <= 5 and max(exchange.oversleeps, default=1.0) > 0.05:
                undecided("the client had no core in this window")
            assert len(exchange.waits) == len(exchange.answers) == len(exchange.oversleeps) > 5
            assert all(window.begin <= wait.intended < window.end for wait in exchange.waits)
            assert all(wait.late >= answer > 0 for wait, answer in zip(exchange.waits, exchange.answers, strict=True))
            assert all(wait.unattributed is None or wait.unattributed >= 0 for wait in exchange.waits)
            assert 0 < exchange.rate < 1000


@pytest.mark.parametrize("way", WAYS)
def test_a_client_is_gone_once_it_is_closed(way):
    peer = start(way)
    pid = pid_of(peer)
    assert alive(pid)
    peer.close()
    assert not alive(pid)


@pytest.mark.parametrize("way", WAYS)
def test_a_client_in_mid_window_is_gone_once_it_is_closed(way):
    peer = start(way)
    pid, echo = pid_of(peer), Echo(peer, [], 0.001)
    echo.start(in_a_moment(60))
    time.sleep(0.05)
    echo.close()
    peer.close()
    assert not alive(pid)


def test_a_client_that_was_killed_is_reported_and_not_waited_for():
    with closing(start("unix" if os.name != "nt" else "tcp")) as peer, closing(Echo(peer, [], 0.001)) as echo:
        echo.start(in_a_moment(60))
        peer._life.program.kill()
        with pytest.raises(ClientGone, match="has ended"):
            echo.exchange(20)


def test_a_client_that_gets_no_answer_is_not_waited_for_longer_than_the_limit():
    with closing(start("unix" if os.name != "nt" else "tcp")) as peer:
        echo = Echo(peer, [], 0.001)
        echo.start(in_a_moment(60))
        with pytest.raises(ClientGone, match=r"no answer within 0\.3 s"):
            echo.exchange(0.3)
        echo.close()


def test_an_interpreter_that_cannot_be_started_is_reported(monkeypatch):
    monkeypatch.setattr(sys, "executable", "/nowhere/python")
    with pytest.raises(ClientGone, match="cannot be started"):
        Peer("unix" if os.name != "nt" else "tcp")


@pytest.mark.skipif(not hasattr(os, "fork"), reason="signals and /proc")
@pytest.mark.parametrize("way", ["fork", "unix", "tcp"])
@pytest.mark.parametrize("forks", one_in(2, [True, False]), ids=["a fork of it lives on", "alone"])
def test_no_client_outlives_a_process_that_is_killed(way, forks):
    """Also where a process that the workload has forked keeps the sockets open."""
    script = textwrap.dedent(f"""
        import os, subprocess, sys, time
        from pytest_gilcheck.latency.echo import Echo
        from pytest_gilcheck.latency.peer import Peer
        from pytest_gilcheck.latency.window import Window
        peer = Peer({way!r})
        grandchild = os.fork() if {forks} else -1
        if grandchild == 0:
            os.close(1)
            time.sleep(8)
            os._exit(0)
        echo = Echo(peer, [], 0.001)
        now = time.perf_counter()
        echo.start(Window(now, now + 60, True))
        print(peer._life.pid, grandchild, flush=True)
        time.sleep(60)
    """)
    run = subprocess.Popen([sys.executable, "-W", "ignore", "-c", script], stdout=subprocess.PIPE, text=True)
    with run:
        client, grandchild = map(int, run.stdout.readline().split())
        time.sleep(0.1)
        run.send_signal(signal.SIGKILL)
    deadline = time.monotonic() + 10
    while alive(client) and not zombie(client) and time.monotonic() < deadline:
        time.sleep(0.02)
    gone = not alive(client) or zombie(client)
    if grandchild > 0:
        os.kill(grandchild, signal.SIGKILL)
    assert gone


def zombie(pid):
    """Dead, but nobody has waited for it: the init process of some containers does not."""
    try:
        with open(f"/proc/{pid}/stat") as file:
            return file.read().rsplit(")", 1)[1].split()[0] == "Z"
    except OSError:
        return False
