"""Requests over a real socket pair, answered by a thread of this process and timed by another process.

The client idles between two requests, because only that shows the convoy effect. A thread that continues at once finds the GIL
still free and looks healthy (0.02 ms beside a busy thread). A thread that was idle has to request the GIL, and waits a whole switch
interval or a whole C call (5 ms, 16 ms).

A request that could not be sent in time, because the previous one was not answered yet, is late from its intended time.
"""

from __future__ import annotations

import socket
import threading
from array import array
from collections.abc import Iterable
from dataclasses import dataclass

from ..core.clocks import time
from .client import COUNT, HEAD, ORDER, SIZE
from .lateness import Wait
from .peer import ClientGone, Peer
from .run_queue_clock import RunQueueClock
from .window import Window

THINK = 0.002  # mean seconds that the client idles between two requests; each 0.5 to 1.5 of it
_RECORDED = 0.5  # seconds that the answering thread has to record its last answer


@dataclass(frozen=True)
class Exchange:
    """The requests of one window, as the client timed them.

    Attributes:
        waits: one for each request, from its intended time to its answer.
        answers: seconds from sending to the answer, for each request.
        oversleeps: seconds by which the client, in its own process, sent late; the machine causes them.
        rate: requests per second.
    """

    waits: list[Wait]
    answers: list[float]
    oversleeps: list[float]
    rate: float


class Echo:
    """The answering thread, and the side that orders requests from the client.

    Args:
        peer: the other process.
        workers: kernel thread ids of the workload's threads.
        long: seconds of lateness from which the run-queue time of a wait is read.
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
        """Order a window from the client; returns at once.

        Raises:
            ClientGone: the client has ended.
        """
        self._window = window
        try:
            self._peer.control.sendall(ORDER.pack(window.begin, window.end, self._think))
        except OSError as error:
            raise ClientGone(f"the client process of the echo has ended: {error}") from error

    def exchange(self, limit: float) -> Exchange:
        """Wait for the end of the window and return the times of the client.

        Raises:
            ClientGone: the client did not answer within ``limit`` seconds, or has ended.
        """
        control = self._peer.control
        control.settimeout(limit)
        try:
            [count] = COUNT.unpack(_exactly(control, COUNT.size))
            times = array("d")
            times.frombytes(_exactly(control, count * 3 * times.itemsize))
        except TimeoutError as error:
            raise ClientGone(f"the client process of the echo got no answer within {limit:g} s") from error
        except OSError as error:
            raise ClientGone(f"the client process of the echo has ended: {error}") from error
        requests = list(zip(times[0::3], times[1::3], times[2::3], strict=True))
        first, self._asked = self._asked, self._asked + count
        deadline = time.monotonic() + _RECORDED
        while len(self._seen) < count and time.monotonic() < deadline:
            time.sleep(0.001)
        seen, self._seen = self._seen, {}
        return Exchange(
            waits=[
                Wait(intended, received, self._think, _unattributed(received - intended, seen.get(first + index)))
                for index, (intended, _, received) in enumerate(requests)
            ],
            answers=[received - sent for _, sent, received in requests],
            oversleeps=[sent - intended for intended, sent, _ in requests],
            rate=count / max(requests[-1][2] - self._window.begin, self._window.end - self._window.begin) if requests else 0.0,
        )

    def close(self) -> None:
        """End the answering thread by closing its connection."""
        try:
            self._peer.data.shutdown(socket.SHUT_RDWR)
        except OSError:
            pass
        self._thread.join(_RECORDED)

    def _answer(self) -> None:
        queue_clock = RunQueueClock(self._workers, self._long)
        data = self._peer.data
        try:
            while True:
                request = _exactly(data, SIZE)
                received = time.perf_counter()
                data.sendall(request)  # first: a release of the GIL before it would count as latency
                number, sent = HEAD.unpack_from(request)
                self._seen[number] = (received - sent, queue_clock.unattributed(received - sent))
        except OSError:
            return
        finally:
            queue_clock.close()


def _unattributed(latency: float, seen: tuple[float, float | None] | None) -> float | None:
    """The part of a latency that is not attributed to the workload; all of it where the arrival was not recorded."""
    if seen is None:
        return latency
    arrived_late, unattributed = seen
    return None if unattributed is None else latency - max(0.0, arrived_late - unattributed)


def _exactly(sock: socket.socket, size: int) -> bytes:
    got = b""
    while len(got) < size:
        part = sock.recv(size - len(got))
        if not part:
            raise ConnectionResetError("the other side has closed")
        got += part
    return got
