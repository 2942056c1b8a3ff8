"""Ends what a killed parent leaves behind.

A child of ours dies with its parent where the kernel can see to that (Linux). Nothing sees to *its* children: a workload that
forked would live on when pytest is killed outright. So a process that guards others has a warden: a small program, no child of
it, that holds one end of a pipe and knows the process groups to end. When the pipe's other end closes, whatever the reason, it
kills those groups and is gone.

What does not work: ``atexit`` and ``finally`` (SIGKILL, ``os._exit``); a thread (it dies too); a warden that is our own child
(``os.wait`` of a test would wait for it, and a test that counts children would count it).
"""

from __future__ import annotations

import os
import subprocess
import sys

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
    _tell(b"+%d\n" % group)


def release(group: int) -> None:
    """The group has ended; its number may soon be somebody else's."""
    if _pipe is not None:
        _tell(b"-%d\n" % group)


def start() -> None:
    """Start this process's warden, unless it has one; before a fork, so that no child has to."""
    global _pipe
    if _pipe is not None:
        return
    reading, writing = os.pipe()  # not inherited by programs that are started; forks close it, see below
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


def _tell(line: bytes) -> None:
    start()
    assert _pipe is not None, "it was just started"
    try:
        os.write(_pipe, line)
    except OSError:  # a test closed it, or killed the warden; the child still dies with us where the kernel sees to it
        pass


def _forget() -> None:
    """In a fork: the pipe is the parent's, and must close with it."""
    global _pipe
    if _pipe is not None:
        try:
            os.close(_pipe)
        except OSError:
            pass
        _pipe = None


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_forget)
