"""Every test of real libraries under ``gil_fuzz(budget=0.3)``: does each one get a result, and which?

    python benchmarks/real_suites.py FOLDER...        folders of unpacked source distributions, with their tests
    python benchmarks/real_suites.py --tests tests/test_x.py FOLDER

The interpreter that runs this needs the plugin and what the suites need. The libraries are imported from the folders. A pytest that
does not end by itself, an internal error, and a marked test without a record of its check are failures of ours: they are listed,
and the exit status is then 1. Violated claims are listed for a reader: true ones, false
alarms and state shared on purpose look alike.
A test whose body fails when it runs twice one after the other, because both use one fixture, "fails in every order".

With ``--bare``, each suite runs without any check before, and of the tests that are cut short those are counted of which 100
schedules would not fit into the budget even so: no search can decide them otherwise than by a proof, however fast it is.
"""

from __future__ import annotations

import argparse
import json
import os
import re
import subprocess
import sys
import tempfile
import time
from collections import Counter
from pathlib import Path
from typing import Any

from pytest_gilcheck.search.ledger import FEWEST

HERE = Path(__file__).parent
TIMEOUT = 1800.0  # seconds for a suite
_LINES = 12  # of what pytest printed last, if it did not run the tests
_QUIET = ("-W", "ignore::pytest.PytestConfigWarning")  # of options for plugins that are not installed
_KINDS = (  # of what a check answers, by its reason; the first that fits
    ("cut short", r"cut short"),
    ("settled", r"left untried|nothing in common|with any number of preemptions"),
    ("no visible step", r"no visible step"),
    ("not deterministic", r"not deterministic"),
    ("not repeatable", r"not repeatable"),
    ("uncontrolled", r"partly uncontrolled"),
    ("not explorable", r"not explorable"),
    ("crashed", r"crashed"),
    ("fails in every order", r"the test ended without it"),
    ("not isolated", r"not isolated"),
)


def kind_of(record: dict[str, Any]) -> str:
    """``"holds"``, ``"holds, settled"``, ``"violated"`` or ``"inconclusive: ..."`` with the class of its reason."""
    found = next((name for name, pattern in _KINDS if re.search(pattern, record["reason"])), "")
    verdict = str(record["verdict"])
    if verdict == "holds":
        return "holds, settled" if found == "settled" else "holds"
    if verdict == "violated":
        return "violated, crashed" if found == "crashed" else "violated"
    return f"inconclusive: {found or 'other'}"


def pytest_of(folder: Path, plugin: str, tests: list[str], options: list[str], **settings: object) -> dict[str, Any]:
    """Run the tests of a folder with one of our plugins: the lines that it wrote, and how pytest ended."""
    with tempfile.TemporaryDirectory() as name:
        log = Path(name) / "log"
        log.touch()
        source = folder / "src" if (folder / "src").is_dir() else folder
        paths = [str(HERE / "fuzzed_suites"), str(source), os.environ.get("PYTHONPATH", "")]
        environment = os.environ | {"PYTHONPATH": os.pathsep.join(filter(None, paths)), "SUITE_OF_GILCHECK_LOG": str(log)}
        environment |= {f"SUITE_OF_GILCHECK_{name.upper()}": str(value) for name, value in settings.items()}
        command = [sys.executable, "-m", "pytest", "-q", "-p", plugin, "-p", "no:cacheprovider", *_QUIET, *options, *tests]
        begun, before = time.monotonic(), os.times()
        try:
            done = subprocess.run(
                command,
                cwd=folder,
                env=environment,
                timeout=TIMEOUT,
                stdin=subprocess.DEVNULL,
                capture_output=True,
                text=True,
                errors="replace",
            )
            status, output = done.returncode, done.stdout + done.stderr
        except subprocess.TimeoutExpired as error:
            status, output = "did not end", str(error.stdout)[-3000:]
        wall, after = time.monotonic() - begun, os.times()
        cpu = after.children_user + after.children_system - before.children_user - before.children_system
        lines = [json.loads(line) for line in log.read_text().splitlines()]
    return {"lines": lines, "status": status, "output": output, "wall": wall, "cpu": cpu}


def bare_times(folder: Path, tests: list[str], every: int, options: list[str]) -> dict[str, float]:
    """Seconds that one schedule of each test takes without any check."""
    lines = pytest_of(folder, "without_a_check", tests, ["-p", "no:gilcheck", *options], every=every)["lines"]
    return {line["bare"]: line["seconds"] for line in lines if "bare" in line}


def run(folder: Path, tests: list[str], budget: float, every: int, options: list[str]) -> dict[str, Any]:
    """The figures of one suite."""
    ended = pytest_of(folder, "every_test_fuzzed", tests, options, budget=budget, every=every)
    lines = ended.pop("lines")
    deselected = {line["deselected"] for line in lines if "deselected" in line}
    marked = {line["item"] for line in lines if line.get("marked")} - deselected
    unmarked = len({line["item"] for line in lines if "item" in line and not line["marked"]} - deselected)
    phases = [line for line in lines if "test" in line]
    results: dict[str, dict[str, Any]] = {}
    for line in phases:
        for record in line["records"]:
            if record["check"] == "fuzz":
                results[line["test"]] = record
    skipped = {line["test"] for line in phases if line["when"] == "setup" and line["outcome"] == "skipped"}
    lost = sorted(marked - results.keys() - skipped - {line["test"] for line in phases if "xfail" in line["text"][:10]})
    return {
        "name": folder.name,
        "tests": len(marked) + unmarked,
        "marked": len(marked),
        "skipped": len(skipped),
        "kinds": Counter(kind_of(record) for record in results.values()),
        "schedules": sum((record["figures"] or {}).get("schedules") or 0 for record in results.values()),
        "longest": max((line["seconds"] for line in phases), default=0.0),
        "lost": lost,
        "crashes": sorted(
            {line["test"] for line in phases if "the process was killed" in line["text"] or "did not end within" in line["text"]}
        ),
        "internal": "INTERNALERROR" in ended["output"],
        "results": results,
        "phases": phases,
        **ended,
    }


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("folders", nargs="+", type=Path)
    parser.add_argument("--tests", nargs="*", default=[], help="of each folder; default: what its configuration says, or 'tests'")
    parser.add_argument("--budget", type=float, default=0.3)
    parser.add_argument("--every", type=int, default=1, help="only every so many-th test")
    parser.add_argument("--options", default="", help="more options for pytest")
    parser.add_argument("--bare", action="store_true", help="measure each test without a check before")
    parser.add_argument("--details", type=Path, help="write everything to this folder, a JSON file for each suite")
    given = parser.parse_args()
    bad = 0
    for folder in given.folders:
        tests = given.tests or [name for name in ("tests", "test", "testing") if (folder / name).is_dir()][:1]
        options = given.options.split()
        bare = bare_times(folder.resolve(), tests, given.every, options) if given.bare else {}
        found = run(folder.resolve(), tests, given.budget, given.every, options)
        found["bare"] = bare
        if given.details is not None:
            given.details.mkdir(parents=True, exist_ok=True)
            (given.details / f"{found['name']}.json").write_text(json.dumps(found, default=str, indent=1))
        ended_well = found["status"] in (0, 1) and not found["internal"]
        bad += not ended_well or bool(found["lost"])
        print(
            f"{found['name']}: {found['tests']} tests, {found['marked']} marked ({found['skipped']} skipped); "
            f"{found['schedules']:,} runs; {found['wall']:.0f} s wall, {found['cpu']:.0f} s CPU, longest {found['longest']:.1f} s; "
            f"pytest: {found['status']}{', INTERNALERROR' if found['internal'] else ''}"
        )
        if not ended_well:  # pytest says why: tests that it could not import, an option that it does not know
            for line in found["output"].splitlines()[-_LINES:]:
                print(f"  | {line}")
        for kind, number in sorted(found["kinds"].items()):
            print(f"  {number:5} {kind}")
        if given.bare:
            cut = [test for test, record in found["results"].items() if kind_of(record) == "inconclusive: cut short"]
            timed = [bare[test] for test in cut if test in bare]
            beyond = sum(FEWEST * seconds > given.budget for seconds in timed)
            unknown = f"; {len(cut) - len(timed)} did not pass without a check" if len(timed) < len(cut) else ""
            print(f"  {beyond:5} of {len(cut)} cut short: without a check, {FEWEST} schedules take longer than the budget{unknown}")
        for title, names in (("without a record", found["lost"]), ("crashed or hung", found["crashes"])):
            for name in names[:20]:
                print(f"  {title}: {name}")
        for test, record in found["results"].items():
            if record["verdict"] == "violated":
                print(f"  violated: {test}: {record['reason'][:300]}")
        sys.stdout.flush()
    return bool(bad)


if __name__ == "__main__":
    sys.exit(main())
