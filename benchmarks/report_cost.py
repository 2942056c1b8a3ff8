"""What evidence and reports cost a run of many checks: their share of its time, and of what.

Runs pytest on generated tests, each with one scaling check, with every report switched on, and adds up the time in the functions
that make records and reports. Prints one line for each, and their share of the whole run; exits with 1 if that is above the limit.

    python benchmarks/report_cost.py --checks 1000
"""

from __future__ import annotations

import argparse
import functools
import importlib.util
import sys
import tempfile
import time
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parents[1]))

from pytest_gilcheck import calls
from pytest_gilcheck.adaptors import checked_tests, reporting

TESTS = """
import pytest

@pytest.mark.parametrize("number", range({checks}))
@pytest.mark.gil_scaling(threads=2, max_slowdown=3, timeout=60)
def test_check(number):
    sum(range(20_000))
"""
spent: dict[str, float] = {}


def timed(holder: object, name: str) -> None:
    """Add up the time of every call of ``holder.name``."""
    function = getattr(holder, name)

    @functools.wraps(function)
    def around(*arguments: object, **named: object) -> object:
        start = time.perf_counter()
        try:
            return function(*arguments, **named)
        finally:
            spent[name] = spent.get(name, 0.0) + time.perf_counter() - start

    setattr(holder, name, around)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--checks", type=int, default=1000, help="tests with a check each (default: 1000)")
    parser.add_argument("--limit", type=float, default=0.02, help="share of the run that reports may cost (default: 0.02)")
    given = parser.parse_args()
    timed(calls, "record")
    timed(checked_tests, "figures_as_properties")
    for name in ("pytest_runtest_logreport", "pytest_sessionfinish", "pytest_terminal_summary"):
        timed(reporting.Summary, name)
    with tempfile.TemporaryDirectory() as folder:
        (Path(folder) / "test_many.py").write_text(TESTS.format(checks=given.checks))
        reports = [f"--gilcheck-json={folder}/e.json", f"--gilcheck-markdown={folder}/e.md", f"--junitxml={folder}/e.xml"]
        if importlib.util.find_spec("jinja2"):
            reports.append(f"--gilcheck-html={folder}/e.html")
        start = time.perf_counter()
        # not isolated: a fork would keep what its child spends on a record to itself
        pytest.main([folder, "-q", "-p", "no:cacheprovider", f"--rootdir={folder}", "--gilcheck-isolate=none", "-v", *reports])
        took = time.perf_counter() - start
        sizes = {path.suffix: path.stat().st_size for path in Path(folder).glob("e.*")}
    print()
    for name, seconds in sorted(spent.items(), key=lambda item: -item[1]):
        print(f"{name:28} {seconds:7.3f} s  {seconds / took:.2%}")
    share = sum(spent.values()) / took
    print(f"{'all':28} {sum(spent.values()):7.3f} s  {share:.2%} of {took:.1f} s, {given.checks} checks")
    print(", ".join(f"{suffix} {size / 1e6:.2f} MB" for suffix, size in sorted(sizes.items())))
    if sizes.keys() != {".json", ".md", ".xml"} | ({".html"} if len(reports) == 4 else set()):
        print("a report was not written: nothing was measured")
        return 1
    return int(share > given.limit)


if __name__ == "__main__":
    sys.exit(main())
