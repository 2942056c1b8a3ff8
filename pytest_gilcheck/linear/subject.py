"""What a campaign is about: the class, how its objects are made, what can be done with them, and which runs are right."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from .operations import OperationKind


@dataclass(frozen=True, eq=False)
class Subject:
    """The class under test.

    Attributes:
        name: for reports.
        make: makes an object, called with the drawn arguments.
        kinds: what can be done with it.
        init: the strategies of the arguments of `make`.
        threads: of each program.
        model: makes a simpler object with the same operations, by which the real one is judged; None: by itself.
        final: what is looked at in the end, called with the object; None for nothing.
        rule: which orders may explain a run (`oracle.OrderRule`).
        waiting: what an operation that waits does in an order (`merging.Waiting`).
        first: what is done once before everything else.
        watched: what a rule of a machine must not write, called with the machine; None for a class.
        refuses: called with what each operation has written of that; why they would race, or empty.
        only_errors: whether results that no order gives are no failure.
        left_out: what was not inferred, with the line to write, by name.
        untold: why nothing can be told of it; empty if it can.
        modules: of the class, which are under test although they would not be.
    """

    name: str
    make: Callable[..., Any]
    kinds: tuple[OperationKind, ...]
    init: tuple[Any, ...] = ()
    threads: int = 2
    model: Callable[..., Any] | None = None
    final: Callable[[Any], Any] | None = None
    rule: str = "linearizable"
    waiting: str = "strict"
    first: tuple[OperationKind, ...] = ()
    watched: Callable[[Any], dict[str, Any]] | None = None
    refuses: Callable[[Mapping[OperationKind, set[str]], int], str] | None = None
    only_errors: bool = False
    left_out: tuple[tuple[str, str], ...] = ()
    untold: str = ""
    modules: tuple[str, ...] = ()

    @property
    def constructor(self) -> str:
        """What makes an object, as a report writes it."""
        made = str(getattr(self.make, "__name__", self.name))
        return self.name if "<" in made else made

    @property
    def functions(self) -> tuple[Callable[..., Any], ...]:
        """What its operations run, as far as that is known."""
        return tuple(function for kind in self.kinds for function in kind.implemented)
