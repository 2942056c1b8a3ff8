"""How an injection check is carried out: all its arguments."""

from __future__ import annotations

import random
from collections.abc import Callable
from dataclasses import dataclass

from ..core.arguments import Arguments
from ..core.texts import name_in, text_of

EVERY_STEP, SAMPLE = "every-step", "sample"
DEFAULT_BUDGET = 30.0
DEFAULT_SAMPLE = 100
DEFAULT_TIMEOUT = 60.0


@dataclass(frozen=True)
class InjectionPlan:
    """How to inject; every value is checked.

    Attributes:
        mode: every-step or sample.
        exception: what is raised; a class is raised without arguments.
        invariant: called after each run, and awaited if it returns an awaitable. It is broken if it raises, or returns a false
            value other than None.
        first: how many of the steps to leave out, in the order in which they are tried; a check that ran out of time reports it.
        sample: number of steps to draw, for the mode sample.
        seed: seed of that draw.
        budget: seconds for all runs together.
        timeout: seconds for one run. Once the duration of a run is known, the check uses a shorter limit derived from it.
        setup: called first in each child process.
        include: modules and packages of libraries to step through, by name; None for all of the standard library that may leave
            something half done. If it is empty, there is no step where libraries are entered, either.
    """

    mode: str
    exception: type[BaseException] | BaseException = KeyboardInterrupt
    invariant: Callable[[], object] | None = None
    first: int = 0
    sample: int = DEFAULT_SAMPLE
    seed: int = 0
    budget: float = DEFAULT_BUDGET
    timeout: float = DEFAULT_TIMEOUT
    setup: Callable[[], object] | None = None
    include: tuple[str, ...] | None = None

    @property
    def exception_name(self) -> str:
        return name_in(self.exception) or text_of(self.exception)

    @property
    def interrupts(self) -> bool:
        """Whether the exception is what Python's own handler of SIGINT raises: one of the workload's runs in its place."""
        return issubclass(self.exception_class, KeyboardInterrupt)

    @property
    def exception_class(self) -> type[BaseException]:
        return self.exception if isinstance(self.exception, type) else type(self.exception)


def plan(given: Arguments) -> InjectionPlan:
    """The plan out of what was given; what was not takes its default, the seed a random one.

    Raises:
        BadValue: an exception class that needs arguments.
    """
    exception = given.get("exception", KeyboardInterrupt)
    if isinstance(exception, type):
        try:
            exception()
        except Exception as error:
            raise given.refused("exception", f"a class that needs no arguments, or an exception with them ({error})") from None
    return InjectionPlan(
        mode=given["inject"],
        exception=exception,
        invariant=given.get("invariant"),
        first=given.get("first", 0),
        sample=given.get("sample", DEFAULT_SAMPLE),
        seed=given.get("seed", random.randrange(1_000_000)),
        budget=given.time("budget", DEFAULT_BUDGET),
        timeout=given.time("timeout", DEFAULT_TIMEOUT),
        setup=given.get("setup"),
        include=given.get("include"),
    )
