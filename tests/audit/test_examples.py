"""The examples: the audit tells before from after, and the three declarations of one extension from each other."""

import subprocess
from pathlib import Path

import pytest

from pytest_gilcheck import cli
from pytest_gilcheck.audit.binary.declaration import declarations
from tests.interrupt.holder import compiler

from .test_imports import free_threaded

EXAMPLES = Path(__file__).parents[2] / "examples"


@pytest.mark.parametrize(("name", "status"), [("before", 1), ("after", 0)])
def test_a_project_before_and_after(name, status, capsys):
    assert cli.main(["audit", str(EXAMPLES / "audit" / name)]) == status
    out = capsys.readouterr().out
    for code in ("GA110", "GA301", "GA302", "GA303", "GA307", "GA308", "GA309", "GA407", "GA109"):
        assert (code in out) is (name == "before"), code


def test_three_declarations_of_one_source(tmp_path):
    python = free_threaded()
    found, why = compiler()
    if found is None:
        pytest.skip(why)
    question = "import sysconfig; print(sysconfig.get_path('include'))"
    headers = subprocess.run([python.command, "-c", question], capture_output=True, text=True, check=True).stdout.strip()
    if not Path(headers, "Python.h").is_file():
        pytest.skip("no Python.h of the free-threaded interpreter")
    said = {}
    for name in ("right", "wrong", "missing"):
        source = EXAMPLES / "c_extension/src/crunch" / f"{name}.c"
        subprocess.run([found, "-O2", "-shared", "-fPIC", f"-I{headers}", "-o", tmp_path / f"{name}.so", source], check=True)
        ((declared,),) = [declarations((tmp_path / f"{name}.so").read_bytes(), name)]
        said[name] = (str(declared.gil), declared.why)
    assert said == {
        "right": ("not used", "the slot Py_mod_gil is Py_MOD_GIL_NOT_USED"),
        "wrong": ("used", "the slot Py_mod_gil is Py_MOD_GIL_USED"),
        "missing": ("used", "it has no slot Py_mod_gil"),
    }


@pytest.mark.slow
def test_we_pass_our_own_audit(capsys):
    root = EXAMPLES.parent
    if not (root / "pyproject.toml").is_file():
        pytest.skip("the installed package is tested without its project")
    assert cli.main(["audit", str(root)]) == 0, capsys.readouterr().out
