"""A search where the system does not tell whether a thread sleeps: what cannot be told is never a violation."""

import os
import subprocess
import sys

import pytest

PROGRAM = """
import socket, sys
from pytest_gilcheck import gilcheck

class Pair:
    def __init__(self):
        self.here, self.there = socket.socketpair()
        self.word, self.turns = b"", 0

def receive(pair):
    pair.word = pair.here.recv(2)

def send(pair):
    pair.turns += 1
    pair.there.send(b"go")

def spin(pair):
    while not pair.word:
        pair.turns += 1

def go(threads):
    result = gilcheck.fuzz(threads=threads, setup=Pair, schedules=30, timeout=1.5)
    print(result.verdict, "|", result.reason)

"""


def verdict(threads, hidden):
    environment = {**os.environ, "GILCHECK_HIDE": hidden}
    command = [sys.executable, "-c", f"{PROGRAM}\ngo({threads})"]
    done = subprocess.run(command, capture_output=True, text=True, env=environment, timeout=100)
    assert done.returncode == 0, done.stderr
    return done.stdout.partition(" | ")[::2]


@pytest.mark.skipif(sys.platform != "linux", reason="what is hidden is what Linux has")
@pytest.mark.parametrize("hidden", ["", "proc,eventfd,affinity,pidfd"])
@pytest.mark.slow
def test_a_wait_in_a_socket_is_undecided_and_a_loop_is_a_hang(hidden):
    waits, why = verdict("[receive, send]", hidden)
    spins, loops = verdict("[spin, spin]", hidden)
    assert waits == "inconclusive", why
    assert ("without /proc" in why) == ("proc" in hidden)
    assert spins == "violated", loops
