"""What is generated is as it was generated last."""

from .generated import PAGE, renewed


def test_the_tables_of_settings_and_arguments_are_those_of_the_code():
    assert PAGE.read_text() == renewed(PAGE.read_text()), "python -m tests.docs.generated makes them anew"


def test_an_old_table_is_noticed():
    page = PAGE.read_text()
    assert renewed(page.replace("`--gilcheck-seed=N`", "`--gilcheck-sed=N`")) == renewed(page) != page.replace("seed", "sed")
