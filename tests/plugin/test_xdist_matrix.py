"""One run with workers on several interpreters and on another host, by pytest-xdist."""

import os
import shutil
import socket
import subprocess
import sys
import sysconfig
import time

import pytest

from pytest_gilcheck.core.evidence_files import read

from ..slow import one_in

TESTS = """
    import sys, pytest

    class Counter:
        value = 0

    @pytest.fixture
    def counter():
        return Counter()

    @pytest.mark.gil_fuzz(schedules=50, invariant=lambda counter: counter.value == 2)
    def test_counts(counter):
        counter.value += 1

    @pytest.mark.gil_fuzz(schedules=50)
    def test_reads(counter):
        assert counter.value == 0
"""
OTHERS = [path for path in os.environ.get("OTHER_PYTHONS", "").split(os.pathsep) if path]


@pytest.fixture
def another_prefix(tmp_path_factory):
    """This Python in a new environment with the same packages: another ``sys.prefix`` and ``sys.path``."""
    folder = tmp_path_factory.mktemp("environment")
    subprocess.run([sys.executable, "-m", "venv", "--without-pip", folder], check=True)
    [site] = folder.glob("lib/*/site-packages")
    package = os.path.dirname(os.path.dirname(sys.modules["pytest_gilcheck"].__file__))
    (site / "ours.pth").write_text(f"{sysconfig.get_path('purelib')}\n{package}\n")
    return folder / "bin" / "python"


def each(run, *specs, options=()):
    return run(TESTS, "--dist", "each", *(part for spec in specs for part in ("--tx", spec)), *options, timeout=120)


@pytest.mark.slow
def test_a_worker_of_another_environment_keeps_its_own_path(run, pytester, another_prefix):
    (another_prefix.parent.parent / "only_there.pth").touch()
    [site] = another_prefix.parent.parent.glob("lib/*/site-packages")
    (site / "only_there.py").touch()
    pytester.makeconftest("try: import only_there\nexcept ImportError: only_there = None")
    pytester.makepyfile("import sys\ndef test_where(): print(sys.prefix); assert 'only_there' in sys.modules, sys.prefix")
    result = run(None, "--dist", "each", "--tx", f"popen//python={another_prefix}", "--tx", "popen", timeout=120)
    result.assert_outcomes(passed=1, failed=1)
    result.stdout.fnmatch_lines([f"*AssertionError: {sys.prefix}*"])


@pytest.mark.parametrize(
    ("python", "message"),
    one_in(
        3,
        [
            pytest.param("/no/such/python", "there is no such program"),
            pytest.param("'x", "it is not an interpreter"),
            pytest.param(" ", "there is no such program"),
            pytest.param("/bin/false", "it is not an interpreter (exit status 1)"),
            pytest.param("/bin/cat", "it is not an interpreter"),
        ],
    ),
)
def test_a_bad_interpreter_is_one_line_before_any_worker_starts(run, python, message):
    result = each(run, f"popen//python={python}")
    assert result.ret == pytest.ExitCode.USAGE_ERROR
    [line] = [line for line in result.outlines + result.errlines if "expected an interpreter" in line]
    assert message in line


@pytest.mark.slow
def test_workers_in_another_folder_do_not_need_the_folders_of_the_reports(run, pytester, tmp_path):
    pytester.mkdir("reports")
    options = [f"--rsyncdir={pytester.path}", "--gilcheck-json=reports/e.json", pytester.path]
    result = each(run, f"popen//chdir={tmp_path}", options=options)
    result.assert_outcomes(passed=1, failed=1)
    assert len(read(pytester.path / "reports/e.json")) == 2


@pytest.mark.skipif(not OTHERS, reason="OTHER_PYTHONS names no other interpreters with this plugin")
def test_one_run_over_several_interpreters_gives_the_verdicts_of_one_run_on_each(run, pytester):
    pythons = [sys.executable, *OTHERS]
    result = each(run, *(f"popen//python={python}" for python in pythons), options=["--gilcheck-json=each.json"])
    result.stdout.fnmatch_lines(["*= gilcheck: by interpreter =*"])
    together = {(entry["subject"], *entry["interpreter"].values()): entry["verdict"] for entry in read(pytester.path / "each.json")}
    apart = {}
    for number, python in enumerate(pythons):
        subprocess.run(
            [python, "-m", "pytest", "-q", "-p", "no:cacheprovider", "-p", "gilcheck", f"--gilcheck-json={number}.json"],
            cwd=pytester.path,
        )
        for entry in read(pytester.path / f"{number}.json"):
            apart[(entry["subject"], *entry["interpreter"].values())] = entry["verdict"]
    assert len(together) == 2 * len(pythons)
    assert together == apart


@pytest.mark.slow
def test_two_workers_of_one_interpreter_are_two_columns(run, another_prefix):
    result = each(run, "popen", f"popen//python={another_prefix}")
    result.stdout.fnmatch_lines(["*= gilcheck: by interpreter =*", "*(gw0) *(gw1)*"])


def test_a_missing_interpreter_or_one_without_the_plugin_is_one_line(run, tmp_path):
    missing = each(run, "popen//python=python9.99")
    assert missing.ret == pytest.ExitCode.USAGE_ERROR
    missing.stderr.fnmatch_lines(
        ["*gilcheck: python='python9.99' (from command line --tx): expected an interpreter * there is no such program"]
    )
    subprocess.run([sys.executable, "-m", "venv", "--without-pip", tmp_path / "bare"], check=True)
    bare = each(run, f"popen//python={tmp_path / 'bare' / 'bin' / 'python'}")
    assert bare.ret == pytest.ExitCode.USAGE_ERROR
    bare.stderr.fnmatch_lines(
        ["*expected an interpreter with pytest, pytest-xdist and pytest-gilcheck, but it has no pytest, xdist*"]
    )


@pytest.fixture
def ssh_config(tmp_path):
    """The configuration of an ssh server on the loopback interface, with new keys; it represents another host."""
    if (server := shutil.which("sshd", path=f"{os.environ['PATH']}:/usr/sbin")) is None or shutil.which("ssh") is None:
        pytest.skip("no ssh server here")
    if os.geteuid() != 0:
        pytest.skip("sshd as another user than root takes no logins")
    os.makedirs("/run/sshd", exist_ok=True)
    for name in ("host", "user"):
        subprocess.run(["ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f", tmp_path / name], check=True)
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        port = taken.getsockname()[1]
    (tmp_path / "sshd_config").write_text(
        f"Port {port}\nListenAddress 127.0.0.1\nHostKey {tmp_path}/host\nAuthorizedKeysFile {tmp_path}/user.pub\nStrictModes no\n"
        f"PasswordAuthentication no\nPidFile {tmp_path}/pid\n"
    )
    config = tmp_path / "ssh_config"
    config.write_text(
        f"Host another\n HostName 127.0.0.1\n Port {port}\n User root\n IdentityFile {tmp_path}/user\n IdentitiesOnly yes\n"
        f" StrictHostKeyChecking no\n UserKnownHostsFile /dev/null\n LogLevel ERROR\n BatchMode yes\n"
    )
    daemon = subprocess.Popen([server, "-D", "-e", "-f", tmp_path / "sshd_config"], stderr=subprocess.DEVNULL)
    try:
        for _ in range(100):
            if subprocess.run(["ssh", "-F", config, "another", "true"]).returncode == 0:
                break
            time.sleep(0.05)
        else:
            pytest.skip("this machine's ssh server takes no logins")
        yield config
    finally:
        daemon.terminate()
        daemon.wait()


@pytest.mark.slow
def test_a_worker_on_another_host_by_ssh_sends_its_evidence_to_the_controller(run, pytester, ssh_config, tmp_path):
    there = tmp_path / "there"
    there.mkdir()
    spec = f"ssh=another//ssh_config={ssh_config}//python={sys.executable}//chdir={there}"
    code = pytester.mkdir("code")
    (code / "test_remote.py").write_text("import pytest\n@pytest.mark.gil_fuzz\ndef test_there(): pass\n")
    (code / "pytest.ini").touch()
    arguments = ["--dist", "each", "--tx", spec, "--rsyncdir", str(code), "--gilcheck-json=e.json", str(code / "test_remote.py")]
    result = run(None, *arguments, timeout=120)
    [entry] = read(pytester.path / "e.json")
    assert entry["subject"].endswith("test_remote.py::test_there")
    assert entry["worker"] == "gw0"
    assert (there / "code" / "test_remote.py").exists()
    assert "= gilcheck: 1 " in result.stdout.str()
