"""Tests by interpreters: what was said of each test on each, what changed, and what a build costs in one thread.

The single-thread cost of a test is the time of one call in one thread over the same on the reference interpreter. The two were
measured minutes apart, so its interval holds the ratio both as it was measured and in units of the machine's own speed at that time
(`core.machine.yardstick`); where these differ, the machine changed, and the interval says how much that leaves open.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from statistics import geometric_mean, median
from typing import Any

from ..core.evidence import Record
from ..core.evidence_files import interpreter_key
from .clean import one_line
from .words import number

_LONGEST = 1e9  # seconds: no time of a call is longer
_EXACT = 500  # values up to which the bounds are worked out exactly: that takes as long as the cube of their number
_RISK = 0.05  # that the median is outside of its bounds; from six figures on there are such bounds


@dataclass(frozen=True)
class Cost:
    """Seconds of one call in one thread, over the reference's; above 1 is slower. Bounds are None if too little was measured."""

    ratio: float
    low: float | None
    high: float | None


@dataclass(frozen=True)
class Column:
    """One interpreter, or one file's or one worker's runs on it where two of them know the same test.

    Attributes:
        label: ``"3.13.5t"``, ``"3.13.5t GIL on"``, ``"PyPy 3.9.16"``.
        interpreter: as in its first record.
        file: where its records come from, if that tells it from another column.
    """

    label: str
    interpreter: dict[str, Any]
    file: str = ""


@dataclass(frozen=True)
class Cell:
    """One check on one interpreter; its cost is None on the reference, and where none was measured."""

    record: Record
    cost: Cost | None


@dataclass(frozen=True)
class Row:
    """One check of one test, on every interpreter; None where it did not run."""

    subject: str
    check: str
    number: int
    cells: tuple[Cell | None, ...]

    @property
    def name(self) -> str:
        return self.subject if self.number == 1 else f"{self.subject} #{self.number}"

    @property
    def verdicts(self) -> list[str | None]:
        return [cell.record["verdict"] for cell in self.cells if cell is not None]

    @property
    def changed(self) -> bool:
        """Whether the verdict is not the same everywhere."""
        return len(set(self.verdicts)) > 1


@dataclass(frozen=True)
class Matrix:
    """The table.

    Attributes:
        columns, rows: in order of appearance.
        reference: the column whose costs are 1.
        replaced: how many records were left out, because a newer one is of the same check.
    """

    columns: tuple[Column, ...]
    rows: tuple[Row, ...]
    reference: int = 0
    replaced: int = 0

    def mean_cost(self, column: int) -> tuple[float, int] | None:
        """Geometric mean of the costs of a column, and of how many tests; None of none."""
        costs = [cell.cost.ratio for row in self.rows if (cell := row.cells[column]) is not None and cell.cost is not None]
        return (geometric_mean(costs), len(costs)) if costs else None


def matrix(records: Iterable[Record], *, reference: str | None = None, ordered: bool = False) -> Matrix:
    """The table of these records.

    Args:
        records: a record's ``"file"`` and ``"worker"``, if it has them, tell columns of the same interpreter apart where they must.
        reference: label of the column to compare costs with; the first by default.
        ordered: columns by version, instead of in the order of their first record.

    Raises:
        LookupError: there is no column of that label; its message names those that are.
    """
    kept, replaced = newest(records)
    groups = _columns(kept)
    keys = sorted(groups, key=_age) if ordered else list(groups)
    columns = _labelled(keys, groups)
    index = 0
    if reference is not None:
        labels = [column.label for column in columns]
        if reference not in labels:
            raise LookupError(", ".join(labels))
        index = labels.index(reference)
    cells: dict[tuple[str, str, int], dict[int, Record]] = {}
    positions = {id(entry): position for position, key in enumerate(keys) for entry in groups[key]}
    for entry in kept:
        cells.setdefault((entry["subject"], entry["check"], entry["number"]), {})[positions[id(entry)]] = entry
    rows = [
        Row(*key, tuple(_cell(found.get(position), found.get(index)) for position in range(len(columns))))
        for key, found in cells.items()
    ]
    return Matrix(tuple(columns), tuple(rows), index, replaced)


def label_of(python: dict[str, Any]) -> str:
    """A short name of an interpreter."""
    name = "" if python["implementation"] == "CPython" else f"{python['implementation']} "
    suffix = "t" if python.get("free_threaded_build") else ""
    state = " GIL on" if suffix and python["build"] == "gil" else ""
    return one_line(f"{name}{python['version']}{suffix}{state}", 40)


def cost(entry: Record, base: Record) -> Cost | None:
    """What one call costs in one thread, against the same check on the reference."""
    ours, theirs = one_thread(entry), one_thread(base)
    if not ours or not theirs:
        return None
    ratio = median(ours) / median(theirs)
    if not 1e-6 < ratio < 1e6:  # no build does that: one of them is no time
        return None
    bounds, others = median_bounds(ours), median_bounds(theirs)
    if bounds is None or others is None:
        return Cost(ratio, None, None)
    low, high = bounds[0] / others[1], bounds[1] / others[0]
    speeds, before = _yardsticks(entry), _yardsticks(base)
    if speeds and before and entry["machine"].get("hash_library") == base["machine"].get("hash_library"):
        slowest, fastest = (
            max(speeds) / min(before),
            min(speeds) / max(before),
        )  # how much slower our machine was, at most and least
        low, high = min(low, low / slowest), max(high, high / fastest)
    return Cost(ratio, low, high)


def median_bounds(values: Sequence[float]) -> tuple[float, float] | None:
    """An interval of the median, of 95% or a little more, by order statistics: it asks nothing of the distribution. None of fewer
    than six values.

    Source: H. A. David, H. N. Nagaraja, Order Statistics (2003), 7.1.
    """
    ordered, n = sorted(values), len(values)
    if n > _EXACT:
        cut = int((n - 1.96 * math.sqrt(n)) / 2)  # the binomial's normal approximation
        return ordered[cut - 1], ordered[n - cut]
    below, cut = 0.0, 0  # the chance that at most `cut - 1` values are below the median
    while 2 * (below + math.comb(n, cut) / 2**n) <= _RISK:
        below += math.comb(n, cut) / 2**n
        cut += 1
    return (ordered[cut - 1], ordered[n - cut]) if cut else None


def one_thread(entry: Record) -> list[float]:
    """Seconds of calls in one thread, as far as they were measured."""
    found = entry["details"].get("one_thread")
    values = found if isinstance(found, list) else []
    sound = [float(value) for value in values if _positive(value)]
    if not sound and _positive(only := number(entry["figures"], "call_seconds")):
        sound = [float(only or 0)]
    return sound


def _yardsticks(entry: Record) -> list[float]:
    both = (number(entry["figures"], "yardstick_before"), number(entry["figures"], "yardstick_after"))
    return [value for value in both if value is not None and value > 0]


def _positive(value: object) -> bool:
    return isinstance(value, (int, float)) and not isinstance(value, bool) and 0 < value < _LONGEST


def _cell(entry: Record | None, base: Record | None) -> Cell | None:
    if entry is None:
        return None
    return Cell(entry, None if base is None or base is entry else cost(entry, base))


def newest(records: Iterable[Record]) -> tuple[list[Record], int]:
    """The newest record of each check, interpreter and file."""
    kept: dict[tuple[Any, ...], Record] = {}
    count = 0
    for entry in records:
        count += 1
        key = (_source(entry), entry["check"], entry["subject"], entry["number"], *interpreter_key(entry))
        if key not in kept or kept[key]["recorded"] <= entry["recorded"]:
            kept[key] = entry
    return list(kept.values()), count - len(kept)


def _source(entry: Record, names: Sequence[str] = ("file", "worker")) -> str:
    """What tells two records of the same check on the same interpreter apart: their files, or the workers of one run."""
    return " ".join(str(entry[name]) for name in names if entry.get(name))


def _columns(records: Sequence[Record]) -> dict[tuple[Any, ...], list[Record]]:
    """Records by column: by interpreter; by file too where two files have the same check on the same interpreter; and by worker
    where two workers of one file do, as with ``--dist each``, and not where they shared the tests."""
    files, workers = _twice(records, (), ("file",)), _twice(records, ("file",), ("worker",))
    groups: dict[tuple[Any, ...], list[Record]] = {}
    for entry in records:
        python = interpreter_key(entry)
        names = [name for name, known in (("file", files), ("worker", workers)) if python in known]
        groups.setdefault((python, _source(entry, names)), []).append(entry)
    return groups


def _twice(records: Sequence[Record], same: Sequence[str], other: Sequence[str]) -> set[tuple[Any, ...]]:
    """The interpreters on which one check is known twice, from the same of the first and another of the second."""
    found: set[tuple[Any, ...]] = set()
    owner: dict[tuple[Any, ...], str] = {}
    for entry in records:
        key = (entry["check"], entry["subject"], entry["number"], _source(entry, same), *interpreter_key(entry))
        if owner.setdefault(key, _source(entry, other)) != _source(entry, other):
            found.add(interpreter_key(entry))
    return found


def _labelled(keys: list[tuple[Any, ...]], groups: dict[tuple[Any, ...], list[Record]]) -> list[Column]:
    pythons = [groups[key][0]["interpreter"] for key in keys]
    labels = [label_of(python) for python in pythons]
    platforms = {python["platform"] for python in pythons}
    columns = []
    for key, python, label in zip(keys, pythons, labels, strict=True):
        if key[1]:
            label = f"{label} ({one_line(key[1], 40)})"
        elif labels.count(label) > 1 and len(platforms) > 1:
            label = f"{label} {one_line(python['platform'], 30)}"
        columns.append(Column(label, python, key[1]))
    return columns


def _age(key: tuple[Any, ...]) -> tuple[Any, ...]:
    implementation, version, build, free_threaded, platform = key[0]
    numbers = [int(part) if part.isdigit() else -1 for part in version.replace("rc", ".").replace("b", ".").split(".")]
    return (implementation != "CPython", implementation, numbers, bool(free_threaded), build == "gil", str(platform), key[1])
