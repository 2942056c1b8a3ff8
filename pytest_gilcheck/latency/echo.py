"""Requests over a real socket pair, answered by a thread of this process, timed by another process.

The client idles between two requests. That is what makes the convoy effect visible: a thread that asks again at once finds the
GIL still free and looks healthy (0.02 ms beside a busy thread), while one that was idle has to ask for it, and waits a whole
switch interval or a whole call into C (5 ms, 16 ms).

A request that could not be sent, because the one before was not answered yet, counts as late from when it was to be sent.
"""

from __future__ import annotations

import socket
import threading
import time
from array import array
from collections.abc import Iterable
from dataclasses import dataclass

from .client import COUNT, HEAD, ORDER, SIZE
from .lateness import Wait
from .peer import ClientGone, Peer
from .window import Window
from .witness import Witness

THINK = 0.002  # seconds that the client idles between two requests, on the mean; each 0.5 to 1.5 of it
_LAST_WORD = 0.5  # seconds for the answering thread to note down its last answer


@dataclass(frozen=True)
class Exchange:
    """What the client saw in one window.

    Attributes:
        waits: one for each request, from when it was to be sent to when its answer came.
        answers: seconds from sending to the answer, for each request.
        oversleeps: seconds by which the client, in its own process, sent late: the machine's doing.
        rate: requests in a second.
    """

    waits: list[Wait]
    answers: list[float]
    oversleeps: list[float]
    rate: float


class Echo:
    """The answering thread, and the orders to the client.

    Args:
        peer: the other process.
        workers: kernel thread ids of the workload's threads.
        long: seconds of lateness from which a wait is looked into.
        think: mean seconds that the client idles between requests.
    """

    name = "echo"

    def __init__(self, peer: Peer, workers: Iterable[int], long: float, think: float = THINK) -> None:
        self._peer, self._workers, self._long, self._think = peer, list(workers), long, think
        self._seen: dict[int, tuple[float, float | None]] = {}
        self._asked = 0
        self._window = Window(0.0, 0.0, False)
        self._thread = threading.Thread(target=self._answer, name="gilcheck-echo", daemon=True)
        self._thread.start()

    def start(self, window: Window) -> None:
        """Have the client begin; returns at once.

        Raises:
            ClientGone: there is no client any more.
        """
        self._window = window
        try:
            self._peer.control.sendall(ORDER.pack(window.begin, window.end, self._think))
        except OSError as error:
            raise ClientGone(f"the outside client is gone: {error}") from error

    def exchange(self, limit: float) -> Exchange:
        """What the client saw, once the window is over.

        Raises:
            ClientGone: it did not say so within ``limit`` seconds, or is gone.
        """
        control = self._peer.control
        control.settimeout(limit)
        try:
            [count] = COUNT.unpack(_exactly(control, COUNT.size))
            times = array("d")
            times.frombytes(_exactly(control, count * 3 * times.itemsize))
        except TimeoutError as error:
            raise ClientGone(f"the outside client got no answer within {limit:g} s") from error
        except OSError as error:
            raise ClientGone(f"the outside client is gone: {error}") from error
        requests = list(zip(times[0::3], times[1::3], times[2::3], strict=True))
        first, self._asked = self._asked, self._asked + count
        deadline = time.monotonic() + _LAST_WORD
        while len(self._seen) < count and time.monotonic() < deadline:
            time.sleep(0.001)
        seen, self._seen = self._seen, {}
        return Exchange(
            waits=[
                Wait(intended, received, self._think, _unexplained(received - intended, seen.get(first + index)))
                for index, (intended, _, received) in enumerate(requests)
            ],
            answers=[received - sent for _, sent, received in requests],
            oversleeps=[sent - intended for intended, sent, _ in requests],
            rate=count / max(requests[-1][2] - self._window.begin, self._window.end - self._window.begin) if requests else 0.0,
        )

    def close(self) -> None:
        """End the answering thread, by ending its client."""
        try:
            self._peer.data.shutdown(socket.SHUT_RDWR)
        except OSError:
            pass
        self._thread.join(_LAST_WORD)

    def _answer(self) -> None:
        witness = Witness(self._workers, self._long)
        data = self._peer.data
        try:
            while True:
                request = _exactly(data, SIZE)
                received = time.perf_counter()
                data.sendall(request)  # first of all: whatever lets go of the GIL before it would be counted
                number, sent = HEAD.unpack_from(request)
                self._seen[number] = (received - sent, witness.unexplained(received - sent))
        except OSError:
            return
        finally:
            witness.close()


def _unexplained(latency: float, seen: tuple[float, float | None] | None) -> float | None:
    """Of the latency that the client saw, what does not show to be the workload's; all of it where nobody saw it arrive."""
    if seen is None:
        return latency
    arrived_late, unexplained = seen
    return None if unexplained is None else latency - max(0.0, arrived_late - unexplained)


def _exactly(sock: socket.socket, size: int) -> bytes:
    got = b""
    while len(got) < size:
        part = sock.recv(size - len(got))
        if not part:
            raise ConnectionResetError("the other side has closed")
        got += part
    return got
