"""``gilcheck audit``: from the command line to the report and the exit status.

Exit status of an audit: 0 every check was made and none found anything at or above ``--fail-on``; 1 one did; 2 bad usage; 3
something could not be told, and is not allowed to stay so; 4 an error of the audit itself.
"""

from __future__ import annotations

import argparse
import os
import traceback
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from ..core import evidence_files
from ..core.errors import BadValue
from ..core.printed import say, show_progress, talks_to_a_terminal, write
from ..core.values import SECONDS, integer, number

OUTPUTS = ("text", "json", "sarif", "junit", "github", "markdown", "html")
Page = Callable[..., str]
_TARGETS = (
    "a wheel, a source distribution, a folder of them, a project's folder, or the name of an installed distribution "
    "(default: the current folder)"
)
_PYTHON = "import with this interpreter; may be repeated (default: free-threaded ones found on this machine)"
_LOCKS = "look at these dependencies: uv.lock, poetry.lock, pylock.toml or a requirements file; may be repeated"


def add_parser(commands: argparse._SubParsersAction[argparse.ArgumentParser], page: Page | None = None) -> None:
    """Add the command to those of ``gilcheck``.

    Args:
        page: makes an HTML page of records; without it there is no ``--format html``.
    """
    parser = commands.add_parser(
        "audit",
        help="is the release ready for free-threaded Python?",
        description="Hold what a release claims (classifiers, wheel tags, requires-python) against what is known of it: the GIL "
        "declaration in its binaries, imports on a free-threaded interpreter, its source, the evidence of checks, its "
        "documentation.",
        epilog="Exit status: 0 all checks were made and nothing at or above --fail-on was found, 1 something was, 2 bad usage, 3 "
        "something could not be told (unless --allow-inconclusive), 4 an error of the audit itself. `gilcheck explain CODE` says "
        "what a code means. Settings are in pyproject.toml, [tool.gilcheck.audit]; the command line is over them.",
    )
    add = parser.add_argument
    add("targets", metavar="TARGET", nargs="*", default=["."], help=_TARGETS)
    add(
        "--python", metavar="EXE", action="append", default=[], help="import with it; may be repeated (default: free-threaded ones)"
    )
    add("--no-import", action="store_true", help="import nothing: read binaries alone")
    add("--no-source", action="store_true", help="do not look through the source")
    add("--prove", action="store_true", help="of a project: run the fuzz engine on what is found in functions without arguments")
    add("--import-timeout", metavar="SECONDS", type=number, default=60.0, help="end an import that takes longer (60)")
    add("--evidence", metavar="FILE", action="append", default=[], help="of checks (--gilcheck-json), or a folder of such files")
    add("--previous", metavar="TARGET", action="append", default=[], help="artifacts of the release before")
    add("--lock", metavar="FILE", action="append", default=[], help=_LOCKS)
    add("--newest", action="store_true", help="download the newest release of a dependency that brings the GIL, and read it")
    add("--level", metavar="N", type=integer, help="the claimed level of support, 0 to 4 (default: the classifier's)")
    add("--fail-on", metavar="SEVERITY", help="error (default), warning or note")
    add("--allow-inconclusive", metavar="CODE", action="append", default=[], help="may stay untold; may be repeated")
    add("--select", metavar="CODES", help="only findings of these codes, or beginnings of codes, by commas")
    add("--ignore", metavar="CODES", help="no findings of these")
    add("--config", metavar="FILE", type=Path, help="the pyproject.toml with the settings (default: of the project)")
    add("--format", metavar="HOW", default="text", help=f"{', '.join(OUTPUTS)} (default: text)")
    add("--output", metavar="FILE", type=Path, help="write there instead of printing")
    parser.set_defaults(run=lambda given, clock: run(given, page), guarded=False)


def run(given: argparse.Namespace, page: Page | None = None) -> int:
    """Carry an audit out; returns its exit status.

    Raises:
        BadValue: an argument or a setting that cannot be used.
    """
    from . import check  # what they need is slow to import
    from .formats import FORMATS, as_text, markdown

    if given.format not in OUTPUTS or (given.format == "html" and page is None):
        raise BadValue("format", given.format, f"one of {', '.join(OUTPUTS)}", "command line --format")
    if given.output is not None:
        evidence_files.check_target(given.output, "command line --output", "output")
    request = _request(given)
    try:
        report = check.audit(request, show_progress if talks_to_a_terminal() else lambda label: None)
        if given.format == "html" and page is not None:
            from .formats.records import records

            text = page(records(report), title="gilcheck audit", notes=[*report.releases, as_text.summary(report)])
        else:
            text = FORMATS[given.format](report)
    except BadValue:
        raise
    except Exception as error:  # a bug of ours, not the release's: one line, and a status of its own
        place = traceback.extract_tb(error.__traceback__)[-1]
        where = f"{Path(place.filename).name}:{place.lineno}"
        say(f"gilcheck audit: internal error: {type(error).__name__}: {error} ({where}); please report it")
        return check.INTERNAL
    write(text, given.output)
    if given.format == "github" and (summary := os.environ.get("GITHUB_STEP_SUMMARY")):
        try:
            with open(summary, "a", encoding="utf-8") as file:
                file.write(markdown.render(report) + "\n")
        except OSError as error:
            say(f"gilcheck: GITHUB_STEP_SUMMARY cannot be written: {error}")
    return report.exit_status


def _request(given: argparse.Namespace) -> Any:
    from . import settings
    from .check import Request

    seconds = SECONDS.read("import-timeout", given.import_timeout, "command line --import-timeout")
    for path in given.lock:
        if not Path(path).exists() or Path(path).is_dir():
            raise BadValue("lock", path, "a file that exists", "command line --lock")
    found = settings.read(given.config or _project_file(given.targets))
    if given.config is not None and not given.config.is_file():
        raise BadValue("config", str(given.config), "a file that exists", "command line --config")
    allowed = settings.codes(tuple(given.allow_inconclusive), "allow-inconclusive", "command line --allow-inconclusive")
    found = found.over(
        level=None if given.level is None else settings.level(given.level, "command line --level"),
        fail_on=None if given.fail_on is None else settings.limit(given.fail_on, "command line --fail-on"),
        allowed=found.allowed | allowed,
        select=None if given.select is None else settings.beginnings(_split(given.select), "select", "command line --select"),
        ignore=None if given.ignore is None else settings.beginnings(_split(given.ignore), "ignore", "command line --ignore"),
    )
    return Request(
        targets=tuple(given.targets),
        settings=found,
        pythons=tuple(given.python),
        imports=not given.no_import,
        seconds=seconds,
        evidence=tuple(given.evidence),
        previous=tuple(given.previous),
        locks=tuple(given.lock),
        source=not given.no_source,
        prove=given.prove,
        newest=given.newest,
    )


def _project_file(targets: Sequence[str]) -> Path:
    """Of the audited project, or else of the current folder and those above it."""
    for target in targets:
        if (file := Path(target) / "pyproject.toml").is_file():
            return file
    here = Path.cwd()
    for folder in (here, *here.parents):
        if (folder / "pyproject.toml").is_file():
            return folder / "pyproject.toml"
    return here / "pyproject.toml"


def _split(text: str) -> tuple[str, ...]:
    return tuple(part.strip() for part in text.split(",") if part.strip())
