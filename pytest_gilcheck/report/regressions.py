"""What a comparison is to fail on: verdicts that changed, and figures that got worse by more than they are uncertain."""

from __future__ import annotations

import math
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from ..core.errors import BadValue
from ..core.evidence import Record
from .matrix import cost, label_of
from .words import interval, number, short_figure, slower

ALONE = ("violated", "inconclusive")  # which need no baseline
PLAIN = (*ALONE, "verdict-changed", "regressed", "missing")
GRADED = ("slower", "speedup-lost")
EXPECTED = "some of " + ", ".join(PLAIN) + ", slower:10%, speedup-lost:10%, by commas"
_SHARE = re.compile(r"(\d+(?:\.\d+)?)%")


@dataclass(frozen=True)
class Condition:
    """One condition; ``share`` is of the graded ones: 0.1 for ``10%``."""

    name: str
    share: float = 0.0

    def __str__(self) -> str:
        return f"{self.name}:{self.share * 100:g}%" if self.name in GRADED else self.name


@dataclass(frozen=True)
class Finding:
    """What a condition says of one check on one interpreter.

    Attributes:
        decided: False where the figures are too uncertain to say; that is no pass.
    """

    condition: Condition
    subject: str
    interpreter: str
    words: str
    decided: bool = True

    def __str__(self) -> str:
        undecided = "" if self.decided else " cannot be told"
        return f"{self.condition}{undecided}: {self.subject} on {self.interpreter}: {self.words}"


def conditions(text: str, source: str = "command line --fail-on") -> tuple[Condition, ...]:
    """The conditions of a ``--fail-on``.

    Raises:
        BadValue: one that does not exist, or has no sensible share.
    """
    found = []
    for part in text.split(","):
        name, colon, share = part.strip().partition(":")
        match = _SHARE.fullmatch(share)
        if name in PLAIN and not colon:
            found.append(Condition(name))
        elif name in GRADED and match is not None and math.isfinite(float(match[1])):
            found.append(Condition(name, float(match[1]) / 100))
        else:
            raise BadValue("fail-on", text, EXPECTED, source)
    return tuple(found)


def findings(wanted: Sequence[Condition], records: Sequence[Record], baseline: Sequence[Record]) -> list[Finding]:
    """Everything that the conditions find in the records, held against the baseline's.

    A record's counterpart is the baseline's newest of the same check on the same interpreter; another patch release counts as the
    same. A record without one is new, and only its own verdict is looked at.
    """
    before = {_key(entry): entry for entry in sorted(baseline, key=lambda entry: str(entry["recorded"]))}
    found = []
    alone = not any(_key(entry) in before for entry in records)
    for condition in wanted:
        if alone and condition.name not in ALONE:
            words = "the baseline has no check that these have, on the same interpreter"
            found.append(Finding(condition, "every test", "every interpreter", words, decided=False))
        for entry in records:
            if (said := _found(condition, entry, before.get(_key(entry)))) is not None:
                words, decided = said
                found.append(Finding(condition, entry["subject"], label_of(entry["interpreter"]), words, decided))
        if condition.name == "missing":
            there = {_key(entry) for entry in records}
            found += [
                Finding(condition, entry["subject"], label_of(entry["interpreter"]), f"the {entry['check']} check did not run")
                for key, entry in before.items()
                if key not in there
            ]
    return found


def _found(condition: Condition, entry: Record, old: Record | None) -> tuple[str, bool] | None:
    verdict = entry["verdict"]
    if condition.name in ALONE:
        expected = entry.get("outcome") in ("passed", "xfailed")  # a test may assert that its claim is violated
        return (entry["reason"], True) if verdict == condition.name and not expected else None
    if old is None:
        return None
    if condition.name in ("verdict-changed", "regressed"):
        unwanted = verdict != old["verdict"] if condition.name == "verdict-changed" else old["verdict"] == "holds" != verdict
        if not unwanted:
            return None
        if condition.name == "regressed" and verdict == "inconclusive":
            return f"was holds, and is inconclusive: {entry['reason']}", False
        return f"was {old['verdict']}, is {verdict}: {entry['reason']}", True
    if condition.name == "slower":
        return _slower(condition.share, entry, old)
    return _speedup_lost(condition.share, entry, old) if condition.name == "speedup-lost" else None


def _slower(share: float, entry: Record, old: Record) -> tuple[str, bool] | None:
    ratio = cost(entry, old)
    if ratio is None:
        return None
    words = f"one call in one thread is {slower(ratio.ratio)}"
    if ratio.low is None or ratio.high is None:
        return (f"{words}; too little was measured for bounds", False) if ratio.ratio > 1 + share else None
    words = f"{words} ({ratio.low:.2f} to {ratio.high:.2f})"
    if ratio.low > 1 + share:
        return words, True
    return (words, False) if ratio.ratio > 1 + share else None


def _speedup_lost(share: float, entry: Record, old: Record) -> tuple[str, bool] | None:
    now, then = number(entry["figures"], "speedup"), number(old["figures"], "speedup")
    if now is None or then is None or now >= (1 - share) * then:
        return None
    words = f"{short_figure(entry)} ({interval(entry)}), was {short_figure(old)} ({interval(old)})"
    high, low = number(entry["figures"], "high"), number(old["figures"], "low")
    return words, high is not None and low is not None and high < (1 - share) * low


def _key(entry: Mapping[str, Any]) -> tuple[Any, ...]:
    python = entry["interpreter"]
    minor = ".".join(str(python["version"]).split(".")[:2])
    build = (python["implementation"], minor, python["build"], bool(python.get("free_threaded_build")))
    return (entry["check"], entry["subject"], entry["number"], *build)
