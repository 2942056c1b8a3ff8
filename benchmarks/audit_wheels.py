"""The GIL declaration read out of wheels against the truth of importing them, beside a plain check of tags.

    python benchmarks/audit_wheels.py WHEEL...                      what the binaries declare
    python benchmarks/audit_wheels.py --python python3.13t WHEEL... and what importing each module there does

The interpreter needs the wheels' dependencies. Download wheels with `pip download --no-deps`; none is part of this project.
"""

import argparse
from collections import Counter
from pathlib import Path
from time import process_time

from pytest_gilcheck.audit import interpreters, modules
from pytest_gilcheck.audit.artifact import open_path
from pytest_gilcheck.audit.imports import Scratch, import_all


def by_tag(name):
    """What a check of the tag alone says: the ABI ends with t."""
    return "ready" if name.split("-")[-2].endswith("t") else "not ready"


def truth_of(names, python):
    """Module -> whether importing it switches the GIL on itself; modules that cannot be imported are missing."""
    found = {}
    with Scratch(None) as scratch:
        for one in import_all(names, python, scratch):
            if one.module in one.offenders:
                found[one.module] = "used"
            elif one.module in one.created:
                found[one.module] = "not used"
    return found


def main():
    """The command line."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--python", metavar="EXE")
    parser.add_argument("wheels", nargs="+", type=Path)
    given = parser.parse_args()
    python = interpreters.given([given.python])[0] if given.python else None
    totals = Counter()
    for path in given.wheels:
        began = process_time()
        artifact = open_path(path)
        known = modules.read(artifact)
        spent = process_time() - began
        said = {one.module: str(known.declared[one.file].gil) for one in artifact.extension_modules() if one.file in known.declared}
        truth = truth_of(list(said), python) if python is not None and python.takes(artifact.tags) else {}
        outcome = Counter()
        for module, gil in said.items():
            outcome[gil] += 1
            if module in truth:
                told = gil != "cannot be told"
                outcome["agrees" if truth[module] == gil else "DISAGREES" if told else "told by import"] += 1
        totals += outcome
        counted = ", ".join(f"{count} {what}" for what, count in outcome.items()) or "no free-threaded modules"
        print(f"{path.name[:60]:60} tag: {by_tag(path.name):9} binaries: {counted} ({spent:.2f} s)", flush=True)
    print(f"{len(given.wheels)} wheels: " + ", ".join(f"{count} {what}" for what, count in totals.items()))


if __name__ == "__main__":
    main()
