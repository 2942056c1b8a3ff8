"""The causes that a sweep has found: each with the tests that meet it, and in whose code it is."""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from enum import StrEnum

from ..core.origin import module_of, of_user
from ..core.source import line_text
from .harmless import reason_of
from .swept import Failed, Place, Swept

_TEST_FILE = re.compile(r"^(test_.*|.*_tests?|conftest)\.py$")
_TEST_FOLDERS = frozenset({"test", "tests"})


def of_tests(file: str, root: str) -> bool:
    """Whether a file of a suite with this root is of its tests, by its name; outside of the root, only the last folder counts."""
    *folders, name = (named := _named(file, root)).split("/")
    folders = folders[-1:] if os.path.isabs(named) else folders
    return bool(_TEST_FILE.match(name)) or not _TEST_FOLDERS.isdisjoint(folders)


def _named(file: str, root: str) -> str:
    if file.startswith(f"{root}{os.sep}") and of_user(file):
        return file[len(root) + 1 :].replace(os.sep, "/")
    return module_of(file)


class Whose(StrEnum):
    """In whose code a cause is."""

    PACKAGE = "in your package"
    UNKNOWN = "of which no place is known"  # it fails the run: it may well be the package
    DEPENDENCY = "in a dependency"
    TESTS = "in the tests"
    HARMLESS = "that is known to be harmless"


@dataclass
class SweepCause:
    """One cause: the places whose order decides, or where threads wait for each other; without any, how a test fails.

    Attributes:
        places: as (file, line), sorted.
        root: the folder of the suite; files in it are named from there.
        tests: those that meet it, of which some were not searched themselves.
    """

    places: tuple[Place, ...]
    root: str
    tests: list[Swept] = field(default_factory=list)

    @property
    def smallest(self) -> Swept:
        """The test with the smallest schedule."""
        return min(
            (test for test in self.tests if test.failed is not None),
            key=lambda test: (_failed(test).preemptions or 0, len(_failed(test).story)),
        )

    @property
    def failed(self) -> Failed:
        """How that test fails."""
        return _failed(self.smallest)

    @property
    def whose(self) -> Whose:
        files = [file for file, _ in self.places]
        if not files or any(map(self._is_of_package, self.failed.through)):
            return Whose.UNKNOWN
        if any(map(self._is_of_package, files)):
            return Whose.PACKAGE
        if self.harmless:
            return Whose.HARMLESS
        return Whose.TESTS if any(map(of_user, files)) else Whose.DEPENDENCY

    @property
    def harmless(self) -> str:
        """Why it is harmless; empty if it is not known to be."""
        return reason_of(self.places, self.failed.symptom)

    @property
    def fails_the_run(self) -> bool:
        return self.whose in (Whose.PACKAGE, Whose.UNKNOWN)

    def _is_of_package(self, file: str) -> bool:
        return of_user(file) and not of_tests(file, self.root)

    def named(self, file: str) -> str:
        """A file from the root of the suite; the name of a module for a library's."""
        return _named(file, self.root)

    def __str__(self) -> str:
        if not self.places:
            return f"not known ({self.failed.symptom or 'it fails'})"
        places = " and ".join(f"{self.named(file)}:{line}" for file, line in self.places)
        return f"a thread was preempted first at {places}" if self.failed.through else places

    def lines(self) -> tuple[str, ...]:
        """Its places as ``"file: line of source"``: that stays the same where lines are inserted above."""
        if not self.places:
            return (f"{self.smallest.test.partition('[')[0]}: {self.failed.symptom or self.smallest.reason}",)
        return tuple(dict.fromkeys(f"{self.named(file)}: {line_text(file, line)}" for file, line in self.places))


def causes_of(tests: Iterable[Swept], root: str) -> Sequence[SweepCause]:
    """The causes of what a schedule broke; one that is met by most tests first, those of the user's package before all others."""
    found: dict[object, SweepCause] = {}
    of_test: dict[str, SweepCause] = {}
    for test in (tests := list(tests)):
        if test.failed is not None:
            key = test.failed.cause or (test.test.partition("[")[0], test.failed.symptom)
            cause = of_test[test.test] = found.setdefault(key, SweepCause(test.failed.cause, root))
            cause.tests.append(test)
    for test in tests:
        if test.like in of_test:
            of_test[test.like].tests.append(test)
    ranks = list(Whose)
    return sorted(found.values(), key=lambda cause: (ranks.index(cause.whose), -len(cause.tests)))


def _failed(test: Swept) -> Failed:
    assert test.failed is not None, "only such tests have a cause"
    return test.failed
