"""The client of the echo, in a process of its own: it sends, waits for the answer, idles, and records the times.

It shares no interpreter with the workload, so it also measures while the whole process of the workload stands still. It runs as
``python -c`` with the text of this file, or in a fork. So it imports only the standard library, and nothing of this package.

The client never outlives the process it serves. It ends when a socket is closed. It also checks periodically that its parent is
still the same, because a process that the workload has forked keeps the sockets open too.

``time.perf_counter`` is the same clock in all processes of a machine on Linux, macOS and Windows, so both sides can compare times.
"""

import gc
import os
import random
import signal
import socket
import struct
import sys
import time
import types
from array import array

SIZE = 64  # bytes of a request, and of its answer
HEAD = struct.Struct("=Qd")  # number of the request, and the time it was sent
ORDER = struct.Struct("=ddd")  # begin and end of a window, and the mean seconds to idle between requests
COUNT = struct.Struct("=Q")
_CHECK = 0.5  # seconds between two checks of the parent


def serve(data: socket.socket, control: socket.socket, parent: int, clock: types.ModuleType = time) -> None:
    """Send requests through one window after another, as ordered; return when the parent is gone.

    The answer to an order is the number of requests, then three times for each: intended, sent and received. A fork
    says which ``clock``: a test may have frozen the module ``time``.
    """
    gc.disable()
    number = 0
    try:
        while True:
            begin, end, think = ORDER.unpack(_receive(control, ORDER.size, parent))
            times = array("d")
            intended = begin
            while intended < end:
                clock.sleep(max(0.0, intended - clock.perf_counter()))
                sent = clock.perf_counter()
                data.sendall(HEAD.pack(number, sent).ljust(SIZE))
                _receive(data, SIZE, parent)
                received = clock.perf_counter()
                times.extend((intended, sent, received))
                number += 1
                intended = received + think * random.uniform(0.5, 1.5)
            control.settimeout(None)
            control.sendall(COUNT.pack(len(times) // 3) + times.tobytes())
    except OSError:
        return


def _receive(sock: socket.socket, size: int, parent: int) -> bytes:
    """Receive ``size`` bytes; an OSError if the other side or the parent is gone."""
    sock.settimeout(_CHECK)
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
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # the parent handles Ctrl-C
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
