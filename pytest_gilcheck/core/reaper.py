"""Kills what a killed process leaves running: the process groups of its children.

A child of ours dies with its parent where the kernel offers that (Linux). Processes that the child started do not: a workload that
forked would outlive a pytest that is killed. So a process with children has a reaper: a small program that is not its child, holds
the reading end of a pipe and knows the process groups to kill. When the writing end closes, for whatever reason, the reaper kills
those groups and exits.

What does not work: ``atexit`` and ``finally`` (they do not run after SIGKILL or ``os._exit``); a thread (it dies with its process);
a reaper that is our own child (``os.wait`` of a test would wait for it, and a test that counts children would count it).
"""

from __future__ import annotations

import os
import subprocess
import sys

from .broken_pipe import without_sigpipe

_PROGRAM = """
import os, signal, sys
for name in ("SIGINT", "SIGTERM", "SIGHUP", "SIGQUIT"):
    signal.signal(getattr(signal, name), signal.SIG_IGN)
if os.fork():
    os._exit(0)
groups, text = set(), b""
while data := os.read(0, 4096):
    *lines, text = (text + data).split(b"\\n")
    for line in lines:
        (groups.add if line[:1] == b"+" else groups.discard)(int(line[1:]))
for group in groups:
    try:
        os.killpg(group, signal.SIGKILL)
    except OSError:
        pass
os._exit(0)
"""

_pipe: int | None = None


def watch(group: int) -> None:
    """Have this process group killed when the calling process is gone, until `release`."""
    _send(b"+%d\n" % group)


def release(group: int) -> None:
    """Stop watching a group that has ended: its number may soon belong to another one."""
    if _pipe is not None:
        _send(b"-%d\n" % group)


def start() -> None:
    """Start the reaper of this process unless it runs; call it before a fork, so that no child has to start one."""
    global _pipe
    if _pipe is not None:
        return
    reading, writing = os.pipe()  # programs do not inherit it; forks close it in `_forget`
    try:
        program = subprocess.Popen(
            [sys.executable, "-I", "-S", "-c", _PROGRAM],
            stdin=reading,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            start_new_session=True,
            cwd="/",
        )
        program.wait()
    finally:
        os.close(reading)
    _pipe = writing


def _send(line: bytes) -> None:
    start()
    assert _pipe is not None, "start has set it"
    try:
        with without_sigpipe():
            os.write(_pipe, line)
    except OSError:  # a test closed the pipe or killed the reaper; the kernel still ends the child where it can
        pass


def _forget() -> None:
    """In a fork: close the parent's pipe, which must close when the parent dies."""
    global _pipe
    if _pipe is not None:
        try:
            os.close(_pipe)
        except OSError:
            pass
        _pipe = None


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_forget)
