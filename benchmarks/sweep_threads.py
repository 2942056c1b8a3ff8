"""Public tests that start threads, each swept as it is: decided, undecided by reason, broken. A search takes up to 5 s.

    python -m benchmarks.sweep_threads [NAME ...] [--most=TESTS]

Fetches source distributions with pip into a temporary folder. A plain run shows which tests start threads; of these, some of each
suite are searched, the first of each file first. Judge each test that a schedule breaks by hand.
"""

import argparse
import json
import os
import subprocess
import sys
import tempfile
from collections import Counter

from pytest_gilcheck.core.evidence_files import read

from .sweep_suites import fetched

SUITES = {  # package: (version, tests, folders of the sources)
    "cachetools": ("7.0.0", "tests", ("src",)),
    "urllib3": ("2.2.3", "test/test_connectionpool.py test/test_collections.py test/test_queue_monkeypatch.py", ("src",)),
    "filelock": ("3.16.1", "tests", ("src",)),
    "portalocker": ("3.1.1", "portalocker_tests", (".",)),
    "readerwriterlock": ("1.0.9", "tests", (".",)),
    "prometheus_client": ("0.21.1", "tests", (".",)),
    "zict": ("3.0.0", "zict/tests", (".",)),
    "jmespath": ("1.0.1", "tests", (".",)),
    "janus": ("2.0.0", "tests", (".",)),
    "watchdog": ("6.0.0", "tests", ("src",)),
    "diskcache": ("5.6.3", "tests/test_core.py tests/test_recipes.py tests/test_fanout.py", (".",)),
    "apscheduler": ("3.11.0", "tests", ("src", ".")),
    "pyee": ("12.1.1", "tests", (".",)),
    "structlog": ("24.4.0", "tests", ("src",)),
    "more-itertools": ("10.5.0", "tests", (".",)),
    "blinker": ("1.9.0", "tests", ("src",)),
    "werkzeug": ("3.1.3", "tests/test_local.py tests/test_serving.py", ("src",)),
    "tenacity": ("9.0.0", "tests", (".",)),
}
_PLUGIN = """
import json, os, _thread, threading
import pytest

STARTS = [(m, n) for m, n in ((_thread, "start_new_thread"), (threading, "_start_new_thread"),
          (threading, "_start_joinable_thread")) if hasattr(m, n)]
CHOSEN = json.loads(os.environ.get("SWEEP_THREADS_CHOSEN", "null"))
found = {}

def pytest_collection_modifyitems(items):
    if CHOSEN is not None:
        items[:] = [item for item in items if item.nodeid in CHOSEN]

@pytest.hookimpl(wrapper=True)
def pytest_runtest_call(item):
    if CHOSEN is not None:
        return (yield)
    started, real = [], [getattr(m, n) for m, n in STARTS]
    for (m, n), function in zip(STARTS, real):
        setattr(m, n, lambda *a, _real=function, **k: (started.append(1), _real(*a, **k))[1])
    try:
        result = yield
        if started:
            found[item.nodeid] = len(started)
        return result
    finally:
        for (m, n), function in zip(STARTS, real):
            setattr(m, n, function)

def pytest_sessionfinish():
    if CHOSEN is None:
        with open("threads.json", "w") as file:
            json.dump(list(found), file)
"""
_FOR_EACH = 10  # seconds of the budget: a search has at most a tenth of what is left
_LONGEST = 600  # seconds of one run of a suite


def ran(name, root, *options, **given):
    """One run of the suite, with the plugin."""
    _, tests, sources = SUITES[name]
    (root / "gilcheck-empty.ini").write_text("[pytest]\n")
    (root / "sweep_threads_plugin.py").write_text(_PLUGIN)
    environment = {name: value for name, value in os.environ.items() if name != "PYTHONDONTWRITEBYTECODE"} | given
    environment |= {"PYTHONPATH": os.pathsep.join([str(root), *(str(root / each) for each in sources)])}
    environment |= {"PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1"}
    command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "-p", "sweep_threads_plugin", "-p", "gilcheck"]
    command += ["-c", "gilcheck-empty.ini", "--rootdir", str(root), "--continue-on-collection-errors", *tests.split(), *options]
    try:
        return subprocess.run(command, cwd=root, env=environment, capture_output=True, text=True, timeout=_LONGEST).stdout
    except subprocess.TimeoutExpired as error:
        return f"{(error.stdout or b'').decode(errors='replace')}\nit did not end within {_LONGEST} s"


def chosen(nodes, most):
    """Of these tests, some: the first of each file, then the second, without the same one with other parameters."""
    by_file, seen = {}, set()
    for node in nodes:
        if (bare := node.partition("[")[0]) not in seen:
            seen.add(bare)
            by_file.setdefault(node.partition("::")[0], []).append(node)
    ranked = sorted((place, node) for each in by_file.values() for place, node in enumerate(each))
    return [node for _, node in ranked][:most]


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("names", nargs="*", default=list(SUITES))
    parser.add_argument("--most", type=int, default=4, help="tests of each suite")
    given = parser.parse_args()
    total = Counter()
    for name in given.names or SUITES:
        with tempfile.TemporaryDirectory() as folder:
            try:
                root = fetched(name, folder, SUITES[name][0])
            except subprocess.CalledProcessError as error:  # pip has said why
                print(f"{name}: not fetched: {error}", flush=True)
                continue
            plain = ran(name, root)
            found = root / "threads.json"
            nodes = chosen(json.loads(found.read_text()) if found.exists() else [], given.most)
            print(f"{name} {SUITES[name][0]}: {len(nodes)} tests; plainly: {(plain.strip().splitlines() or ['nothing'])[-1]}")
            if not nodes:
                continue
            file = root / "threads-evidence.json"
            options = ["--gilcheck-sweep", f"--gilcheck-sweep-budget={_FOR_EACH * (len(nodes) + 10)}", f"--gilcheck-json={file}"]
            output = ran(name, root, *options, SWEEP_THREADS_CHOSEN=json.dumps(nodes))
            records = [record for record in read(file) if record["check"] == "sweep"] if file.exists() else []
            if not records:
                print(f"  it was not swept: {output[-600:]}", flush=True)
                continue
            for test in records[-1]["details"]["tests"]:
                total[test["outcome"]] += 1
                print(f"  {test['outcome']}: {test['test']}: {test['reason'][:300]}", flush=True)
            print(output.partition("= gilcheck sweep =")[2].partition("\ncause")[2], flush=True)
    print(f"{sum(total.values())} tests: {dict(total)}")


if __name__ == "__main__":
    main()
