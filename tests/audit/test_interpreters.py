"""Which interpreters of this machine an audit finds without being told."""

import json

import pytest

from pytest_gilcheck.audit import interpreters

ANSWER = {"implementation": "CPython", "version": [3, 14], "free_threaded": True, "gil": False, "path": [], "text": "3.14.0"}


def installed(root, name):
    """A program in the folders of pyenv that answers as a free-threaded Python does."""
    program = root / "versions" / name / "bin" / "python3"
    program.parent.mkdir(parents=True)
    program.write_text(f"#!/bin/sh\necho '{json.dumps(ANSWER)}'\n")
    program.chmod(0o755)
    return str(program)


@pytest.fixture
def find(tmp_path, monkeypatch):
    monkeypatch.setenv("PATH", "/usr/bin:/bin")
    monkeypatch.setenv("HOME", str(tmp_path))

    def find(root):
        monkeypatch.setenv("PYENV_ROOT", str(root))
        return [python.command for python in interpreters.find()]

    return find


def test_a_free_threaded_interpreter_of_pyenv_is_found_in_a_folder_of_any_name(find, tmp_path):
    program = installed(tmp_path / "[pyenv]", "3.14.0t")
    assert program in find(tmp_path / "[pyenv]")


@pytest.mark.parametrize("length", [5, 5000], ids=["absent", "refused by the system"])
def test_a_folder_that_cannot_be_read_has_no_interpreters_and_ends_no_audit(find, tmp_path, length):
    assert str(tmp_path) not in str(find(tmp_path / ("x" * length)))
