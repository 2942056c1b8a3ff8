"""Imports in guarded processes: what a hostile module does stays in there, and who switched the GIL on is told."""

import os
import shutil
import subprocess
import sys
import sysconfig
import time
from pathlib import Path

import psutil
import pytest

from pytest_gilcheck.audit import interpreters, modules
from pytest_gilcheck.audit.artifact import open_path
from pytest_gilcheck.audit.claims import ReleaseClaim
from pytest_gilcheck.audit.imports import Scratch, import_all, import_one
from tests.interrupt.holder import compiler

from .made import codes, wheel

HERE = interpreters.ask(sys.executable)


def free_threaded():
    """A free-threaded interpreter: the one that runs, or one of this machine."""
    named = [one.split()[0] for one in os.environ.get("OTHER_PYTHONS", "").split(",") if one.strip()]
    candidates = [sys.executable, *named, *(path for minor in (15, 14, 13) if (path := shutil.which(f"python3.{minor}t")))]
    for candidate in candidates:
        python = interpreters.ask(candidate)
        if python is not None and python.build.free_threaded:
            return python
    pytest.skip("no free-threaded interpreter; OTHER_PYTHONS may name one")


def imported(files, name, seconds=20.0):
    with Scratch(_Files(files)) as scratch:
        return import_all([name], HERE, scratch, seconds=seconds)[0]


class _Files:
    def __init__(self, files):
        self._files = files
        self.names = list(files)

    def read(self, name, limit=0):
        return self._files[name]


def test_a_module_that_is_well():
    found = imported({"good.py": b"import _ctypes\n"}, "good")
    assert (found.ending, found.missing, found.damaged) == ("imported", "", "")


def test_an_interpreter_with_a_relative_path_imports_in_any_folder(tmp_path, monkeypatch):
    folder, name = Path(sys.executable).parent, Path(sys.executable).name
    monkeypatch.chdir(folder.parent)
    python = interpreters.ask(os.path.join(folder.name, name))
    monkeypatch.chdir(tmp_path)
    with Scratch(_Files({"good.py": b""})) as scratch:
        assert import_one("good", python, scratch).ending == "imported"
    assert python.path == HERE.path  # of the virtual environment, to which a link leads


def test_a_module_that_is_not_there_or_fails():
    found = imported({"bad.py": b"import not_there_at_all\n"}, "bad")
    assert (found.ending, found.missing) == ("failed", "not_there_at_all")
    found = imported({"bad.py": b"raise SystemExit(3)\n"}, "bad")
    assert (found.ending, found.detail) == ("failed", "SystemExit: 3")


def test_a_module_that_crashes():
    found = imported({"bad.py": b"import os\ndef crash():\n    os.kill(os.getpid(), 11)\ncrash()\n"}, "bad")
    assert found.ending == "crashed"
    assert "SIGSEGV at bad.py:3 (crash)" in found.detail


def test_a_module_that_exits():
    assert imported({"bad.py": b"import os\nos._exit(7)\n"}, "bad").detail == "the process ended with exit status 7 in mid-import"


@pytest.mark.slow
def test_a_module_that_runs_for_ever_and_forks_is_gone_afterwards(tmp_path):
    source = (
        f"import os, time\nif os.fork() == 0:\n    open({str(tmp_path / 'pid')!r}, 'w').write(str(os.getpid()))\ntime.sleep(600)\n"
    )
    found = imported({"bad.py": source.encode()}, "bad", seconds=3.0)
    assert (found.ending, found.detail) == ("hung", "no end within 3 s")
    pid = int((tmp_path / "pid").read_text())
    until = time.monotonic() + 20
    while (
        psutil.pid_exists(pid) and psutil.Process(pid).status() != psutil.STATUS_ZOMBIE
    ):  # killed, and on a busy machine not yet gone
        assert time.monotonic() < until
        time.sleep(0.05)


def test_a_module_that_deletes_files_is_found_and_its_neighbours_are_imported_all_the_same():
    source = b"import os\nos.remove(os.path.join(os.path.dirname(__file__), 'good.py'))\n"
    with Scratch(_Files({"a.py": source, "good.py": b"", "other.py": b""})) as scratch:
        found = {one.module: one for one in import_all(["a", "good", "other"], HERE, scratch)}
    assert found["a"].damaged == "good.py"
    assert [found[name].ending for name in ("good", "other")] == ["imported", "imported"]
    assert found["good"].damaged == ""


def test_a_module_works_in_a_folder_of_its_own():
    source = b"import os\nassert os.listdir('.') == [] and os.environ['HOME'] == os.getcwd()\nopen('litter', 'w').write('x')\n"
    assert imported({"bad.py": source}, "bad").ending == "imported"


def test_what_a_module_prints_does_not_count():
    assert (
        imported({"bad.py": b"print('{\"event\": \"gil\"}')\nimport sys\nsys.stderr.write('x' * 100000)\n"}, "bad").ending
        == "imported"
    )


def test_an_interpreter_that_does_not_run_is_refused():
    assert interpreters.ask("/bin/true") is None
    assert interpreters.ask("no-such-python") is None
    with Scratch(None) as scratch:
        found = import_one("os", interpreters.Python("/bin/false", HERE.build, "", ()), scratch)
    assert found.ending == "not started"


# -- on a free-threaded interpreter ----------------------------------------------------------------------------------------------

_SOURCE = """
#include <Python.h>
static PyModuleDef_Slot slots[] = {
#ifdef FREE
    {Py_mod_gil, Py_MOD_GIL_NOT_USED},
#endif
    {0, NULL},
};
static struct PyModuleDef module = {PyModuleDef_HEAD_INIT, "x", NULL, 0, NULL, slots};
PyMODINIT_FUNC INIT(void) { return PyModuleDef_Init(&module); }
"""


@pytest.fixture(scope="module")
def threaded(tmp_path_factory):
    """An interpreter, and extension modules for it: ``free`` declares itself, ``silent`` does not."""
    python = free_threaded()
    found, why = compiler()
    if found is None:
        pytest.skip(why)
    folder = tmp_path_factory.mktemp("threaded")
    question = "import sysconfig as s; print(s.get_path('include'), s.get_config_var('EXT_SUFFIX'))"
    headers, suffix = subprocess.run([python.command, "-c", question], capture_output=True, text=True, check=True).stdout.split()
    if not Path(headers, "Python.h").is_file():
        pytest.skip("no Python.h of the free-threaded interpreter")
    (folder / "x.c").write_text(_SOURCE)
    files = {}
    for name, options in (("free", ["-DFREE"]), ("silent", [])):
        target = folder / f"{name}{suffix}"
        subprocess.run(
            [found, "-shared", "-fPIC", f"-I{headers}", f"-DINIT=PyInit_{name}", *options, "-o", target, folder / "x.c"], check=True
        )
        files[f"demo/{name}{suffix}"] = target.read_bytes()
    return python, files


def _platform():
    return sysconfig.get_platform().replace("-", "_").replace(".", "_")


def judged(tmp_path, python, files, level=2):
    tag = f"cp3{python.build.version[1]}-{python.build}-{_platform()}"
    artifact = open_path(wheel(tmp_path, tag, files))
    known = modules.read(artifact)
    tried = list(modules.try_imports(known, [python], 60.0))
    return [*tried, *modules.judge(known, ReleaseClaim(level, "a test"))], known


def test_who_brings_the_gil_back_and_by_which_chain(tmp_path, threaded):
    python, files = threaded
    source = {"demo/__init__.py": b"", "demo/outer.py": b"from . import inner\n", "demo/inner.py": b"from . import silent\n"}
    (tmp_path / "x").mkdir()
    with Scratch(_Files({**files, **source})) as scratch:
        found = import_one("demo.outer", python, scratch)
    assert (found.gil, found.offenders, found.chain) == (True, ("demo.silent",), ("demo.outer", "demo.inner"))


def test_every_offender_is_named_not_only_the_first(threaded):
    python, files = threaded
    (suffix,) = {name.split("silent")[1] for name in files if "silent" in name}
    twins = {**files, f"demo/twin{suffix}": files[f"demo/silent{suffix}"], "demo/__init__.py": b"from . import silent, free\n"}
    with Scratch(_Files(twins)) as scratch:
        found = import_one("demo", python, scratch)
    assert found.offenders == ("demo.silent",)
    assert set(found.created) >= {"demo.silent", "demo.free"}


def test_the_import_agrees_with_the_binary(tmp_path, threaded):
    python, files = threaded
    findings, known = judged(tmp_path, python, {**files, "demo/__init__.py": b""})
    assert codes(findings) == ["GA201", "GA202", "GA204"]
    assert {one.gil for one in known.imported.values()} == {True, False}
    free = {name: data for name, data in files.items() if "free" in name}
    findings, _ = judged(tmp_path, python, {**free, "demo/__init__.py": b"from . import free\n"})
    assert codes(findings) == []


def test_the_lowest_claim_makes_it_an_error(tmp_path, threaded):
    python, files = threaded
    findings, _ = judged(tmp_path, python, files, level=1)
    assert codes(findings, "error") == ["GA201", "GA204"]


def test_without_a_claim_it_is_a_warning(tmp_path, threaded):
    python, files = threaded
    findings, _ = judged(tmp_path, python, files, level=0)
    assert codes(findings, "error") == []
    assert codes(findings, "warning") == ["GA201", "GA202", "GA204"]


def test_no_interpreter_that_takes_the_wheel_is_inconclusive(tmp_path, threaded):
    _, files = threaded
    known = modules.read(open_path(wheel(tmp_path, f"cp316-cp316t-{_platform()}", files)))
    assert [(one.code, str(one.severity)) for one in modules.try_imports(known, [], 60.0)] == [("GA209", "inconclusive")]


def test_a_wheel_of_another_platform_is_a_note(tmp_path, threaded):
    python, files = threaded
    known = modules.read(open_path(wheel(tmp_path, "cp314-cp314t-win_arm64", files)))
    assert [(one.code, str(one.severity)) for one in modules.try_imports(known, [python], 60.0)] == [("GA209", "note")]
