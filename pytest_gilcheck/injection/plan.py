"""How an injection check is carried out: checks the user's arguments and makes a plan of them."""

from __future__ import annotations

import random
from collections.abc import Callable
from dataclasses import dataclass

from ..core.errors import BadValue
from ..core.values import Given

EVERY_STEP, SAMPLE = "every-step", "sample"
MODES = (EVERY_STEP, SAMPLE)
DEFAULT_BUDGET = 30.0
DEFAULT_SAMPLE = 100


@dataclass(frozen=True)
class InjectionPlan:
    """How to inject; every value is checked.

    Attributes:
        mode: every-step or sample.
        exception: what is raised; a class is raised without arguments.
        invariant: called after each run, and awaited if it returns an awaitable. It is broken if it raises, or returns a false
            value other than None.
        first: index of the first step to inject at; an earlier check that ran out of time reports it.
        sample: number of steps to draw, for the mode sample.
        seed: seed of that draw.
        budget: seconds for all runs together.
        timeout: seconds for one run. Once the duration of a run is known, the check uses a shorter limit derived from it.
        setup: called first in each child process.
    """

    mode: str
    exception: type[BaseException] | BaseException = KeyboardInterrupt
    invariant: Callable[[], object] | None = None
    first: int = 0
    sample: int = DEFAULT_SAMPLE
    seed: int = 0
    budget: float = DEFAULT_BUDGET
    timeout: float = 60.0
    setup: Callable[[], object] | None = None

    @property
    def exception_name(self) -> str:
        return getattr(self.exception, "__name__", repr(self.exception))

    @property
    def exception_class(self) -> type[BaseException]:
        return self.exception if isinstance(self.exception, type) else type(self.exception)


def plan(
    *,
    inject: object,
    exception: object = None,
    invariant: object = None,
    first: object = None,
    sample: object = None,
    seed: object = None,
    budget: object = None,
    timeout: object = None,
    setup: object = None,
    sources: dict[str, str] | None = None,
) -> InjectionPlan:
    """Make a plan of unchecked values; None selects the default, for ``seed`` a random one.

    Args:
        sources: where each value came from, by its name, for error messages.

    Raises:
        BadValue: a value has the wrong type or is out of range.
    """
    given = Given(sources)
    if inject not in MODES:
        raise BadValue("inject", inject, " or ".join(repr(mode) for mode in MODES), given.source("inject"))
    if exception is not None and not isinstance(exception, BaseException):
        if not (isinstance(exception, type) and issubclass(exception, BaseException)):
            raise BadValue("exception", exception, "an exception, or an exception class", given.source("exception"))
        try:
            exception()
        except Exception as error:
            expected = f"an exception class that needs no arguments, or an exception instance ({error})"
            raise BadValue("exception", exception, expected, given.source("exception")) from None
    return InjectionPlan(
        mode=str(inject),
        exception=KeyboardInterrupt if exception is None else exception,
        invariant=given.callable("invariant", invariant),
        first=given.whole("first", first, 0, 0),
        sample=given.whole("sample", sample, 1, DEFAULT_SAMPLE),
        seed=given.whole("seed", seed, 0, random.randrange(1_000_000)),
        budget=given.seconds("budget", budget, DEFAULT_BUDGET),
        timeout=given.seconds("timeout", timeout, 60.0),
        setup=given.callable("setup", setup),
    )
