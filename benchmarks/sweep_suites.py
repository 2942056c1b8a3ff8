"""Sweeps suites of public packages as they are: tests by outcome, causes, time over the plain suite; and what run-parallel finds.

    python -m benchmarks.sweep_suites [NAME ...] [--budget=SECONDS]

Fetches source distributions with pip into a temporary folder. The settings of a package for pytest are left out, because they ask
for plugins that are not here; so are all plugins but ours. Judge each cause that it prints by hand.
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
from typing import NamedTuple

from pytest_gilcheck.core.evidence_files import read


class Suite(NamedTuple):
    version: str
    tests: str = "tests"
    sources: tuple[str, ...] = ("src", ".")


SUITES = {
    "itsdangerous": Suite("2.2.0"),  # parametrised classes
    "blinker": Suite("1.9.0"),
    "cachetools": Suite("5.5.0"),  # unittest, caches with locks
    "markdown": Suite("3.7"),  # unittest
    "more-itertools": Suite("10.5.0"),  # unittest
    "zict": Suite("3.0.0", "zict/tests"),  # threads
    "prometheus_client": Suite("0.21.1"),  # unittest, threads, locks
    "toolz": Suite("1.0.0", "toolz/tests"),  # functions
    "natsort": Suite("8.4.0"),  # hypothesis, many parameters
    "jmespath": Suite("1.0.1"),  # a lexer and a cache
    "parse": Suite("1.20.2"),
    "pluggy": Suite("1.5.0", "testing"),
}
_LONGEST = 900  # seconds of one run of a suite
_RUN_PARALLEL = "pytest-run-parallel==0.10.0"
_PIP = [sys.executable, "-m", "pip", "-q"]


def fetched(name, folder, version=""):
    """The unpacked source distribution, by default that of the suites here."""
    pip = [*_PIP, "download", "--no-deps", "--no-binary=:all:"]
    subprocess.run([*pip, f"{name}=={version or SUITES[name].version}", "-d", folder], check=True)
    (archive,) = Path(folder).glob("*.tar.gz")
    with tarfile.open(archive) as file:
        file.extractall(folder, filter="data")
    return next(each for each in Path(folder).iterdir() if each.is_dir())


def ran(name, root, *options, beside=()):
    """One run of the suite: seconds of CPU, exit status, and what it printed.

    Args:
        beside: folders with further plugins.
    """
    suite = SUITES[name]
    (root / "gilcheck-empty.ini").write_text("[pytest]\n")
    environment = os.environ | {
        "PYTHONPATH": os.pathsep.join([*(str(root / each) for each in suite.sources), *map(str, beside)]),
        "PYTHONDONTWRITEBYTECODE": "1",
        "PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1",
    }
    alone = ["-q", "-p", "no:cacheprovider", "-p", "gilcheck", "--continue-on-collection-errors"]
    command = [sys.executable, "-m", "pytest", *alone, "-c", "gilcheck-empty.ini", "--rootdir", root, root / suite.tests, *options]
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    try:
        done = subprocess.run(
            command, cwd=root, env=environment, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, timeout=_LONGEST
        )
        status, output = done.returncode, done.stdout
    except subprocess.TimeoutExpired as error:
        status, output = None, f"{(error.stdout or b'').decode(errors='replace')}\nit did not end within {_LONGEST} s"
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime, status, output


def swept(name, root, budget):
    """What a sweep of the suite says: seconds of CPU, what it printed, and its records."""
    file = root / "sweep.json"
    spent, _, output = ran(name, root, "--gilcheck-sweep", f"--gilcheck-sweep-budget={budget}", f"--gilcheck-json={file}")
    records = [record for record in read(file) if record["check"] == "sweep"] if file.exists() else []
    if not records or not records[-1]["figures"]["tests"]:
        sys.exit(f"the suite did not run:\n{output[-2000:]}")
    return spent, output, records


def in_parallel(name, root, folder):
    """What pytest-run-parallel says of the suite, each body in two threads at once: seconds of CPU, exit status, its last line."""
    subprocess.run([*_PIP, "install", "--no-deps", "--target", folder, _RUN_PARALLEL], check=True)
    spent, status, output = ran(name, root, "-p", "pytest_run_parallel.plugin", "--parallel-threads=2", beside=[folder])
    return spent, status, (output.strip().splitlines() or [""])[-1]


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("names", nargs="*", default=list(SUITES))
    parser.add_argument("--budget", type=float, default=60.0)
    given = parser.parse_args()
    total = Counter()
    for name in given.names or SUITES:
        with tempfile.TemporaryDirectory() as folder, tempfile.TemporaryDirectory() as plugins:
            root = fetched(name, folder)
            plain, status, _ = ran(name, root)
            parallel, status_of_parallel, last = in_parallel(name, root, plugins)
            spent, output, (*causes, whole) = swept(name, root, given.budget)
            outcomes = Counter(test["outcome"] for test in whole["details"]["tests"])
            whose = Counter(cause["figures"]["whose"] for cause in causes)
            total += outcomes
            times = f"CPU: plain {plain:.1f} s (exit {status}), with the sweep {spent:.1f} s"
            print(f"{name} {SUITES[name].version}: {whole['reason']}; {times}")
            print(f"  {dict(outcomes)}; causes {dict(whose)}")
            print(f"  in two threads by {_RUN_PARALLEL}: {parallel:.1f} s (exit {status_of_parallel}): {last}")
            print(output.partition("= gilcheck sweep =")[2], flush=True)
    print(f"all: {sum(total.values())} tests: {dict(total)}")


if __name__ == "__main__":
    main()
