"""The command: exit statuses, settings, baseline, usage errors; never a traceback."""

import json
import os
import textwrap
import zipfile

import pytest

from pytest_gilcheck import cli
from pytest_gilcheck.audit import check
from pytest_gilcheck.audit.catalogue import CATALOGUE

from .made import BETA, LEVEL, binary, sdist, wheel

FILE = "demo/{}.cpython-314t-x86_64-linux-gnu.so"


@pytest.fixture
def gilcheck(capsys, tmp_path, monkeypatch):
    """Run the command in an empty folder; exit status, output, errors."""
    monkeypatch.chdir(tmp_path)

    def gilcheck(*arguments):
        status = cli.main([str(one) for one in arguments])
        captured = capsys.readouterr()
        assert "Traceback" not in captured.err
        return status, captured.out, captured.err

    return gilcheck


def free(tmp_path, module="multi_free", **said):
    return wheel(tmp_path, files={FILE.format(module): binary(), "demo/__init__.py": b""}, **{"classifiers": [BETA], **said})


def settings(tmp_path, text):
    (tmp_path / "pyproject.toml").write_text("[tool.gilcheck.audit]\n" + textwrap.dedent(text))


QUIET = ("--no-import", "--ignore", "GA4,GA5")


def test_a_release_that_is_well(tmp_path, gilcheck):
    status, out, _ = gilcheck("audit", free(tmp_path), *QUIET)
    assert status == 0
    assert "exit status 0" in out
    assert "1 not used" in out


def test_a_finding_and_what_makes_it_fail(tmp_path, gilcheck):
    path = free(tmp_path, "multi_silent")
    assert gilcheck("audit", path, *QUIET)[0] == 1
    assert gilcheck("audit", path, *QUIET, "--level", 0)[0] == 0
    assert gilcheck("audit", path, *QUIET, "--level", 0, "--fail-on", "warning")[0] == 1
    assert gilcheck("audit", path, *QUIET, "--ignore", "GA2,GA4,GA5")[0] == 0
    assert gilcheck("audit", path, "--no-import", "--select", "GA1")[0] == 0


UNSTABLE = LEVEL.format("1 - Unstable")


@pytest.mark.parametrize("classifiers", [[UNSTABLE], [LEVEL.removesuffix(" :: {}")], [BETA]], ids=str)
def test_a_claim_that_the_binary_contradicts_is_an_error_at_every_level_without_an_import(tmp_path, gilcheck, classifiers):
    status, out, _ = gilcheck("audit", free(tmp_path, "multi_silent", classifiers=classifiers), *QUIET)
    assert (status, "error GA201" in out) == (1, True)
    status, out, _ = gilcheck("audit", free(tmp_path, "multi_free", classifiers=classifiers), *QUIET)
    assert (status, "GA201" in out) == (0, False)


def test_without_a_claim_a_binary_that_uses_the_gil_contradicts_nothing(tmp_path, gilcheck):
    status, out, _ = gilcheck("audit", free(tmp_path, "multi_silent", classifiers=[]), *QUIET)
    assert (status, "warning GA201" in out) == (0, True)


def test_what_cannot_be_told_is_no_pass(tmp_path, gilcheck):
    path = free(tmp_path, "single_sometimes")
    assert gilcheck("audit", path, *QUIET)[0] == 3
    assert gilcheck("audit", path, *QUIET, "--allow-inconclusive", "GA203")[0] == 0


@pytest.mark.parametrize(
    ("classifiers", "slot", "status"),
    [((BETA,), "", 3), ((LEVEL.format("1 - Unstable"),), "", 3), ((), "", 0), ((BETA,), "{Py_mod_gil, Py_MOD_GIL_NOT_USED},", 0)],
)
def test_a_source_that_does_not_declare_what_it_claims_is_no_pass(tmp_path, gilcheck, classifiers, slot, status):
    text = f"static S s[] = {{{slot} {{0}}}};\nPyMODINIT_FUNC PyInit_x(void) {{ return PyModuleDef_Init(&m); }}\n"
    assert gilcheck("audit", sdist(tmp_path, {"x.c": text.encode()}, classifiers=classifiers), *QUIET)[0] == status


def test_an_audit_that_made_no_check_is_no_pass(tmp_path, gilcheck):
    path = free(tmp_path)
    for chosen in (("--select", "GA206"), ("--ignore", "GA1,GA2,GA3,GA4,GA5,GA9")):
        status, out, _ = gilcheck("audit", path, "--no-import", *chosen)
        assert status == 3
        assert "GA903" in out
        assert "exit status 3" in out
    assert gilcheck("audit", path, "--no-import", "--select", "GA206", "--allow-inconclusive", "GA903")[0] == 0


def test_findings_that_are_all_accepted_are_checks(tmp_path, gilcheck):
    (tmp_path / "demo").mkdir()
    settings(
        tmp_path / "demo", BASELINE.format("2999-01-01").replace("GA201", "GA501").replace("demo-*:demo/multi_silent.*", "demo")
    )
    with (tmp_path / "demo" / "pyproject.toml").open("a") as file:
        file.write("\n[project]\nname = 'demo'\n")
    (tmp_path / "demo" / "README.md").write_text("Text.\n")
    (tmp_path / "demo" / "demo.py").write_text("")
    status, out, _ = gilcheck("audit", "demo", "--no-source")
    assert (status, "GA903" in out, "accepted GA501" in out) == (0, False, True)


def test_an_unused_exception_is_no_check(tmp_path, gilcheck):
    settings(tmp_path, BASELINE.format("2999-01-01"))
    status, out, _ = gilcheck("audit", free(tmp_path), "--no-import", "--select", "GA206")
    assert (status, "GA903" in out) == (3, True)


@pytest.mark.parametrize(("name", "status"), [("demo", 0), ("other", 3)])
def test_a_release_before_of_another_name_compares_nothing(tmp_path, gilcheck, name, status):
    before = wheel(tmp_path, files={FILE.format("multi_free"): binary()}, name=name, version="0.9", classifiers=[BETA])
    found, out, _ = gilcheck("audit", free(tmp_path), *QUIET, "--previous", before)
    assert found == status
    assert ("nothing to compare it with: the release before is other 0.9" in out) is (status == 3)


CODE = [("demo.py", b""), ("src/demo/a.pyx", b""), ("demo/a.c", b"int x;\n")]


@pytest.mark.parametrize(
    ("files", "checked"),
    [([], False), ([("README.md", b"It is thread-safe.\n")], False), ([("tests/test_a.py", b"")], False),
     ([("demo/a.pyi", b"")], False), *(([one], True) for one in CODE)],
)  # fmt: skip
def test_a_project_without_code_is_no_pass(tmp_path, gilcheck, files, checked):
    folder = tmp_path / "demo"
    for name, data in [("pyproject.toml", b"[project]\nname = 'demo'\n"), *files]:
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_bytes(data)
    status, out, _ = gilcheck("audit", "demo")
    assert (status, "GA903" in out) == ((0, False) if checked else (3, True))


@pytest.mark.parametrize("name", ["build", "src/env"])
def test_a_package_that_is_called_as_the_output_of_a_build_is_looked_at(tmp_path, gilcheck, name):
    package = tmp_path / "demo" / name
    package.mkdir(parents=True)
    (tmp_path / "demo" / "pyproject.toml").write_text("[project]\nname = 'demo'\n")
    (package / "counter.py").write_text("n = 0\ndef f():\n    global n\n    n += 1\n")
    assert gilcheck("audit", "demo")[0] == 3  # what a build has left there is no source
    (package / "__init__.py").touch()
    status, out, _ = gilcheck("audit", "demo")
    assert (status, "GA307" in out) == (0, True)


def test_a_wheel_without_code_is_no_pass_beside_a_source_with_code(tmp_path, gilcheck):
    dist = tmp_path / "dist"
    dist.mkdir()
    sdist(dist, {"demo/__init__.py": b""}), wheel(dist, "py3-none-any", {"demo/py.typed": b""})
    status, out, _ = gilcheck("audit", "dist", *QUIET)
    assert status == 3
    assert "GA903" in out
    wheel(dist, "py3-none-any", {"demo/__init__.py": b""})
    assert gilcheck("audit", "dist", *QUIET)[0] == 0


def test_a_finding_outranks_what_cannot_be_told(tmp_path, gilcheck):
    files = {FILE.format(name): binary() for name in ("single_sometimes", "multi_silent")}
    assert gilcheck("audit", wheel(tmp_path, files=files, classifiers=[BETA]), *QUIET)[0] == 1


def test_a_dependency_that_is_nowhere_is_no_pass(tmp_path, gilcheck):
    wheel(tmp_path, "py3-none-any", {"demo/__init__.py": b""}, requires=["absent-and-nowhere>=1"])
    status, out, _ = gilcheck("audit", tmp_path / "demo-1.0-py3-none-any.whl", "--no-import")
    assert status == 3
    assert "GA211" in out
    assert "absent-and-nowhere" in out


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        ([""], "a file, a folder, or the name"),
        (["nothing-here.whl"], "the name of an installed distribution"),
        (["no such thing"], "the name of an installed distribution"),
        (["empty"], "a folder with wheels"),
        (["text.txt"], "a wheel (.whl) or a source distribution"),
        ([".", "--level", "9"], "level=9"),
        ([".", "--fail-on", "doom"], "fail-on='doom'"),
        ([".", "--allow-inconclusive", "GA999"], "a code of the catalogue"),
        ([".", "--select", "GA2,ZZ"], "a code of the catalogue"),
        ([".", "--ignore", "GB"], "a code of the catalogue"),
        ([".", "--format", "pdf"], "format='pdf'"),
        ([".", "--python", "no-such-python"], "a CPython interpreter that can be run"),
        ([".", "--evidence", "absent.json"], "a file of evidence"),
        *(([".", "--import-timeout", value], "seconds above 0") for value in ("0", "nan", "inf", "1e300")),
        ([".", "--lock", "absent.lock"], "lock='absent.lock'"),
        ([".", "--lock", "empty"], "lock='empty'"),
        ([".", "--evidence", ""], "evidence=''"),
        ([".", "--config", "absent.toml"], "a file that exists"),
    ],
)
def test_bad_usage_is_one_line(tmp_path, gilcheck, arguments, words):
    (tmp_path / "empty").mkdir()
    (tmp_path / "text.txt").write_text("x")
    sdist(tmp_path)
    status, _, err = gilcheck("audit", *arguments)
    assert (status, err.count("\n")) == (2, 1)
    assert words in err


@pytest.mark.parametrize(
    "text",
    [
        "leve = 2",
        "level = 7", "level = '2'", "builds = ['3.14t']", "fail-on = 'no'", "allow-inconclusive = ['x']", "select = ['x']",
        "exclude = 'x'",
        "evidence-days = 0", "baseline = 1", "[[tool.gilcheck.audit.baseline]]\ncode = 'GA201'\nreason = 'x'",
        "[[tool.gilcheck.audit.baseline]]\ncode = 'GA201'\nexpires = 2027-01-01",
        "[[tool.gilcheck.audit.baseline]]\ncode = 'GA201'\nreason = ' '\nexpires = 2027-01-01",
        "[[tool.gilcheck.audit.baseline]]\ncode = 'GA201'\nreason = 'x'\nexpires = 'soon'",
        "[[tool.gilcheck.audit.baseline]]\ncode = 'XX'\nreason = 'x'\nexpires = 2027-01-01",
    ],
)  # fmt: skip
def test_a_bad_setting_is_refused(tmp_path, gilcheck, text):
    settings(tmp_path, text)
    status, _, err = gilcheck("audit", free(tmp_path), *QUIET)
    assert (status, err.count("\n")) == (2, 1)


@pytest.mark.parametrize(
    ("text", "words"),
    [
        (b"[tool.gilcheck.audit]\nlevel =\n", "(at line 2, column 8)"),
        (b"[tool\n", "at line 1"),
        (b"\xff\n", "can't decode byte 0xff"),
        (b"[tool]\ngilcheck = 1\n", "gilcheck=1"),
        (b"tool = 1\n", "tool=1"),
        (b"[tool.gilcheck]\naudit = []\n", "audit=[]"),
    ],
)
def test_a_broken_file_of_settings_is_one_line_that_names_the_file_and_why(tmp_path, gilcheck, text, words):
    (tmp_path / "pyproject.toml").write_bytes(text)
    status, _, err = gilcheck("audit", free(tmp_path), *QUIET)
    assert (status, err.count("\n")) == (2, 1)
    assert "pyproject.toml" in err
    assert words in err
    assert "'...'" not in err


@pytest.mark.parametrize("name", ["demo-1.0-cp314-cp314t-manylinux_2_28_x86_64.WHL", "demo-1.0.TAR.GZ", "demo-1.0.Zip"])
def test_an_artifact_with_a_suffix_in_capitals_is_not_passed_over(tmp_path, gilcheck, name):
    dist = tmp_path / "dist"
    dist.mkdir()
    free(dist)
    assert gilcheck("audit", "dist", *QUIET)[0] == 0
    made = free(tmp_path, version="1.0") if name.endswith("WHL") else sdist(tmp_path)
    made.rename(dist / name)
    status, out, _ = gilcheck("audit", "dist", *QUIET)
    assert status == 1
    assert "GA125" in out
    assert name in out


@pytest.mark.parametrize("name", ["json", "sarif", "junit", "github", "markdown", "text", "html"])
def test_a_file_name_that_is_not_utf_8_is_shown_in_every_format(tmp_path, gilcheck, name):
    folder = tmp_path / "project"
    folder.mkdir()
    (folder / "setup.py").write_text("from setuptools import setup\nsetup(name='demo')\n")
    try:
        (folder / os.fsdecode(b"b\xff.py")).write_text("n = 0\ndef f():\n    global n\n    n += 1\n")
    except OSError:
        pytest.skip("the file system has no such names")
    status, _, err = gilcheck("audit", "project", "--format", name, "--output", "report")
    assert (status, err) == (0, "")
    if name == "sarif":
        (result,) = [one for one in json.loads((tmp_path / "report").read_text())["runs"][0]["results"] if one["ruleId"] == "GA307"]
        assert result["locations"][0]["physicalLocation"]["artifactLocation"]["uri"] == "b%FF.py"


def test_evidence_with_a_suffix_in_capitals_is_not_passed_over(tmp_path, gilcheck):
    (tmp_path / "evidence").mkdir()
    (tmp_path / "evidence" / "run.JSON").write_text("{")
    status, out, _ = gilcheck("audit", free(tmp_path), "--no-import", "--evidence", "evidence")
    assert (status, "run.JSON: not an evidence file" in out or "run.JSON: not JSON" in out) == (1, True)


def test_settings_of_the_project_and_the_command_line_over_them(tmp_path, gilcheck):
    settings(tmp_path, "level = 0\nfail-on = 'warning'\nignore = ['GA4', 'GA5']\n")
    path = free(tmp_path, "multi_silent")
    assert gilcheck("audit", path, "--no-import")[0] == 1
    assert gilcheck("audit", path, "--no-import", "--fail-on", "error")[0] == 0


BASELINE = """
[[tool.gilcheck.audit.baseline]]
code = "GA201"
subject = "demo-*:demo/multi_silent.*"
reason = "mended in 2.0"
expires = {}
"""


def test_an_exception_accepts_a_finding_until_its_day(tmp_path, gilcheck):
    path = free(tmp_path, "multi_silent")
    settings(tmp_path, BASELINE.format("2999-01-01"))
    status, out, _ = gilcheck("audit", path, *QUIET)
    assert status == 0
    assert "accepted GA201" in out
    assert "mended in 2.0 (until 2999-01-01)" in out
    settings(tmp_path, BASELINE.format("2020-01-01"))
    status, out, _ = gilcheck("audit", path, *QUIET)
    assert status == 1
    assert "GA901" in out
    assert "error GA201" in out


def test_an_exception_that_matches_nothing_is_found(tmp_path, gilcheck):
    settings(tmp_path, BASELINE.format("2999-01-01"))
    status, out, _ = gilcheck("audit", free(tmp_path), *QUIET)
    assert status == 0
    assert "GA902" in out


@pytest.mark.parametrize("name", ["json", "sarif", "junit", "github", "markdown", "text"])
def test_a_format_goes_to_a_file(tmp_path, gilcheck, name):
    status, out, _ = gilcheck("audit", free(tmp_path), *QUIET, "--format", name, "--output", "report")
    assert (status, out) == (0, "")
    assert (tmp_path / "report").read_text().strip()


def test_the_summary_of_a_github_step(tmp_path, gilcheck, monkeypatch):
    monkeypatch.setenv("GITHUB_STEP_SUMMARY", str(tmp_path / "summary"))
    gilcheck("audit", free(tmp_path), *QUIET, "--format", "github")
    assert "gilcheck audit" in (tmp_path / "summary").read_text()
    monkeypatch.setenv("GITHUB_STEP_SUMMARY", str(tmp_path / "missing" / "summary"))
    _, _, error = gilcheck("audit", free(tmp_path), *QUIET, "--format", "github")
    assert "GITHUB_STEP_SUMMARY cannot be written" in error


def test_a_folder_of_artifacts_is_one_release(tmp_path, gilcheck):
    dist = tmp_path / "dist"
    dist.mkdir()
    free(dist), sdist(dist, classifiers=[BETA])
    _, out, _ = gilcheck("audit", "dist", *QUIET, "--format", "json")
    (release,) = json.loads(out)["releases"]
    assert release == 'demo 1.0 (1 wheel, 1 source distribution): claims level "2 - Beta" (classifier of demo-1.0.tar.gz)'


def test_an_installed_distribution_by_name(gilcheck):
    status, out, _ = gilcheck("audit", "pluggy", "--no-import", "--ignore", "GA5")
    assert status == 0
    assert out.startswith("pluggy ")


def test_an_installed_distribution_of_which_nothing_is_looked_at_is_no_pass(gilcheck):
    assert gilcheck("audit", "pluggy", "--no-import", "--no-source", "--ignore", "GA5")[0] == 3


@pytest.mark.parametrize("editable", [True, False])
def test_an_editable_installation_whose_files_are_elsewhere_is_no_pass(tmp_path, gilcheck, monkeypatch, editable):
    site = tmp_path / "site"
    zipfile.ZipFile(wheel(tmp_path, "py3-none-any", {"finder.py": b""}, name="linked")).extractall(site)
    if editable:
        (site / "linked-1.0.dist-info" / "direct_url.json").write_text('{"url": "file:///x", "dir_info": {"editable": true}}')
    monkeypatch.syspath_prepend(str(site))
    status, out, _ = gilcheck("audit", "linked", "--no-import")
    assert (status, "installed as editable" in out) == ((3, True) if editable else (0, False))


def test_our_own_error_has_a_status_of_its_own(tmp_path, gilcheck, monkeypatch):
    monkeypatch.setattr(check.modules, "read", lambda artifact: 1 / 0)
    status, _, err = gilcheck("audit", free(tmp_path), *QUIET)
    assert status == 4
    assert err.count("\n") == 1
    assert "ZeroDivisionError" in err


@pytest.mark.parametrize("code", CATALOGUE)
def test_every_code_has_its_page(gilcheck, code):
    status, out, _ = gilcheck("explain", code.lower())
    assert status == 0
    assert out.startswith(code)
    assert "why: " in out
    assert "mend: " in out


def test_the_list_of_codes_and_a_code_that_does_not_exist(gilcheck):
    assert gilcheck("explain")[1].count("\nGA") == len(CATALOGUE)
    assert gilcheck("explain", "GA999")[0] == 2


def test_hostile_artifacts_are_findings(tmp_path, gilcheck):
    dist = tmp_path / "dist"
    dist.mkdir()
    free(dist, extra=[("../x.py", b"")])
    free(dist, version="2.0", record=b"")
    (dist / "demo-3.0-cp314-cp314t-manylinux_2_28_x86_64.whl").write_bytes(b"PK")
    wheel(dist, files={FILE.format("multi_free"): binary()[:5000]}, version="4.0")
    wheel(dist, files={FILE.format("multi_free"): binary("windows-x86_64.pyd")}, version="5.0")
    wheel(dist, files={FILE.format("multi_free"): binary("linux-aarch64.so")}, version="6.0")
    status, out, _ = gilcheck("audit", "dist", *QUIET, "--format", "json")
    found = {(one["code"], one["message"].split(",")[0][:20]) for one in json.loads(out)["findings"] if one["severity"] == "error"}
    assert status == 1
    assert {code for code, _ in found} == {"GA105", "GA120", "GA124", "GA210"}
