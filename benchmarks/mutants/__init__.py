"""Seeded defects: realistic mistakes in the package, each of which changes what a user sees.

`benchmarks/mutation_check.py` puts one of them at a time into a copy of the package and runs the tests: do they notice? A defect is
known by its id, which does not change. The text that it replaces changes with the code: `tests/quality/test_mutants.py` fails where
that text no longer occurs exactly once.
"""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Mutant:
    """One seeded defect.

    Attributes:
        id: its name, unique, ``"area-what"``.
        file: the file that it changes, relative to the package's folder.
        before: the text that is replaced; it occurs exactly once in that file.
        after: the text that replaces it.
        breaks: what a user of the plugin would see, in one line.
        first: the tests that can see it first, as paths relative to the repository.
        needs: what it needs to show: ``"free-threaded"`` for a build without a GIL, ``"browser"`` for Chromium; empty for nothing.
    """

    id: str
    file: str
    before: str
    after: str
    breaks: str
    first: tuple[str, ...]
    needs: str = ""


def every() -> tuple[Mutant, ...]:
    """All defects, by area."""
    from . import core, fuzz, interrupt, latency, plugin, probe, report, scaling

    return tuple(mutant for area in (scaling, core, interrupt, latency, fuzz, plugin, report, probe) for mutant in area.MUTANTS)
