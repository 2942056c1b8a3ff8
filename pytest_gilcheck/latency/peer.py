"""Starts the client process of the echo, and makes sure that it ends.

A fork is quick, because no interpreter has to start. But the child has none of the parent's threads, and a lock that one of them
held is never released there. So a fork is used only where `can_fork` allows it, before this check has started a thread. Elsewhere
the client is a new interpreter. It inherits its sockets; where descriptors cannot be inherited (Windows), it connects over TCP.
"""

from __future__ import annotations

import os
import secrets
import signal
import socket
import subprocess
import sys
import warnings
from pathlib import Path

from ..core.clocks import monotonic, time
from ..core.fork_safety import can_fork
from ..core.lifecycle import Lifecycle, prepare, start_program
from . import client

_START = 20.0  # seconds an interpreter may take to start and connect
_EXIT = 1.0  # seconds that the client has to exit after its sockets are closed


class ClientGone(Exception):
    """The client process could not be started, or has ended."""


class Peer:
    """The client process, with this side's ends of its two sockets.

    Args:
        way: ``"fork"``, ``"unix"`` (a new interpreter that inherits its sockets) or ``"tcp"``; None for the best one here.

    Attributes:
        data: requests arrive and are answered here.
        control: orders are sent and times arrive here.

    Raises:
        ClientGone: the process cannot be started.
    """

    data: socket.socket
    control: socket.socket

    def __init__(self, way: str | None = None) -> None:
        self._life: Lifecycle | None = None
        way = way or ("fork" if can_fork() is None else "tcp" if os.name == "nt" else "unix")
        try:
            {"fork": self._fork, "unix": self._inherit, "tcp": self._connect}[way]()
        except OSError as error:
            self.close()
            raise ClientGone(f"the client process of the echo cannot be started: {error}") from error

    def close(self) -> None:
        """End the process: close its sockets, and kill it if it does not exit."""
        for name in ("data", "control"):
            if hasattr(self, name):
                getattr(self, name).close()
        if self._life is not None:
            self._life.wait(_EXIT)
            self._life.end()
            self._life = None

    def _fork(self) -> None:
        (self.data, data), (self.control, control) = socket.socketpair(), socket.socketpair()
        parent = os.getpid()
        prepare(group=False)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", DeprecationWarning)  # "multi-threaded": can_fork has checked more closely
            pid = os.fork()
        if pid == 0:
            try:
                signal.signal(signal.SIGINT, signal.SIG_IGN)  # the parent handles Ctrl-C
                signal.signal(signal.SIGTERM, signal.SIG_DFL)
                self.data.close()  # a socket is closed only when every process has closed it
                self.control.close()
                client.serve(data, control, parent, time)
            finally:
                os._exit(0)
        self._life = Lifecycle(pid, group=False)
        data.close()
        control.close()

    def _inherit(self) -> None:
        (self.data, data), (self.control, control) = socket.socketpair(), socket.socketpair()
        with data, control:
            numbers = (data.fileno(), control.fileno())
            self._start(["unix", *map(str, numbers)], pass_fds=numbers)

    def _connect(self) -> None:
        key = secrets.token_bytes(16)
        with socket.create_server(("127.0.0.1", 0)) as server:
            self._start(["tcp", str(server.getsockname()[1]), key.hex()])
            deadline = monotonic() + _START
            accepted: list[socket.socket] = []
            while len(accepted) < 2:
                server.settimeout(max(0.01, deadline - monotonic()))
                connection, _ = server.accept()
                connection.settimeout(_START)
                if connection.recv(len(key), socket.MSG_WAITALL) == key:
                    connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
                    connection.settimeout(None)
                    accepted.append(connection)
                else:  # another process of this machine
                    connection.close()
        self.data, self.control = accepted

    def _start(self, arguments: list[str], pass_fds: tuple[int, ...] = ()) -> None:
        code = Path(client.__file__).read_text(encoding="utf-8")
        self._life = start_program(
            [sys.executable, "-I", "-S", "-c", code, *arguments],
            group=False,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            pass_fds=pass_fds,
            process_group=0 if os.name == "posix" else None,
        )
