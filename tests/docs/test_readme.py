"""What README and docs show is what happens: every snippet runs, every output is real, every link leads somewhere."""

import re
import subprocess
import sys
from pathlib import Path

import pytest

from pytest_gilcheck.core.interpreter import FREE_THREADED, build, watcher
from pytest_gilcheck.settings import SETTINGS, ini_name, option, variable

ROOT = Path(__file__).parents[2]
PAGES = {
    path.relative_to(ROOT).as_posix(): path.read_text() for path in (ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md")))
}
SNIPPETS = {  # each once, with the first page that shows it
    block: page for page in reversed(PAGES) for block in re.findall(r"^```python\n(.*?)^```", PAGES[page], re.DOTALL | re.MULTILINE)
}
BY_DEFAULT = ("test_export_scales", "test_hashing_lets_others_run")
NAME = re.compile(r"def (test_\w+)|^(test_\w+|Test\w+) = ", re.MULTILINE)  # a test is also what `linearizable` returns
TESTS = [
    pytest.param(block, id=f"{SNIPPETS[block]}-{name[0]}", marks=() if name[0] in BY_DEFAULT else pytest.mark.slow)
    for block in SNIPPETS
    if (name := [found[1] or found[2] for found in NAME.finditer(block)])
]
PROGRAMS = [pytest.param(block, id=f"{SNIPPETS[block]}-{block.splitlines()[0]}") for block in SNIPPETS if not NAME.search(block)]
LONGEST_README = 150  # lines
ALONE = ("-p", "no:cacheprovider", "-p", "gilcheck")  # and no other plugin that happens to be installed


@pytest.mark.parametrize("source", PROGRAMS)
def test_every_program_runs(source):
    exec(compile(source, SNIPPETS[source], "exec"), {})


@pytest.mark.parametrize("source", TESTS)
def test_every_test_runs_and_ends_in_a_verdict(pytester, monkeypatch, source):
    monkeypatch.setenv("PYTEST_DISABLE_PLUGIN_AUTOLOAD", "1")
    pytester.makepyfile(source)
    result = pytester.runpytest_subprocess(*ALONE, "--gilcheck-budget=5")
    result.stdout.fnmatch_lines(["*= gilcheck: [1-9]* *="])
    assert "rror" not in result.stdout.str().replace("errors", "")


def shape(text):
    """The text with every figure, path and rule blanked."""
    text = re.sub(r"(/[\w.+-]+)+\.py:\d+", "PATH", text)
    text = re.sub(r"CPython [\d.]+", "CPython", text)
    text = re.sub(r"\d+(\.\d+)?", "0", text)
    return re.sub(r"\b(us|ms|rounds?)\b", "UNIT", text)


@pytest.mark.exclusive
@pytest.mark.skipif(build() == FREE_THREADED, reason="the pages show the output of a GIL build")
@pytest.mark.skipif(watcher() is not None, reason="this test run is itself being traced")
def test_the_output_shown_is_the_output_of_the_example(pytester, monkeypatch):
    monkeypatch.setenv("PYTEST_DISABLE_PLUGIN_AUTOLOAD", "1")
    shown = [
        (re.search(r"```python\n(.*?)^```", page, re.DOTALL | re.MULTILINE)[1], output)
        for page in PAGES.values()
        for output in re.findall(r"<!-- output of the example -->\n```\n(.*?)\n```", page, re.DOTALL)
    ]
    assert len(shown) == 1
    pytester.makepyfile(test_report=shown[0][0])
    result = pytester.runpytest_subprocess(*ALONE)
    real = {shape(line) for line in result.outlines}
    for _, output in shown:
        for line in output.replace("\n      ", " ").split("\n"):  # the pages wrap long lines
            start = shape(line)[:40]
            assert any(candidate.startswith(start) for candidate in real), line


def test_every_setting_is_in_the_table():
    for name in SETTINGS:
        for spelling in (option(name), variable(name), ini_name(name)):
            assert f"`{spelling}" in PAGES["docs/reference/settings.md"]


def anchors(page):
    """The anchors of a page's headings, as GitHub makes them."""
    headings = re.findall(r"^#+ (.*)$", re.sub(r"^```.*?^```", "", page, flags=re.DOTALL | re.MULTILINE), re.MULTILINE)
    return {re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-") for heading in headings}


@pytest.mark.parametrize("name", PAGES)
def test_every_relative_link_and_anchor_leads_somewhere(name):
    page = re.sub(r"^```.*?^```", "", PAGES[name], flags=re.DOTALL | re.MULTILINE)
    for link in re.findall(r"\]\(([^)\s]+)\)", page):
        if "://" in link:
            continue
        path, _, anchor = link.partition("#")
        target = (ROOT / name).parent / path if path else ROOT / name
        assert target.exists(), link
        assert not anchor or anchor in anchors(target.read_text()), link


def test_every_page_is_in_the_index_and_every_term_is_once_in_the_glossary():
    index, findings = PAGES["docs/index.md"], PAGES["docs/how-to/findings/index.md"]
    pages = [name.removeprefix("docs/") for name in PAGES if name.startswith("docs/") and name != "docs/index.md"]
    lists = index + findings + PAGES["docs/development/decisions/index.md"]
    assert not [page for page in pages if f"({page})" not in lists and f"({page.rpartition('/')[2]})" not in lists]
    in_menus = [page for page in pages if not page.startswith(("how-to/findings/gc", "development/decisions/0"))]
    assert not [page for page in in_menus if f"\n{page.removesuffix('.md')}\n" not in index]
    terms = re.findall(r"^\| ([^|]+?) \|", PAGES["docs/explanation/glossary.md"], re.MULTILINE)
    named = [term for entry in terms if entry not in ("term", "---") for term in entry.split(", ")]
    assert len(named) == len(set(named)) > 50


def test_the_readme_is_two_or_three_screens():
    assert len(PAGES["README.md"].splitlines()) <= LONGEST_README


def test_the_examples_of_the_readme_can_all_be_collected():
    done = subprocess.run(
        [sys.executable, "-m", "pytest", "--collect-only", "-q", "-p", "no:cacheprovider", "examples"],
        cwd=ROOT, capture_output=True, text=True,
    )  # fmt: skip
    assert done.returncode == 0, done.stdout
