"""The program that a check explores: threads that share a fresh state, and what must hold afterwards."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import Any

from ..core.classes import name_of_callable, name_of_class
from ..core.invariants import broken
from .schedule import checksum


class RunOutput:
    """What the runs of a program print, for a caller that captures it. This one captures nothing."""

    def drop(self) -> None:
        """Forget what was printed so far."""

    def keep(self) -> None:
        """What was printed since is of the run that the report shows. Later runs print nothing that belongs to it."""


@dataclass(frozen=True)
class Program:
    """One concurrent program. Each run of it begins with a new state.

    Attributes:
        threads: what each thread calls: with the state, or without arguments if there is no ``setup``.
        setup: makes the state; None if the threads share something that it does not make.
        invariant: called afterwards, with the threads' arguments; it is broken if it raises, or returns something false other
            than None.
        name: for reports.
        teardown: called last, also after a failed run; what it raises counts as a broken invariant.
        may_raise: whether an exception that every sequential order raises is no failure; the body of a test may never raise.
        calls: the functions that the threads call, where they themselves are of this package.
        reached: what it can reach although none of its functions refers to it, such as the values of fixtures, by name. While a
            check runs, a lock in it is replaced by one that is under control.
        oracle: asked of a run in which all threads that are left wait for ever, with the arguments of the threads and with what
            they wait for (`running.record.BlockedThread`): why that is a failure; None if it is none. Then such a run has ended,
            and the invariant is not asked of it. Without an oracle, each is a failure.
        terse: called after the first of all runs: from then on, no code that makes steps is to explain a failure at length.
        output: captures what its runs print.
        shared: what keeps its state from one run to the next, in words, for a program that does not do the same twice.
        used_up: called for such a program: what its caller gave it that a run has changed and nobody can copy, as a sentence; empty
            if nothing.
        note: what each reason ends with, such as what its caller could not make anew.
    """

    threads: tuple[Callable[..., object], ...]
    setup: Callable[[], Any] | None = None
    invariant: Callable[..., object] | None = None
    name: str = "program"
    teardown: Callable[[], object] | None = None
    may_raise: bool = True
    calls: tuple[Callable[..., object], ...] = ()
    reached: dict[str, Any] = field(default_factory=dict)
    oracle: Callable[[tuple[Any, ...], Sequence[Any]], str | None] | None = None
    terse: Callable[[], None] = lambda: None
    output: RunOutput = field(default_factory=RunOutput)
    shared: str = "some of its state is not made by setup, and only that is made anew for each schedule"
    used_up: Callable[[], str] = lambda: ""
    note: str = ""

    @property
    def checksum(self) -> int:
        """A checksum of the names of the threads, by which a replay token recognises the program."""
        return checksum("|".join(name_of_callable(thread) for thread in self.threads))

    def begin(self) -> tuple[list[Callable[[], object]], Callable[[], str | None]]:
        """Make a new state: one call for each thread, and a call that returns afterwards what is broken, or None.

        Raises:
            BaseException: what the setup raised.
        """
        arguments = self.fresh_state()
        return [partial(thread, *arguments) for thread in self.threads], lambda: self.check_invariant(arguments)

    def fresh_state(self) -> tuple[Any, ...]:
        """Make a new state: the arguments of the threads and of the invariant.

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
        """What the invariant says is broken, in one line; None if nothing."""
        if self.invariant is None:
            return None
        try:
            return broken(self.invariant, arguments, self.invariant(*arguments))
        except KeyboardInterrupt:
            raise
        except BaseException as error:
            return f"the invariant raised {describe_error(error)}"


def describe_error(error: BaseException) -> str:
    """An exception in one line, in the form in which a traceback ends."""
    try:
        message = str(error).strip().splitlines()
    except KeyboardInterrupt:
        raise
    except BaseException as own:  # of the program's __str__: SystemExit, say
        message = [f"its own text raised {name_of_class(type(own))}"]
    return f"{name_of_class(type(error))}: {message[0]}" if message else name_of_class(type(error))
