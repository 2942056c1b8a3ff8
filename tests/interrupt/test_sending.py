"""Who gets a signal: as at a terminal, Ctrl-C goes to the whole process group."""

import os
import signal
import subprocess
import sys

import pytest

from pytest_gilcheck.interrupt.sending import send

pytestmark = pytest.mark.skipif(os.name != "posix", reason="no process groups here")
# the leader of a group ignores Ctrl-C, and says which signal ended the process that it started
LEADER = """
import signal, subprocess, sys
signal.signal(signal.SIGINT, signal.SIG_IGN)
other = subprocess.Popen(["cat"], preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL))
print("ready", flush=True)
print(-other.wait(), flush=True)
"""


@pytest.mark.parametrize(("number", "ended_by"), [(signal.SIGINT, f"{signal.SIGINT:d}"), (signal.SIGTERM, "")])
def test_ctrl_c_reaches_the_whole_process_group_and_another_signal_the_leader_alone(number, ended_by):
    command = [sys.executable, "-I", "-S", "-c", LEADER]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, start_new_session=True) as leader:
        assert leader.stdout.readline() == "ready\n"
        send(leader.pid, number)
        leader.stdin.close()  # ends what is still alive
        assert leader.stdout.readline().strip() == ended_by
