"""Whatever a test does to its own process: what is violated does not pass, what holds is not violated, and pytest goes on."""

import json
import sys

import pytest

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="limits, signals and forks of Linux")

KINDS = {
    "modules": "for name in [each for each in sys.modules if each.startswith('pytest_gilcheck.')]: del sys.modules[name]",
    "exit": "at_end = lambda: os._exit(0)",
    "descriptors": "os.closerange(3, 200)",
    "folder": "gone = tmp_path / 'gone'; gone.mkdir(); os.chdir(gone); gone.rmdir()",
    "umask": "os.umask(0o777)",
    "RLIMIT_NOFILE": "resource.setrlimit(resource.RLIMIT_NOFILE, (12, 12))",
    "RLIMIT_NPROC": "resource.setrlimit(resource.RLIMIT_NPROC, (1, 1))",
    "RLIMIT_FSIZE": "signal.signal(signal.SIGXFSZ, signal.SIG_IGN); resource.setrlimit(resource.RLIMIT_FSIZE, (10, 10))",
    "RLIMIT_AS": "resource.setrlimit(resource.RLIMIT_AS, (400_000_000, 400_000_000))",
    "settrace": "sys.settrace(lambda *a: None); threading.settrace(lambda *a: None)",
    "setprofile": "sys.setprofile(lambda *a: None)",
    "SIGCHLD": "signal.signal(signal.SIGCHLD, signal.SIG_IGN)",
    "other signals": "for each in (15, 10, 12, 2): signal.signal(each, signal.SIG_IGN)",
    "recursion": "sys.setrecursionlimit(150)",
    "no streams": "patch.setattr(sys, 'stdout', None); patch.setattr(sys, 'stderr', None)",
    "no environment": "os.environ.clear(); sys.argv[:] = []",
    "warnings": "warnings.simplefilter('error')",
    "time": "[patch.setattr(time, name, lambda: 0.0) for name in ('monotonic', 'time', 'perf_counter')]",
    "getpid": "patch.setattr(os, 'getpid', lambda: 1)",
    "import": "patch.setattr('builtins.__import__', refuse)",
    "pickle": "patch.setattr(pickle, 'dumps', refuse); patch.setattr(pickle, 'loads', refuse)",
    "json": "patch.setattr(json, 'dumps', refuse)",
    "os._exit": "patch.setattr(os, '_exit', refuse)",
    "os.fork": "patch.setattr(os, 'fork', refuse)",
    "os.pipe": "patch.setattr(os, 'pipe', refuse)",
    "os.kill": "patch.setattr(os, 'kill', refuse); patch.setattr(os, 'killpg', refuse)",
    "os.waitpid": "patch.setattr(os, 'waitpid', refuse)",
    "os.write": "patch.setattr(os, 'write', refuse); patch.setattr(os, 'read', refuse)",
    "gettrace": "patch.setattr(sys, 'gettrace', refuse); patch.setattr(sys, 'getprofile', refuse)",
    "Thread.start": "patch.setattr(threading.Thread, 'start', refuse)",
    "threading": "patch.setattr(threading, 'enumerate', refuse); patch.setattr(threading, 'current_thread', refuse)",
    "builtins": "patch.setattr('builtins.id', lambda each: 1); patch.setattr('builtins.isinstance', refuse)",
}
SUITE = """
import json, os, pickle, resource, signal, sys, threading, time, warnings
import pytest

def refuse(*given, **named): raise RuntimeError("not here")

@pytest.fixture(params={kinds!r}.values(), ids={kinds!r})
def hostile(request, monkeypatch, tmp_path):
    names = globals() | dict(patch=monkeypatch, tmp_path=tmp_path, at_end=lambda: None)
    exec(request.param, names)
    yield
    names["at_end"]()

class Counter:
    def __init__(self): self.value, self.lock = 0, threading.Lock()

@pytest.fixture
def counter(): return Counter()

def lose(counter):
    value = counter.value
    counter.value = value + 1

def add(counter):
    with counter.lock: lose(counter)

two = dict(schedules=40, invariant=lambda counter: counter.value == 2)

@pytest.mark.gil_fuzz(**two)
def test_broken_marked(counter, hostile): lose(counter)

def test_broken_not_judged(gilcheck, hostile): gilcheck.fuzz(threads=[lose, lose], setup=Counter, **two)

def test_broken_asserted(gilcheck, hostile): gilcheck.fuzz(threads=[lose, lose], setup=Counter, **two).assert_holds()

def test_right(gilcheck, hostile): gilcheck.fuzz(threads=[add, add], setup=Counter, **two).assert_holds()

def test_last(): pass
"""


@pytest.mark.parametrize("kinds", [["modules"], pytest.param([*KINDS], marks=pytest.mark.slow)], ids=["modules", "all"])
def test_no_verdict_is_lost_and_none_is_made_up(run, pytester, kinds):
    result = run(
        SUITE.format(kinds={kind: KINDS[kind] for kind in kinds}),
        "-v",
        "--gilcheck-json=e.json",
        "--gilcheck-timeout=5",
        "--tb=line",
        timeout=240,
    )
    text = result.stdout.str()
    assert "INTERNALERROR" not in text, text
    ends = {}
    for line in result.outlines:
        if "::test_" in line and "%]" in line:
            ends.setdefault(line.split("::")[1].split()[0], set()).add(line.split()[1])
    passed = {name for name, words in ends.items() if words == {"PASSED"}}
    assert not [name for name in passed if "broken" in name], text
    evidence = json.loads((pytester.path / "e.json").read_text())
    violated = {record["subject"].partition("::")[2] for record in evidence["records"] if record["verdict"] == "violated"}
    assert not [name for name in violated if "right" in name], text
    assert len(violated) > 3 * len(kinds) * 2 // 3, text
    assert "test_last" in passed
    assert evidence["run"]["ran"] == evidence["run"]["collected"] == 4 * len(kinds) + 1
