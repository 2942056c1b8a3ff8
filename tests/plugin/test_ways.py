"""Every way to run pytest: the header, the summary, the outcome of each test and the evidence are what they are in the usual run.

One small project is made once. Each way runs it in a new process: most ways are slow tests, because a process takes a second.
"""

import json
import os
import pty
import re
import shutil
import subprocess
import sys
from dataclasses import dataclass, field
from pathlib import Path

import pytest

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="users, terminals and locales of POSIX")

PROJECT = """
import pytest
values = []
def add(): values.append(1)

@pytest.mark.gil_fuzz(schedules=5)
def test_holds(): add()

def test_call(gilcheck): gilcheck.fuzz(threads=[add, add], schedules=5).assert_holds()

@pytest.mark.gil_fuzz(schedules=5, invariant=lambda: False)
def test_violated(): add()

@pytest.mark.gil_fuzz(schedules=10_000, budget=1e-6)
def test_undecided(): add()

def test_plain(): pass
"""
ALL = {"test_holds": "holds", "test_call": "holds", "test_violated": "violated", "test_undecided": "inconclusive"}
SUMMARY = "gilcheck: 1 violated, 1 inconclusive, 2 holds"
HERE = Path(__file__).parents[2]


@dataclass(frozen=True)
class Way:
    """One way to run the project.

    Attributes:
        options: of pytest.
        python: options of the interpreter.
        before: the command that runs the interpreter.
        environment: variables that are set.
        status: the exit status of pytest.
        found: the verdict of each test that is on record; None if there is no file.
        summary: in the output.
        header: whether the output says what was run; xdist's controller collects nothing, and has none.
        first: options of a run before it, in the same folder.
        folder: the name of the project's folder.
        stdin: ``"null"``, ``"closed"``, ``"tty"``, or what is read.
        fast: whether it runs in every run of the suite.
    """

    options: tuple[str, ...] = ()
    python: tuple[str, ...] = ()
    before: tuple[str, ...] = ()
    environment: dict[str, str] = field(default_factory=dict)
    status: int = 1
    found: dict[str, str] | None = field(default_factory=lambda: ALL)
    summary: str | None = SUMMARY
    header: bool = True
    first: tuple[str, ...] | None = None
    folder: str = "project"
    stdin: str = "null"
    fast: bool = False


def only(*names):
    return {name: ALL[name] for name in names}


STOPPED = {"found": only("test_holds", "test_call", "test_violated"), "summary": "gilcheck: 1 violated, 2 holds"}
FAILED = {"found": only("test_violated"), "summary": "gilcheck: 1 violated"}
READS_ALL = ("--inh-caps=+dac_read_search", "--ambient-caps=+dac_read_search")  # the interpreter may be in root's home
NOBODY = ("setpriv", "--reuid=65534", "--regid=65534", "--clear-groups", *READS_ALL)
XDIST = ("-p", "xdist")
C_LOCALE = {"LC_ALL": "C", "PYTHONUTF8": "0", "PYTHONCOERCECLOCALE": "0"}

WAYS = {
    "usual": Way(fast=True),
    "-x": Way(("-x",), status=1, **STOPPED),
    "--maxfail=1, -n1": Way((*XDIST, "-n1", "--maxfail=1"), status=2, header=False, **STOPPED),
    "--lf": Way(("-pcacheprovider", "--lf"), first=("-pcacheprovider",), **FAILED),
    "--ff": Way(("-pcacheprovider", "--ff"), first=("-pcacheprovider",)),
    "--sw": Way(("-pcacheprovider", "--sw"), first=("-pcacheprovider", "--sw"), status=2, **FAILED),
    "--pdb, no terminal": Way(("--pdb",), status=2, **STOPPED),
    "--pdb, answers": Way(("--pdb",), stdin="c\n"),
    "--pdb, terminal": Way(("--pdb",), stdin="tty", fast=True),
    "--trace": Way(("--trace", "-k", "call"), stdin="c\n", status=0, found=only("test_call"), summary="gilcheck: 1 holds"),
    "--trace, no terminal": Way(("--trace",), status=0, found=dict.fromkeys(ALL, "inconclusive"),
                                summary="gilcheck: 4 inconclusive"),
    "no:terminal": Way(("-p", "no:terminal"), summary=None, header=False),
    "no:cacheprovider": Way(("-p", "no:cacheprovider")),
    "no:junitxml, no:logging, no:warnings": Way(("-pno:junitxml", "-pno:logging", "-pno:warnings", "-pno:faulthandler")),
    "no:capture": Way(("-p", "no:capture")),
    "-s": Way(("-s",)),
    "--capture=tee-sys": Way(("--capture=tee-sys",)),
    "--capture=sys": Way(("--capture=sys",)),
    "-q": Way(("-q",), header=False, summary=None),
    "-vv": Way(("-vv",)),
    "--import-mode=importlib": Way(("--import-mode=importlib",)),
    "--dist loadgroup": Way((*XDIST, "-n1", "--dist=loadgroup"), header=False),
    "--dist loadfile": Way((*XDIST, "-n2", "--dist=loadfile"), header=False),
    "--dist worksteal": Way((*XDIST, "-n1", "--dist=worksteal"), header=False),
    "--dist each": Way((*XDIST, "--dist=each", "--tx=1*popen"), header=False),
    "pytest -W error": Way(("-W", "error")),
    "python -W error": Way(python=("-W", "error")),
    "python -X dev": Way(python=("-X", "dev")),
    "python -O": Way(python=("-O",)),
    "python -OO -I": Way(python=("-OO",)),
    "a C locale": Way(environment=C_LOCALE),
    "a C locale and a non-ASCII folder": Way(environment=C_LOCALE, folder="pröject ✗"),
    "spaces and non-ASCII names": Way(folder="a prøject\twith ✓ näme"),
    "closed stdin": Way(stdin="closed"),
    "nobody": Way(before=NOBODY),
    "nobody, home that cannot be written": Way(before=NOBODY, environment={"HOME": "/root", "XDG_CACHE_HOME": "/root"}),
    "nobody, temporary folder that cannot be written": Way(before=NOBODY, environment={"TMPDIR": "/proc"}),
    "no home": Way(environment={"HOME": "/nonexistent"}),
    "no fork": Way(environment={"GILCHECK_HIDE": "fork"}),
    "no fork, spaces and non-ASCII names": Way(environment={"GILCHECK_HIDE": "fork"}, folder="a prøject ✓ näme"),
    "--collect-only": Way(("--collect-only",), status=0, found=None, summary=None),
    "--collect-only -q": Way(("--co", "-q"), status=0, found=None, summary=None, header=False),
    "--setup-only": Way(("--setup-only",), status=0, found=None, summary=None),
    "--setup-plan": Way(("--setup-plan",), status=0, found=None, summary=None),
    "--setup-show": Way(("--setup-show",)),
    "-k": Way(("-k", "violated or plain"), **FAILED),
    "-m": Way(("-m", "gil_fuzz and not gilcheck"), status=5, found={}, summary=None),
    "--deselect": Way(("--deselect=test_project.py::test_violated",), status=0,
                      found=only("test_holds", "test_call", "test_undecided"), summary="gilcheck: 1 inconclusive, 2 holds"),
    "--ignore": Way(("--ignore=test_project.py",), status=5, found={}, summary=None),
    "--pyargs": Way(("--pyargs", "test_project"), environment={"PYTHONPATH": f"{HERE}{os.pathsep}."}),
    "--rootdir": Way(("--rootdir=..",)),
    "a node id": Way(("test_project.py::test_violated",), **FAILED),
    "pytest.main": Way(python=("-c", "import pytest, sys; sys.exit(pytest.main(sys.argv[1:]))")),
    "pytest.main twice": Way(python=("-c", "import pytest, sys; pytest.main(sys.argv[1:]); sys.exit(pytest.main(sys.argv[1:]))")),
}  # fmt: skip


@pytest.fixture(scope="module")
def project(tmp_path_factory):
    folder = tmp_path_factory.mktemp("ways") / "project"
    folder.mkdir()
    (folder / "test_project.py").write_text(PROJECT)
    return folder


def command(way, options):
    module = () if "-c" in way.python else ("-m", "pytest")
    chosen = () if "-pcacheprovider" in options else ("-pno:cacheprovider",)
    return [*way.before, sys.executable, *way.python, *module, *chosen, "-pgilcheck", "-rA", "--gilcheck-json=e.json", *options]


def run(way, options, folder):
    """Run pytest; returns its exit status and its output."""
    environment = os.environ | {"PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1", "PYTHONPATH": str(HERE)} | way.environment
    given = {"cwd": folder, "env": environment, "stdout": subprocess.PIPE, "stderr": subprocess.STDOUT, "timeout": 100}
    arguments = [option for option in command(way, options) if not ("no:terminal" in options and option == "-rA")]
    if way.stdin == "tty":
        ours, theirs = pty.openpty()
        os.write(ours, b"c\n")
        done = subprocess.run(arguments, stdin=theirs, **given)
        os.close(ours)
        os.close(theirs)
    elif way.stdin == "closed":
        done = subprocess.run(["sh", "-c", 'exec "$0" "$@" <&-', *arguments], **given)
    elif way.stdin == "null":
        done = subprocess.run(arguments, stdin=subprocess.DEVNULL, **given)
    else:
        done = subprocess.run(arguments, input=way.stdin.encode(), **given)
    return done.returncode, done.stdout.decode(errors="replace")


@pytest.mark.slow
@pytest.mark.parametrize("name", [name if way.fast else pytest.param(name, marks=pytest.mark.slow) for name, way in WAYS.items()])
def test_the_result_is_that_of_the_usual_run(project, tmp_path, name):
    way = WAYS[name]
    if way.before and (os.getuid() != 0 or subprocess.run([*way.before, "true"]).returncode):
        pytest.skip("only root becomes another user, by setpriv of util-linux")
    folder = shutil.copytree(project, tmp_path / way.folder)
    if way.before:
        for each in (folder, *folder.iterdir(), *tmp_path.parents[:2], tmp_path):
            each.chmod(0o777)
    if way.first is not None:
        run(way, way.first, folder)
        (folder / "e.json").unlink()
    status, output = run(way, way.options, folder)
    assert status == way.status, output
    assert "INTERNALERROR" not in output
    assert "Traceback" not in output, output
    assert way.summary is None or re.search(rf"=+ {way.summary}( in [\d.]+ m?s)? =+", output), output
    assert way.header == ("gilcheck: CPython " in output), output
    written = folder / "e.json"
    assert written.exists() == (way.found is not None), output
    if way.found is None:
        return
    evidence = json.loads(written.read_text())
    assert {entry["subject"].rpartition("::")[2]: entry["verdict"] for entry in evidence["records"]} == way.found
    assert (evidence["run"]["exit_status"], evidence["run"]["ended"] is not None) == (status, True)
