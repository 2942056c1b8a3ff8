"""The result of a probe: figures by name for each interpreter, or the reason why one is missing."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from statistics import median
from typing import Any

RATIO, SECONDS, BYTES, RATE, TEXT = "ratio", "seconds", "bytes", "1/s", "text"


@dataclass(frozen=True)
class Figure:
    """One figure, or the reason why it is missing.

    Attributes:
        value: in its unit; None if it is missing, and for ``TEXT``.
        unit: ``RATIO``, ``SECONDS``, ``BYTES``, ``RATE`` or ``TEXT``.
        low, high: the smallest and the largest of the values whose median it is; None if it is not a median.
        count: the number of these values; 0 if it is not a median.
        text: the text, for ``TEXT``.
        note: a remark about the figure; the reason, if it is missing.
    """

    value: float | None
    unit: str = RATIO
    low: float | None = None
    high: float | None = None
    count: int = 0
    text: str = ""
    note: str = ""

    @classmethod
    def median_of(cls, values: Sequence[float], unit: str, note: str = "") -> Figure:
        """Return the median of values, with their range."""
        return cls(median(values), unit, min(values), max(values), len(values), note=note)

    @classmethod
    def of_text(cls, text: str) -> Figure:
        """Return a figure that is text."""
        return cls(None, TEXT, text=text)

    @classmethod
    def missing(cls, why: str) -> Figure:
        """Return a missing figure, with the reason."""
        return cls(None, note=why)


Figures = Mapping[str, Figure]


@dataclass(frozen=True)
class ProbedInterpreter:
    """One probed interpreter.

    Attributes:
        given: its name on the command line.
        facts: what it reports about itself.
        figures: a figure for each row.
    """

    given: str
    facts: Mapping[str, Any]
    figures: Figures = field(default_factory=dict)

    @property
    def label(self) -> str:
        """Its short name, for instance ``"CPython 3.13.0t"``."""
        name = f"{self.facts['implementation']} {self.facts['version']}"
        if self.facts["free_threaded_build"]:
            name += "t" + (" GIL on" if self.facts["gil"] else "")
        return name

    def as_evidence(self) -> dict[str, Any]:
        """Return its facts as evidence records them (the fields of `core.interpreter.Interpreter`)."""
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
class NotProbed:
    """An interpreter that could not be probed at all.

    Attributes:
        given: its name on the command line.
        why: the reason, in one line.
    """

    given: str
    why: str

    def __str__(self) -> str:
        return f"{self.given}: {self.why}"
