"""The other process of the echo: sends, waits for the answer, idles, and keeps the times.

It shares no interpreter with the workload: when that process stands still, this one sees it from outside. It runs by itself
(``python -c`` with this text) or in a fork, so it imports the standard library alone, and nothing of ours.

No client is left behind, whatever becomes of the process it serves: it ends when a socket does, and looks now and then whether
its parent is still the same, because a process that the workload has forked keeps the sockets open too.

``time.perf_counter`` counts alike in all processes of a machine on Linux, macOS and Windows, so both sides may compare times.
"""

import gc
import os
import random
import signal
import socket
import struct
import sys
import time
from array import array

SIZE = 64  # bytes of a request, and of its answer
HEAD = struct.Struct("=Qd")  # number of the request, when it was sent
ORDER = struct.Struct("=ddd")  # begin and end of a window, mean seconds to idle between requests
COUNT = struct.Struct("=Q")
_LOOK = 0.5  # seconds between two looks at the parent


def serve(data: socket.socket, control: socket.socket, parent: int) -> None:
    """Fill one window after another, as ordered; returns when the parent is gone.

    The answer to an order is the number of requests, then three doubles for each: intended, sent and received.
    """
    gc.disable()
    number = 0
    try:
        while True:
            begin, end, think = ORDER.unpack(_receive(control, ORDER.size, parent))
            times = array("d")
            intended = begin
            while intended < end:
                time.sleep(max(0.0, intended - time.perf_counter()))
                sent = time.perf_counter()
                data.sendall(HEAD.pack(number, sent).ljust(SIZE))
                _receive(data, SIZE, parent)
                received = time.perf_counter()
                times.extend((intended, sent, received))
                number += 1
                intended = received + think * random.uniform(0.5, 1.5)
            control.settimeout(None)
            control.sendall(COUNT.pack(len(times) // 3) + times.tobytes())
    except OSError:
        return


def _receive(sock: socket.socket, size: int, parent: int) -> bytes:
    """So many bytes, or an OSError once the other side or the parent is gone."""
    sock.settimeout(_LOOK)
    got = b""
    while len(got) < size:
        try:
            part = sock.recv(size - len(got))
        except TimeoutError:
            if os.getppid() != parent:
                raise OSError("the parent is gone") from None
            continue
        if not part:
            raise OSError("the other side is gone")
        got += part
    return got


def _main(arguments: list[str]) -> None:
    """``unix DATA CONTROL`` with two inherited descriptors, or ``tcp PORT KEY`` to connect to twice."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C is the parent's
    parent = os.getppid()
    if arguments[0] == "unix":
        data, control = (socket.socket(fileno=int(number)) for number in arguments[1:])
    else:
        data, control = (_connect(int(arguments[1]), bytes.fromhex(arguments[2])) for _ in range(2))
    serve(data, control, parent)


def _connect(port: int, key: bytes) -> socket.socket:
    sock = socket.create_connection(("127.0.0.1", port))
    sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    sock.sendall(key)
    return sock


if __name__ == "__main__":
    _main(sys.argv[1:])
