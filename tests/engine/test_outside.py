"""Two calls that may meet in the files of the system touch a part in common, of which one changes it; others do not."""

import os
import posixpath
from pathlib import Path

import pytest

from pytest_gilcheck.engine.bytecode.call_effects import touches_of_call
from pytest_gilcheck.engine.bytecode.touch import ALL


def parts_of(function, *arguments):
    touches = touches_of_call(function, list(arguments), lambda file: False)
    return [(each.part, each.changes) for each in touches if type(each.holder) is object]


def meet(one, other):
    return any(
        (changes or also) and (part == counterpart or ALL in (part, counterpart))
        for part, changes in parts_of(*one)
        for counterpart, also in parts_of(*other)
    )


@pytest.fixture
def files(tmp_path):
    (tmp_path / "one").mkdir()
    (tmp_path / "other").mkdir()
    for name in ("one/a", "other/a", "one/b"):
        (tmp_path / name).write_text("")
    return tmp_path


def test_files_of_two_folders_do_not_meet(files):
    for mode in ("w", "r", "a+"):
        assert not meet((open, files / "one/a", mode), (open, files / "other/a", "w"))
    assert not meet((os.mkdir, str(files / "one/new"), 0o777), (os.listdir, files / "other"))


def test_two_that_read_a_file_do_not_meet_and_one_that_writes_it_meets_both(files):
    path = str(files / "one/a")
    readers = (open, path), (open, path, "rb"), (os.stat, path)
    assert not any(meet(one, other) for one in readers for other in readers)
    for writer in ((open, path, "w"), (os.open, path, os.O_WRONLY), (os.remove, path), (os.rename, path, f"{path}2")):
        assert all(meet(writer, each) for each in readers)


def test_a_file_that_is_not_there_yet_meets_who_makes_it_and_its_folder_is_changed_by_that(files):
    new = str(files / "one/new")
    makes, asked_before = parts_of(open, new, "w"), parts_of(os.stat, new)
    assert meet((os.listdir, str(files / "one")), (open, new, "w"))
    Path(new).touch()
    asked_after = parts_of(os.stat, new)
    for asked in (asked_before, asked_after):
        assert {part for part, _ in asked} & {part for part, changes in makes if changes}


@pytest.mark.parametrize("link", [os.symlink, os.link])
def test_a_link_leads_to_the_same_file(files, link):
    link(files / "one/a", files / "other/link")
    assert meet((open, files / "other/link", "w"), (open, files / "one/a"))


def test_who_moves_a_folder_meets_who_reads_a_file_of_it(files):
    assert meet((os.rename, str(files / "one"), str(files / "new")), (open, files / "one/a"))
    assert not meet((os.rename, str(files / "one"), str(files / "new")), (open, files / "other/a"))


def test_a_relative_path_starts_from_the_working_directory(files, monkeypatch):
    monkeypatch.chdir(files / "one")
    assert meet((open, "./a", "w"), (open, str(files / "one/a")))
    assert not meet((open, "./a", "w"), (open, str(files / "other/a")))
    assert meet((os.getcwd,), (os.chdir, str(files)))
    assert not meet((os.getcwd,), (open, "./a", "w"))


def test_a_descriptor_leads_to_its_file(files):
    with open(files / "one/a", "w") as one, open(files / "other/a", "w") as other:
        assert not meet((os.fsync, one.fileno()), (os.fsync, other.fileno()))
        assert meet((os.fsync, one.fileno()), (open, files / "one/a"))


@pytest.mark.parametrize(
    "call",
    [
        (os.unlink, "a", 3),  # a name in the folder of a descriptor
        (os.chdir, "/"),
        (os.umask, 0),
        (open, b"a", "w"),
        (open, "w", "/a"),  # ``open(mode="w", file="/a")``
        (open, "/no/such/folder/a", "w"),
        (open, 3, "w"),
        (os.close, 1 << 40),
        (os.symlink, "a", "/b"),
        (open, posixpath),
    ],
)
def test_what_is_not_known_may_touch_every_file(call):
    assert (ALL, True) in parts_of(*call)
