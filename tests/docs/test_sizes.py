"""The texts that people read first stay short, and what they name exists."""

import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
PACKAGE = ROOT / "pytest_gilcheck"
KILOBYTE = 1024
DECISIONS = ROOT / "docs" / "development" / "decisions"
PAGES = sorted(DECISIONS.glob("[0-9]*.md"))
LONGEST = 40  # lines of a decision
PARTS = ("Status", "Context", "Decision")  # that each decision has


def named_paths(text):
    """What a text names that looks like a path: code with a slash or a file's ending, and links."""
    text = re.sub(r"^```.*?^```", "", text, flags=re.DOTALL | re.MULTILINE)
    code = [word for words in re.findall(r"`([^`\n]+)`", text) for word in words.split() if re.search(r"/|\.(py|md|toml)$", word)]
    return [*code, *(link.partition("#")[0] for link in re.findall(r"\]\(([^)\s]+)\)", text) if "://" not in link)]


def missing(text, *folders):
    """The named paths that are in none of these folders; modules may be named without their ending."""

    def exists(name):
        return any((folder / name).exists() or (folder / f"{name}.py").exists() for folder in folders)

    return [name for name in named_paths(text) if not exists(name)]


ENGINE = "pytest_gilcheck/engine/README.md"


@pytest.mark.parametrize(("name", "most"), [("ARCHITECTURE.md", 8), ("docs/explanation/accuracy.md", 8), (ENGINE, 5)])
def test_a_text_that_is_read_first_is_short(name, most):
    assert len((ROOT / name).read_bytes()) <= most * KILOBYTE


def test_every_path_that_architecture_names_exists():
    assert len(named_paths((ROOT / "ARCHITECTURE.md").read_text())) > 100
    assert not missing((ROOT / "ARCHITECTURE.md").read_text(), ROOT, PACKAGE)


def test_every_path_that_the_page_of_the_engine_names_exists():
    text = (ROOT / ENGINE).read_text()
    assert len(named_paths(text)) > 20
    assert not missing(text, ROOT, PACKAGE, PACKAGE / "engine")


def test_a_path_that_does_not_exist_is_noticed():
    text = "`core/system.py`, `core/sistem.py`, [link](docs/none.md), `Turns.decide`"
    assert missing(text, ROOT, PACKAGE) == ["core/sistem.py", "docs/none.md"]


@pytest.mark.parametrize("path", PAGES, ids=lambda path: path.stem[:4])
def test_a_decision_is_short_and_names_code_that_exists(path):
    text = path.read_text()
    assert len(text.splitlines()) <= LONGEST
    assert not [part for part in PARTS if f"**{part}**" not in text]
    assert not missing(text, ROOT, PACKAGE, DECISIONS)


def test_no_two_decisions_have_the_same_number():  # a gap is a number that somebody holds on another branch
    numbers = [int(path.name[:4]) for path in PAGES]
    assert len(set(numbers)) == len(numbers) > 50
