"""A fork that waits for orders and answers them, one after the other, until its parent ends it or is gone.

Most of those of a sweep are ended before the first order, so a fork makes nothing before that. No code of a test runs in it: what
does, runs in guarded forks of it (`core/child`), which it ends when they are late. So this process always answers, unless it is
killed.
"""

from __future__ import annotations

import json
import os
import select
import signal
from collections.abc import Callable
from typing import Any, NoReturn

from ..core.child import die_with, forked
from ..core.clocks import monotonic
from ..core.descriptors import OwnDescriptor
from ..core.exit_status import describe_exit
from ..core.fork_safety import NoFork
from ..core.lifecycle import Lifecycle
from ..core.signal_names import signal_name
from ..core.system import exit_at_once

_PART = 65_536  # bytes
_LOOK = 1.0  # seconds between two looks whether it is stopped
_END = b"\n"
Answer = dict[str, Any]
_Answers = Callable[[Answer], Answer]


class WaitingFork:
    """The fork, in its parent.

    Args:
        begin: called in the fork, when there is an order, for what answers orders.

    Raises:
        NoFork: the system refuses it.

    Attributes:
        lives: whether it can be asked.
        fate: how it has ended without being told to, to follow "the process of"; empty if it has not.
    """

    def __init__(self, begin: Callable[[], _Answers]) -> None:
        parent = os.getpid()
        orders, answers = os.pipe(), os.pipe()
        try:
            pid = forked(own_group=True)
        except NoFork:
            for descriptor in (*orders, *answers):
                os.close(descriptor)
            raise
        if pid == 0:
            try:
                os.close(orders[1])
                os.close(answers[0])
                _serve(begin, OwnDescriptor(orders[0]), OwnDescriptor(answers[1]), parent)
            finally:
                exit_at_once(1)
        os.close(orders[0])
        os.close(answers[1])
        self._life = Lifecycle(pid, group=True)
        self._orders, self._answers, self.lives = OwnDescriptor(orders[1]), OwnDescriptor(answers[0]), True
        self.fate = ""

    def ask(self, order: Answer, limit: float) -> Answer | None:
        """The answer to an order, which should come in so many seconds; None if the process is gone, or was late and is ended.

        An exception here, such as a Ctrl-C, ends it too.
        """
        until = monotonic() + limit
        try:
            self._orders.write(json.dumps(order).encode() + _END)
            received = self._received(until)
        except OSError:  # nobody reads that pipe, or the test has closed it
            received = b""
        except BaseException:
            self.end()
            raise
        if not received.endswith(_END):
            self.fate = self.fate or self._ended(f"did not answer within {limit:g} s" if monotonic() >= until else "")
            self.end()
            return None
        answer: Answer = json.loads(received)
        return answer

    def _received(self, until: float) -> bytes:
        received, comes = b"", select.poll()
        comes.register(self._answers.number, select.POLLIN)
        while not received.endswith(_END) and (left := until - monotonic()) > 0:
            if comes.poll(min(left, _LOOK) * 1e3):
                if not (part := self._answers.read(_PART)):
                    break
                received += part
            elif self._life.gone() or self._life.stopped:
                break
        return received

    def _ended(self, late: str) -> str:
        """How it has ended, in words."""
        if not late and not self._life.wait(_LOOK):
            late = f"was stopped by {signal_name(self._life.stopped)}" if self._life.stopped else "closed its pipe"
        if late:
            return f"{late}, and was killed (process {self._life.pid})"
        why = ", as the system does where memory runs out" if self._life.status == -signal.SIGKILL else ""
        return f"{describe_exit(self._life.status)}{why} (process {self._life.pid})"

    def end(self) -> None:
        """End it, and all that it has started; a second call does nothing."""
        if self.lives:
            self.lives = False
            self._life.end()
            self._orders.close()
            self._answers.close()


def _serve(begin: Callable[[], _Answers], orders: OwnDescriptor, answers: OwnDescriptor, parent: int) -> NoReturn:
    answer: _Answers | None = None
    while given := orders.read(_PART):
        if answer is None:
            die_with(parent)
            with open(os.devnull, "wb") as nowhere:  # pytest's capturing has the descriptors
                os.dup2(nowhere.fileno(), 1)
                os.dup2(nowhere.fileno(), 2)
            answer = begin()
        answers.write(json.dumps(answer(json.loads(given))).encode() + _END)
    exit_at_once(0)
