"""Artifacts as they are opened: sound ones, lying ones, damaged ones and hostile ones."""

import io
import tarfile
import time
import zipfile

import pytest

from pytest_gilcheck.audit import archive
from pytest_gilcheck.audit.artifact import ArtifactKind, extension_module, open_installed, open_path
from pytest_gilcheck.audit.project_files import is_project

from .made import BETA, binary, codes, metadata, sdist, wheel

MODULE = "demo/fast.cpython-314t-x86_64-linux-gnu.so"


def test_a_sound_wheel_has_no_findings_and_says_what_was_looked_at(tmp_path):
    found = open_path(wheel(tmp_path, files={"demo/__init__.py": b"", MODULE: binary()}, classifiers=[BETA]))
    assert codes(found.findings) == []
    assert {one.code for one in found.findings} == {"GA120", "GA121", "GA122"}
    assert (found.kind, found.name, str(found.version), found.metadata.level) == (ArtifactKind.WHEEL, "demo", "1.0", 2)
    assert [one.module for one in found.extension_modules()] == ["demo.fast"]


def test_a_sound_source_distribution(tmp_path):
    found = open_path(sdist(tmp_path, {"demo/__init__.py": b"X = 1\n"}))
    assert codes(found.findings) == []
    assert found.files.text("demo-1.0/demo/__init__.py") == "X = 1\n"


@pytest.mark.parametrize("cut", [0, 10, 200, -30])
def test_a_wheel_that_was_cut_off(tmp_path, cut):
    path = wheel(tmp_path, files={MODULE: binary()})
    path.write_bytes(path.read_bytes()[:cut])
    assert codes(open_path(path).findings) == ["GA124"]


@pytest.mark.parametrize("cut", [0, 1, 100])
def test_a_source_distribution_that_was_cut_off(tmp_path, cut):
    path = sdist(tmp_path, {"big.py": bytes(range(256)) * 100})
    path.write_bytes(path.read_bytes()[:cut])
    assert codes(open_path(path).findings) == ["GA124"]


@pytest.mark.parametrize("name", ["../outside.py", "/etc/passwd", "demo/../../x.py", "C:/x.py", "..\\x.py"])
def test_a_member_that_escapes_the_wheel_is_found_and_not_read(tmp_path, name):
    found = open_path(wheel(tmp_path, extra=[(name, b"")]))
    assert "GA120" in codes(found.findings)
    assert not [one for one in found.files.names if "outside" in one or "passwd" in one or "x.py" in one]


def test_a_symbolic_link_in_a_wheel(tmp_path):
    link = zipfile.ZipInfo("demo/link.so")
    link.external_attr = 0o120777 << 16
    found = open_path(wheel(tmp_path, extra=[(link, b"/etc/passwd")]))
    assert "GA120" in codes(found.findings)
    assert "demo/link.so" not in found.files.names


@pytest.mark.filterwarnings("ignore:Duplicate name")
def test_two_members_of_one_name(tmp_path):
    found = open_path(wheel(tmp_path, files={"demo/a.py": b"1"}, extra=[("demo/a.py", b"2")]))
    assert any("2 members are called" in one.message for one in found.findings)


def test_a_bomb_is_not_decompressed(tmp_path):
    began = time.perf_counter()
    found = open_path(wheel(tmp_path, extra=[(MODULE, bytes(200 << 20))]))
    assert any("not decompressed" in one.message for one in found.findings)
    assert list(found.extension_modules()) == []
    assert time.perf_counter() - began < 20


def test_a_member_that_holds_more_than_it_declares_is_read_up_to_the_limit(tmp_path):
    found = open_path(wheel(tmp_path, files={MODULE: binary()}))
    with pytest.raises(archive.Unreadable, match="more than"):
        found.files.read(MODULE, 100)


def test_a_bomb_as_a_source_distribution(tmp_path, monkeypatch):
    monkeypatch.setattr(archive, "_RATIO_FROM", 1 << 20)
    path = sdist(tmp_path, {"zeros.py": bytes(8 << 20)})
    (finding,) = [one for one in open_path(path).findings if one.severity != "ok"]
    assert finding.code == "GA124"
    assert "decompresses to more than" in finding.message


@pytest.mark.parametrize(
    ("kind", "target"), [(tarfile.SYMTYPE, "/etc/passwd"), (tarfile.SYMTYPE, "../../x"), (tarfile.LNKTYPE, "../x")]
)
def test_a_link_that_leads_out_of_a_source_distribution(tmp_path, kind, target):
    link = tarfile.TarInfo("demo-1.0/link.py")
    link.type, link.linkname = kind, target
    found = open_path(sdist(tmp_path, members=[(link, b"")]))
    assert codes(found.findings) == ["GA120"]
    assert "demo-1.0/link.py" not in found.files.names


def test_a_device_and_a_path_that_escapes_a_source_distribution(tmp_path):
    device, outside = tarfile.TarInfo("demo-1.0/null"), tarfile.TarInfo("../outside.py")
    device.type = tarfile.CHRTYPE
    found = open_path(sdist(tmp_path, members=[(device, b""), (outside, b"x")]))
    assert len([one for one in found.findings if one.code == "GA120"]) == 2


def test_a_project_does_not_follow_links_out_of_itself(tmp_path):
    (tmp_path / "project").mkdir()
    (tmp_path / "secret.py").write_text("X = 1")
    (tmp_path / "project/link.py").symlink_to(tmp_path / "secret.py")
    (tmp_path / "project/loop").symlink_to("loop")
    (tmp_path / "project/pyproject.toml").write_text("[project]\nname = 'demo'\nversion = '1'\n")
    assert open_path(tmp_path / "project").files.names == ["pyproject.toml"]


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"filename": "other-1.0-cp314-cp314t-manylinux_2_28_x86_64.whl"}, "METADATA is of demo"),
        ({"filename": "demo-2.0-cp314-cp314t-manylinux_2_28_x86_64.whl"}, "METADATA is of version 1.0"),
        ({"filename": "demo-1.0-cp314-cp314-manylinux_2_28_x86_64.whl"}, "WHEEL has the tags cp314-cp314t"),
    ],
)
def test_a_wheel_with_a_lying_name(tmp_path, change, words):
    found = [one for one in open_path(wheel(tmp_path, **change)).findings if one.code == "GA121"]
    assert words in found[0].message


@pytest.mark.parametrize("name", ["demo.whl", "demo-1.0.whl", "demo-1.0-cp314-cp314t.whl", "demo-x.y-py3-none-any.whl"])
def test_a_name_that_is_no_wheels(tmp_path, name):
    assert "GA125" in codes(open_path(wheel(tmp_path, filename=name)).findings)


@pytest.mark.parametrize(
    "record",
    [
        b"demo/a.py,sha256=AAAA,1\n",
        b"demo/a.py,,\ngone.py,,\ndemo-1.0.dist-info/METADATA,,\ndemo-1.0.dist-info/WHEEL,,\n",
        b"\xff\xfe",
    ],
    ids=["hash", "absent", "bytes"],
)
def test_a_record_that_disagrees(tmp_path, record):
    assert codes(open_path(wheel(tmp_path, files={"demo/a.py": b"1"}, record=record)).findings) == ["GA122"]


@pytest.mark.parametrize(
    "text", [b"", b"Name: demo\n", b"Name: demo\nVersion: one\n", b"Name: demo\nVersion: 1.0\nRequires-Python: =>3\n"]
)
def test_metadata_that_does_not_parse(tmp_path, text):
    path = tmp_path / "demo-1.0-py3-none-any.whl"
    with zipfile.ZipFile(path, "w") as file:
        file.writestr("demo-1.0.dist-info/METADATA", text)
        file.writestr("demo-1.0.dist-info/WHEEL", b"Tag: py3-none-any\n")
        file.writestr("demo-1.0.dist-info/RECORD", b"demo-1.0.dist-info/METADATA,,\ndemo-1.0.dist-info/WHEEL,,\n")
    assert "GA123" in codes(open_path(path).findings)


@pytest.mark.parametrize("text", ["[project", "[project]\nname = 1\n", "[project]\nname = 'x'\nclassifiers = 'y'\n"])
def test_a_project_whose_metadata_does_not_parse(tmp_path, text):
    (tmp_path / "pyproject.toml").write_text(text)
    assert codes(open_path(tmp_path).findings) == ["GA123"]


@pytest.mark.parametrize("name", ["setup.py", "setup.cfg"])
def test_a_project_whose_metadata_the_backend_computes_is_one(tmp_path, name):
    (tmp_path / name).write_text("")
    assert is_project(tmp_path)
    assert not open_path(tmp_path).findings


def test_a_folder_without_a_build_file_is_no_project(tmp_path):
    (tmp_path / "a.py").write_text("")
    assert not is_project(tmp_path)


def test_metadata_keeps_its_description():
    from pytest_gilcheck.audit.release import from_email

    assert "thread safety" in from_email(metadata(text="About thread safety.")).description


@pytest.mark.parametrize(
    ("name", "module"),
    [
        ("demo/fast.abi3.so", "demo.fast"),
        ("demo/__init__.cpython-314t-darwin.so", "demo"),
        ("demo-1.0.data/platlib/demo/fast.so", "demo.fast"),
        ("demo.libs/libz-1.so", None),
        ("demo-1.0.data/scripts/run.so", "run"),
        ("demo/libz.so.1", None),
    ],
)
def test_the_module_that_a_file_is(name, module):
    found = extension_module(name)
    assert (found and found.module) == module


def test_an_installed_distribution_is_found_by_its_name():
    import sys

    found = open_installed("PyTest", sys.path)
    assert (found.kind, found.name) == (ArtifactKind.INSTALLED, "pytest")
    assert found.metadata.version is not None
    assert open_installed("no-such-distribution", sys.path) is None


def test_a_stream_of_text_is_a_tar_file_of_nobody(tmp_path):
    path = tmp_path / "demo-1.0.tar.gz"
    path.write_bytes(io.BytesIO(b"hello" * 100).getvalue())
    assert codes(open_path(path).findings) == ["GA124"]
