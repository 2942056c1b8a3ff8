"""The command ``gilcheck``: checks without a test suite."""

from __future__ import annotations

import argparse
import importlib
import json
import subprocess
import sys
import traceback
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from . import __version__, compare
from .audit import command as audit_command
from .calls import Gilcheck
from .checks import SCALING, UNITS
from .core import evidence, evidence_files
from .core.child import ChildSide, Ending, fork
from .core.errors import BadValue
from .core.fork_safety import can_fork
from .core.verdict import Verdict
from .report import html
from .settings import Settings, option, replay_key

EXIT_STATUS = {Verdict.HOLDS: 0, Verdict.VIOLATED: 1, Verdict.INCONCLUSIVE: 3}
USAGE = 2
_FOREVER = 1e9  # seconds: laps have limits of their own
_GRACE = 5.0  # seconds beyond them


def main(argv: Sequence[str] | None = None) -> int:
    """Run the command; returns its exit status."""
    given = _parser().parse_args(argv)
    if not given.guarded or can_fork() is not None:
        return _run(given, lambda seconds: None)
    side = fork(_FOREVER)
    if isinstance(side, ChildSide):
        status = EXIT_STATUS[Verdict.VIOLATED]
        try:
            side.set_deadline(None)
            status = _run(given, lambda seconds: side.set_deadline(None if seconds is None else seconds + _GRACE))
        finally:
            sys.stdout.flush()
            sys.stderr.flush()
            side.answer(bytes([status]))
    outcome = side.wait()
    if outcome.ending is Ending.ANSWERED:
        return outcome.payload[0]
    print(f"gilcheck: {outcome}", file=sys.stderr)
    return EXIT_STATUS[Verdict.VIOLATED]


def _run(given: argparse.Namespace, clock: Callable[[float | None], None]) -> int:
    try:
        return int(given.run(given, clock))
    except BadValue as error:
        print(f"gilcheck: {error}", file=sys.stderr)
        return USAGE


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="gilcheck", description="Concurrency regression testing for Python.")
    parser.add_argument("--version", action="version", version=f"pytest-gilcheck {__version__}")
    parser.set_defaults(guarded=False)
    commands = parser.add_subparsers(title="commands", required=True, metavar="COMMAND")
    probe = commands.add_parser(
        "probe",
        help="does a function scale over threads? without one: what do interpreters do with threads?",
        description="Measure whether a function without arguments scales over threads, and say why not. Without a function, run "
        "the classic experiments on the GIL over one or more interpreters, with nothing installed in them, and print the figures "
        "beside published ones.",
        epilog="Exit status with a function: 0 the claim holds (or a curve was measured), 1 it is violated or the workload failed, "
        "2 bad usage, 3 inconclusive. Without: 0 every interpreter was probed (an experiment that failed or hung is a result, and "
        "its row says why), 1 some could not be, 2 none could, or bad usage.",
    )
    probe.add_argument("target", metavar="MODULE:FUNCTION", nargs="?", help="what to call, for instance mypackage.work:render")
    probe.add_argument(
        "--python",
        metavar="EXE",
        action="append",
        help="without a function: probe this interpreter, from 2.7 on; a path, a name, or either with arguments, such as "
        "'python3.13t -X gil=1'; may be repeated (default: the one that runs this)",
    )
    probe.add_argument("--quick", action="store_true", help="without a function: half of the work")
    claims = probe.add_mutually_exclusive_group()
    claims.add_argument("--min-speedup", type=float, metavar="X", help="claim: at least X times as fast in threads")
    claims.add_argument("--max-slowdown", type=float, metavar="X", help="claim: at most X times as slow in threads")
    claims.add_argument("--efficiency", type=float, metavar="SHARE", help="claim: at least this share of what the machine gives")
    probe.add_argument("--threads", type=int, metavar="N", help="threads that run at once (default: the cores, 2 to 4)")
    probe.add_argument("--budget", type=float, metavar="SECONDS", help="time to spend (default: 1, more for slow workloads)")
    probe.add_argument(
        "--timeout",
        type=float,
        metavar="SECONDS",
        help="end a lap that takes longer (default: 60), or an interpreter that does not answer (default: 20)",
    )
    probe.add_argument("--cores", type=int, metavar="N", help="keep the check on N cores")
    probe.add_argument("--switchinterval", type=float, metavar="SECONDS", help="for sys.setswitchinterval during the check")
    probe.add_argument("--warmup", type=int, metavar="CALLS", help="untimed calls first (default: 1)")
    probe.add_argument("--curve", action="store_true", help="measure throughput over numbers of workers instead of a claim")
    probe.add_argument("--json", metavar="FILE", help="write the evidence to this file")
    probe.set_defaults(run=_probe, guarded=True)  # what it calls may crash, exit or hang
    compare.add(commands)
    audit_command.add_parser(commands, html.page)
    replay = commands.add_parser(
        "replay",
        help="replay a failure of a fuzz check",
        description="Run the test that a replay token is of, with exactly that schedule, and print its story.",
        epilog="Exit status: 0 it breaks nothing any more, 1 it fails again (or the replay diverged), 2 bad usage.",
    )
    replay.add_argument("token", metavar="TOKEN", help="from the report of a failure")
    replay.add_argument(
        "test", nargs="?", metavar="TEST", help="pytest's name of the test (default: where it failed last, by its cache)"
    )
    replay.set_defaults(run=_replay)
    return parser


def _replay(given: argparse.Namespace, clock: Callable[[float | None], None]) -> int:
    from .fuzz.schedule import BadToken, Token

    try:
        Token.read(given.token)
    except BadToken as error:
        raise BadValue("TOKEN", given.token, f"a token from a report, but {error}", "command line") from None
    test = given.test
    if test is None:
        kept = Path(".pytest_cache", "v", replay_key(given.token))
        if not kept.is_file():
            raise BadValue("TEST", test, "the test's name: the cache of pytest here does not know this token", "command line")
        test = json.loads(kept.read_text())
    command = [
        sys.executable,
        "-m",
        "pytest",
        test,
        f"{option('replay')}={given.token}",
        "-rA",
        "--no-header",
        "-q",
        "-p",
        "no:xdist",
    ]
    return min(1, subprocess.run(command, check=False).returncode)


def _probe(given: argparse.Namespace, clock: Callable[[float | None], None]) -> int:
    if given.json is not None:
        evidence_files.check_target(Path(given.json), "command line --json")
    if given.target is None:
        from .probe import command  # what it needs is slow to import

        return command.run(given, _shown if sys.stderr.isatty() else _quiet, UNITS)
    for name in ("python", "quick"):
        if value := getattr(given, name):
            raise BadValue(name, value, "nothing beside MODULE:FUNCTION, which runs in this interpreter", "command line")
    claims = [name for name in ("min_speedup", "max_slowdown", "efficiency", "json") if getattr(given, name) is not None]
    if given.curve and claims:
        raise BadValue(claims[0], getattr(given, claims[0]), "nothing beside --curve, which has no verdict", "command line")
    work = _resolve(given.target)
    records: list[evidence.Record] = []
    progress = _shown if sys.stderr.isatty() else _quiet
    checks = Gilcheck(Settings.from_environment(), on_record=records.append, set_deadline=clock, progress=progress)
    names = ("min_speedup", "max_slowdown", "efficiency", "threads", "budget", "timeout", "cores", "switchinterval", "warmup")
    arguments = {name: value for name in names if (value := getattr(given, name)) is not None}
    try:
        if given.curve:
            print(checks.curve(work, budget=given.budget, timeout=given.timeout, name=given.target))
            return 0
        result = checks.runner.run(SCALING, work, arguments, "command line", given.target, judged="exit status")
    except BadValue:
        raise
    except BaseException as error:  # SystemExit too: whatever the workload raises, it is no pass
        traceback.print_exception(error)
        return EXIT_STATUS[Verdict.VIOLATED]
    print(result)
    if given.json is not None:
        evidence_files.write(Path(given.json), records, evidence_files.EvidenceRun(Path.cwd()), UNITS)
    return EXIT_STATUS[result.verdict]


def _resolve(target: str) -> Callable[[], Any]:
    module_name, colon, path = target.partition(":")
    expected = "MODULE:FUNCTION, importable from here"
    if not colon or not module_name or not path:
        raise BadValue("target", target, expected, "command line")
    sys.path.insert(0, "")
    try:
        found: Any = importlib.import_module(module_name)
        for name in path.split("."):
            found = getattr(found, name)
    except BaseException as error:  # whatever a module does when it is imported, SystemExit included
        raise BadValue("target", target, f"{expected} ({type(error).__name__}: {error})", "command line") from error
    if not callable(found):
        raise BadValue("target", target, "something that can be called", "command line")
    return found  # type: ignore[no-any-return]


def _shown(label: str) -> None:
    print(f"\r\x1b[K{label}", end="", file=sys.stderr, flush=True)


def _quiet(label: str) -> None:
    """Progress is for people."""


if __name__ == "__main__":
    sys.exit(main())
