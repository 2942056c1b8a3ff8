"""A search that a script calls: whatever its program does to its process, the script goes on, with its process id, and is told."""

import os
import re
import signal
import subprocess
import sys
import sysconfig
import threading
import time

import pytest

from pytest_gilcheck import BadValue, ReplayDiverged
from pytest_gilcheck.calls import Gilcheck
from pytest_gilcheck.core.fork_safety import can_fork
from tests.slow import one_in, only

pytestmark = pytest.mark.skipif(not hasattr(os, "fork") or sys.platform == "darwin", reason="a fork is not safe here")

PAIR = """
import collections, ctypes, os, re, signal, sys, threading
from pytest_gilcheck import gilcheck

class Pair:
    '''Two numbers that are equal, except between two steps of the first thread.'''
    def __init__(self):
        self.left = self.right = 0
        self.lock = threading.Lock()

def change(pair):
    pair.left = 1
    pair.right = 1

def change_locked(pair):
    with pair.lock:
        change(pair)

def look(pair):
    if pair.left != pair.right:
        harm()

def look_locked(pair):
    with pair.lock:
        look(pair)

BROKEN, FIXED = [change, look], [change_locked, look_locked]
"""


@pytest.fixture
def script(tmp_path):
    """Run a script: ``script(text, *arguments, setting=value)``; its output, after it has ended with status 0."""

    def script(text, status=0, **settings):
        file = tmp_path / "script.py"
        file.write_text(PAIR + text)
        environment = os.environ | {f"GILCHECK_{name.upper()}": value for name, value in settings.items()}
        done = subprocess.run([sys.executable, file], env=environment, capture_output=True, text=True, timeout=120)
        assert done.returncode == status, done.stdout + done.stderr
        return done.stdout

    return script


KEYS = """
class Key:
    def __init__(self, number):
        self.number = number
    def __hash__(self):
        return 1
    def __eq__(self, other):
        number = self.number
        return number == other.number

def Pair():
    return collections.OrderedDict((Key(number), number) for number in range(3))

BROKEN = [lambda kept: kept.pop(Key(1), None), lambda kept: kept.clear()]
"""
ENDS = {  # what ends the process: how the report says so
    "ctypes.string_at(0)": "was killed by SIGSEGV",
    "os.abort()": "was killed by SIGABRT",
    "os._exit(3)": "exited with status 3",
    "os.kill(os.getpid(), signal.SIGKILL)": "was killed by SIGKILL",
    "os.killpg(0, signal.SIGTERM)": "was killed by SIGTERM",
}
RUN = """
def harm():
    {harm}

before = os.getpid()
print("said before")
result = gilcheck.fuzz(setup=Pair, threads={threads}, schedules=60, preemptions=1)
assert os.getpid() == before
print(result)
if result.token:
    again = gilcheck.fuzz(setup=Pair, threads={threads}, replay=result.token)
    print("again:", again.symptom, again.token == result.token)
print("said after")
"""


@pytest.mark.parametrize("harm", only(list(ENDS)[:2], ENDS))
def test_what_kills_the_process_of_a_search_is_a_finding_with_a_token_and_the_script_goes_on(script, harm):
    said = script(RUN.format(harm=harm, threads="BROKEN"))
    assert said.count("said before\n") == said.count("said after\n") == 1, "the output of the script is not written twice"
    assert f"violated GIL-MASKED: crashed: the process {ENDS[harm]}" in said
    assert re.search(r"script\.py:\d+ \(harm\); with 1 preemption\n  replay: ", said), said
    assert "is preempted" in said
    assert "again: crashed True" in said
    assert "unguarded" not in said


@pytest.mark.slow
@pytest.mark.skipif(sys.version_info[:3] not in ((3, 13, 0), (3, 11, 7)), reason="mended since")
def test_a_call_that_crashes_the_interpreter_itself_is_a_finding(script):
    said = script(KEYS + RUN.format(harm="pass", threads="BROKEN"))
    assert "violated BREAKS-TODAY: crashed: the process was killed by SIGSEGV, in" in said
    assert "again: crashed True" in said


def test_the_fixed_twin_of_a_crashing_program_holds_in_a_call(script):
    said = script(RUN.format(harm="os.abort()", threads="FIXED"))
    assert ": holds: " in said
    assert "said after" in said


@pytest.mark.slow
@pytest.mark.skipif(sysconfig.get_config_var("Py_GIL_DISABLED") == 1, reason="without a GIL the engine ends the run itself")
def test_a_call_that_never_returns_is_ended_and_the_script_goes_on(script):
    said = script(RUN.format(harm="sum(range(10**15))", threads="BROKEN").replace("schedules=60", "schedules=60, timeout=0.3"))
    assert "hangs: the process made no step for 0.3 s in a call that holds the GIL, in" in said
    assert "said after" in said


def test_what_a_program_does_to_its_process_does_not_reach_the_script(script):
    said = script("""
def harm():
    os.chdir("/")
    os.umask(0o777)
    sys.stdout = None
    os.environ["CHANGED"] = "1"
    signal.signal(signal.SIGUSR1, signal.SIG_IGN)
    threading.Thread(target=threading.Event().wait, daemon=True).start()

mask = os.umask(0)
os.umask(mask)
before = os.getcwd(), sys.stdout, signal.getsignal(signal.SIGUSR1)
gilcheck.fuzz(setup=Pair, threads=BROKEN, schedules=20)
assert (os.getcwd(), sys.stdout, signal.getsignal(signal.SIGUSR1)) == before
assert os.umask(mask) == mask and "CHANGED" not in os.environ and threading.active_count() == 1
print("unharmed")
""")
    assert said == "unharmed\n"


def test_a_program_that_takes_our_modules_and_tools_away_gets_its_verdict(script):
    said = script("""
import pickle
def setup():
    for name in [name for name in sys.modules if name.startswith("pytest_gilcheck.")]:
        del sys.modules[name]
    pickle.dumps = pickle.loads = os._exit = None
    return Pair()

def harm():
    raise ValueError("seen")

print(gilcheck.fuzz(setup=setup, threads=BROKEN, schedules=20).headline())
""")
    assert "violated GIL-MASKED: exception: T1 raised ValueError: seen" in said


def test_what_a_program_prints_in_its_search_is_seen_once(script):
    said = script("""
def setup():
    print("set up", flush=True)
    return Pair()

print("begin")
gilcheck.fuzz(setup=setup, threads=FIXED, schedules=3)
print("end")
""")
    assert (said.count("begin\n"), said.count("end\n")) == (1, 1)
    assert said.startswith("begin\nset up\n")


def test_a_setup_that_ends_its_process_is_violated_and_a_kill_from_outside_is_not(script):
    said = script("""
import itertools
def setup(harm):
    if next(runs) == 12:
        harm()
    return Pair()

for harm in (lambda: os._exit(7), lambda: os.kill(os.getpid(), signal.SIGKILL)):
    runs = itertools.count()
    result = gilcheck.fuzz(setup=lambda: setup(harm), threads=FIXED, schedules=50)
    print(result.headline())
""")
    first, second = said.splitlines()
    assert "violated: crashed: the process exited with status 7" in first
    assert "in the setup" in first
    assert "inconclusive" in second
    assert "killed by SIGKILL" in second


class TestWhatIsRaised:
    """What a search raises, its caller gets: the same class, with its attributes, and where it came from."""

    class Refused(Exception):
        def __init__(self, code, *, lock):
            super().__init__(f"refused with {code}")
            self.code, self.lock = code, lock

    def test_the_setups_exception_arrives_although_pickle_cannot_carry_it(self):
        class Local(self.Refused):
            pass

        def setup():
            raise Local(7, lock=threading.Lock())

        with pytest.raises(Local, match=r"^refused with 7\n?") as caught:
            Gilcheck().fuzz(setup=setup, threads=[print, print])
        assert caught.value.code == 7
        assert "unlocked" in caught.value.lock
        assert "in setup" in "".join(caught.value.__notes__)

    @pytest.mark.parametrize("kind", one_in(2, [KeyboardInterrupt, SystemExit, ZeroDivisionError, pytest.skip.Exception]))
    def test_an_exception_of_any_kind_that_every_order_raises_arrives(self, kind):
        def setup():
            raise kind("the user's")

        with pytest.raises(kind, match="the user's"):
            Gilcheck().fuzz(setup=setup, threads=[print, print])

    def test_a_refused_value_names_its_argument(self):
        with pytest.raises(BadValue, match=r"mode='exhaustive' \(from argument\): expected at most two threads"):
            Gilcheck().fuzz(threads=[print] * 3, mode="exhaustive")

    @pytest.mark.slow
    def test_a_token_of_other_steps_diverges(self):
        class Counter:
            value = 0

        def longer(counter):
            counter.value += 1
            counter.value += 1

        def add(counter):
            counter.value += 1

        token = Gilcheck().fuzz(setup=Counter, threads=[add, add], invariant=lambda counter: counter.value == 2).token
        longer.__qualname__ = add.__qualname__
        with pytest.raises(ReplayDiverged):
            Gilcheck().fuzz(setup=Counter, threads=[longer, longer], replay=token)


total = 0


def makes_total():
    global total
    total = 1


def adds_to_total(state):
    global total
    total += 1


class Adds:
    """Its methods store the global; to make an instance of it does not."""

    def add(self):
        global total
        total += 1


class TestMemory:
    """The caller's memory does not change, which a warning says where the program has changed what it shares with the caller."""

    kept = 0

    @pytest.mark.slow
    def test_a_change_of_what_the_caller_shares_is_warned_of_at_the_line_of_the_call(self):
        seen = []
        with pytest.warns(RuntimeWarning, match="the program changed 'seen' of .*which its caller does not see") as caught:
            Gilcheck().fuzz(threads=[lambda: seen.append(1)] * 2, schedules=2)
        assert caught[0].filename == __file__
        assert not seen

    @pytest.mark.slow
    def test_a_change_of_a_class_is_warned_of(self):
        def change():
            TestMemory.kept += 1

        with pytest.warns(RuntimeWarning, match="the program changed class TestMemory"):
            Gilcheck().fuzz(threads=[change, change], schedules=2)
        assert TestMemory.kept == 0

    def test_a_program_that_makes_its_state_in_setup_gives_no_warning(self, recwarn):
        known = {"limit": [3]}
        lock = threading.Lock()

        def add(rows):
            with lock:
                rows.append(known["limit"][0])

        Gilcheck().fuzz(setup=list, threads=[add, add], schedules=5).assert_holds()
        assert not recwarn.list

    @pytest.mark.slow
    def test_a_global_that_the_setup_stores_gives_no_warning_and_one_that_only_a_thread_stores_does(self, recwarn):
        Gilcheck().fuzz(setup=makes_total, threads=[adds_to_total] * 2, schedules=5)
        assert not recwarn.list
        with pytest.warns(RuntimeWarning, match="the program changed 'total' of module"):
            Gilcheck().fuzz(setup=list, threads=[adds_to_total] * 2, schedules=5)
        with pytest.warns(RuntimeWarning, match="the program changed 'total' of module"):
            Gilcheck().fuzz(setup=Adds, threads=[Adds.add] * 2, schedules=5)

    def test_objects_that_answer_nothing_are_no_obstacle(self):
        class Proxy:
            """Stands for an object that is not there now."""

            def __getattribute__(self, name):
                raise RuntimeError("outside of any request")

            __iter__ = __len__ = __eq__ = __hash__ = __bool__ = None

        request, rows = Proxy(), [Proxy()]

        def use(state):
            state.append((id(request), id(rows)))

        Gilcheck().fuzz(setup=list, threads=[use, use], schedules=5).assert_holds()

    def test_the_callers_memory_changes_under_isolate_none_which_the_report_says(self, monkeypatch):
        monkeypatch.setenv("GILCHECK_ISOLATE", "none")
        seen = []
        result = Gilcheck().fuzz(threads=[lambda: seen.append(1)] * 2, schedules=2)
        assert seen
        assert "unguarded   a crash of the program would have ended this process: isolate=none" in str(result)


@pytest.mark.slow
def test_where_threads_run_the_search_stays_in_the_process_and_the_report_says_so():
    stop = threading.Event()
    thread = threading.Thread(target=stop.wait, name="a neighbour")
    thread.start()
    try:
        result = Gilcheck().fuzz(setup=list, threads=[lambda rows: rows.append(1)] * 2, schedules=5)
    finally:
        stop.set()
        thread.join()
    assert "a fork would lose: a neighbour" in result.unguarded
    assert "would have ended this process: threads are running" in str(result)


def test_where_the_system_refuses_a_fork_the_search_stays_in_the_process_and_the_report_says_so(monkeypatch):
    def refuse():
        raise BlockingIOError(11, "Resource temporarily unavailable")

    monkeypatch.setattr(os, "fork", refuse)
    result = Gilcheck().fuzz(setup=list, threads=[lambda rows: rows.append(1)] * 2, schedules=5)
    assert result.verdict == "holds"
    assert result.unguarded == "the system refuses a fork ([Errno 11] Resource temporarily unavailable)"


def test_a_search_in_a_fork_reports_its_phases_to_its_caller():
    if can_fork() is not None:
        pytest.skip("this process cannot be forked")
    phases = []
    Gilcheck(progress=phases.append).fuzz(setup=list, threads=[lambda rows: rows.append(1)] * 2, schedules=5)
    assert "sequential orders" in phases


def test_an_interrupt_of_the_caller_ends_the_search_and_its_process(tmp_path):
    file = tmp_path / "script.py"
    file.write_text(f"""{PAIR}
def setup():
    if not os.path.exists({str(tmp_path / "pid")!r}):
        open({str(tmp_path / "new")!r}, "w").write(str(os.getpid()))
        os.rename({str(tmp_path / "new")!r}, {str(tmp_path / "pid")!r})
    return Pair()
try:
    gilcheck.fuzz(setup=setup, threads=FIXED, budget=100)
except KeyboardInterrupt:
    print("interrupted")
""")
    caller = subprocess.Popen([sys.executable, file], stdout=subprocess.PIPE, text=True, start_new_session=True)
    until = time.monotonic() + 60
    while not (tmp_path / "pid").exists() or not (tmp_path / "pid").read_text():
        assert time.monotonic() < until
        time.sleep(0.01)
    caller.send_signal(signal.SIGINT)
    assert caller.communicate(timeout=60)[0] == "interrupted\n"
    assert caller.returncode == 0
    with pytest.raises(ProcessLookupError):
        os.kill(int((tmp_path / "pid").read_text()), 0)


_pool = None
_pools = []


def lazily():
    global _pool
    if _pool is None:
        _pools.append("made")
        _pool = object()
    return _pool


def forget_pool():
    global _pool, _pools
    _pool, _pools = None, []


_guard = threading.Lock()


def lazily_guarded():
    with _guard:
        lazily()


def one_pool(*ignored):
    return len(_pools) == 1


class Settings:
    loaded = None

    @classmethod
    def get(cls):
        if cls.loaded is None:
            cls.loaded = {"debug": False}
        return cls.loaded


@pytest.mark.slow
def test_what_only_the_first_run_finds_is_no_pass_and_a_setup_that_makes_it_anew_decides():
    with pytest.warns(RuntimeWarning, match="the program changed"):
        result = Gilcheck().fuzz(threads=[lazily_guarded, lazily_guarded], invariant=one_pool, schedules=40, seed=1)
    assert result.verdict == "inconclusive"
    assert result.why == "not repeatable"
    assert result.told.startswith("the first run changed")
    assert "'_pool' of module" in result.reason
    found = Gilcheck().fuzz(setup=forget_pool, threads=[lambda _: lazily()] * 2, invariant=one_pool, schedules=40, seed=1)
    found.assert_violated()
    held = Gilcheck().fuzz(setup=forget_pool, threads=[lambda _: lazily_guarded()] * 2, invariant=one_pool, schedules=40, seed=1)
    held.assert_holds()


@pytest.mark.slow
def test_a_class_that_keeps_what_it_has_loaded_is_no_pass():
    with pytest.warns(RuntimeWarning, match="the program changed"):
        result = Gilcheck().fuzz(threads=[Settings.get, Settings.get], schedules=40, seed=1)
    assert result.verdict == "inconclusive"
    assert "class Settings" in result.reason
    Settings.get()  # what has been loaded before is no matter of this check
    Gilcheck().fuzz(threads=[Settings.get, Settings.get], schedules=40, seed=1).assert_holds()


class Closed(type):
    def __getattribute__(cls, name):
        if name in ("__mro__", "__dict__", "__module__", "__name__", "__qualname__"):
            raise LookupError(name)
        return type.__getattribute__(cls, name)


class OfClosed(metaclass=Closed):
    def __init__(self):
        self.value = 0


class ClosedError(Exception, metaclass=Closed):
    pass


@pytest.mark.slow
def test_a_class_that_lets_nobody_look_at_its_bases_and_names_hides_no_race():
    def add(counter):
        counter.value += 1

    found = Gilcheck().fuzz(setup=OfClosed, threads=[add, add], invariant=lambda counter: counter.value == 2, schedules=40, seed=1)
    found.assert_violated()
    assert "writes counter.value" in found.story


@pytest.mark.slow
def test_an_exception_of_a_class_that_lets_nobody_look_is_a_failure_with_its_name():
    def add(counter):
        value = counter.value
        counter.value = value + 1

    def check(counter):
        if counter.value:
            raise ClosedError("not empty")

    failed = Gilcheck().fuzz(setup=OfClosed, threads=[add, check], schedules=40, seed=1)
    failed.assert_violated()
    assert failed.reason.startswith("exception: T1 raised ClosedError: not empty")
    Gilcheck().fuzz(setup=OfClosed, threads=[add, lambda _: None], schedules=40, seed=1).assert_holds()
