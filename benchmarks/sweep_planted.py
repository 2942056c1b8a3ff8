"""Plants a race in public packages, and sweeps their own tests: what was found, and that nothing is found in the locked twin.

    python -m benchmarks.sweep_planted [NAME ...] [--budget=SECONDS]

Each plant is a thing that all tests of the process share, in a function that they call: a counter of a class, a cache of a
module whose lock was removed, a lazy singleton. It checks itself, because no test of the package knows it. The twin has a lock
around the same lines.
"""

import argparse
import re
import tempfile

from .sweep_suites import fetched, in_parallel, swept

_PLANTS = {
    "counter": (
        "class _Planted:\n    count = 0\n",
        "before = _Planted.count\n_Planted.count = before + 1\nassert _Planted.count == before + 1",
    ),
    "cache": ("_planted = {}\n", "_planted.clear()\n_planted['key'] = 1\nassert _planted['key'] == 1"),
    "lazy": (
        "_planted = None\n",
        "global _planted\nif _planted is None:\n    _planted = object()\n_mine = _planted\nassert _mine is _planted",
    ),
}
_PLACES = {
    "itsdangerous": ("src/itsdangerous/encoding.py", "def want_bytes("),
    "blinker": ("src/blinker/base.py", "    def connect("),
    "cachetools": ("src/cachetools/keys.py", "def hashkey("),
    "markdown": ("markdown/util.py", "    def register("),
    "more-itertools": ("more_itertools/more.py", "def chunked("),
    "toolz": ("toolz/itertoolz.py", "def first("),
    "jmespath": ("jmespath/lexer.py", "    def tokenize("),
    "parse": ("parse.py", "def extract_format("),
}


def planted(root, place, plant, locked):
    """Put it at the beginning of the body of a function."""
    file, function = root / place[0], place[1]
    made, lines = _PLANTS[plant]
    text = file.read_text()
    before, found, after = text.partition(function)
    assert found, f"{file} has no {function!r}"
    indent = " " * (len(function) - len(function.lstrip()) + 4)
    head, end, body = after.partition(":\n")
    guard = "with _planted_lock:" if locked else "if True:"
    planted_lines = "\n".join(f"{indent}    {line}" for line in lines.splitlines())
    names = f"import threading as _threading\n_planted_lock = _threading.Lock()\n{made}\n"
    future = [each.end() for each in re.finditer(r"^from __future__ import .*\n", before, re.MULTILINE)]
    begin = future[-1] if future else 0
    head_of_file = f"{before[:begin]}{names}{before[begin:]}"
    file.write_text(f"{head_of_file}{found}{head}{end}{indent}{guard}\n{planted_lines}\n{body}")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("names", nargs="*", default=list(_PLACES))
    parser.add_argument("--budget", type=float, default=30.0)
    given = parser.parse_args()
    found = alarms = count = by_parallel = 0
    for name in given.names or _PLACES:
        for plant in _PLANTS:
            causes = []
            for locked in (False, True):
                with tempfile.TemporaryDirectory() as folder, tempfile.TemporaryDirectory() as plugins:
                    root = fetched(name, folder)
                    planted(root, _PLACES[name], plant, locked)
                    _, _, (*records, whole) = swept(name, root, given.budget)
                    causes.append([record["reason"] for record in records if record["figures"]["whose"] == "package"])
                    last = "" if locked else in_parallel(name, root, plugins)[2]
                by_parallel += "failed" in last or "error" in last
                told = causes[-1][:1] or "nothing"
                print(f"{name} {plant}{' locked' * locked}: {told} ({whole['reason']}) {last}", flush=True)
            count, found, alarms = count + 1, found + bool(causes[0]), alarms + bool(causes[1])
    print(f"{found} of {count} found; {alarms} of {count} locked twins with a cause in the package; {by_parallel} by run-parallel")


if __name__ == "__main__":
    main()
