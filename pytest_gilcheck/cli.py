"""The command ``gilcheck``: run checks, compare evidence, audit releases and replay failures without a test suite."""

from __future__ import annotations

import argparse
import difflib
import importlib
import json
import subprocess
import sys
import traceback
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from . import compare, fuzz_command
from .audit import command as audit_command
from .calls import Gilcheck
from .checks import SCALING, UNITS
from .core import evidence, evidence_files, stop_request
from .core.child import ChildSide, Ending, fork
from .core.codes import CODES
from .core.errors import BadValue
from .core.fork_safety import can_fork
from .core.printed import flush, put, say, show_progress, talks_to_a_terminal
from .core.values import integer, number
from .core.verdict import Verdict
from .core.version import __version__
from .report import html
from .runner import refuse_arguments
from .settings import Settings, option, replay_key

_PYTEST_USAGE_ERROR = 4  # pytest.ExitCode.USAGE_ERROR

EXIT_STATUS = {Verdict.HOLDS: 0, Verdict.VIOLATED: 1, Verdict.INCONCLUSIVE: 3}
USAGE = 2
_NO_LIMIT = 1e9  # seconds: each phase of a check sets its own deadline
_GRACE = 5.0  # seconds added to that deadline: the check's own timeout comes first and has the better message


def main(argv: Sequence[str] | None = None) -> int:
    """Run the command and return its exit status.

    A command that calls a user's function runs in a forked child, where this is possible: the function may crash or hang.

    Args:
        argv: the arguments; None means those of the process.
    """
    arguments = _parser().parse_args(argv)
    try:
        return _guarded(arguments)
    except KeyboardInterrupt:
        say("gilcheck: interrupted")
        return stop_request.EXIT_INTERRUPTED


def _guarded(arguments: argparse.Namespace) -> int:
    """Run the selected command, in a child if it needs one and that is possible; returns its exit status."""
    if not arguments.guarded or can_fork() is not None:
        return _run(arguments, lambda seconds: None)
    side = fork(_NO_LIMIT)
    if isinstance(side, ChildSide):
        status = EXIT_STATUS[Verdict.VIOLATED]
        try:
            side.set_deadline(None)
            status = _run(arguments, lambda seconds: side.set_deadline(None if seconds is None else seconds + _GRACE))
        except Exception:
            say(traceback.format_exc())  # the answer ends this process, and nobody else would print it
        finally:
            flush()
            side.answer(bytes([status]))
    outcome = side.wait()
    if outcome.ending is Ending.ANSWERED:
        return outcome.payload[0]
    say(f"gilcheck: {outcome}")
    return EXIT_STATUS[Verdict.VIOLATED]


def _run(arguments: argparse.Namespace, set_deadline: Callable[[float | None], None]) -> int:
    """Run the selected command.

    Args:
        set_deadline: called with the seconds until the next progress report is due; None suspends the deadline.
    """
    try:
        return int(arguments.run(arguments, set_deadline))
    except BadValue as error:
        say(f"gilcheck: {error}")
        return USAGE


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="gilcheck", description="Concurrency regression testing for Python.")
    parser.add_argument("--version", action="version", version=f"pytest-gilcheck {__version__}")
    parser.set_defaults(guarded=False)
    commands = parser.add_subparsers(title="commands", required=True, metavar="COMMAND")
    probe = commands.add_parser(
        "probe",
        help="measure whether a function scales over threads; without a function: compare how interpreters run threads",
        description="Measure whether a function without arguments scales over threads, and say why not. Without a function, run "
        "the classic experiments on the GIL over one or more interpreters, with nothing installed in them, and print the figures "
        "beside published ones.",
        epilog="Exit status with a function: 0 the claim holds (or a curve was measured), 1 it is violated or the workload failed, "
        "2 bad usage, 3 inconclusive. Without a function: 0 every interpreter was probed (an experiment that failed or hung is a "
        "result, and its row says why), 1 some interpreters could not be probed, 2 none could, or bad usage.",
    )
    probe.add_argument(
        "target", metavar="MODULE:FUNCTION", nargs="?", help="the function to call, for example mypackage.work:render"
    )
    probe.add_argument(
        "--python",
        metavar="EXE",
        action="append",
        help="without a function: probe this interpreter, Python 2.7 or later; a path or a name, also with options, such as "
        "'python3.13t -X gil=1'; may be repeated (default: the one that runs this command)",
    )
    probe.add_argument("--quick", action="store_true", help="without a function: run half of the work")
    claims = probe.add_mutually_exclusive_group()
    claims.add_argument(
        "--min-speedup", type=number, metavar="X", help="claim: calls in threads take at least X times less time than in sequence"
    )
    claims.add_argument(
        "--max-slowdown", type=number, metavar="X", help="claim: calls in threads take at most X times as long as in sequence"
    )
    claims.add_argument(
        "--efficiency",
        type=number,
        metavar="SHARE",
        help="claim: the speedup is at least this share of the machine's ceiling, 0 to 1",
    )
    probe.add_argument(
        "--threads", type=integer, metavar="N", help="threads that run at once (default: the number of cores, 2 to 4)"
    )
    probe.add_argument(
        "--budget", type=number, metavar="SECONDS", help="seconds to spend at most (default: 1, more for slow workloads)"
    )
    probe.add_argument(
        "--timeout",
        type=number,
        metavar="SECONDS",
        help="end a lap that takes longer (default: 60); without a function: end an interpreter that does not answer (default: 20)",
    )
    probe.add_argument("--cores", type=integer, metavar="N", help="keep the check on N cores")
    probe.add_argument("--switchinterval", type=number, metavar="SECONDS", help="value for sys.setswitchinterval during the check")
    probe.add_argument("--warmup", type=integer, metavar="CALLS", help="untimed calls first (default: 1)")
    probe.add_argument("--curve", action="store_true", help="measure throughput over numbers of workers instead of a claim")
    probe.add_argument("--json", metavar="FILE", help="write the evidence to this file")
    probe.set_defaults(run=_probe, guarded=True)  # the user's function may crash, exit or hang
    compare.add(commands)
    audit_command.add_parser(commands, html.page)
    fuzz_command.add_parser(commands, _fuzz)
    explain = commands.add_parser(
        "explain",
        help="what the code of a finding means, and how to mend it",
        description="Print the page about a code: GC of a check, GA of the audit. Nothing is downloaded.",
        epilog="Exit status: 0 the page or the list was printed, 2 there is no such code.",
    )
    explain.add_argument("code", metavar="CODE", nargs="?", help="for instance GC101 or GA201 (default: a list of all)")
    explain.set_defaults(run=_explain)
    replay = commands.add_parser(
        "replay",
        help="replay a failure of a fuzz check",
        description="Run the test of a replay token with exactly the schedule of the token, and print the steps of its threads.",
        epilog="Exit status: 0 the test no longer fails, 1 it fails again, diverges or is not decided, 2 bad usage.",
    )
    replay.add_argument("token", metavar="TOKEN", help="the token in the report of a failure")
    replay.add_argument(
        "test",
        nargs="?",
        metavar="TEST",
        help="pytest's node id of the test (default: the test that failed with this token, from pytest's cache)",
    )
    replay.set_defaults(run=_replay)
    return parser


def _explain(arguments: argparse.Namespace, set_deadline: Callable[[float | None], None]) -> int:
    from . import findings
    from .audit import catalogue

    if arguments.code is None:
        audit = [f"{rule.code} {'audit':12} {rule.name}: {rule.title}" for rule in catalogue.CATALOGUE.values()]
        put("\n".join([*findings.listed(), *audit]))
        return 0
    text = findings.explain(arguments.code) or catalogue.explain(arguments.code)
    if text is None:
        known = [*CODES, *catalogue.CATALOGUE]
        names = {row.name.lower(): row.code for row in CODES.values()}
        names |= {rule.name: rule.code for rule in catalogue.CATALOGUE.values()}
        asked = arguments.code.strip()
        near = [names[asked.lower()]] if asked.lower() in names else difflib.get_close_matches(asked.upper(), known, 1)
        hint = f"did you mean {near[0]}? " if near else ""
        raise BadValue("CODE", arguments.code, f"a code of a finding; {hint}`gilcheck explain` lists them", "command line")
    put(text)
    return 0


def _fuzz(arguments: argparse.Namespace, set_deadline: Callable[[float | None], None]) -> int:
    progress = show_progress if talks_to_a_terminal() else _ignore_progress
    work = _resolve(arguments.target)
    with stop_request.listening():
        verdict = fuzz_command.run(arguments, work, set_deadline, progress)
    return stop_request.EXIT_INTERRUPTED if stop_request.made() else EXIT_STATUS[verdict]


def _replay(arguments: argparse.Namespace, set_deadline: Callable[[float | None], None]) -> int:
    from .engine.schedule import BadToken, Token

    try:
        Token.read(arguments.token)
    except BadToken as error:
        raise BadValue("TOKEN", arguments.token, f"a token from a report, but {error}", "command line") from None
    test = arguments.test
    if test is None:
        cached = Path(".pytest_cache", "v", replay_key(arguments.token))
        if not cached.is_file():
            raise BadValue("TEST", test, "the test's node id: pytest's cache in this folder has no such token", "command line")
        test = json.loads(cached.read_text())
    command = [
        sys.executable,
        "-m",
        "pytest",
        test,
        f"{option('replay')}={arguments.token}",
        "-rA",
        "--no-header",
        "-q",
        "-p",
        "no:xdist",
    ]
    status = subprocess.run(command, check=False).returncode
    return 2 if status == _PYTEST_USAGE_ERROR else int(status != 0)  # below 0: killed


def _probe(arguments: argparse.Namespace, set_deadline: Callable[[float | None], None]) -> int:
    progress = show_progress if talks_to_a_terminal() else _ignore_progress
    if arguments.json is not None:
        evidence_files.check_target(Path(arguments.json), "command line --json")
    if arguments.target is None:
        from .probe import command  # slow to import

        return command.run(arguments, progress, UNITS)
    for name in ("python", "quick"):
        if value := getattr(arguments, name):
            raise BadValue(name, value, "nothing beside MODULE:FUNCTION, which runs in this interpreter", "command line")
    claims = [name for name in ("min_speedup", "max_slowdown", "efficiency", "json") if getattr(arguments, name) is not None]
    if arguments.curve and claims:
        raise BadValue(claims[0], getattr(arguments, claims[0]), "nothing beside --curve, which has no verdict", "command line")
    work = _resolve(arguments.target)
    refuse_arguments(work, "target", arguments.target, "command line")
    records: list[evidence.Record] = []
    checks = Gilcheck(Settings.from_environment(), on_record=records.append, set_deadline=set_deadline, progress=progress)
    names = ("min_speedup", "max_slowdown", "efficiency", "threads", "budget", "timeout", "cores", "switchinterval", "warmup")
    check_arguments = {name: value for name in names if (value := getattr(arguments, name)) is not None}
    try:
        if arguments.curve:
            put(str(checks.curve(work, budget=arguments.budget, timeout=arguments.timeout, name=arguments.target)))
            return 0
        result = checks.runner.run(SCALING, work, check_arguments, "command line", arguments.target, judged="exit status")
    except BadValue:
        raise
    except BaseException as error:  # also SystemExit: a workload that raises must not exit with 0
        traceback.print_exception(error)
        return EXIT_STATUS[Verdict.VIOLATED]
    if arguments.json is not None:
        evidence_files.write(Path(arguments.json), records, evidence_files.EvidenceRun(Path.cwd()), UNITS)
    put(str(result))
    return EXIT_STATUS[result.conclusion]


def _resolve(target: str) -> Callable[[], Any]:
    """Import the function.

    Args:
        target: ``MODULE:FUNCTION``; the current folder is searched too.

    Raises:
        BadValue: there is no such function, or its import fails.
    """
    module_name, colon, path = target.partition(":")
    expected = "MODULE:FUNCTION that can be imported in this folder"
    if not colon or not module_name or not path:
        raise BadValue("target", target, expected, "command line")
    sys.path.insert(0, "")
    try:
        function: Any = importlib.import_module(module_name)
        for name in path.split("."):
            function = getattr(function, name)
    except BaseException as error:  # an import can raise anything, also SystemExit
        raise BadValue("target", target, f"{expected} ({type(error).__name__}: {error})", "command line") from error
    if not callable(function):
        raise BadValue("target", target, "a function or another callable", "command line")
    return function  # type: ignore[no-any-return]


def _ignore_progress(label: str) -> None:
    """Print nothing: standard error is not a terminal."""


if __name__ == "__main__":
    sys.exit(main())
