"""How long are the reports that a terminal shows of the corpus' bugs?

Runs pytest on the buggy twin of every program of ``tests/quality/corpus``, as a test that logs a line and prints one in each
thread. Once with ``-vv``, which cuts nothing and leaves the output of all schedules; once without. Prints the median and the
greatest number of lines of a report, with its title, and how many do not have their verdict, their token or where the finding is
explained. Exits with 1 if any of these is missing.

    python benchmarks/report_lines.py --every 4
"""

from __future__ import annotations

import argparse
import re
import statistics
import subprocess
import sys
import tempfile
from pathlib import Path

_ROOT = Path(__file__).parents[1]
_TESTS = """
import logging, sys
import pytest
sys.path.insert(0, {root!r})
from tests.quality.corpus import CASES

def spoken(thread):
    def called(state):
        logging.warning("a thread begins")
        print("a thread begins")
        return thread(state)
    return called

@pytest.mark.parametrize("case", CASES[::{every}], ids=lambda case: case.name)
def test_it(gilcheck, case):
    twin = case.buggy
    threads = [spoken(thread) for thread in twin.threads]
    gilcheck.fuzz(threads=threads, setup=twin.setup, invariant=twin.invariant, name=case.name, seed=1).assert_holds()
"""
_NEEDED = ("violated", "gilcheck replay gil1_", "help: ")
_TITLE = re.compile(r"_+ test_it\[(.+)\] _+")


def reports(lines: list[str]) -> dict[str, list[str]]:
    """The lines of each report, by the name of the program."""
    found: dict[str, list[str]] = {}
    name = ""
    for line in lines:
        if (title := _TITLE.fullmatch(line)) is not None:
            name = title[1]
        elif line.startswith("===="):
            name = ""
        if name:
            found.setdefault(name, []).append(line)
    return found


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--python", default=sys.executable, help="an interpreter with pytest-gilcheck (default: this one)")
    parser.add_argument("--every", type=int, default=1, help="each so many-th program of the corpus (default: 1)")
    given = parser.parse_args()
    missing = 0
    print("| | reports | median | greatest | without what is needed |")
    print("| --- | --- | --- | --- | --- |", flush=True)
    for name, options in (("whole (`-vv`)", ["-vv"]), ("as shown", [])):
        with tempfile.TemporaryDirectory() as folder:
            (Path(folder) / "test_corpus.py").write_text(_TESTS.format(root=str(_ROOT), every=given.every))
            command = [given.python, "-m", "pytest", "--color=no", "-p", "no:warnings", *options, "test_corpus.py"]
            said = subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False).stdout
        found = reports(said.splitlines())
        lengths = sorted((len(report), key) for key, report in found.items())
        incomplete = [key for key, report in found.items() if not all(part in "\n".join(report) for part in _NEEDED)]
        missing += len(incomplete)
        median, (most, longest) = statistics.median(length for length, _ in lengths), lengths[-1]
        print(f"| {name} | {len(lengths)} | {median:g} | {most} ({longest}) | {len(incomplete)} |", flush=True)
        for key in incomplete:
            print(key, "\n".join(found[key]), sep="\n", file=sys.stderr)
    return 1 if missing else 0


if __name__ == "__main__":
    sys.exit(main())
