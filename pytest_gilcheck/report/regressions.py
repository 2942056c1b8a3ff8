"""The conditions of ``gilcheck compare --fail-on``: verdicts that changed, and figures that got worse beyond their uncertainty.

An undecided condition is a finding too: a check of the baseline did not run, a claim changed, or an interval contains the limit.
Missing evidence never counts as passed.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from ..core.errors import BadValue
from ..core.evidence import Record, asserted_violated
from .matrix import cost, label_of, minor, newest, one_thread
from .words import interval, number, short_figure, slower

DECIDED = ("holds", "violated")  # verdicts of checks that ran
_NAMED = 5  # further inconclusive checks in one message
ALONE = ("violated", "inconclusive")  # conditions that need no baseline
PLAIN = (*ALONE, "verdict-changed", "regressed", "missing")
GRADED = ("slower", "speedup-lost")
EXPECTED = "some of " + ", ".join(PLAIN) + ", slower:10%, speedup-lost:10%, by commas"
_SHARE = re.compile(r"([0-9]{1,6}(?:\.[0-9]{1,6})?)%")

_Key = tuple[Any, ...]


@dataclass(frozen=True)
class Condition:
    """One condition of ``--fail-on``.

    Attributes:
        name: one of `PLAIN` or `GRADED`.
        share: the limit of a graded condition: 0.1 for ``10%``.
    """

    name: str
    share: float = 0.0

    def __str__(self) -> str:
        return f"{self.name}:{self.share * 100:g}%" if self.name in GRADED else self.name


@dataclass(frozen=True)
class ComparisonFinding:
    """What a condition found: one check on one interpreter.

    Attributes:
        message: the figures, in one line.
        decided: False where the figures are too uncertain to decide; such a finding is not a pass.
    """

    condition: Condition
    subject: str
    interpreter: str
    message: str
    decided: bool = True

    def __str__(self) -> str:
        undecided = "" if self.decided else " undecided"
        return f"{self.condition}{undecided}: {self.subject} on {self.interpreter}: {self.message}"


def conditions(text: str, source: str = "command line --fail-on") -> tuple[Condition, ...]:
    """Return the conditions that a ``--fail-on`` lists.

    Raises:
        BadValue: an unknown condition, or a limit that is not a percentage.
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


UNFINISHED = Condition("unfinished run")
REQUIRED_INTERPRETER, REQUIRED_CHECKS = Condition("require-interpreter"), Condition("require-checks")


def absent(records: Sequence[Record], interpreters: Sequence[str], checks: int | None) -> list[ComparisonFinding]:
    """Return what was required and is not there.

    A check counts if it holds or is violated: one that is inconclusive may not have run at all. It counts once for an interpreter,
    in however many files it is.

    Args:
        interpreters: names such as ``3.14t`` or ``3.13.5t``; on each, at least one check must count.
        checks: how many checks must count on each interpreter; None requires none.
    """
    decided: dict[str, set[_Key]] = {}
    undecided: dict[str, dict[_Key, Record]] = {}
    for entry in newest(records)[0]:
        label, key = label_of(entry["interpreter"]), (entry["check"], entry["subject"], entry["number"])
        decided.setdefault(label, set())
        undecided.setdefault(label, {})
        if entry["verdict"] in DECIDED:
            decided[label].add(key)
        elif entry["verdict"] is not None:
            undecided[label].setdefault(key, entry)
    for label, keys in decided.items():
        for key in keys:
            undecided[label].pop(key, None)
    found = []
    for name in interpreters:
        labels = [label for label in decided if name in (label, minor(label))]
        if not any(decided[label] for label in labels):
            others = ", ".join(sorted(decided)) or "none"
            why = "; ".join(_undecided(undecided[label]) for label in labels) or f"interpreters on record: {others}"
            found.append(ComparisonFinding(REQUIRED_INTERPRETER, name, name, f"no check holds or is violated there; {why}"))
    for label in decided or ("every interpreter",) if checks is not None else ():
        if (count := len(decided.get(label, ()))) < (checks or 0):
            message = f"{count} hold or are violated, and {checks} are required; {_undecided(undecided.get(label, {}))}"
            found.append(ComparisonFinding(REQUIRED_CHECKS, "all checks", label, message))
    return found


def _undecided(entries: Mapping[_Key, Record]) -> str:
    """Name the checks that are inconclusive, the first with its reason."""
    if not entries:
        return "none is inconclusive"
    first, *others = [f"{entry['check']} of {entry['subject']}" for entry in entries.values()]
    reason = next(iter(entries.values()))["reason"]
    more = [f"{len(others) - _NAMED} more"] if len(others) > _NAMED else []
    return ", ".join([f"{len(entries)} inconclusive: {first} ({reason})", *others[:_NAMED], *more])


def findings(wanted: Sequence[Condition], records: Sequence[Record], baseline: Sequence[Record]) -> list[ComparisonFinding]:
    """Return everything that the conditions find in the records, compared with the baseline.

    Of several records of one check in one file the newest counts, as in the table. A record is compared with the newest one of the
    baseline with the same check, interpreter and platform; the patch release may differ. Without such a counterpart, only the
    conditions that need no baseline apply.
    """
    records = newest(records)[0]
    before = {_key(entry): entry for entry in sorted(baseline, key=lambda entry: str(entry["recorded"]))}
    now = {_key(entry) for entry in records}
    gone = {key: entry for key, entry in before.items() if key not in now}
    found: list[ComparisonFinding] = []
    for condition in wanted:
        if condition.name in ALONE:
            found += _without_baseline(condition, records)
        elif condition.name == "missing":
            found += [_finding(condition, entry, f"the {entry['check']} check did not run") for entry in gone.values()]
        else:
            found += _against_baseline(condition, records, before, gone)
    return found


def _finding(condition: Condition, entry: Record, message: str, decided: bool = True) -> ComparisonFinding:
    return ComparisonFinding(condition, entry["subject"], label_of(entry["interpreter"]), message, decided)


def _without_baseline(condition: Condition, records: Sequence[Record]) -> list[ComparisonFinding]:
    if not any(entry["verdict"] for entry in records):
        return [
            ComparisonFinding(condition, "every test", "every interpreter", "no check with a verdict is on record", decided=False)
        ]
    return [
        _finding(condition, entry, entry["reason"])
        for entry in records
        if entry["verdict"] == condition.name and not asserted_violated(entry)
    ]


def _against_baseline(
    condition: Condition, records: Sequence[Record], before: Mapping[_Key, Record], gone: Mapping[_Key, Record]
) -> list[ComparisonFinding]:
    judge, graded = _JUDGES.get(condition.name, _verdict_change), condition.name in GRADED
    found: list[ComparisonFinding] = []
    compared = 0
    gone = dict(gone)
    for entry in records:
        old = before.get(_key(entry))
        if old is None:
            free = _key(entry | {"interpreter": entry["interpreter"] | {"build": "free-threaded"}})
            if entry["interpreter"].get("free_threaded_build") and gone.pop(free, None) is not None:
                found.append(_finding(condition, entry, "was measured without a GIL; the GIL is on now"))
                compared += 1
            continue
        if graded and not _has_figure(condition, old):
            continue
        compared += graded or bool(old["verdict"])
        if (result := judge(condition, entry, old)) is not None:
            found.append(_finding(condition, entry, *result))
    lost = [entry for entry in gone.values() if _concerns(condition, entry)]
    if lost:
        one = f"{lost[0]['subject']} on {label_of(lost[0]['interpreter'])}"
        message = f"{len(lost)} of the baseline did not run: {one}" + (", and others" if len(lost) > 1 else "")
        found.append(ComparisonFinding(condition, "checks", "those interpreters", message, decided=False))
    if not compared and not lost:
        message = (
            "the baseline has no record of the same check on the same interpreter with the figure that this condition compares"
        )
        found.append(ComparisonFinding(condition, "every test", "every interpreter", message, decided=False))
    return found


def _concerns(condition: Condition, gone: Record) -> bool:
    """Whether the condition is undecided because this check of the baseline did not run."""
    if condition.name in GRADED:
        return _has_figure(condition, gone)
    return gone["verdict"] == "holds" if condition.name == "regressed" else bool(gone["verdict"])


def _has_figure(condition: Condition, entry: Record) -> bool:
    """Whether the record has the figure that the graded condition compares."""
    return bool(one_thread(entry)) if condition.name == "slower" else _speedup(entry) is not None


def _verdict_change(condition: Condition, entry: Record, old: Record) -> tuple[str, bool] | None:
    was, verdict = old["verdict"] or "measured", entry["verdict"] or "measured"
    if was == verdict:
        if verdict != "holds" or (other := _changed_claim(entry, old)) is None:
            return None
        return f"holds as before, but with another claim: {other}", False
    message = f"was {was}, is {verdict}: {entry['reason']}"
    if condition.name == "verdict-changed":
        return message, True
    if "holds" not in (was, verdict) and verdict == "violated":  # it may have been violated before: the baseline did not decide
        return message, False
    if was != "holds":
        return None
    return message, verdict == "violated"


def _changed_claim(entry: Record, old: Record) -> str | None:
    """Return the first difference between the claims of two records; None if there is none."""
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
    message = f"one call in one thread is {slower(ratio.ratio)}"
    if ratio.low is None or ratio.high is None:
        return f"{message}; too little was measured for bounds", False
    if ratio.high <= 1 + condition.share:
        return None
    return f"{message} ({ratio.low:.2f} to {ratio.high:.2f})", ratio.low > 1 + condition.share


def _speedup_lost(condition: Condition, entry: Record, old: Record) -> tuple[str, bool] | None:
    then = _speedup(old)
    assert then is not None, "_against_baseline skips records without a speedup"
    if _speedup(entry) is None:
        return "no speedup was measured", False
    message = (
        f"{short_figure(entry)} ({interval(entry) or 'no interval'}), was {short_figure(old)} ({interval(old) or 'no interval'})"
    )
    if (threads := [each["figures"].get("threads") for each in (old, entry)])[0] != threads[1]:
        return f"{message}; with {threads[1]} threads, before with {threads[0]}", False
    if (least := number(entry["figures"], "low")) is not None and least >= (1 - condition.share) * then:
        return None
    high, low = number(entry["figures"], "high"), number(old["figures"], "low")
    return message, high is not None and low is not None and high < (1 - condition.share) * low


_JUDGES = {"slower": _slower, "speedup-lost": _speedup_lost}


def _speedup(entry: Record) -> float | None:
    return number(entry["figures"], "speedup") if entry["check"] == "scaling" else None


def _key(entry: Mapping[str, Any]) -> _Key:
    python = entry["interpreter"]
    minor = ".".join(str(python["version"]).split(".")[:2])
    build = (python["implementation"], minor, python["build"], bool(python.get("free_threaded_build")), python["platform"])
    return (entry["check"], entry["subject"], entry["number"], *build)
