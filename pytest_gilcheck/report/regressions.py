"""What a comparison is to fail on: verdicts that changed, and figures that got worse by more than they are uncertain.

Whatever cannot be told is a finding too, one that is not decided: a check of the baseline that did not run, a claim that is another
one now, an interval that reaches beyond the limit. No condition is met by silence.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from ..core.errors import BadValue
from ..core.evidence import Record
from .matrix import cost, label_of, newest, one_thread
from .words import asserted_violated, interval, number, short_figure, slower

ALONE = ("violated", "inconclusive")  # which need no baseline
PLAIN = (*ALONE, "verdict-changed", "regressed", "missing")
GRADED = ("slower", "speedup-lost")
EXPECTED = "some of " + ", ".join(PLAIN) + ", slower:10%, speedup-lost:10%, by commas"
_SHARE = re.compile(r"([0-9]{1,6}(?:\.[0-9]{1,6})?)%")

_Key = tuple[Any, ...]


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
        elif name in GRADED and match is not None:
            found.append(Condition(name, float(match[1]) / 100))
        else:
            raise BadValue("fail-on", text, EXPECTED, source)
    return tuple(found)


def findings(wanted: Sequence[Condition], records: Sequence[Record], baseline: Sequence[Record]) -> list[Finding]:
    """Everything that the conditions find in the records, held against the baseline's.

    Of several records of one check in one file the newest counts, as in the table. A record's counterpart is the baseline's newest
    of the same check on the same interpreter and platform; another patch release counts as the same. A record without one is
    new, and only its own verdict is looked at.
    """
    records = newest(records)[0]
    before = {_key(entry): entry for entry in sorted(baseline, key=lambda entry: str(entry["recorded"]))}
    now = {_key(entry) for entry in records}
    gone = {key: entry for key, entry in before.items() if key not in now}
    found: list[Finding] = []
    for condition in wanted:
        if condition.name in ALONE:
            found += _alone(condition, records)
        elif condition.name == "missing":
            found += [_finding(condition, entry, f"the {entry['check']} check did not run") for entry in gone.values()]
        else:
            found += _against(condition, records, before, gone)
    return found


def _finding(condition: Condition, entry: Record, words: str, decided: bool = True) -> Finding:
    return Finding(condition, entry["subject"], label_of(entry["interpreter"]), words, decided)


def _alone(condition: Condition, records: Sequence[Record]) -> list[Finding]:
    if not any(entry["verdict"] for entry in records):
        return [Finding(condition, "every test", "every interpreter", "no check with a verdict is on record", decided=False)]
    return [
        _finding(condition, entry, entry["reason"])
        for entry in records
        if entry["verdict"] == condition.name and not asserted_violated(entry)
    ]


def _against(
    condition: Condition, records: Sequence[Record], before: Mapping[_Key, Record], gone: Mapping[_Key, Record]
) -> list[Finding]:
    judge, graded = _JUDGES.get(condition.name, _turned), condition.name in GRADED
    found: list[Finding] = []
    compared = 0
    gone = dict(gone)
    for entry in records:
        old = before.get(_key(entry))
        if old is None:
            free = _key(entry | {"interpreter": entry["interpreter"] | {"build": "free-threaded"}})
            if entry["interpreter"].get("free_threaded_build") and gone.pop(free, None) is not None:
                found.append(_finding(condition, entry, "was measured without a GIL, and its GIL is on now"))
                compared += 1
            continue
        if graded and not _has(condition, old):
            continue
        compared += graded or bool(old["verdict"])
        if (said := judge(condition, entry, old)) is not None:
            found.append(_finding(condition, entry, *said))
    lost = [entry for entry in gone.values() if _concerns(condition, entry)]
    if lost:
        one = f"{lost[0]['subject']} on {label_of(lost[0]['interpreter'])}"
        words = f"{len(lost)} of the baseline did not run: {one}" + (", and others" if len(lost) > 1 else "")
        found.append(Finding(condition, "checks", "those interpreters", words, decided=False))
    if not compared and not lost:
        words = "the baseline has no check that these have, on the same interpreter, with what this condition compares"
        found.append(Finding(condition, "every test", "every interpreter", words, decided=False))
    return found


def _concerns(condition: Condition, gone: Record) -> bool:
    """Whether the condition cannot be told because this check of the baseline did not run."""
    if condition.name in GRADED:
        return _has(condition, gone)
    return gone["verdict"] == "holds" if condition.name == "regressed" else bool(gone["verdict"])


def _has(condition: Condition, entry: Record) -> bool:
    """Whether it has the figure that the graded condition compares."""
    return bool(one_thread(entry)) if condition.name == "slower" else _speedup(entry) is not None


def _turned(condition: Condition, entry: Record, old: Record) -> tuple[str, bool] | None:
    was, verdict = old["verdict"] or "measured", entry["verdict"] or "measured"
    if was == verdict:
        if verdict != "holds" or (other := _another_claim(entry, old)) is None:
            return None
        return f"holds as before, and its claim is another: {other}", False
    words = f"was {was}, is {verdict}: {entry['reason']}"
    if condition.name == "verdict-changed":
        return words, True
    if "holds" not in (was, verdict) and verdict == "violated":  # it may have been, and nobody could tell
        return words, False
    if was != "holds":
        return None
    return words, verdict == "violated"


def _another_claim(entry: Record, old: Record) -> str | None:
    """What is claimed now and was not, in a record that says what was; None if it is the same."""
    for name, now, then in [
        *((name, entry["claim"].get(name), value) for name, value in old["claim"].items()),
        ("threads", entry["figures"].get("threads"), old["figures"].get("threads")),
    ]:
        if then is not None and now != then:
            return f"{name} was {then}, is {now}"
    return None


def _slower(condition: Condition, entry: Record, old: Record) -> tuple[str, bool] | None:
    ratio = cost(entry, old)
    if ratio is None:
        return "no time of one thread was measured", False
    words = f"one call in one thread is {slower(ratio.ratio)}"
    if ratio.low is None or ratio.high is None:
        return f"{words}; too little was measured for bounds", False
    if ratio.high <= 1 + condition.share:
        return None
    return f"{words} ({ratio.low:.2f} to {ratio.high:.2f})", ratio.low > 1 + condition.share


def _speedup_lost(condition: Condition, entry: Record, old: Record) -> tuple[str, bool] | None:
    then = _speedup(old)
    assert then is not None, "looked at before"
    if _speedup(entry) is None:
        return "no speedup was measured", False
    words = (
        f"{short_figure(entry)} ({interval(entry) or 'no interval'}), was {short_figure(old)} ({interval(old) or 'no interval'})"
    )
    if (threads := [each["figures"].get("threads") for each in (old, entry)])[0] != threads[1]:
        return f"{words}; with {threads[1]} threads, and {threads[0]} before", False
    if (least := number(entry["figures"], "low")) is not None and least >= (1 - condition.share) * then:
        return None
    high, low = number(entry["figures"], "high"), number(old["figures"], "low")
    return words, high is not None and low is not None and high < (1 - condition.share) * low


_JUDGES = {"slower": _slower, "speedup-lost": _speedup_lost}


def _speedup(entry: Record) -> float | None:
    return number(entry["figures"], "speedup") if entry["check"] == "scaling" else None


def _key(entry: Mapping[str, Any]) -> _Key:
    python = entry["interpreter"]
    minor = ".".join(str(python["version"]).split(".")[:2])
    build = (python["implementation"], minor, python["build"], bool(python.get("free_threaded_build")), python["platform"])
    return (entry["check"], entry["subject"], entry["number"], *build)
