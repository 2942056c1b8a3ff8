"""What a probe has found: figures by name, for each interpreter, or why there is none."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from statistics import median
from typing import Any

RATIO, SECONDS, BYTES, RATE, TEXT = "ratio", "seconds", "bytes", "1/s", "text"


@dataclass(frozen=True)
class Figure:
    """One figure, or why there is none.

    Attributes:
        value: in its unit; None where there is none.
        unit: ``RATIO``, ``SECONDS``, ``BYTES``, ``RATE`` or ``TEXT``.
        low, high: the smallest and largest of what it is the median of.
        count: how many that were; 0 where it is not a median.
        text: for ``TEXT``, what is known.
        note: what else has to be said of it; why there is none, if there is none.
    """

    value: float | None
    unit: str = RATIO
    low: float | None = None
    high: float | None = None
    count: int = 0
    text: str = ""
    note: str = ""

    @classmethod
    def middle(cls, values: Sequence[float], unit: str, note: str = "") -> Figure:
        """The median of values, with their range."""
        return cls(median(values), unit, min(values), max(values), len(values), note=note)

    @classmethod
    def said(cls, text: str) -> Figure:
        return cls(None, TEXT, text=text)

    @classmethod
    def missing(cls, why: str) -> Figure:
        return cls(None, note=why)


Figures = Mapping[str, Figure]


@dataclass(frozen=True)
class Column:
    """One probed interpreter.

    Attributes:
        given: how it was named on the command line.
        facts: what it says of itself.
        figures: by row; every row has one.
    """

    given: str
    facts: Mapping[str, Any]
    figures: Figures = field(default_factory=dict)

    @property
    def label(self) -> str:
        """For instance ``"CPython 3.13.0t"``."""
        name = f"{self.facts['implementation']} {self.facts['version']}"
        if self.facts["free_threaded_build"]:
            name += "t" + (" GIL on" if self.facts["gil"] else "")
        return name

    def interpreter(self) -> dict[str, Any]:
        """The interpreter as evidence has it (`core.interpreter.Interpreter`)."""
        facts = self.facts
        return {
            "implementation": facts["implementation"],
            "version": facts["version"],
            "build": "free-threaded" if facts["gil"] is False else "gil",
            "free_threaded_build": bool(facts["free_threaded_build"]),
            "switch_interval": facts["switch_interval"],
            "cores": None if facts["cores"] is None else int(facts["cores"]),
            "platform": facts["platform"],
        }


@dataclass(frozen=True)
class Refused:
    """An interpreter that could not be probed at all.

    Attributes:
        given: how it was named on the command line.
        why: in one line.
    """

    given: str
    why: str

    def __str__(self) -> str:
        return f"{self.given}: {self.why}"
