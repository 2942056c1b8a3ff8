"""How often the source rules speak, and how fast they are, on real packages.

    python benchmarks/audit_source.py                        a line for each package of this environment: findings per 1,000 lines
    python benchmarks/audit_source.py FOLDER...              for each of these
    python benchmarks/audit_source.py --sample 50 FOLDER...  so many findings drawn at random, with their source, to be judged

A folder is a package's own: `site-packages/rich`.
"""

import argparse
import random
import sysconfig
from collections import Counter
from pathlib import Path
from time import process_time

from pytest_gilcheck.audit.archive import Folder
from pytest_gilcheck.audit.artifact import Artifact, ArtifactKind
from pytest_gilcheck.audit.finding import AuditFinding
from pytest_gilcheck.audit.source import patterns, sources


def opened(path):
    """A package's folder as an artifact."""
    return Artifact(ArtifactKind.INSTALLED, path.name, path, files=Folder(path))


def installed():
    """The packages of this environment."""
    return sorted(path.parent for path in Path(sysconfig.get_path("purelib")).glob("*/__init__.py"))


def rate(paths):
    """Print the table."""
    total, lines_of_all, seconds_of_all = Counter(), 0, 0.0
    print(f"{'package':24} {'lines':>8} {'hits':>5} {'/1000':>6}  by code")
    for path in paths:
        artifact = opened(path)
        lines = sum(artifact.files.text(name).count("\n") for name in sources(artifact))
        began = process_time()
        hits = Counter(one.code for one in patterns(artifact) if one.code != "GA322")  # which binaries decide
        seconds_of_all += process_time() - began
        total += hits
        lines_of_all += lines
        by_code = ", ".join(f"{code} {count}" for code, count in sorted(hits.items()))
        print(f"{path.name:24} {lines:8} {hits.total():5} {1000 * hits.total() / max(lines, 1):6.2f}  {by_code}")
    by_code = ", ".join(f"{code} {count}" for code, count in sorted(total.items()))
    print(f"{'all':24} {lines_of_all:8} {total.total():5} {1000 * total.total() / max(lines_of_all, 1):6.2f}  {by_code}")
    print(f"{1e5 * seconds_of_all / max(lines_of_all, 1):.1f} s of CPU for 100,000 lines")


def sample(paths, count, seed):
    """Print findings drawn at random, with the lines around them."""
    hits = [
        (path, one) for path in paths for one in patterns(opened(path)) if not isinstance(one, AuditFinding) and one.code != "GA322"
    ]
    for number, (path, one) in enumerate(random.Random(seed).sample(hits, min(count, len(hits))), 1):
        text = (path / one.file).read_text(errors="replace").splitlines()
        print(f"\n== {number}. {one.code} {path.name}/{one.file}:{one.line} in {one.function or 'the module'}: {one.message}")
        for place in range(max(0, one.line - 3), min(len(text), one.line + 6)):
            print(f"{place + 1:6} {text[place][:150]}")


def main():
    """The command line."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--sample", type=int, metavar="N")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("folders", nargs="*", type=Path, default=installed())
    given = parser.parse_args()
    if given.sample:
        sample(given.folders, given.sample, given.seed)
    else:
        rate(given.folders)


if __name__ == "__main__":
    main()
