"""The list of seeded defects is alive: each still fits the code that it changes."""

from pathlib import Path

import pytest_gilcheck
from benchmarks.mutants import every

PACKAGE = Path(pytest_gilcheck.__file__).parent
ROOT = Path(__file__).parents[2]


def source(mutant):
    file = PACKAGE / mutant.file
    return file.read_text(encoding="utf-8") if file.is_file() else ""


def test_the_text_of_each_defect_occurs_exactly_once():
    found = {mutant.id: source(mutant).count(mutant.before) for mutant in every()}
    assert not {name: f"occurs {times} times" for name, times in found.items() if times != 1}


def test_each_defect_can_be_compiled():
    for mutant in every():
        compile(source(mutant).replace(mutant.before, mutant.after), f"{mutant.file} with {mutant.id}", "exec")


def test_the_tests_that_can_see_a_defect_first_exist():
    assert not {f"{mutant.id}: {path}" for mutant in every() for path in mutant.first if not (ROOT / path).exists()}


def test_each_defect_has_a_name_of_its_own_and_says_what_breaks():
    assert len({mutant.id for mutant in every()}) == len(every()) >= 60
    assert all(mutant.breaks and mutant.before != mutant.after for mutant in every())
