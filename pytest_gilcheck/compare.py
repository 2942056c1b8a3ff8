"""``gilcheck compare``: evidence of any number of runs as one table, and what in it is to fail."""

from __future__ import annotations

import argparse
import shutil
import sys
from collections.abc import Sequence
from pathlib import Path

from .core import evidence_files
from .core.errors import BadValue
from .core.evidence import Record
from .report import html, tables
from .report.clean import one_line
from .report.matrix import Matrix, matrix
from .report.regressions import ALONE, EXPECTED, Finding, conditions, findings
from .report.words import MARKS

FORMATS = ("text", "markdown", "json", "csv", "html")
HOLDS, FOUND, USAGE, UNDECIDED = 0, 1, 2, 3


def add(commands: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    """Add the command to those of ``gilcheck``."""
    parser = commands.add_parser(
        "compare",
        help="evidence of several interpreters or runs as one table",
        description="Put the evidence that --gilcheck-json wrote into one table, tests by interpreters: verdicts, figures, what "
        "changed, and what each build costs in one thread.",
        epilog="Exit status: 0 nothing of --fail-on was found, 1 something was, 2 bad usage or a file that is not evidence (the "
        "others are still compared), 3 nothing was found, but something of --fail-on could not be told.",
    )
    parser.add_argument(
        "files", metavar="FILE", nargs="+", type=Path, help="evidence of any number of runs, or a folder: all *.json files in it"
    )
    parser.add_argument("--baseline", metavar="FILE", type=Path, action="append", default=[], help="evidence to hold them against")
    parser.add_argument(
        "--fail-on", metavar="LIST", help=f"{EXPECTED}; against the baseline, except the first two".replace("%", "%%")
    )
    parser.add_argument("--reference", metavar="LABEL", help="the interpreter that costs 1 in one thread (default: the first)")
    parser.add_argument("--format", metavar="HOW", default="text", help=f"{', '.join(FORMATS)} (default: text)")
    parser.add_argument("--output", metavar="FILE", type=Path, help="write there instead of printing")
    parser.set_defaults(run=lambda given, clock: run(given))


def run(given: argparse.Namespace) -> int:
    """Carry the command out; returns its exit status.

    Raises:
        BadValue: an argument that cannot be used.
    """
    _check(given)
    wanted = conditions(given.fail_on) if given.fail_on is not None else ()
    records, damaged = _read(given.files)
    baseline, damaged_too = _read(given.baseline)
    for line in damaged + damaged_too:
        print(f"gilcheck: {one_line(line)}", file=sys.stderr)
    if not records and (damaged or damaged_too):
        return USAGE
    try:
        table = matrix(records, reference=given.reference)
    except LookupError as error:
        raise BadValue("reference", given.reference, f"one of {error}", "command line --reference") from None
    found = findings(wanted, records, baseline)
    _put(given, _formatted(given.format, table, records, found))
    if given.format not in ("text", "markdown", "json") or given.output is not None:
        for finding in found:
            print(f"gilcheck: {one_line(finding)}", file=sys.stderr)
    if damaged or damaged_too:
        return USAGE
    if any(finding.decided for finding in found):
        return FOUND
    return UNDECIDED if found else HOLDS


def _check(given: argparse.Namespace) -> None:
    if given.format not in FORMATS:
        raise BadValue("format", given.format, f"one of {', '.join(FORMATS)}", "command line --format")
    if given.format == "html" and (why := html.unavailable()) is not None:
        raise BadValue("format", given.format, f"another format, because {why}", "command line --format")
    if given.output is not None:
        evidence_files.check_target(given.output, "command line --output", "output")
    if given.fail_on is not None and not given.baseline:
        needy = [str(each) for each in conditions(given.fail_on) if each.name not in ALONE]
        if needy:
            raise BadValue("fail-on", needy[0], "--baseline beside it", "command line --fail-on")


def _read(files: Sequence[Path]) -> tuple[list[Record], list[str]]:
    """All records, each with the name of its file, and a line for each file that cannot be read."""
    records: list[Record] = []
    damaged = []
    for path in _unfolded(files):
        try:
            records += [entry | {"file": str(path)} for entry in evidence_files.read(path)]
        except evidence_files.BadEvidence as error:
            damaged.append(str(error))
        except OSError as error:
            damaged.append(f"{path}: {error.strerror or error}")
    return records, damaged


def _unfolded(files: Sequence[Path]) -> list[Path]:
    """The files, and those of each folder."""
    found: list[Path] = []
    for path in files:
        inside = sorted(path.glob("*.json")) if path.is_dir() else [path]
        if not inside:
            raise BadValue("FILE", str(path), "a folder with .json files in it", "command line")
        found += inside
    return found


def _formatted(how: str, table: Matrix, records: Sequence[Record], found: Sequence[Finding]) -> str:
    if how == "markdown":
        return tables.markdown(table, found)
    if how == "json":
        return tables.as_json(table, found)
    if how == "csv":
        return tables.comma_separated(table).rstrip("\n")
    if how == "html":
        return html.page(records, title="gilcheck compare", notes=[str(finding) for finding in found])
    return tables.text(table, found, width=shutil.get_terminal_size().columns, plain=not _can_write("".join(MARKS.values())))


def _put(given: argparse.Namespace, text: str) -> None:
    if given.output is not None:
        try:
            evidence_files.replace(given.output.resolve(), text + "\n")
        except OSError as error:
            raise BadValue("output", str(given.output), f"a file that can be written ({error})", "command line --output") from None
        return
    encoding = sys.stdout.encoding or "ascii"
    print(text.encode(encoding, "replace").decode(encoding))


def _can_write(text: str) -> bool:
    try:
        text.encode(sys.stdout.encoding or "ascii")
    except (UnicodeError, LookupError):
        return False
    return True
