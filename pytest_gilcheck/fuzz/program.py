"""What is explored: threads that share a fresh state, and what must be true of it afterwards."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Any

from .schedule import checksum


@dataclass(frozen=True)
class Program:
    """One concurrent program. Each run of it begins with a state of its own.

    Attributes:
        threads: what each thread calls: with the state, or with nothing if there is no ``setup``.
        setup: makes the state; None if the threads share something that it does not make.
        invariant: called afterwards as the threads are; broken if it returns False or raises.
        name: for reports.
        teardown: called last, also after a run that went wrong; an assertion in it breaks the run as an invariant would.
        may_raise: whether an exception that every sequential order raises is no failure; a test's body may not raise at all.
    """

    threads: tuple[Callable[..., object], ...]
    setup: Callable[[], Any] | None = None
    invariant: Callable[..., object] | None = None
    name: str = "program"
    teardown: Callable[[], object] | None = None
    may_raise: bool = True

    @property
    def checksum(self) -> int:
        """What a replay token knows the program by: the names of its threads."""
        return checksum("|".join(getattr(thread, "__qualname__", type(thread).__name__) for thread in self.threads))

    def begin(self) -> tuple[list[Callable[[], object]], Callable[[], str | None]]:
        """A fresh state, as one call for each thread, and a call that tells afterwards what is broken, or None.

        Raises:
            BaseException: what the setup raised.
        """
        arguments = self.fresh_state()
        return [partial(thread, *arguments) for thread in self.threads], lambda: self.check_invariant(arguments)

    def fresh_state(self) -> tuple[Any, ...]:
        """What the threads and the invariant are called with.

        Raises:
            BaseException: what the setup raised.
        """
        return () if self.setup is None else (self.setup(),)

    def run_sequentially(self) -> None:
        """Run the threads once, one after the other in this thread, as without a check.

        Raises:
            AssertionError: the invariant is broken.
            BaseException: what the setup, a thread or the teardown raised.
        """
        try:
            arguments = self.fresh_state()
            for thread in self.threads:
                thread(*arguments)
            if (problem := self.check_invariant(arguments)) is not None:
                raise AssertionError(problem)
        finally:
            if self.teardown is not None:
                self.teardown()

    def check_invariant(self, arguments: tuple[Any, ...]) -> str | None:
        """What is broken afterwards, in one line; None if nothing is."""
        if self.invariant is None:
            return None
        try:
            return "the invariant returned False" if self.invariant(*arguments) is False else None
        except KeyboardInterrupt:
            raise
        except BaseException as error:
            return f"the invariant raised {describe_error(error)}"


def describe_error(error: BaseException) -> str:
    """An exception in one line, as a traceback ends."""
    message = str(error).strip().splitlines()
    return f"{type(error).__name__}: {message[0]}" if message else type(error).__name__
