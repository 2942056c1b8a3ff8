"""What does the plugin cost a run that does not use it?

5,000 trivial tests, with the plugin and with ``-p no:gilcheck``, in the same environment, in turn (A B, B A, ...). Prints the
ratio pair by pair and its median, and exits with 1 if the median is above 1.03.

    python benchmarks/idle_cost.py
"""

from __future__ import annotations

import argparse
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

LIMIT = 1.03


def seconds(folder: Path, *options: str) -> float:
    start = time.perf_counter()
    subprocess.run(
        [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", *options, str(folder)],
        check=True,
        stdout=subprocess.DEVNULL,
        cwd=folder,
    )
    return time.perf_counter() - start


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--tests", type=int, default=5_000, help="trivial tests in each run (default 5000)")
    parser.add_argument("--pairs", type=int, default=11, help="pairs of runs (default 11)")
    given = parser.parse_args()
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        for part in range(10):
            tests = "\n".join(f"def test_{i}(): pass" for i in range(given.tests // 10))
            (folder / f"test_part_{part}.py").write_text(tests)
        (folder / "pytest.ini").write_text("[pytest]\n")
        seconds(folder)
        ratios = []
        for pair in range(given.pairs):
            if pair % 2:
                without, on = seconds(folder, "-p", "no:gilcheck"), seconds(folder)
            else:
                on, without = seconds(folder), seconds(folder, "-p", "no:gilcheck")
            ratios.append(on / without)
            print(f"pair {pair + 1}: on {on:.2f} s, off {without:.2f} s, ratio {on / without:.3f}", flush=True)
    median = statistics.median(ratios)
    spread = f"min {min(ratios):.3f}, max {max(ratios):.3f}"
    print(f"{given.tests} tests, {given.pairs} pairs: median ratio {median:.3f} ({spread}); limit {LIMIT}")
    return int(median > LIMIT)


if __name__ == "__main__":
    sys.exit(main())
