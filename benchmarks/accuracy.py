"""Compares a new run of the benchmarks with the stored figures, and writes the tables of the accuracy page.

    python benchmarks/accuracy.py                         what is stored, with the commands
    python benchmarks/accuracy.py --only interrupt cost   run these on this interpreter, and say which figures moved
    python benchmarks/accuracy.py --only cost --output F  the same for the output of a run that is over
    python benchmarks/accuracy.py --write                 make the tables of docs/explanation/accuracy.md anew

The figures are in `benchmarks/figures.toml`, which says how they are read from a benchmark's output. Exits with 1 if one moved, and
with 3 if none did but one could not be compared: a missing figure never counts as unmoved.
"""

from __future__ import annotations

import argparse
import re
import shlex
import subprocess
import sys
import sysconfig
import tempfile
import tomllib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parents[1]
STORED = Path(__file__).parent / "figures.toml"
PAGE = ROOT / "docs" / "explanation" / "accuracy.md"
SINGLE = "single"  # the table of all measurements that have no columns
MOVED, UNMOVED, MISSING = "moved", "unmoved", "not compared"
Measurement = dict[str, Any]


def measurements() -> dict[str, Measurement]:
    """What is stored, by name."""
    return tomllib.loads(STORED.read_text())


def interpreter() -> str:
    """This interpreter, as the rows name it: its minor version, with a ``t`` if it is free-threaded."""
    return f"{sys.version_info[0]}.{sys.version_info[1]}" + ("t" if sysconfig.get_config_var("Py_GIL_DISABLED") else "")


def columns_of(measurement: Measurement) -> list[str]:
    return measurement.get("columns", ["Python", "figure"])


def number_in(cell: object) -> float | None:
    """The first number of a cell; None if it has none."""
    found = re.search(r"\d[\d,]*(\.\d+)?", str(cell))
    return float(found[0].replace(",", "")) if found else None


def read(pattern: str, row: dict[str, Any], output: str) -> float | None:
    """The sum of the numbers that a pattern finds in a benchmark's output; None if it finds none."""
    for name, value in row.items():
        pattern = pattern.replace(f"{{{name}}}", re.escape(str(value)))
    found = re.findall(pattern, output, re.MULTILINE)
    numbers = [each for match in found for each in ([match] if isinstance(match, str) else match)]
    return sum(float(each.replace(",", "")) for each in numbers) if numbers else None


def within(stored: float, now: float, moves: float | str) -> bool:
    """Whether a figure differs by no more than it may: by a number, or by a share of the stored one such as ``"30%"``."""
    most = stored * float(moves.rstrip("%")) / 100 if isinstance(moves, str) else moves
    return abs(now - stored) <= most


def compared(measurement: Measurement, output: str, python: str) -> Iterator[tuple[str, str]]:
    """What became of each figure of this interpreter: `MOVED`, `UNMOVED` or `MISSING`, and a line that says it."""
    columns = columns_of(measurement)
    rows = [dict(zip(columns, row, strict=True)) for row in measurement["rows"] if row[0] == python]
    patterns = measurement.get("reads", {})
    if not rows or not patterns:
        yield MISSING, f"no figure of {python} is stored" if not rows else "no pattern reads the output: compare it by hand"
    for row in rows:
        where = ", ".join(value for name, value in row.items() if f"{{{name}}}" in "".join(patterns.values()))
        for column, pattern in patterns.items():
            name = f"{where}, {column}" if where else column
            stored, now = number_in(row[column]), read(pattern, row, output)
            if stored is None or now is None:
                yield MISSING, f"{name}: {row[column]} is stored, {'none' if now is None else f'{now:g}'} was printed"
                continue
            moves = measurement.get("moves", {}).get(column, 0)
            said = UNMOVED if within(stored, now, moves) else MOVED
            yield said, f"{name}: {stored:g} on {measurement['date']}, {now:g} now (may differ by {moves})"


def run(command: str) -> str:
    """A benchmark's output on this interpreter; it is shown as it comes."""
    with tempfile.TemporaryDirectory() as folder:
        words = shlex.split(command.replace("{out}", str(Path(folder) / "out")))
        lines = []
        with subprocess.Popen([sys.executable, *words], cwd=ROOT, stdout=subprocess.PIPE, text=True) as process:
            assert process.stdout is not None
            for line in process.stdout:
                print(line, end="", flush=True)
                lines.append(line)
    return "".join(lines)


def as_table(columns: list[str], rows: list[list[Any]]) -> str:
    head, *lines = [f"|{'|'.join(map(str, row))}|" for row in (columns, *rows)]  # no spaces: the page has a limit
    return "\n".join([head, "|-" * len(columns) + "|", *lines])


def tables() -> dict[str, str]:
    """The tables of the page, by name. A single figure that is the same on several interpreters is shown once."""
    made, single = {}, []
    for name, measurement in measurements().items():
        command = f"`{measurement['command'].removeprefix('benchmarks/').replace(' --out {out}', '')}`"
        if "columns" in measurement:
            made[name] = f"{command}, {measurement['date']}:\n\n{as_table(measurement['columns'], measurement['rows'])}"
        else:
            pythons, figures = zip(*measurement["rows"], strict=True)
            shown = figures[:1] if len(set(figures)) == 1 else figures
            single.append([measurement["question"], ", ".join(shown), ", ".join(pythons), command, measurement["date"]])
    return made | {SINGLE: as_table(["what", "figure", "Python", "command", "date"], single)}


def renewed(page: str) -> str:
    """The page with its tables made anew."""
    for name, table in tables().items():
        begin, end = f"<!-- figures: {name} -->\n", "<!-- end -->"
        before, found, rest = page.partition(begin)
        if not found:
            raise ValueError(f"{PAGE}: the line {begin!r} is missing")
        page = f"{before}{begin}{table}\n{end}{rest.partition(end)[2]}"
    return page


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--only", nargs="+", metavar="NAME", choices=measurements(), help="what to compare")
    parser.add_argument("--output", type=Path, metavar="FILE", help="the output of a run that is over; run nothing")
    parser.add_argument("--write", action="store_true", help="write the tables of the page")
    given = parser.parse_args()
    if given.output and len(given.only or ()) != 1:
        parser.error("--output is that of one benchmark: name it with --only")
    if given.write:
        PAGE.write_text(renewed(PAGE.read_text()))
    if not (given.only or given.write):
        for name, measurement in measurements().items():
            print(f"{name:20} {measurement['date']}  python {measurement['command']}")
    outcomes = set()
    for name in given.only or ():
        measurement = measurements()[name]
        output = given.output.read_text() if given.output else run(measurement["command"])
        for said, line in compared(measurement, output, interpreter()):
            outcomes.add(said)
            print(f"{said}: {name}, {interpreter()}: {line}")
    return 1 if MOVED in outcomes else 3 if MISSING in outcomes else 0


if __name__ == "__main__":
    sys.exit(main())
