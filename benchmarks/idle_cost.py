"""What does the plugin cost a run that does not use it?

Trivial tests, with the plugin and without it, in turn (A B, B A, ...), by CPU time, which other processes disturb less than wall
time. Prints the ratio pair by pair and its median, and exits with 1 if the median is above 1.01.

    python benchmarks/idle_cost.py                       5,000 tests, against -p no:gilcheck
    python benchmarks/idle_cost.py --without PYTHON      against an environment without the plugin and what only it needs
    python benchmarks/idle_cost.py --tests 1             one test, where the start counts most
"""

from __future__ import annotations

import argparse
import resource
import statistics
import subprocess
import sys
import tempfile
from pathlib import Path

LIMIT = 1.01
FILES = 10


def cpu_seconds(python: str, folder: Path, *options: str) -> float:
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    command = [python, "-m", "pytest", "-q", "-p", "no:cacheprovider", *options, str(folder)]
    subprocess.run(command, check=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, cwd=folder)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--tests", type=int, default=5_000, help="trivial tests in each run (default 5000)")
    parser.add_argument("--pairs", type=int, default=15, help="pairs of runs (default 15)")
    parser.add_argument("--without", metavar="PYTHON", help="interpreter of an environment without the plugin")
    parser.add_argument("--both", default="", help="options of both runs, such as '-p no:hypothesispytest'")
    given = parser.parse_args()
    both = given.both.split()
    other = (given.without,) if given.without else (sys.executable, "-p", "no:gilcheck")
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        for part in range(min(FILES, given.tests)):
            tests = "\n".join(f"def test_{i}(): pass" for i in range(part, given.tests, FILES))
            (folder / f"test_part_{part}.py").write_text(tests)
        (folder / "pytest.ini").write_text("[pytest]\n")

        def on() -> float:
            return cpu_seconds(sys.executable, folder, *both)

        def off() -> float:
            return cpu_seconds(other[0], folder, *other[1:], *both)

        on(), off()
        pairs: list[tuple[float, float]] = []
        for pair in range(given.pairs):
            if pair % 2:
                without = off()
                pairs.append((on(), without))
            else:
                pairs.append((on(), off()))
            print(f"pair {pair + 1}: on {pairs[-1][0]:.2f} s, off {pairs[-1][1]:.2f} s", flush=True)
    ratios = [with_it / without for with_it, without in pairs]
    median = statistics.median(ratios)
    seconds = statistics.median(with_it - without for with_it, without in pairs)
    spread = f"min {min(ratios):.3f}, max {max(ratios):.3f}"
    print(f"{given.tests} tests, {given.pairs} pairs: median ratio {median:.3f} ({spread}), {seconds * 1e3:+.0f} ms; limit {LIMIT}")
    return int(median > LIMIT)


if __name__ == "__main__":
    sys.exit(main())
