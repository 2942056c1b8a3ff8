"""Claims against artifacts: each check in both directions."""

import pytest

from pytest_gilcheck.audit import claims
from pytest_gilcheck.audit.artifact import open_path
from pytest_gilcheck.audit.settings import AuditSettings
from pytest_gilcheck.audit.tags import Build

from .made import BETA, LEVEL, STABLE, codes, sdist, wheel

FT, GIL, ABI3, ABI3T = "cp314-cp314t-{}", "cp314-cp314-{}", "cp39-abi3-{}", "cp315-abi3.abi3t-{}"
LINUX, MUSL, MAC, WINDOWS = "manylinux_2_28_x86_64", "musllinux_1_2_x86_64", "macosx_11_0_arm64", "win_amd64"


def audited(paths, settings=None, previous=()):
    settings = settings or AuditSettings()
    (release,) = claims.releases([open_path(path) for path in paths])
    before = claims.releases([open_path(path) for path in previous])
    claim = claims.claim_of(release, settings)
    return list(claims.check(release, claim, before[0] if before else None))


def severity_of(findings, code):
    return [str(one.severity) for one in findings if one.code == code and one.severity != "ok"]


def test_a_release_for_every_platform_is_well(tmp_path):
    paths = [wheel(tmp_path, tag.format(on), classifiers=[BETA]) for tag in (FT, GIL) for on in (LINUX, MAC, WINDOWS)]
    findings = audited([*paths, sdist(tmp_path, classifiers=[BETA])])
    assert codes(findings) == []
    assert {one.code for one in findings} >= {"GA101", "GA102", "GA110", "GA112"}


def test_a_release_of_pure_python_is_well(tmp_path):
    assert codes(audited([wheel(tmp_path, "py3-none-any", classifiers=[BETA])])) == []


@pytest.mark.parametrize(("classifiers", "severity"), [([BETA], "error"), ([LEVEL.format("1 - Unstable")], "note"), ([], "note")])
def test_a_claim_without_a_wheel_for_it(tmp_path, classifiers, severity):
    assert severity_of(audited([wheel(tmp_path, GIL.format(LINUX), classifiers=classifiers)]), "GA101") == [severity]


def test_the_stable_abi_alone_serves_no_free_threaded_build(tmp_path):
    findings = audited([wheel(tmp_path, ABI3.format(LINUX), classifiers=[BETA])])
    assert codes(findings) == ["GA101", "GA103"]


def test_the_free_threaded_stable_abi_does(tmp_path):
    findings = audited([wheel(tmp_path, ABI3T.format(LINUX), classifiers=[BETA], requires_python=">=3.15")])
    assert codes(findings) == []


def test_the_free_threaded_stable_abi_leaves_314t_out(tmp_path):
    assert codes(audited([wheel(tmp_path, ABI3T.format(LINUX), classifiers=[BETA], requires_python=">=3.11")])) == ["GA104"]
    paths = [wheel(tmp_path, tag.format(LINUX), classifiers=[BETA], requires_python=">=3.11") for tag in (ABI3T, FT)]
    assert codes(audited(paths)) == []


def test_holes_are_named(tmp_path):
    paths = [
        wheel(tmp_path, tag, classifiers=[BETA])
        for tag in (FT.format(LINUX), *(GIL.format(on) for on in (LINUX, MUSL, MAC, WINDOWS)))
    ]
    holes = [one.message.split(" has ")[0] for one in audited(paths) if one.code == "GA102"]
    assert holes == ["linux-musl-x86_64", "macos-arm64", "windows-amd64"]


def test_a_universal_wheel_fills_both_holes_of_macos(tmp_path):
    tags = (FT.format("macosx_11_0_universal2"), GIL.format(MAC), GIL.format("macosx_11_0_x86_64"))
    assert codes(audited([wheel(tmp_path, tag, classifiers=[BETA]) for tag in tags])) == []


@pytest.mark.parametrize(
    ("tag", "file", "bad"),
    [
        (FT, "demo/a.cpython-314t-x86_64-linux-gnu.so", False),
        (FT, "demo/a.cpython-314-x86_64-linux-gnu.so", True),
        (FT, "demo/a.abi3.so", True),
        (FT, "demo/a.so", False),
        (ABI3T, "demo/a.abi3.so", True),
        (ABI3T, "demo/a.abi3t.so", False),
        (ABI3, "demo/a.abi3.so", False),
        (GIL, "demo/a.cpython-314-x86_64-linux-gnu.so", False),
    ],
)
def test_the_suffix_fits_the_tag(tmp_path, tag, file, bad):
    findings = audited([wheel(tmp_path, tag.format(LINUX), {file: b""}, requires_python=">=3.15" if tag == ABI3T else None)])
    assert ("GA105" in codes(findings)) is bad


def test_a_wheel_with_a_file_for_each_build_is_well(tmp_path):
    files = {"demo/a.abi3.so": b"", "demo/a.abi3t.so": b""}
    assert "GA105" not in codes(audited([wheel(tmp_path, ABI3T.format(LINUX), files)]))


def test_a_wheel_without_a_classifier_is_a_note(tmp_path):
    assert severity_of(audited([wheel(tmp_path, FT.format(LINUX))]), "GA106") == ["note"]


@pytest.mark.parametrize(
    "classifiers", [[BETA, STABLE], [LEVEL.format("5 - Perfect")], ["Programming Language :: Python :: Free Threading :: Beta"]]
)
def test_classifiers_that_contradict_each_other_or_do_not_exist(tmp_path, classifiers):
    assert severity_of(audited([wheel(tmp_path, FT.format(LINUX), classifiers=classifiers)]), "GA110") == ["error"]


def test_the_bare_classifier_is_level_one(tmp_path):
    path = wheel(tmp_path, FT.format(LINUX), classifiers=["Programming Language :: Python :: Free Threading"])
    (release,) = claims.releases([open_path(path)])
    assert claims.claim_of(release, AuditSettings()).level == 1


def test_requires_python_that_excludes_the_wheel(tmp_path):
    assert codes(audited([wheel(tmp_path, FT.format(LINUX), classifiers=[BETA], requires_python="<3.14")])) == ["GA111"]
    assert codes(audited([wheel(tmp_path, FT.format(LINUX), classifiers=[BETA], requires_python=">=3.14")])) == []


def test_artifacts_that_disagree(tmp_path):
    paths = [wheel(tmp_path, FT.format(LINUX), classifiers=[BETA]), sdist(tmp_path, classifiers=[STABLE])]
    assert codes(audited(paths)) == ["GA112"]


def test_the_settings_claim_over_the_classifiers(tmp_path):
    path = wheel(tmp_path, FT.format(LINUX), classifiers=[BETA])
    settings = AuditSettings(level=0, builds=(Build((3, 14), True), Build((3, 15), True)))
    findings = audited([path], settings)
    assert [one.message for one in findings if one.code == "GA101" and one.severity == "error"] == [
        "the setting `builds` names cp315t, and no wheel serves it"
    ]


def test_less_than_the_release_before(tmp_path):
    old, new = tmp_path / "old", tmp_path / "new"
    old.mkdir(), new.mkdir()
    before = [wheel(old, FT.format(on), classifiers=[BETA]) for on in (LINUX, MAC)]
    after = [wheel(new, FT.format(LINUX), version="2.0")]
    messages = [one.message for one in audited(after, previous=before) if one.code == "GA108"]
    assert messages == ['the classifier was "2 - Beta" and is "none"', "no wheel for free-threaded macos-arm64 any more"]
    again = [wheel(new, FT.format(on), version="3.0", classifiers=[STABLE]) for on in (LINUX, MAC)]
    assert severity_of(audited(again, previous=before), "GA108") == []


def test_313t_is_of_the_past(tmp_path):
    assert "GA109" in codes(audited([wheel(tmp_path, "cp313-cp313t-manylinux_2_28_x86_64")]))


def test_a_project_gives_findings_a_line(tmp_path):
    (tmp_path / "pyproject.toml").write_text(
        f'[project]\nname = "demo"\nversion = "1.0"\nclassifiers = [\n  "{BETA}",\n]\n\n[tool.cibuildwheel]\nbuild = "cp314-*"\n'
    )
    paths = [wheel(tmp_path, GIL.format(LINUX), classifiers=[BETA]), tmp_path]
    (finding,) = [one for one in audited(paths) if one.code == "GA101"]
    assert str(finding.place) == "pyproject.toml:5"
