"""A program whose interleaving kills the interpreter: that is a finding of the check, and nothing else is lost."""

import json
import re
import sys
import sysconfig

import pytest

PROGRAMS = """
import collections
import ctypes
import os
import threading
import pytest

class Address:
    '''Says that it is ready before its address is there.'''
    def __init__(self, fixed):
        self.fixed, self.ready, self.address = fixed, False, 0
        self.buffer = ctypes.create_string_buffer(b"text")

    def first(self):
        if self.fixed:
            self.address = ctypes.addressof(self.buffer)
        self.ready = True
        self.address = ctypes.addressof(self.buffer)

    def second(self):
        if self.ready:
            ctypes.string_at(self.address)

class Key:
    def __init__(self, number):
        self.number = number

    def __hash__(self):
        return 1

    def __eq__(self, other):
        number = self.number
        return number == other.number

class Ordered:
    '''An OrderedDict is cleared while it compares its keys.'''
    def __init__(self, fixed):
        self.lock = threading.Lock() if fixed else None
        self.kept = collections.OrderedDict((Key(number), number) for number in range(3))

    def first(self):
        if self.lock is None:
            self.kept.pop(Key(1), None)
        else:
            with self.lock:
                self.kept.pop(Key(1), None)

    def second(self):
        if self.lock is None:
            self.kept.clear()
        else:
            with self.lock:
                self.kept.clear()

class Checked:
    '''Ends the process when its two numbers differ.'''
    def __init__(self, fixed):
        self.fixed, self.lock, self.left, self.right = fixed, threading.Lock(), 0, 0

    def first(self):
        self.lock.acquire()
        self.left = 1
        if not self.fixed:
            self.lock.release()
        self.right = 1
        if self.fixed:
            self.lock.release()

    def second(self):
        with self.lock:
            if self.left != self.right:
                os.abort()
"""
TESTS = """
@pytest.fixture
def place(tmp_path):
    yield tmp_path
    with open(LOG, "a") as log:
        log.write(f"{os.getpid()} torn down\\n")

@pytest.fixture(params=[KIND])
def made(request, place):
    return request.param(FIXED)

def test_call(gilcheck):
    seen = []
    def setup():
        seen.append(1)
        return KIND(FIXED)
    threads = [lambda it: it.first(), lambda it: it.second()]
    result = gilcheck.fuzz(setup=setup, threads=threads, budget=60, preemptions=1, schedules=60)
    if FIXED:
        assert len(seen) > 4, "what the program leaves in memory is there after the check"
    result.assert_holds()

def test_beside_a_fixture(gilcheck, place):
    threads = [lambda it: it.first(), lambda it: it.second()]
    gilcheck.fuzz(setup=lambda: KIND(FIXED), threads=threads, budget=60, preemptions=1, schedules=60).assert_holds()

turns = []

@pytest.mark.gil_fuzz(budget=60, preemptions=1, schedules=60)
def test_marked(made):
    first = threading.current_thread().name == "T0"
    made.first() if first else made.second()

def test_after():
    pass
"""
SIGNALS = {"Address": "SIGSEGV", "Ordered": "SIGSEGV", "Checked": "SIGABRT"}
CRASHING = [
    "Address",
    pytest.param("Checked", marks=pytest.mark.slow),
    pytest.param(
        "Ordered",
        marks=[pytest.mark.slow, pytest.mark.skipif(sys.version_info[:3] not in ((3, 13, 0), (3, 11, 7)), reason="mended since")],
    ),
]


def program(kind, fixed, log):
    return f"{PROGRAMS}\nKIND, FIXED, LOG = {kind}, {fixed}, {str(log)!r}\n{TESTS}"


@pytest.mark.parametrize("kind", CRASHING)
def test_a_crash_is_a_finding_with_its_schedule_signal_place_and_token(run, pytester, kind):
    log = pytester.path / "log"
    result = run(program(kind, False, log), "--gilcheck-json=records.json")
    result.assert_outcomes(failed=3, passed=1)
    assert log.read_text().count("torn down") > 2, "the teardown runs after the check, also in the process that took over"
    records = json.loads((pytester.path / "records.json").read_text())["records"]
    assert len(records) == 3
    for record in records:
        assert record["verdict"] == "violated"
        figures = record["figures"]
        assert figures["symptom"] == "crashed"
        assert figures["kind"] == "BREAKS-TODAY"
        assert figures["preemptions"] == 1
        assert f"the process was killed by {SIGNALS[kind]}, in " in record["reason"]
        assert re.search(r"\.py:\d+ \((first|second)\)", record["reason"]), record["reason"]
        assert figures["token"]
        assert "is preempted" in record["details"]["text"]
    token = records[0]["figures"]["token"]
    again = run(None, f"--gilcheck-replay={token}", "-k", "test_call")
    again.stdout.fnmatch_lines([f"*crashed: the process was killed by {SIGNALS[kind]}*with 1 preemption; replayed*"])


@pytest.mark.slow
@pytest.mark.parametrize("kind", CRASHING)
def test_the_fixed_twin_of_a_crashing_program_holds(run, pytester, kind):
    run(program(kind, True, pytester.path / "log"), "-rs").assert_outcomes(passed=4)


@pytest.mark.slow
def test_a_thread_that_ends_the_process_is_a_finding(run):
    result = run("""
    import os
    class Counter:
        def __init__(self): self.value = 0
        def add(self):
            before = self.value
            self.value = before + 1
            if self.value != before + 1: os._exit(7)

    def test_exits(gilcheck):
        gilcheck.fuzz(setup=Counter, threads=[Counter.add, Counter.add], budget=60, schedules=60).assert_holds()
    """)
    result.assert_outcomes(failed=1)
    result.stdout.fnmatch_lines(["*GIL-MASKED: crashed: the process exited with status 7, in *add); with 1 preemption*"])


@pytest.mark.slow
def test_a_process_that_is_killed_from_outside_during_a_search_is_inconclusive(run):
    result = run("""
    import os, signal, pytest
    runs = []
    def setup():
        runs.append(1)
        return runs
    def killed(runs):
        if len(runs) == 12 and not os.path.exists("killed"):
            open("killed", "w").close()
            os.kill(os.getpid(), signal.SIGKILL)
        runs[0] = 1

    def test_killed(gilcheck):
        result = gilcheck.fuzz(setup=setup, threads=[killed, lambda runs: runs[0]], budget=60, schedules=60)
        assert "killed from outside" in result.reason
        assert result.verdict == "inconclusive"
    """)
    result.assert_outcomes(passed=1)


@pytest.mark.slow
@pytest.mark.skipif(
    sysconfig.get_config_var("Py_GIL_DISABLED") == 1,
    reason="without a GIL the engine sees the hang itself, and then waits for the call to stop the world (issue 13)",
)
def test_a_call_that_never_returns_ends_its_child_alone_and_the_schedule_is_reported(run):
    result = run("""
    class Pair:
        def __init__(self): self.left = self.right = 0
        def first(self):
            self.left = 1
            self.right = 1
        def second(self):
            if self.left != self.right: sum(range(10**15))

    def test_hangs(gilcheck):
        gilcheck.fuzz(setup=Pair, threads=[Pair.first, Pair.second], budget=60, timeout=0.3, schedules=60).assert_holds()

    def test_after():
        pass
    """)
    result.assert_outcomes(failed=1, passed=1)
    result.stdout.fnmatch_lines(
        ["*hangs: the process made no step for 0.3 s in a call that holds the GIL, in *second); with 1 preemption*"]
    )


def test_a_crash_in_a_sequential_order_is_no_matter_of_schedules(run):
    result = run("""
    import os
    def test_aborts(gilcheck):
        gilcheck.fuzz(setup=list, threads=[lambda it: it.append(1), lambda it: os.abort()], budget=60).assert_holds()
    """)
    result.assert_outcomes(failed=1)
    result.stdout.fnmatch_lines(["*it fails without any concurrency: crashed: the process was killed by SIGABRT*"])


CALLED = """
import os, pytest
from pytest_gilcheck import gilcheck as called

class Pair:
    def __init__(self): self.left = self.right = 0
    def first(self):
        self.left = 1
        self.right = 1
    def second(self):
        if self.left != self.right: os.abort()

def test_without_the_fixture():
    called.fuzz(setup=Pair, threads=[Pair.first, Pair.second], schedules=60).assert_holds()

def test_after():
    pass
"""


@pytest.mark.slow
def test_a_call_without_the_fixture_cannot_kill_pytest(run):
    result = run(CALLED)
    result.assert_outcomes(failed=1, passed=1)
    result.stdout.fnmatch_lines(["*GIL-MASKED: crashed: the process was killed by SIGABRT, in *second); with 1 preemption*"])


@pytest.mark.slow
@pytest.mark.parametrize("way", ["--gilcheck-isolate=none", "--pdb"])
def test_a_report_says_where_a_crash_would_have_ended_pytest(run, way):
    result = run(
        """
    import pytest
    @pytest.mark.gil_fuzz(schedules=10)
    def test_marked(): add([])

    def add(rows): rows.append(1)

    def test_call(gilcheck):
        gilcheck.fuzz(setup=list, threads=[add, add], schedules=10).assert_holds()
    """,
        way,
        "-rA",
    )
    result.assert_outcomes(passed=2)
    why = "isolate=none" if way != "--pdb" else "pytest runs with --pdb"
    assert str(result.stdout).count(f"unguarded   a crash of the program would have ended this process: {why}") == 2


@pytest.mark.slow
def test_a_guarded_test_does_not_say_so(run):
    result = run(
        """
    def add(rows): rows.append(1)

    def test_call(gilcheck):
        gilcheck.fuzz(setup=list, threads=[add, add], schedules=10).assert_holds()
    """,
        "-rA",
    )
    result.assert_outcomes(passed=1)
    result.stdout.no_fnmatch_line("*unguarded*")
