"""Sweeps suites of public packages as they are: tests by outcome, causes, and time over the plain suite.

    python -m benchmarks.sweep_suites [NAME ...] [--budget=SECONDS]

Fetches source distributions with pip into a temporary folder. Judge each cause that it prints by hand.
"""

import argparse
import os
import resource
import subprocess
import sys
import tarfile
import tempfile
from collections import Counter
from pathlib import Path

from pytest_gilcheck.core.evidence_files import read

SUITES = {"itsdangerous": "2.2.0", "blinker": "1.9.0", "cachetools": "5.5.0", "markdown": "3.7", "tomli": "2.0.2"}
_SOURCES = ("src", ".")
_LONGEST = 900  # seconds of one run of a suite


def fetched(name, version, folder):
    """The unpacked source distribution."""
    pip = [sys.executable, "-m", "pip", "download", "-q", "--no-deps", "--no-binary=:all:"]
    subprocess.run([*pip, f"{name}=={version}", "-d", folder], check=True)
    (archive,) = Path(folder).glob("*.tar.gz")
    with tarfile.open(archive) as file:
        file.extractall(folder, filter="data")
    return next(each for each in Path(folder).iterdir() if each.is_dir())


def ran(root, *options):
    """One run of the suite: seconds of CPU, exit status, and what it printed."""
    environment = os.environ | {
        "PYTHONPATH": os.pathsep.join(str(root / each) for each in _SOURCES),
        "PYTHONDONTWRITEBYTECODE": "1",
    }
    command = [
        sys.executable,
        "-m",
        "pytest",
        "-q",
        "-p",
        "no:cacheprovider",
        "--continue-on-collection-errors",
        "-p",
        "no:asyncio",
        "--rootdir",
        root,
        root / "tests",
        *options,
    ]
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    done = subprocess.run(
        command, cwd=root, env=environment, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, timeout=_LONGEST
    )
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime, done.returncode, done.stdout


def swept(root, budget):
    """What a sweep of the suite says: seconds of CPU, what it printed, and its records."""
    file = root / "sweep.json"
    spent, _, output = ran(root, "--gilcheck-sweep", f"--gilcheck-sweep-budget={budget}", f"--gilcheck-json={file}")
    records = [record for record in read(file) if record["check"] == "sweep"]
    if not records or not records[-1]["figures"]["tests"]:
        sys.exit(f"the suite did not run:\n{output[-2000:]}")
    return spent, output, records


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("names", nargs="*", default=list(SUITES))
    parser.add_argument("--budget", type=float, default=60.0)
    given = parser.parse_args()
    for name in given.names or SUITES:
        with tempfile.TemporaryDirectory() as folder:
            root = fetched(name, SUITES[name], folder)
            plain, status, _ = ran(root)
            spent, output, (*causes, whole) = swept(root, given.budget)
            outcomes = Counter(test["outcome"] for test in whole["details"]["tests"])
            whose = Counter(cause["figures"]["whose"] for cause in causes)
            times = f"CPU: plain {plain:.1f} s (exit {status}), with the sweep {spent:.1f} s"
            print(f"{name} {SUITES[name]}: {whole['reason']}; {times}")
            print(f"  {dict(outcomes)}; causes {dict(whose)}")
            print(output.partition("= gilcheck sweep =")[2], flush=True)


if __name__ == "__main__":
    main()
