"""``gilcheck fuzz package.module:Class``: is this class correct under threads, with no test at all?"""

from __future__ import annotations

import argparse
import ast
from collections.abc import Callable
from pathlib import Path
from typing import Any

from .calls import Gilcheck
from .checks import LINEARIZABLE, UNITS
from .core import evidence, evidence_files
from .core.errors import BadValue
from .core.printed import put
from .core.values import integer, seconds
from .core.verdict import Verdict
from .settings import Settings

_NUMBERS = ("threads", "examples", "budget", "timeout", "seed")


def add_parser(commands: Any, run: Callable[..., int]) -> None:
    """Add the command to the parser of ``gilcheck``."""
    parser = commands.add_parser(
        "fuzz",
        help="is this class correct under threads?",
        description="Draw programs of the operations of a class, search their schedules, and ask whether a sequential order of the "
        "same operations explains each run. Operations and arguments are inferred from names, type hints and defaults; what cannot "
        "be inferred is listed with the line to write in a test.",
        epilog="Exit status: 0 it holds, 1 it is violated, 2 bad usage, 3 it cannot be told, 130 it was interrupted. Ctrl-C "
        "ends the campaign with a report of what was found and covered so far; a second one ends it at once.",
    )
    parser.add_argument("target", metavar="MODULE:CLASS", help="for example mypackage.cache:LRUCache; or a function that makes one")
    parser.add_argument(
        "--init", metavar="VALUES", help="arguments of the constructor, as a Python tuple: '(2,)' (default: inferred)"
    )
    parser.add_argument(
        "--from-tests",
        metavar="TESTS",
        help="run these tests once, and take the arguments that they pass to the class as values, by the name of the parameter",
    )
    parser.add_argument(
        "--tests-timeout", type=seconds, metavar="SECONDS", default=120.0, help="end those tests after this time (default: 120)"
    )
    parser.add_argument("--threads", type=integer, metavar="N", help="threads of each program, 2 or 3 (default: 2)")
    parser.add_argument("--examples", type=integer, metavar="N", help="programs that are drawn at most (default: 200)")
    parser.add_argument(
        "--budget", type=seconds, metavar="SECONDS", help="time for all programs, such as 90, 90s or 2m (default: 60)"
    )
    parser.add_argument("--timeout", type=seconds, metavar="SECONDS", help="seconds of one run after which it hangs (default: 5)")
    parser.add_argument("--seed", type=integer, metavar="N", help="seed of what is drawn; the same seed gives the same report")
    parser.add_argument("--order", choices=("linearizable", "sequential"), help="which orders may explain a run")
    parser.add_argument(
        "--only", choices=("errors",), help="'errors': results that no order gives are a line in the report, and no failure"
    )
    parser.add_argument(
        "--stress",
        action="store_true",
        help="run the programs with real threads, many times each, in place of a search, also those of a class in C; it takes a "
        "free-threaded build, and finds by chance",
    )
    parser.add_argument("--json", metavar="FILE", help="write the evidence to this file")
    parser.set_defaults(run=run, guarded=True)  # the class may crash, exit or hang


def run(
    arguments: argparse.Namespace,
    work: Callable[..., Any],
    set_deadline: Callable[[float | None], None],
    progress: Callable[[str], None],
) -> Verdict:
    """Check the class and print the report; returns the verdict.

    Raises:
        BadValue: an argument that cannot be used.
    """
    if arguments.json is not None:
        evidence_files.check_target(Path(arguments.json), "command line --json")
    records: list[evidence.Record] = []
    checks = Gilcheck(Settings.from_environment(), on_record=records.append, set_deadline=set_deadline, progress=progress)
    given = {name: getattr(arguments, name) for name in (*_NUMBERS, "order", "only") if getattr(arguments, name) is not None}
    if arguments.stress:
        given["stress"] = True
    if arguments.init is not None:
        given["init"] = [[value] for value in _values(arguments.init)]
    if arguments.from_tests is not None:
        from .linear.from_tests import recorded

        found = recorded(work, arguments.target, arguments.from_tests, arguments.tests_timeout, progress)
        given["values"] = found.values
        put(str(found))
    result = checks.runner.run(LINEARIZABLE, work, given, "command line", arguments.target, judged="exit status")
    if arguments.json is not None:
        evidence_files.write(Path(arguments.json), records, evidence_files.EvidenceRun(Path.cwd()), UNITS)
    put(str(result))
    verdict: Verdict = result.conclusion
    return verdict


def _values(text: str) -> tuple[Any, ...]:
    """The values of ``--init``.

    Raises:
        BadValue: it is no tuple of literals.
    """
    try:
        value = ast.literal_eval(text)
    except (ValueError, SyntaxError):
        value = None
    if not isinstance(value, (tuple, list)):
        raise BadValue("init", text, "a Python tuple of literals, such as '(2,)'", "command line")
    return tuple(value)
