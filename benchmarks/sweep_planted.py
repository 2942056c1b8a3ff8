"""Plants a race in public packages, and sweeps their own tests: what was found, and that nothing is found in the locked twin.

    python -m benchmarks.sweep_planted [NAME ...] [--budget=SECONDS]

Each plant is a thing that all tests of the process share, in a function that they call: a counter of a class, a cache of a
module, a lazy singleton. It checks itself, because no test of the package knows it. The twin has a lock around the same lines.
"""

import argparse
import tempfile

from .sweep_suites import SUITES, fetched, swept

_PLANTS = {
    "counter": (
        "class _Planted:\n    count = 0\n",
        "before = _Planted.count\n_Planted.count = before + 1\nassert _Planted.count == before + 1",
    ),
    "cache": ("_planted = {}\n", "_planted.clear()\n_planted['key'] = 1\nassert _planted['key'] == 1"),
    "lazy": (
        "_planted = [None]\n",
        "if _planted[0] is None:\n    one = object()\n    _planted[0] = one\n    assert _planted[0] is one",
    ),
}
_PLACES = {
    "itsdangerous": ("src/itsdangerous/encoding.py", "def want_bytes("),
    "blinker": ("src/blinker/base.py", "    def connect("),
    "cachetools": ("src/cachetools/keys.py", "def hashkey("),
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
    future, _, rest = before.rpartition("from __future__ import annotations\n")
    head_of_file = f"{future}from __future__ import annotations\n{names}{rest}" if future or _ else f"{names}{before}"
    file.write_text(f"{head_of_file}{found}{head}{end}{indent}{guard}\n{planted_lines}\n{body}")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("names", nargs="*", default=list(_PLACES))
    parser.add_argument("--budget", type=float, default=30.0)
    given = parser.parse_args()
    found = alarms = count = 0
    for name in given.names or _PLACES:
        for plant in _PLANTS:
            causes = []
            for locked in (False, True):
                with tempfile.TemporaryDirectory() as folder:
                    root = fetched(name, SUITES[name], folder)
                    planted(root, _PLACES[name], plant, locked)
                    _, _, (*records, whole) = swept(root, given.budget)
                    causes.append([record["reason"] for record in records if record["figures"]["whose"] == "package"])
            count, found, alarms = count + 1, found + bool(causes[0]), alarms + bool(causes[1])
            print(
                f"{name} {plant}: {causes[0][:1] or 'not found'}; locked: {causes[1] or 'nothing'} ({whole['reason']})", flush=True
            )
    print(f"{found} of {count} found; {alarms} of {count} locked twins with a cause in the package")


if __name__ == "__main__":
    main()
