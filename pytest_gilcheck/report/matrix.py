"""The table of tests by interpreters: the verdict of each test on each, what changed, and what a build costs in one thread.

The one-thread cost of a test is the time of one call in one thread, divided by the same on the reference interpreter. The two were
measured minutes apart, so the interval of a cost contains two ratios: the one measured, and the one in units of the machine's speed
at that time (`core.machine.yardstick`). Where they differ, the machine changed its speed, and the interval is that much wider.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from statistics import geometric_mean, median
from typing import Any

from ..core.evidence import Record
from ..core.evidence_files import interpreter_key
from .clean import one_line
from .words import number

_LONGEST = 1e9  # seconds; a longer time of a call is damage
_EXACT = 500  # values up to which the bounds are computed exactly; the time for that grows with the cube of their number
_RISK = 0.05  # probability that the median is outside its bounds; such bounds exist from six values on


@dataclass(frozen=True)
class Cost:
    """The one-thread cost: seconds of one call, divided by the same on the reference. Above 1 is slower.

    Attributes:
        ratio: the ratio of the medians.
        low, high: bounds of the ratio; None with fewer than six values on either side.
    """

    ratio: float
    low: float | None
    high: float | None


@dataclass(frozen=True)
class MatrixColumn:
    """One interpreter. Where two files or two xdist workers have the same test on it, one column for each of them.

    Attributes:
        label: ``"3.13.5t"``, ``"3.13.5t GIL on"``, ``"PyPy 3.9.16"``.
        interpreter: as in its first record.
        file: the file or worker of its records, where there is another column for the same interpreter; otherwise empty.
    """

    label: str
    interpreter: dict[str, Any]
    file: str = ""


@dataclass(frozen=True)
class MatrixCell:
    """One check on one interpreter. ``cost`` is None on the reference interpreter, and where no time was measured."""

    record: Record
    cost: Cost | None


@dataclass(frozen=True)
class MatrixRow:
    """One check of one test on every interpreter; a cell is None where the check did not run."""

    subject: str
    check: str
    number: int
    cells: tuple[MatrixCell | None, ...]

    @property
    def name(self) -> str:
        return self.subject if self.number == 1 else f"{self.subject} #{self.number}"

    @property
    def verdicts(self) -> list[str | None]:
        return [cell.record["verdict"] for cell in self.cells if cell is not None]

    @property
    def changed(self) -> bool:
        """Whether the verdicts of the cells differ."""
        return len(set(self.verdicts)) > 1


@dataclass(frozen=True)
class Matrix:
    """The table of tests by interpreters.

    Attributes:
        columns, rows: in order of appearance.
        reference: the column whose costs are 1.
        replaced: number of records left out because there is a newer one of the same check.
    """

    columns: tuple[MatrixColumn, ...]
    rows: tuple[MatrixRow, ...]
    reference: int = 0
    replaced: int = 0

    def mean_cost(self, column: int) -> tuple[float, int] | None:
        """Return the geometric mean of the costs of a column and the number of tests in it; None without any cost."""
        costs = [cell.cost.ratio for row in self.rows if (cell := row.cells[column]) is not None and cell.cost is not None]
        return (geometric_mean(costs), len(costs)) if costs else None


def matrix(records: Iterable[Record], *, reference: str | None = None, ordered: bool = False) -> Matrix:
    """Return the table of these records.

    Args:
        records: evidence. Their ``"file"`` and ``"worker"``, if present, separate columns of one interpreter where necessary.
        reference: label of the column with which costs are compared, without its patch release if no other column has that name;
            the first column by default.
        ordered: sort the columns by version, instead of by their first record.

    Raises:
        LookupError: no column has that label; the message lists the labels.
    """
    kept, replaced = newest(records)
    groups = _columns(kept)
    keys = sorted(groups, key=_version_order) if ordered else list(groups)
    columns = _labelled(keys, groups)
    index = 0
    if reference is not None:
        labels = [column.label for column in columns]
        short = [minor(label_of(column.interpreter)) for column in columns]
        among = short if reference not in labels and short.count(reference) == 1 else labels
        if reference not in among:
            raise LookupError(", ".join(labels))
        index = among.index(reference)
    cells: dict[tuple[str, str, int], dict[int, Record]] = {}
    positions = {id(entry): position for position, key in enumerate(keys) for entry in groups[key]}
    for entry in kept:
        cells.setdefault((entry["subject"], entry["check"], entry["number"]), {})[positions[id(entry)]] = entry
    rows = [
        MatrixRow(*key, tuple(_cell(found.get(position), found.get(index)) for position in range(len(columns))))
        for key, found in cells.items()
    ]
    return Matrix(tuple(columns), tuple(rows), index, replaced)


def label_of(python: dict[str, Any]) -> str:
    """Return a short name of an interpreter, for instance ``"3.13.5t GIL on"``."""
    name = "" if python["implementation"] == "CPython" else f"{python['implementation']} "
    suffix = "t" if python.get("free_threaded_build") else ""
    state = " GIL on" if suffix and python["build"] == "gil" else ""
    return one_line(f"{name}{python['version']}{suffix}{state}", 40)


def minor(label: str) -> str:
    """``3.14t`` of ``3.14.0t``: a label without its patch release."""
    return re.sub(r"^(\d+\.\d+)\.\w+?(t?)(?= |$)", r"\1\2", label)


def cost(entry: Record, base: Record) -> Cost | None:
    """Return the cost of ``entry`` compared with ``base``, the same check on the reference; None if either has no time."""
    values, base_values = one_thread(entry), one_thread(base)
    if not values or not base_values:
        return None
    ratio = median(values) / median(base_values)
    if not 1e-6 < ratio < 1e6:  # no build differs that much: one of the two is damaged
        return None
    bounds, others = median_bounds(values), median_bounds(base_values)
    if bounds is None or others is None:
        return Cost(ratio, None, None)
    low, high = bounds[0] / others[1], bounds[1] / others[0]
    speeds, before = _yardsticks(entry), _yardsticks(base)
    if speeds and before and entry["machine"].get("hash_library") == base["machine"].get("hash_library"):
        slowest, fastest = (
            max(speeds) / min(before),
            min(speeds) / max(before),
        )  # the machine was slower by this factor, at most and at least
        low, high = min(low, low / slowest), max(high, high / fastest)
    return Cost(ratio, low, high)


def median_bounds(values: Sequence[float]) -> tuple[float, float] | None:
    """Return an interval that contains the median with a probability of at least 95%; None with fewer than six values.

    Order statistics need no assumption about the distribution.

    Source: H. A. David, H. N. Nagaraja, Order Statistics (2003), 7.1.
    """
    ordered, n = sorted(values), len(values)
    if n > _EXACT:
        cut = int((n - 1.96 * math.sqrt(n)) / 2)  # normal approximation of the binomial distribution
        return ordered[cut - 1], ordered[n - cut]
    below, cut = 0.0, 0  # probability that at most `cut - 1` values are below the median
    while 2 * (below + math.comb(n, cut) / 2**n) <= _RISK:
        below += math.comb(n, cut) / 2**n
        cut += 1
    return (ordered[cut - 1], ordered[n - cut]) if cut else None


def one_thread(entry: Record) -> list[float]:
    """Return the measured seconds of calls in one thread; empty if there are none."""
    found = entry["details"].get("one_thread")
    values = found if isinstance(found, list) else []
    usable = [float(value) for value in values if _positive(value)]
    if not usable and _positive(only := number(entry["figures"], "call_seconds")):
        usable = [float(only or 0)]
    return usable


def _yardsticks(entry: Record) -> list[float]:
    both = (number(entry["figures"], "yardstick_before"), number(entry["figures"], "yardstick_after"))
    return [value for value in both if value is not None and value > 0]


def _positive(value: object) -> bool:
    return isinstance(value, (int, float)) and not isinstance(value, bool) and 0 < value < _LONGEST


def _cell(entry: Record | None, base: Record | None) -> MatrixCell | None:
    if entry is None:
        return None
    return MatrixCell(entry, None if base is None or base is entry else cost(entry, base))


def newest(records: Iterable[Record]) -> tuple[list[Record], int]:
    """Return the newest record of each check, interpreter and file, and the number of records left out."""
    kept: dict[tuple[Any, ...], Record] = {}
    count = 0
    for entry in records:
        count += 1
        key = (_source(entry), entry["check"], entry["subject"], entry["number"], *interpreter_key(entry))
        if key not in kept or kept[key]["recorded"] <= entry["recorded"]:
            kept[key] = entry
    return list(kept.values()), count - len(kept)


def _source(entry: Record, names: Sequence[str] = ("file", "worker")) -> str:
    """Return the values of these fields of a record, as one text: the file and the xdist worker that it came from."""
    return " ".join(str(entry[name]) for name in names if entry.get(name))


def _columns(records: Sequence[Record]) -> dict[tuple[Any, ...], list[Record]]:
    """Return the records by column.

    A column is an interpreter. Files of it are separate columns where two of them have the same check. Workers of one file are
    separate columns where two of them have the same check, as with ``--dist each``, and not where they shared the tests.
    """
    files, workers = _with_duplicates(records, (), ("file",)), _with_duplicates(records, ("file",), ("worker",))
    groups: dict[tuple[Any, ...], list[Record]] = {}
    for entry in records:
        python = interpreter_key(entry)
        names = [name for name, duplicated in (("file", files), ("worker", workers)) if python in duplicated]
        groups.setdefault((python, _source(entry, names)), []).append(entry)
    return groups


def _with_duplicates(records: Sequence[Record], same: Sequence[str], other: Sequence[str]) -> set[tuple[Any, ...]]:
    """Return the interpreters on which two records of one check have equal fields ``same`` and different fields ``other``."""
    found: set[tuple[Any, ...]] = set()
    owner: dict[tuple[Any, ...], str] = {}
    for entry in records:
        key = (entry["check"], entry["subject"], entry["number"], _source(entry, same), *interpreter_key(entry))
        if owner.setdefault(key, _source(entry, other)) != _source(entry, other):
            found.add(interpreter_key(entry))
    return found


def _labelled(keys: list[tuple[Any, ...]], groups: dict[tuple[Any, ...], list[Record]]) -> list[MatrixColumn]:
    pythons = [groups[key][0]["interpreter"] for key in keys]
    labels = [label_of(python) for python in pythons]
    platforms = {python["platform"] for python in pythons}
    columns = []
    for key, python, label in zip(keys, pythons, labels, strict=True):
        if key[1]:
            label = f"{label} ({one_line(key[1], 40)})"
        elif labels.count(label) > 1 and len(platforms) > 1:
            label = f"{label} {one_line(python['platform'], 30)}"
        columns.append(MatrixColumn(label, python, key[1]))
    return columns


def _version_order(key: tuple[Any, ...]) -> tuple[Any, ...]:
    implementation, version, build, free_threaded, platform = key[0]
    numbers = [int(part) if part.isdigit() else -1 for part in version.replace("rc", ".").replace("b", ".").split(".")]
    return (implementation != "CPython", implementation, numbers, bool(free_threaded), build == "gil", str(platform), key[1])
