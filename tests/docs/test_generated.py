"""What is generated is as it was generated last."""

import pytest

from .generated import DOCS, PAGE, pages, renewed

PAGES = pages()


def test_the_tables_of_settings_and_arguments_are_those_of_the_code():
    assert PAGE.read_text() == renewed(PAGE.read_text()), "python -m tests.docs.generated makes them anew"


def test_an_old_table_is_noticed():
    page = PAGE.read_text()
    assert renewed(page.replace("`--gilcheck-seed=N`", "`--gilcheck-sed=N`")) == renewed(page) != page.replace("seed", "sed")


@pytest.mark.parametrize("path", PAGES, ids=lambda path: path.name)
def test_a_generated_page_is_that_of_the_code(path):
    assert path.read_text() == PAGES[path], "python -m tests.docs.generated makes it anew"


def test_there_is_no_page_of_a_code_that_does_not_exist():
    assert set((DOCS / "how-to" / "findings").iterdir()) <= set(PAGES)
