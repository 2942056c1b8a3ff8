"""Evidence, documentation, test configuration, dependencies: each in both directions."""

import json
import subprocess
import sys
from datetime import date
from types import SimpleNamespace

import pytest

from pytest_gilcheck.audit import claims, closure, documents, evidence, interpreters, locks, workflows
from pytest_gilcheck.audit.artifact import open_path
from pytest_gilcheck.audit.claims import ReleaseClaim
from pytest_gilcheck.audit.settings import AuditSettings
from pytest_gilcheck.audit.tags import Build

from .made import BETA, STABLE, binary, codes, sdist, wheel

TODAY = date(2026, 6, 1)


def record(check="scaling", verdict="holds", build="free-threaded", version="3.14.1", **more):
    python = {"implementation": "CPython", "version": version, "build": build, "free_threaded_build": True, "platform": "linux"}
    entry = {"check": check, "subject": "t.py::test", "verdict": verdict, "reason": "why", "recorded": "2026-05-30T00:00:00Z"}
    gil = {"before": build, "after": build}
    return {**entry, "claim": {}, "figures": {}, "details": {}, "interpreter": python, "gil": gil, "number": 1, **more}


def project(folder, classifiers=(BETA,), **files):
    folder.mkdir(exist_ok=True)
    names = ", ".join(f'"{one}"' for one in classifiers)
    (folder / "pyproject.toml").write_text(f'[project]\nname = "demo"\nversion = "1.0"\nclassifiers = [{names}]\n')
    for name, text in files.items():
        path = folder / name.replace("__", "/")
        path.parent.mkdir(exist_ok=True, parents=True)
        path.write_text(text)
    (release,) = claims.releases([open_path(folder)])
    return release, claims.claim_of(release, AuditSettings())


def judged(tmp_path, records, level=2, settings=None, run=None, **more):
    release, _ = project(tmp_path / "demo")
    folder = release.project.path
    for command in (["init", "-q"], ["add", "."], ["-c", "user.name=x", "-c", "user.email=x@x", "commit", "-qm", "x"]):
        subprocess.run(["git", *command], cwd=folder, check=True)
    head = subprocess.run(["git", "rev-parse", "HEAD"], cwd=folder, capture_output=True, text=True, check=True).stdout.strip()
    described = {"commit": head, "dirty": False, "ended": "2026-01-02T03:04:05Z", **(run or {})}
    document = {"schema": 2, "run": described, "units": {}, "records": records}
    (tmp_path / "evidence.json").write_text(json.dumps(document))
    files = evidence.read([str(tmp_path / "evidence.json")])
    settings = settings or AuditSettings()
    return list(evidence.check(release, ReleaseClaim(level, "a test", **more), files, settings, TODAY))


ALL = [record(), record("interrupt"), record("fuzz")]


def test_evidence_of_every_kind_is_well(tmp_path):
    assert codes(judged(tmp_path, ALL, level=4)) == []


@pytest.mark.parametrize(("level", "severity"), [(1, "note"), (2, "warning"), (3, "error")])
def test_evidence_that_is_missing(tmp_path, level, severity):
    findings = judged(tmp_path, ALL[1:], level=level)
    assert [str(one.severity) for one in findings if one.code == "GA401"] == [severity]


def test_evidence_of_a_build_with_a_gil_alone_says_nothing_of_the_other(tmp_path):
    findings = judged(tmp_path, [record(build="gil"), *ALL[1:]])
    assert codes(findings) == codes(findings, "inconclusive") == ["GA405"]


def test_evidence_of_each_claimed_build(tmp_path):
    builds = (Build((3, 14), True), Build((3, 15), True))
    assert codes(judged(tmp_path, ALL, builds=builds[:1])) == []
    assert codes(judged(tmp_path / "x", ALL, builds=builds)) == ["GA405"] if (tmp_path / "x").mkdir() is None else None


def test_evidence_that_decides_nothing_or_lost_its_build(tmp_path):
    assert codes(judged(tmp_path, [record(verdict="inconclusive"), *ALL[1:]])) == ["GA405"]
    (tmp_path / "x").mkdir()
    back = record(gil={"before": "free-threaded", "after": "gil"})
    assert codes(judged(tmp_path / "x", [back, *ALL[1:]])) == ["GA405"]


def test_a_violated_claim_is_an_error_unless_its_test_asserts_it(tmp_path):
    assert codes(judged(tmp_path, [*ALL, record(verdict="violated", subject="other")]), "error") == ["GA404"]
    (tmp_path / "x").mkdir()
    assert codes(judged(tmp_path / "x", [*ALL, record(verdict="violated", outcome="passed")])) == []


def test_evidence_of_another_commit_or_of_changed_files(tmp_path):
    assert codes(judged(tmp_path, ALL, run={"commit": "f" * 40})) == ["GA406"]
    (tmp_path / "x").mkdir()
    assert codes(judged(tmp_path / "x", ALL, run={"dirty": True})) == ["GA405"]


def test_evidence_that_is_too_old_or_damaged(tmp_path):
    old = [record(recorded="2025-01-01T00:00:00Z"), *ALL[1:]]
    assert codes(judged(tmp_path, old, settings=AuditSettings(evidence_days=30))) == ["GA401"]
    (tmp_path / "bad.json").write_text("{")
    release, claim = project(tmp_path / "demo")
    findings = evidence.check(release, claim, evidence.read([str(tmp_path / "bad.json")]), AuditSettings(), TODAY)
    assert "GA406" in codes(findings)


ENDED = {"exit_status": 0, "collected": 3, "ran": 3, "deselected": 0, "failed_to_collect": 0}


@pytest.mark.parametrize(
    ("end", "words"),
    [
        ({"ended": None}, "has not ended"),
        ({"exit_status": 2}, "exit status 2 (interrupted)"),
        ({"exit_status": 3}, "exit status 3"),
        ({"exit_status": 5, "collected": 0, "ran": 0}, "no tests were collected"),
        ({"exit_status": "no"}, "does not say how pytest ended"),
        ({"failed_to_collect": 1}, "1 test module could not be collected"),
        ({"ran": 2}, "1 of 3 collected tests did not run"),
        ({"exit_status": 1, "ran": 1}, "2 of 3 collected tests did not run"),
        ({"exit_status": 1}, "tests of its run failed"),
    ],
)
def test_evidence_of_a_run_that_stopped_early_or_failed_does_not_count_and_says_why(tmp_path, end, words):
    findings = judged(tmp_path, ALL, level=3, run=ENDED | end)
    assert codes(findings, "error") == ["GA401"]
    [why] = [one.message for one in findings if one.severity == "inconclusive"]
    assert "evidence.json does not count: " in why
    assert words in why
    assert not [one for one in findings if one.severity == "ok"]


def test_evidence_of_a_whole_run_counts(tmp_path):
    assert codes(judged(tmp_path, ALL, level=4, run=ENDED)) == []


def test_a_violation_stands_whatever_became_of_its_run(tmp_path):
    findings = judged(tmp_path, [*ALL, record(verdict="violated")], level=0, run=ENDED | {"exit_status": 1, "ran": 1})
    assert codes(findings, "error") == ["GA404"]


def test_a_run_that_was_stopped_after_its_first_failure_is_no_evidence(pytester):
    (pytester.path / "test_it.py").write_text("def test_one(): assert False\ndef test_two(): pass\n")
    pytester.runpytest("-x", "--gilcheck-json=run.json", "-p", "no:cacheprovider", "-p", "no:asyncio")
    files = evidence.read([str(pytester.path / "run.json")])
    assert not files.records
    assert "1 of 2 collected tests did not run" in files.incomplete[0]


def test_files_without_a_result_decide_nothing(tmp_path):
    assert codes(judged(tmp_path, [], level=0), "inconclusive") == ["GA405"]
    (tmp_path / "x").mkdir()
    assert codes(judged(tmp_path / "x", ALL, level=0)) == []


def test_nothing_is_demanded_of_who_claims_nothing(tmp_path):
    release, claim = project(tmp_path / "demo", classifiers=())
    assert not list(evidence.check(release, claim, evidence.read([]), AuditSettings(), TODAY))


# -- documentation and test configuration ------------------------------------------------------------------------------------------


def test_documentation_that_speaks_of_thread_safety(tmp_path):
    assert codes(documents.check(*project(tmp_path / "a", **{"README.md": "# demo\n\n## Thread safety\n"}))) == []
    assert codes(documents.check(*project(tmp_path / "b", **{"docs__threads.rst": "Free-threading\n"}))) == []
    assert codes(documents.check(*project(tmp_path / "c", **{"README.md": "# demo\n"}))) == ["GA501"]


def test_a_high_level_needs_ground(tmp_path):
    release, claim = project(tmp_path / "demo", classifiers=(STABLE,), **{"README.md": "Thread safety: all of it.\n"})
    said = list(documents.check(release, claim))
    assert codes(documents.ground(release, claim, said)) == ["GA107"]
    scaled = evidence.passed("GA401", "demo", "holds", evidence.Known.EVIDENCE)
    assert codes(documents.ground(release, claim, [*said, scaled])) == []


@pytest.mark.parametrize(
    ("files", "found"),
    [
        ({"tox.ini": "[tox]\nenv_list = py314, py314t\n[testenv]\ncommands = pytest\n"}, []),
        ({"tox.ini": "[tox]\nenv_list = py{313,314}t\n[testenv]\ncommands = pytest\n"}, []),
        ({"tox.ini": "[tox]\nenv_list = py314\n[testenv]\ncommands = pytest\n"}, ["GA408"]),
        ({"tox.ini": "[tox]\nenv_list = py314t\n[testenv]\nset_env =\n  PYTHON_GIL = 0\ncommands = pytest\n"}, ["GA407"]),
        ({"tox.ini": "[tox]\nenv_list = py314t\n[testenv]\nset_env =\n  PYTHON_GIL = 1\ncommands = pytest\n"}, []),
        ({".github__workflows__ci.yml": "env:\n  CIBW_ENABLE: cpython-freethreading\n"}, ["GA109"]),
        ({".github__workflows__ci.yml": "# cpython-freethreading is gone\n"}, []),
        ({}, []),
    ],
)
def test_how_the_project_is_built_and_tested(tmp_path, files, found):
    assert codes(workflows.check(*project(tmp_path / "demo", **files))) == found


# -- dependencies ------------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("name", "text", "names"),
    [
        ("requirements.txt", "# x\nnumpy==2.0 --hash=sha256:00\nLxml>=5\n-e .\n-r more.txt\n", {"numpy", "lxml", "cffi"}),
        ("requirements.txt", "numpy ; python_version < '3'\n", set()),
        ("requirements.txt", "-rmore.txt\n-e .[test]\n--extra-index-url x\n", {"cffi"}),
        ("requirements.txt", "-e git+https://x/y#egg=Own&subdirectory=z\nlater; python_version >= '3.14'\n", {"own", "later"}),
        ("uv.lock", "version = 1\n[[package]]\nname = 'numpy'\nversion = '2.0'\n", {"numpy"}),
        ("poetry.lock", "[[package]]\nname = 'numpy'\nversion = '2.0'\n[metadata]\nlock-version = '2.1'\n", {"numpy"}),
        ("pylock.toml", "lock-version = '1.0'\n[[packages]]\nname = 'numpy'\n", {"numpy"}),
    ],
)  # fmt: skip
def test_the_packages_of_a_lock_file(tmp_path, name, text, names):
    (tmp_path / "more.txt").write_text("cffi\n")
    (tmp_path / name).write_text(text)
    assert set(locks.read(tmp_path / name)) == names


@pytest.mark.parametrize(
    ("name", "text", "words"),
    [
        ("uv.lock", "version = 2\n", "of version '2'; this version reads 1"),
        ("poetry.lock", "[metadata]\nlock-version = '3.0'\n", "of version '3.0'"),
        ("pylock.toml", "lock-version = '2.0'\n", "of version '2.0'"),
        ("uv.lock", "version = 1\n", "no list of packages"),
        ("uv.lock", "version =", "no TOML"),
        ("other.lock", "a = 1\n", "neither uv.lock"),
        ("requirements.txt", "!!!\n", "is no requirement"),
        ("requirements.txt", "-r requirements.txt\n", "inside each other"),
        ("requirements.txt", "-r absent.txt\n", "absent.txt"),
        ("requirements.txt", "-e ../other\n", "'../other' has no name"),
        ("requirements.txt", "x; python_version > 'a' and y\n", "is no requirement"),
    ],
)
def test_a_lock_file_that_cannot_be_read_is_one_line(tmp_path, name, text, words):
    (tmp_path / name).write_text(text)
    with pytest.raises(locks.BadLock, match=words.replace("(", r"\(")) as caught:
        locks.read(tmp_path / name)
    assert "\n" not in str(caught.value)


@pytest.fixture
def site(tmp_path, monkeypatch):
    """A free-threaded interpreter that is made up, with distributions that are unpacked into its folder."""
    folder = tmp_path / "site"
    folder.mkdir()
    python = interpreters.Python(sys.executable, Build((3, 14), True), "3.14.0", (str(folder),))

    def install(name, module=None, requires=()):
        import zipfile

        files = {f"{name}/__init__.py": b""}
        if module is not None:
            files[f"{name}/{module}.cpython-314t-x86_64-linux-gnu.so"] = binary()
        with zipfile.ZipFile(wheel(tmp_path, files=files, name=name, requires=requires)) as archive:
            archive.extractall(folder)

    return SimpleNamespace(python=python, install=install, folder=folder)


def dependencies(tmp_path, site, requires, lock=()):
    release, _ = project(tmp_path / "demo")
    release.project.metadata.__dict__["requires"] = tuple(requires)
    return list(closure.check(release, [], [site.python], lock, False, 10.0, False))


def test_a_dependency_that_brings_the_gil_by_the_shortest_chain(tmp_path, site):
    site.install("near", requires=["far"])
    site.install("nearer", requires=["near", "far"])
    site.install("far", "multi_silent")
    findings = [one for one in dependencies(tmp_path, site, ["near", "nearer"]) if one.severity != "ok"]
    assert [(one.code, one.message) for one in findings] == [
        ("GA206", "near > far 1.0: far.multi_silent does not declare that it runs without the GIL")
    ]


def test_dependencies_that_are_ready(tmp_path, site):
    site.install("near", "multi_free")
    assert codes(dependencies(tmp_path, site, ["near"])) == []


def test_a_dependency_that_cannot_be_told(tmp_path, site):
    site.install("near", "single_sometimes")
    assert codes(dependencies(tmp_path, site, ["near"])) == ["GA211"]


def untold(tmp_path, site, requires, **more):
    """The messages of what cannot be told; nothing else may be found."""
    findings = dependencies(tmp_path, site, requires, **more)
    assert codes(findings) in ([], ["GA211"])
    return [one.message for one in findings if one.severity == "inconclusive"]


def test_a_dependency_that_is_not_installed_is_named_with_its_chain(tmp_path, site):
    site.install("near", "multi_free", requires=["far"])
    assert untold(tmp_path, site, ["near", "absent>=2"]) == [
        "absent is not installed in Python 3.14.0t", "near > far is not installed in Python 3.14.0t",
    ]  # fmt: skip
    site.install("far"), site.install("absent")
    assert untold(tmp_path, site, ["near", "absent>=2"]) == []


def test_dependencies_without_an_interpreter_that_could_have_them_are_named(tmp_path):
    release, _ = project(tmp_path / "demo")
    later = ["absent", "later; python_version >= '3.14'", "older; python_version < '3.13'", "optional; extra == 'fast'"]
    for requires, words in ((later, ["could have absent, later"]), ([], []), (later[2:], [])):
        release.project.metadata.__dict__["requires"] = tuple(requires)
        findings = list(closure.check(release, [], [], [], False, 10.0, False))
        assert codes(findings) == codes(findings, "inconclusive") == ["GA211"][: len(words)]
        assert [one.message for one in findings] == [f"no free-threaded interpreter that {text}" for text in words]


def test_markers_are_about_the_interpreter_that_imports_and_extras_about_what_is_asked(tmp_path, site):
    site.install("near", requires=["old; python_version < '3.14'", "new; python_version >= '3.14'", "far; extra == 'fast'"])
    (new,) = untold(tmp_path, site, ["near"])
    assert new.startswith("near > new ")
    site.install("new", requires=["near[fast]"])  # the extra is asked for after its distribution was looked at
    assert [one.partition(" is ")[0] for one in untold(tmp_path, site, ["near"])] == ["near > new > near > far"]
    assert [one.partition(" is ")[0] for one in untold(tmp_path, site, ["near[fast]"])] == ["near > far"]


def test_a_requirement_that_cannot_be_read_is_named(tmp_path, site):
    site.install("near", requires=["in valid"])
    assert untold(tmp_path, site, ["near", "no !", "x; python_version > 'a' and y"]) == [
        "'no !' is no requirement", "\"x; python_version > 'a' and y\" is no requirement",
        "near: its requirement 'in valid' cannot be read",
    ]  # fmt: skip


def test_a_dependency_whose_files_or_metadata_are_not_known_cannot_be_told(tmp_path, site):
    for name in ("bare", "linked", "odd"):
        site.install(name)
    info = "{}-1.0.dist-info".format
    (site.folder / info("bare") / "RECORD").unlink()
    (site.folder / info("linked") / "direct_url.json").write_text('{"url": "file:///x", "dir_info": {"editable": true}}')
    (site.folder / info("odd") / "METADATA").write_text("Name: odd\nVersion: 1.0\nRequires-Python: three\n")
    assert untold(tmp_path, site, ["bare", "linked", "odd"]) == [
        "bare: nothing lists its files", "linked: it is installed as editable, and its files are elsewhere",
        "odd: what it requires cannot be read",
    ]  # fmt: skip
    (site.folder / info("linked") / "direct_url.json").write_text('{"url": "file:///x", "dir_info": {}}')
    assert untold(tmp_path, site, ["linked"]) == []


def test_a_dependency_with_a_damaged_binary_cannot_be_told(tmp_path, site):
    site.install("near", "multi_free")
    (file,) = (site.folder / "near").glob("*.so")
    file.write_bytes(file.read_bytes()[:5000])
    (why,) = untold(tmp_path, site, ["near"])
    assert "multi_free" in why


def test_more_dependencies_than_are_followed_is_said(tmp_path, site, monkeypatch):
    monkeypatch.setattr(closure, "_MOST", 2)
    for name in ("one", "two", "three"):
        site.install(name)
    assert untold(tmp_path, site, ["one", "two", "three"]) == ["more than 2 dependencies: the others were not looked at"]
    assert untold(tmp_path, site, ["one"]) == []


def test_dependencies_that_a_build_computes_are_untold_unless_it_has_written_them(tmp_path):
    folder = tmp_path / "demo"
    folder.mkdir()
    (folder / "setup.py").write_text("from setuptools import setup\nsetup(name='demo', install_requires=read())\n")
    for targets, found in (([folder], ["GA211"]), ([wheel(tmp_path, version="1.0"), folder], [])):
        (release,) = claims.releases([open_path(one) for one in targets])
        assert codes(closure.check(release, [], [], [], False, 10.0, False)) == found


@pytest.mark.parametrize(
    ("head", "found"),
    [
        ("Metadata-Version: 2.1\n", ["GA211"]),
        ("Metadata-Version: 2.4\nDynamic: Requires-Dist\n", ["GA211"]),
        ("Metadata-Version: 2.4\nDynamic: License-File\n", []),
        ("Metadata-Version: 2.2\n", []),
    ],
)
def test_a_source_distribution_that_does_not_promise_its_dependencies(tmp_path, head, found):
    path = sdist(tmp_path, {"PKG-INFO": f"{head}Name: demo\nVersion: 1.0\n".encode()})
    (release,) = claims.releases([open_path(path)])
    assert codes(closure.check(release, [], [], [], False, 10.0, False)) == found


def test_what_is_declared_is_looked_at_beside_a_lock_file(tmp_path, site):
    (tmp_path / "requirements.txt").write_text("# nothing\n")
    assert untold(tmp_path, site, ["absent"], lock=[str(tmp_path / "requirements.txt")]) == [
        "absent is not installed in Python 3.14.0t"
    ]


def test_what_is_locked_and_not_installed_cannot_be_told(tmp_path, site):
    (tmp_path / "requirements.txt").write_text("absent==1\n")
    assert codes(dependencies(tmp_path, site, [], [str(tmp_path / "requirements.txt")])) == ["GA211"]
    (tmp_path / "uv.lock").write_text("version = 9\n")
    assert codes(dependencies(tmp_path, site, [], [str(tmp_path / "uv.lock")])) == ["GA211"]
