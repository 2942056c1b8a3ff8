"""The command ``gilcheck compare``: evidence of any number of runs as one table, and the conditions on which it fails."""

from __future__ import annotations

import argparse
import shutil
import sys
from collections.abc import Sequence
from pathlib import Path

from .core import evidence_files
from .core.errors import BadValue
from .core.evidence import Record
from .core.printed import say, write
from .core.values import integer
from .report import html, tables
from .report.clean import one_line
from .report.matrix import Matrix, matrix
from .report.regressions import ALONE, EXPECTED, UNFINISHED, ComparisonFinding, Condition, absent, conditions, findings
from .report.words import MARKS

FORMATS = ("text", "markdown", "json", "csv", "html")
HOLDS, FOUND, USAGE, UNDECIDED = 0, 1, 2, 3


def add(commands: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    """Add the command to the parser of ``gilcheck``."""
    parser = commands.add_parser(
        "compare",
        help="evidence of several interpreters or runs as one table",
        description="Put the evidence that --gilcheck-json wrote into one table, tests by interpreters: verdicts, figures, what "
        "changed, and what each build costs in one thread.",
        epilog="Exit status: 0 nothing of --fail-on was found, 1 something was, 2 bad usage or a file that is not evidence (the "
        "others are still compared), 3 nothing was found, but a condition of --fail-on is undecided, or a run did not finish.",
    )
    parser.add_argument(
        "files", metavar="FILE", nargs="+", help="evidence of any number of runs, or a folder: all .json files in and below it"
    )
    parser.add_argument("--baseline", metavar="FILE", action="append", default=[], help="evidence to compare with; may be repeated")
    parser.add_argument(
        "--fail-on",
        metavar="LIST",
        action="append",
        help=f"{EXPECTED}; against the baseline, except the first two; of scaling checks, the last two".replace("%", "%%"),
    )
    parser.add_argument(
        "--require-interpreter",
        metavar="NAME",
        action="append",
        default=[],
        help="fail unless a check holds or is violated on this interpreter, such as 3.14t or 3.13.5t; may be repeated",
    )
    parser.add_argument(
        "--require-checks", metavar="N", type=integer, help="fail unless N checks or more hold or are violated on each interpreter"
    )
    parser.add_argument(
        "--reference",
        metavar="NAME",
        help="the interpreter that costs 1 in one thread, such as 3.14t or 3.13.5t (default: the first)",
    )
    parser.add_argument("--format", metavar="HOW", default="text", help=f"{', '.join(FORMATS)} (default: text)")
    parser.add_argument("--output", metavar="FILE", type=Path, help="write there instead of printing")
    parser.set_defaults(run=lambda given, clock: run(given))


def run(given: argparse.Namespace) -> int:
    """Run the command and return its exit status.

    Raises:
        BadValue: an argument that cannot be used.
    """
    wanted = _check(given)
    baselines = _expanded(given.baseline, "--baseline")
    files = _expanded(given.files, "FILE", but=baselines)
    _refuse_overlap(given, files, baselines)
    records, unfinished, damaged = _read(files)
    baseline, unfinished_too, damaged_too = _read(baselines)
    for line in damaged + damaged_too:
        say(f"gilcheck: {one_line(line)}")
    if not records and (damaged or damaged_too):
        return USAGE
    try:
        table = matrix(records, reference=given.reference)
    except LookupError as error:
        expected = f"one of {error}" if records else "an interpreter on record, and there is none"
        raise BadValue("reference", given.reference, expected, "command line --reference") from None
    found = [*unfinished, *unfinished_too, *findings(wanted, records, baseline)]
    found += absent(records, given.require_interpreter, given.require_checks)
    write(_formatted(given.format, table, records, found), given.output)
    if given.format not in ("text", "markdown", "json") or given.output is not None:
        for finding in found:
            say(f"gilcheck: {one_line(finding)}")
    if damaged or damaged_too:
        return USAGE
    if any(finding.decided for finding in found):
        return FOUND
    return UNDECIDED if found else HOLDS


def _check(given: argparse.Namespace) -> tuple[Condition, ...]:
    """Check all arguments, and return the conditions of ``--fail-on``."""
    if given.format not in FORMATS:
        raise BadValue("format", given.format, f"one of {', '.join(FORMATS)}", "command line --format")
    if given.format == "html" and (why := html.unavailable()) is not None:
        raise BadValue("format", given.format, f"another format, because {why}", "command line --format")
    if given.output is not None:
        evidence_files.check_target(given.output, "command line --output", "output")
    for name, paths in (("FILE", given.files), ("--baseline", given.baseline)):
        if "" in paths:  # probably an unset variable; it must not mean the current folder
            raise BadValue(name, "", "a file or a folder", "command line")
    if "" in given.require_interpreter:
        raise BadValue("require-interpreter", "", "an interpreter such as 3.14t or 3.13.5t", "command line --require-interpreter")
    if given.require_checks is not None and given.require_checks < 1:
        raise BadValue("require-checks", given.require_checks, "a whole number, at least 1", "command line --require-checks")
    wanted = tuple(condition for text in given.fail_on or () for condition in conditions(text))
    needy = [str(condition) for condition in wanted if condition.name not in ALONE]
    if needy and not given.baseline:
        raise BadValue("fail-on", needy[0], "--baseline beside it", "command line --fail-on")
    if given.baseline and not needy:
        expected = "--fail-on beside it, for instance regressed,missing"
        raise BadValue("baseline", given.baseline[0], expected, "command line --baseline")
    return wanted


def _refuse_overlap(given: argparse.Namespace, files: Sequence[Path], baselines: Sequence[Path]) -> None:
    if both := {_real(path) for path in files} & {_real(path) for path in baselines}:
        raise BadValue("baseline", str(min(both)), "a file that is not compared with itself", "command line --baseline")
    if given.output is not None and _real(given.output) in {_real(path) for path in (*files, *baselines)}:
        raise BadValue("output", str(given.output), "a file that is not read as well", "command line --output")


def _real(path: Path) -> Path:
    try:
        return path.resolve()
    except (OSError, RuntimeError):  # a link that points to itself
        return path


def _read(files: Sequence[Path]) -> tuple[list[Record], list[ComparisonFinding], list[str]]:
    """Return all records, each with the name of its file, the files of unfinished runs, and a line for each that cannot be read."""
    records: list[Record] = []
    unfinished: list[ComparisonFinding] = []
    damaged = []
    for path in files:
        try:
            file = evidence_files.load(path)
            records += [entry | {"file": str(path)} for entry in file.records]
            if (why := file.unfinished) is not None:
                unfinished.append(ComparisonFinding(UNFINISHED, str(path), "every interpreter in it", why, decided=False))
        except evidence_files.BadEvidence as error:
            damaged.append(str(error))
        except (OSError, ValueError) as error:  # ValueError: no file can have that name
            damaged.append(f"{path}: {getattr(error, 'strerror', None) or error}")
    return records, unfinished, damaged


def _expanded(paths: Sequence[str], name: str, but: Sequence[Path] = ()) -> list[Path]:
    """Return the files, each once, and the .json files in and below each folder, except those in ``but``."""
    found: dict[Path, Path] = {}
    left_out = {_real(path) for path in but}
    for path in map(Path, paths):
        if not _is_folder(path):
            found.setdefault(_real(path), path)
            continue
        inside = sorted(each for each in path.rglob("*") if each.suffix.lower() == ".json" and each.is_file())
        kept = [each for each in inside if _real(each) not in left_out]
        if not kept:
            raise BadValue(name, str(path), "a folder with .json files in it", "command line")
        for each in kept:
            found.setdefault(_real(each), each)
    return list(found.values())


def _is_folder(path: Path) -> bool:
    try:
        return path.is_dir()
    except (OSError, ValueError):  # reading it gives the error message
        return False


def _formatted(format_name: str, table: Matrix, records: Sequence[Record], found: Sequence[ComparisonFinding]) -> str:
    if format_name == "markdown":
        return tables.markdown(table, found)
    if format_name == "json":
        return tables.as_json(table, found)
    if format_name == "csv":
        return tables.comma_separated(table).rstrip("\n")
    if format_name == "html":
        reference = table.columns[table.reference].label if table.columns else None
        return html.page(records, title="gilcheck compare", notes=[str(finding) for finding in found], reference=reference)
    return tables.text(table, found, width=shutil.get_terminal_size().columns, plain=not _can_write("".join(MARKS.values())))


def _can_write(text: str) -> bool:
    try:
        text.encode(getattr(sys.stdout, "encoding", None) or "ascii")
    except (UnicodeError, LookupError):
        return False
    return True
