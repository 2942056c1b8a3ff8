"""What a new contributor is told is there: paths, environments of tox, stages of CI, and quick tests of every part."""

import ast
import re
from pathlib import Path

import pytest

import pytest_gilcheck
from pytest_gilcheck.checks import CHECKS

ROOT = Path(__file__).parents[2]
CONTRIBUTING, CHANGELOG = (ROOT / name for name in ("CONTRIBUTING.md", "CHANGELOG.md"))
QUICK = (ROOT / "tests" / "quick.txt").read_text().splitlines()
WINGS = (*(check.wing for check in CHECKS.values()), "audit", "probe", "report", "core")
PARTS = (*(f"tests/{wing}/" for wing in (*WINGS, "plugin")), "tests/test_house.py")
FRAGMENT = re.compile(r"[\w-]+\.(added|changed|fixed|removed)(\.\d+)?\.md")


def lost_paths(text):
    """The paths in code spans of a text that lead nowhere."""
    spans = re.findall(r"`([^`\n]+)`", text)
    words = [
        word
        for span in spans
        for word in span.split()
        if re.match(r"(tests|docs|benchmarks|examples|pytest_gilcheck|\.ci)(/|$)", word)
    ]
    assert len(words) > 30
    return [word for word in words if not (ROOT / word.partition("::")[0]).exists()]


def test_every_path_that_it_names_exists():
    assert not lost_paths(CONTRIBUTING.read_text())


def test_a_path_that_leads_nowhere_is_noticed():
    assert lost_paths(CONTRIBUTING.read_text().replace("tests/probe", "tests/prob")) == ["tests/prob"]


def unknown_environments(text):
    """The environments of tox that a text names, and tox.ini does not."""
    named = {name for names in re.findall(r"tox -e ([\w,]+)", text) for name in names.split(",")}
    return named - set(re.findall(r"^\[testenv:(\w+)\]", (ROOT / "tox.ini").read_text(), re.MULTILINE))


def stages():
    """The stages of .ci/run."""
    run = (ROOT / ".ci" / "run").read_text()
    table = run[run.index("environments_of=(") : run.index("\n)", run.index("environments_of=("))]
    return set(re.findall(r"\[([\w-]+)\]=", table))


def unknown_stages(text):
    """The stages of .ci/run that a text names, and that are none."""
    named = re.findall(r"CI_STAGES=(?:\"([^\"]+)\"|([\w-]+))", text)
    return {stage for names in named for stage in " ".join(names).split()} - stages()


@pytest.mark.parametrize("name", ["CONTRIBUTING.md", ".github/PULL_REQUEST_TEMPLATE.md", ".github/workflows/ci.yml", ".ci/run"])
def test_environments_and_stages_that_are_named_exist(name):
    text = (ROOT / name).read_text()
    assert not unknown_environments(text)
    assert not unknown_stages(text)


def test_an_environment_or_a_stage_that_does_not_exist_is_noticed():
    assert unknown_environments("`tox -e quick,lnt`") == {"lnt"}
    assert unknown_stages('CI_STAGES="lint dcumentation"; CI_STAGES=galery') == {"dcumentation", "galery"}


def test_every_stage_is_run_once():
    run = (ROOT / ".ci" / "run").read_text()
    begun = re.findall(
        r"^(?:\w+=\S+ |if .*; then )?(?:stage|beside) ([\w-]+) ", run[run.index("beside environments") :], re.MULTILINE
    )
    assert sorted(set(begun) & stages()) == sorted(stages())
    assert len(begun) == len(set(begun))


def without_a_quick_test(paths):
    return [part for part in PARTS if not any(path.startswith(part) for path in paths)]


def test_the_quick_tests_are_of_every_part():
    missing = without_a_quick_test(QUICK)
    assert not missing, f"tests/quick.txt has none of {', '.join(missing)}"
    assert set(WINGS) <= {path.name for path in Path(pytest_gilcheck.__file__).parent.iterdir()}


def test_a_part_without_a_quick_test_is_noticed():
    assert "tests/injection/" in without_a_quick_test([path for path in QUICK if "injection" not in path])


def test_every_quick_test_exists():
    for entry in QUICK:
        path, _, name = entry.partition("::")
        functions = {node.name for node in ast.walk(ast.parse((ROOT / path).read_text())) if isinstance(node, ast.FunctionDef)}
        assert not name or name in functions, entry


def test_every_part_has_a_row_in_the_table():
    rows = [line for line in CONTRIBUTING.read_text().splitlines() if line.startswith("| ")]
    missing = [wing for wing in WINGS if not any(f"`pytest_gilcheck/{wing}" in row for row in rows)]
    assert not missing, f"CONTRIBUTING.md says nowhere what to run after a change of {', '.join(missing)}"


def written(changelog):
    """What somebody wrote of a changelog: its head and its first release; towncrier puts the rest between."""
    head, mark, rest = changelog.partition("<!-- towncrier release notes start -->\n")
    assert mark
    return head + rest[rest.rindex("\n### Added\n") :]


def test_what_is_to_be_read_first_is_short():
    assert len(CONTRIBUTING.read_text().splitlines()) <= 100
    assert len(written(CHANGELOG.read_text()).encode()) <= 4096


def test_news_between_the_head_and_the_first_release_do_not_count():
    text = CHANGELOG.read_text()
    mark = "release notes start -->\n"
    assert written(text.replace(mark, f"{mark}\n## [0.2.0] - 2027-01-01\n\n### Added\n\n- More.\n")) == written(text)


def test_towncrier_finds_every_fragment():
    fragments = [path.name for path in (ROOT / "changelog.d").iterdir() if path.name != "template.md.jinja"]
    assert not [name for name in fragments if not FRAGMENT.fullmatch(name)]
    assert not FRAGMENT.fullmatch("slug.fix.md")
