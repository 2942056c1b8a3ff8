"""The workflows are YAML, run on the interpreters that the package names, and hide no failure."""

import re
import tomllib
from pathlib import Path

import pytest

yaml = pytest.importorskip("yaml")

ROOT = Path(__file__).parents[2]
GITHUB = ROOT / ".github"
WORKFLOWS = {path.name: path.read_text() for path in sorted((GITHUB / "workflows").glob("*.yml"))}
FORMS = {path.name: path.read_text() for path in sorted((GITHUB / "ISSUE_TEMPLATE").glob("*.yml"))}


def steps(text):
    """Every step of every job of a workflow."""
    return [step for job in yaml.safe_load(text)["jobs"].values() for step in job["steps"]]


def complaints(text):
    """What is wrong with a workflow, beyond what actionlint sees."""
    jobs = yaml.safe_load(text)["jobs"]
    yield from (f"{name} may run for ever" for name, job in jobs.items() if "timeout-minutes" not in job)
    if "continue-on-error" in text:
        yield "a failure is hidden"
    scripts = " ".join(step.get("run", "") for step in steps(text))
    for path in re.findall(r"(?:^|[\s@])((?:\.ci|tests)/[\w./-]+)", scripts):
        if not (ROOT / path).is_file():
            yield f"{path} does not exist"


@pytest.mark.parametrize("name", WORKFLOWS)
def test_a_workflow_hides_nothing_and_finds_its_files(name):
    assert not list(complaints(WORKFLOWS[name]))


def test_what_would_hide_a_failure_is_noticed():
    text = (
        WORKFLOWS["ci.yml"]
        .replace("    timeout-minutes: 45\n", "    continue-on-error: true\n")
        .replace(".ci/summary.py", ".ci/sum.py")
    )
    assert set(complaints(text)) == {"tests may run for ever", "a failure is hidden", ".ci/sum.py does not exist"}


def in_matrix(text):
    return set(yaml.safe_load(text)["jobs"]["tests"]["strategy"]["matrix"]["python"])


def in_tox(text):
    """The interpreters of tox.ini's list, such as 3.13 and 3.13t."""
    listed = re.search(r"^env_list = (.*)$", text, re.MULTILINE)[1]
    groups = re.findall(r"py\{([\d,]+)\}(t?)(?=[,\s])", listed)
    return {f"{number[0]}.{number[1:]}{suffix}" for numbers, suffix in groups for number in numbers.split(",")}


def in_classifiers(text):
    listed = " ".join(tomllib.loads(text)["project"]["classifiers"])
    return set(re.findall(r"Python :: (3\.\d+)", listed))


def test_ci_tox_and_the_classifiers_name_the_same_interpreters():
    matrix = in_matrix(WORKFLOWS["ci.yml"])
    assert matrix == in_tox((ROOT / "tox.ini").read_text())
    assert {name for name in matrix if not name.endswith("t")} == in_classifiers((ROOT / "pyproject.toml").read_text())


def test_an_interpreter_that_one_of_them_lacks_is_noticed():
    tox = (ROOT / "tox.ini").read_text()
    assert in_tox(tox) - in_tox(tox.replace("py{313,314,315}t,", "py{313,314}t,")) == {"3.15t"}
    assert in_matrix(WORKFLOWS["ci.yml"].replace('"3.12", ', "")) < in_matrix(WORKFLOWS["ci.yml"])


def test_only_the_job_that_publishes_may_sign():
    jobs = yaml.safe_load(WORKFLOWS["release.yml"])["jobs"]
    assert [name for name, job in jobs.items() if job.get("permissions", {}).get("id-token") == "write"] == ["publish"]
    assert all(yaml.safe_load(text)["permissions"] == {"contents": "read"} for text in WORKFLOWS.values())
    assert [step["run"] for step in jobs["build"]["steps"] if "run" in step] == ['.ci/release "$TAG"']  # what anybody can run


def fields(text):
    return [part["id"] for part in yaml.safe_load(text).get("body", []) if "id" in part]


@pytest.mark.parametrize("name", [name for name in FORMS if name != "config.yml"])
def test_a_form_has_a_name_and_fields_of_different_names(name):
    form = yaml.safe_load(FORMS[name])
    assert form["name"]
    assert form["description"]
    assert len(set(fields(FORMS[name]))) == len(fields(FORMS[name])) > 1


def test_a_wrong_verdict_comes_with_what_is_needed_to_see_it():
    assert {"test", "output", "token", "versions", "probe"} <= set(fields(FORMS["wrong-verdict.yml"]))


def test_the_other_files_are_yaml():
    assert yaml.safe_load((GITHUB / "dependabot.yml").read_text())["version"] == 2
    assert yaml.safe_load(FORMS["config.yml"])["contact_links"]
