"""Mutation check: put the defects of `benchmarks/mutants` into a copy of the package, one at a time, and run the tests.

    python benchmarks/mutation_check.py                          all defects, the tests of their wing
    python benchmarks/mutation_check.py --only scaling token     defects whose id begins so
    python benchmarks/mutation_check.py --tests first            only the tests that can see a defect first
    python benchmarks/mutation_check.py --results found.json     go on where an earlier run stopped

For each defect the tests that can see it first run first, then the rest of the selection, until one fails. That test then runs
alone, with the defect and without: it catches the defect if it fails and passes, and is left out otherwise, because it fails for
another reason, such as a busy machine. The copy is made of the files that git knows, in a temporary folder; nothing in the
repository is changed.

Some defects make a check wait for ever: they are caught by the time limit, if the same tests end within it without the defect.
Timing tests may skip on a busy machine, so use an idle one.
"""

from __future__ import annotations

import argparse
import json
import os
import queue
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
if __name__ == "__main__":
    sys.path.insert(0, str(ROOT))

from benchmarks.mutants import Mutant, every  # noqa: E402

PACKAGE = "pytest_gilcheck"
SELECTIONS = ("first", "fast", "all")
# the tests of a wing, by the folder or file of the package; what is not named here is the pytest side
WINGS = {
    "core": ("tests/core",),
    "scaling": ("tests/scaling",),
    "interrupt": ("tests/interrupt",),
    "injection": ("tests/injection",),
    "latency": ("tests/latency",),
    "fuzz": ("tests/fuzz",),
    "audit": ("tests/audit",),
    "probe": ("tests/probe",),
    "report": ("tests/report", "tests/test_compare.py"),
    "compare.py": ("tests/test_compare.py",),
    "cli.py": ("tests/test_cli.py",),
}
_FAILED = re.compile(r"^(?:FAILED|ERROR) (.+?)(?: - .*)?$", re.MULTILINE)
TIME_LIMIT = "time limit"
UNDECIDED = "undecided: these tests reach the time limit without the defect too"
_NO_TESTS = 5  # pytest's exit status where it collected none


@dataclass(frozen=True)
class Outcome:
    """What became of one defect.

    Attributes:
        id: the defect's.
        caught: whether a test failed, or reached the time limit only with the defect.
        by: the test that failed, `TIME_LIMIT` or `UNDECIDED`; empty if nothing noticed the defect.
        seconds: how long it took until then.
    """

    id: str
    caught: bool
    by: str
    seconds: float


class Copy:
    """A scratch copy of a repository.

    Args:
        repository: the folder to copy, a git work tree.
        python: the interpreter that runs the tests; it needs the test dependencies.
    """

    def __init__(self, repository: Path, python: str) -> None:
        self.folder = Path(tempfile.mkdtemp(prefix="gilcheck-mutants-"))
        self._python = python
        listed = subprocess.run(["git", "-C", str(repository), "ls-files", "-z"], capture_output=True, check=True).stdout
        for name in filter(None, listed.decode().split("\0")):
            if (repository / name).is_file():
                (self.folder / name).parent.mkdir(parents=True, exist_ok=True)
                shutil.copy2(repository / name, self.folder / name)

    def close(self) -> None:
        """Remove the copy."""
        shutil.rmtree(self.folder, ignore_errors=True)

    def run(self, tests: Sequence[str], limit: float, *, without: Sequence[str] = ()) -> tuple[int | None, list[str]]:
        """Run tests of the copy, up to the first that fails.

        Args:
            tests: paths or node ids, relative to the copy.
            limit: seconds.
            without: node ids that are left out.

        Returns:
            pytest's exit status, None where the limit was reached; and the node ids of what failed.
        """
        there = [test for test in tests if (self.folder / test.partition("::")[0]).exists()]
        if not there:
            return 0, []
        command = [self._python, "-m", "pytest", "-q", "-p", "no:cacheprovider", "-x", *there]
        command += [f"--deselect={name}" for name in without]
        environment = os.environ | {"PYTHONPATH": str(self.folder), "PYTHONDONTWRITEBYTECODE": "1"}
        with tempfile.TemporaryFile() as output:
            process = subprocess.Popen(
                command, cwd=self.folder, env=environment, stdin=subprocess.DEVNULL, stdout=output, stderr=subprocess.STDOUT,
                start_new_session=True,
            )  # fmt: skip
            try:
                status: int | None = process.wait(limit)
            except subprocess.TimeoutExpired:
                status = None
            finally:
                try:
                    os.killpg(process.pid, signal.SIGKILL)  # and what the tests have left behind
                except ProcessLookupError:
                    pass
                process.wait()
            output.seek(0)
            named = _FAILED.findall(output.read().decode(errors="replace"))
        # the output of a test that runs pytest itself has such lines too: of files that are not in the copy
        return status, [name for name in named if (self.folder / name.partition("::")[0]).is_file()]

    def seeded(self, mutant: Mutant) -> Seeded:
        """The copy with this defect, as a context manager."""
        return Seeded(self.folder / PACKAGE / mutant.file, mutant)


class Seeded:
    """One defect in place, from ``__enter__`` to ``__exit__``.

    Raises:
        LookupError: the text that it replaces does not occur exactly once.
    """

    def __init__(self, file: Path, mutant: Mutant) -> None:
        self._file, self._mutant = file, mutant
        self._sound = file.read_text(encoding="utf-8")
        if (found := self._sound.count(mutant.before)) != 1:
            raise LookupError(f"{mutant.id}: its text occurs {found} times in {mutant.file}")

    def __enter__(self) -> None:
        self._file.write_text(self._sound.replace(self._mutant.before, self._mutant.after), encoding="utf-8")

    def __exit__(self, *error: object) -> None:
        self._file.write_text(self._sound, encoding="utf-8")


def selected(mutant: Mutant, selection: str) -> list[tuple[str, ...]]:
    """The tests to run on a defect, in parts that run one after the other."""
    parts: list[tuple[str, ...]] = [mutant.first]
    if selection != "first":
        wing = WINGS.get(mutant.file.partition("/")[0], ())
        parts.append((*wing, "tests/plugin") if wing else ("tests/plugin", "tests/test_cli.py"))
    if selection == "all":
        parts.append(("tests",))
    return parts


def check(copy: Copy, mutant: Mutant, parts: Sequence[tuple[str, ...]], limit: float) -> Outcome:
    """Run these parts on one defect until a test fails that passes without it."""
    start = time.monotonic()
    without: list[str] = []  # tests whose failure has another reason
    for part in parts:
        while True:
            with copy.seeded(mutant):
                status, failed = copy.run(part, limit, without=without)
            if status in (0, _NO_TESTS):
                break
            if status is None and copy.run(part, limit, without=without)[0] is None:
                return Outcome(mutant.id, False, UNDECIDED, time.monotonic() - start)
            if status is None or not failed:
                by = TIME_LIMIT if status is None else f"pytest's exit status {status}"
                return Outcome(mutant.id, True, by, time.monotonic() - start)
            if failed[0] in without:  # it cannot be deselected
                return Outcome(mutant.id, False, f"undecided: {failed[0]} fails without the defect too", time.monotonic() - start)
            if confirmed(copy, mutant, failed[0], limit):
                return Outcome(mutant.id, True, failed[0], time.monotonic() - start)
            without.append(failed[0])
    return Outcome(mutant.id, False, "", time.monotonic() - start)


def confirmed(copy: Copy, mutant: Mutant, test: str, limit: float) -> bool:
    """Whether a test fails because of the defect: alone, it fails again with the defect and passes without."""
    with copy.seeded(mutant):
        again = copy.run([test], limit)[0]
    return again not in (0, _NO_TESTS) and copy.run([test], limit)[0] == 0


def outcomes(
    mutants: Sequence[Mutant], *, repository: Path, python: str, selection: str, limit: float, jobs: int
) -> Iterator[Outcome]:
    """The outcome of each defect, as it is known; with several jobs each has a copy of its own."""
    todo: queue.SimpleQueue[Mutant] = queue.SimpleQueue()
    done: queue.SimpleQueue[Outcome | BaseException] = queue.SimpleQueue()
    for mutant in mutants:
        todo.put(mutant)
    copies = [Copy(repository, python) for _ in range(jobs)]

    def work(copy: Copy) -> None:
        try:
            while True:
                mutant = todo.get_nowait()
                done.put(check(copy, mutant, selected(mutant, selection), limit))
        except queue.Empty:
            pass
        except BaseException as error:  # shown by the main thread
            done.put(error)

    try:
        for copy in copies:
            threading.Thread(target=work, args=(copy,), daemon=True).start()
        for _ in mutants:
            found = done.get()
            if isinstance(found, BaseException):
                raise found
            yield found
    finally:
        for copy in copies:
            copy.close()


def main() -> int:
    """Exit status: 0 where every defect was caught, 1 otherwise."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--tests", choices=SELECTIONS, default="fast", help="first: the tests that can see it first; fast: and the "
                        "rest of the wing and of tests/plugin (default); all: and every other test")  # fmt: skip
    parser.add_argument("--only", nargs="+", metavar="ID", default=[""], help="defects whose id begins so")
    parser.add_argument("--limit", type=float, default=300.0, metavar="SECONDS", help="for each part of the tests (default: 300)")
    parser.add_argument("--jobs", type=int, default=1, metavar="N", help="defects at once, each in a copy of its own (default: 1)")
    parser.add_argument("--python", default=sys.executable, metavar="EXE", help="the interpreter with the test dependencies")
    parser.add_argument("--repository", type=Path, default=ROOT, metavar="FOLDER", help="the work tree to test (default: this one)")
    parser.add_argument("--results", type=Path, metavar="FILE", help="keep outcomes here, a JSON object a line, and skip known ids")
    given = parser.parse_args()
    known: dict[str, Outcome] = {}
    if given.results is not None and given.results.exists():
        known = {entry["id"]: Outcome(**entry) for entry in map(json.loads, given.results.read_text().splitlines())}
    mutants = [mutant for mutant in every() if mutant.id.startswith(tuple(given.only))]
    todo = [mutant for mutant in mutants if mutant.id not in known]
    for outcome in outcomes(
        todo, repository=given.repository, python=given.python, selection=given.tests, limit=given.limit, jobs=given.jobs
    ) if todo else ():  # fmt: skip
        known[outcome.id] = outcome
        print(f"{outcome.id:42} {outcome.seconds:6.1f} s  {outcome.by or 'NOT CAUGHT'}", flush=True)
        if given.results is not None:
            with given.results.open("a") as file:
                file.write(json.dumps(asdict(outcome)) + "\n")
    print("\n| defect | caught by | s |\n| --- | --- | --- |")
    for mutant in mutants:
        outcome = known[mutant.id]
        print(f"| {mutant.id} | {outcome.by or f'**nothing**: {mutant.breaks}'} | {outcome.seconds:.1f} |")
    caught = sum(known[mutant.id].caught for mutant in mutants)
    limits = sum(known[mutant.id].by == TIME_LIMIT for mutant in mutants)
    print(f"\n{caught} of {len(mutants)} caught ({caught / len(mutants):.0%}), {limits} of them by the time limit")
    return 0 if caught == len(mutants) else 1


if __name__ == "__main__":
    sys.exit(main())
