"""Whole interrupt checks: results, errors, and processes that must not outlive them."""

import asyncio
import ctypes
import faulthandler
import itertools
import os
import pdb
import signal
import subprocess
import sys
import textwrap
import threading
import time
from dataclasses import replace

import psutil
import pytest

from pytest_gilcheck import BadValue, InterruptResult, gilcheck
from pytest_gilcheck.core import fork_safety
from pytest_gilcheck.core.fork_safety import can_fork
from pytest_gilcheck.interrupt.check import _marked_swallowed, _moments
from pytest_gilcheck.interrupt.claim import InterruptClaim
from pytest_gilcheck.interrupt.delivery import _without_report
from pytest_gilcheck.interrupt.dry_run import DryRun
from pytest_gilcheck.interrupt.plan import InterruptPlan
from pytest_gilcheck.interrupt.trial import Trial
from tests.undecided import decided, expect, undecided

from . import importable

early = signal.signal
CLAIM = InterruptClaim(0.2, 2.0, (signal.SIGINT,))

pytestmark = pytest.mark.skipif(can_fork() is not None, reason=f"{can_fork()}")


def asleep():
    time.sleep(60)


def test_a_workload_that_can_be_interrupted_holds_and_has_every_figure():
    result = gilcheck.interrupt(asleep, repeats=4, over=0.1, seed=7)
    result.assert_holds()
    assert isinstance(result, InterruptResult)
    for spread in (result.delivery, result.unwinding, result.exit, result.idle):
        assert 0 <= spread.min <= spread.median <= spread.max < 5
    assert len(result.trials) >= 4
    assert result.delivery.n >= 4
    assert (result.outcome, result.lasted, result.seed) == (None, None, 7)
    figures = result.figures()
    assert figures["signals"] >= 4
    assert figures["delivery_max"] == result.delivery.max
    assert [trial.moment for trial in result.trials] == [
        moment
        for _, moment in itertools.islice(_moments(result.claim, InterruptPlan(repeats=4, over=0.1, seed=7), DryRun(None)), 4)
    ]
    assert "delivery" in str(result)
    assert "seed 7" in str(result)


def test_the_moments_come_from_the_seed_and_cover_the_time():
    def first(seed):
        return list(itertools.islice(_moments(CLAIM, InterruptPlan(repeats=4, over=2.0, seed=seed), DryRun(None)), 8))

    assert first(1) == first(1) != first(2)
    assert sorted(int(moment / 0.5) for _, moment in first(1)[:4]) == [0, 1, 2, 3]


def test_a_coroutine_function_is_run_and_cancelled_by_asyncio():
    cleaned = []

    async def work():
        try:
            await asyncio.sleep(60)
        except asyncio.CancelledError:
            cleaned.append(1)
            raise

    result = gilcheck.interrupt(work, repeats=2, over=0.05)
    result.assert_holds()
    assert {trial.left_by for trial in result.trials} == {"KeyboardInterrupt"}
    assert not cleaned, "it ran in this very process"


def test_sigterm_without_a_handler_ends_the_process_and_holds():
    result = gilcheck.interrupt(asleep, signals="SIGTERM", repeats=2, over=0.05, judge=False)
    expect(result, "holds")
    assert result.unwinding is None, "no Python handler was entered"
    assert {trial.status for trial in result.trials} == {-signal.SIGTERM}


@pytest.mark.parametrize(
    ("known", "outcome"),
    [
        ({}, "busy"),  # it had no core, for all that is known
        ({"disposition": "blocked", "slept": True}, "late"),
        ({"disposition": "blocked"}, "busy"),
        ({"disposition": "caught", "slept": True}, "unreported"),
    ],
)
def test_that_the_system_ends_a_process_late_is_its_own_doing_only_where_it_blocked_the_signal(known, outcome):
    gone = Trial(signal.SIGTERM, 0.1, sent=10**9, gone=1_700_000_000, status=-signal.SIGTERM)
    assert _without_report(replace(gone, **known), CLAIM).outcome == outcome
    assert _without_report(replace(gone, gone=1_100_000_000, **known), CLAIM).outcome is None, "in time"


@pytest.mark.parametrize(
    ("left", "outcome"),
    [
        (1.95, "swallowed"),  # alone it takes 2 seconds: it went on as if nothing had come
        (0.9, None),  # it cleaned up and returned
    ],
)
def test_a_workload_that_goes_on_to_its_own_end_has_swallowed_the_signal(left, outcome):
    def went_on(moment):
        sent = int(moment * 1e9)
        return Trial(signal.SIGINT, moment, sent=sent, entered=sent, left=int(left * 1e9), left_by="returned")

    given, plan = [went_on(0.6), went_on(0.8)], InterruptPlan(repeats=2)
    marked = _marked_swallowed(None, given, CLAIM, plan, DryRun(2.0), lambda label: None)
    assert [trial.outcome for trial in marked] == [outcome, outcome]


@pytest.mark.slow
def test_a_workload_that_blocks_a_signal_too_long_is_late_though_no_handler_of_it_reports():
    def work():
        while True:
            signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGTERM})
            time.sleep(0.5)
            signal.pthread_sigmask(signal.SIG_UNBLOCK, {signal.SIGTERM})

    result = gilcheck.interrupt(work, signals="SIGTERM", repeats=3, over=0.05, within=0.1, judge=False)
    expect(result, "violated")
    assert result.outcome == "late"


def test_a_handler_of_the_workloads_own_is_timed_and_works():
    def work():
        stop = threading.Event()
        signal.signal(signal.SIGTERM, lambda number, frame: stop.set())
        while not stop.wait(0.01):
            pass

    result = gilcheck.interrupt(work, signals=["SIGTERM", "SIGINT"], repeats=1, over=0.1)
    result.assert_holds()
    assert result.delivery.n >= 2
    assert {trial.left_by for trial in result.trials if trial.number == signal.SIGTERM} == {"returned"}


@pytest.mark.slow
def test_a_handler_that_does_nothing_is_found_with_the_line_that_set_it():
    def work():
        signal.signal(signal.SIGINT, lambda number, frame: None)
        while True:
            time.sleep(0.01)

    result = gilcheck.interrupt(work, repeats=2, over=0.5, exits_within=0.3)  # one signal may come before the handler is set
    result.assert_violated()
    assert result.outcome == "swallowed"
    assert f"{__file__}:" in result.culprit
    assert "set at" in result.culprit


@pytest.mark.slow
def test_an_interrupt_that_the_interpreter_discards_counts_as_swallowed_and_names_the_call():
    class Guard:
        def __del__(self):
            time.sleep(0.05)

    def work():
        while True:
            Guard()

    result = gilcheck.interrupt(work, repeats=1, over=0.2, exits_within=0.3)
    result.assert_violated()
    assert result.outcome == "swallowed"
    assert "the interpreter, which discards" in result.culprit
    assert "Guard.__del__" in result.culprit


def test_code_that_inspects_its_handlers_gets_its_own_and_not_our_wrappers():
    found = []

    def work():
        found.append(signal.getsignal(signal.SIGINT) is signal.default_int_handler)
        before = signal.signal(signal.SIGINT, asleep)
        found.append(before is signal.default_int_handler)
        found.append(signal.getsignal(signal.SIGINT) is asleep)
        raise AssertionError(found)

    with pytest.raises(AssertionError, match="True, True, True"):
        gilcheck.interrupt(work)


@pytest.mark.parametrize("state", ["ignored", "blocked"])
def test_a_signal_that_is_ignored_or_blocked_is_named(state):
    def work():
        if state == "ignored":
            signal.signal(signal.SIGINT, signal.SIG_IGN)
        else:
            signal.pthread_sigmask(signal.SIG_BLOCK, [signal.SIGINT])
        time.sleep(60)

    result = gilcheck.interrupt(work, repeats=1, over=0.05)
    result.assert_violated()
    assert result.outcome == state


@pytest.mark.skipif(sys.platform != "linux", reason="the kernel is asked who handles what")
@pytest.mark.parametrize("handled", [False, True])
def test_a_signal_without_a_handler_that_has_no_effect_by_default_is_ignored_and_not_replaced(handled):
    def work():
        if handled:
            signal.signal(signal.SIGWINCH, lambda *of: sys.exit())
        time.sleep(60)

    result = decided(gilcheck.interrupt(work, signals="SIGWINCH", repeats=1, over=0.05))
    assert result.verdict == ("holds" if handled else "violated"), result.reason
    assert handled or (result.outcome == "ignored" and "no handler is set for it" in result.reason)


@pytest.mark.slow
def test_child_processes_that_outlive_it_are_found_and_ended():
    code = "import signal, time; signal.signal(signal.SIGINT, signal.SIG_IGN); print(flush=True); time.sleep(600)"

    def start():
        child = subprocess.Popen([sys.executable, "-c", code], stdout=subprocess.PIPE)
        child.stdout.readline()
        child.stdout.close()
        child.returncode = 0  # nobody waits for it, and its finalizer must not warn

    result = gilcheck.interrupt(asleep, setup=start, repeats=1, over=0.05)
    result.assert_violated()
    assert result.outcome == "left behind"
    assert "pid" in result.culprit
    assert not [p for p in psutil.process_iter(["cmdline"]) if p.info["cmdline"] == [sys.executable, "-c", code]]


def test_a_crash_before_any_signal_is_a_violation_with_its_stack():
    def work():
        time.sleep(0.05)
        ctypes.string_at(0)

    result = gilcheck.interrupt(work)
    result.assert_violated()
    assert result.outcome == "crashed"
    assert "SIGSEGV" in result.reason
    assert "string_at" in result.stacks


def test_a_crash_of_the_handler_is_a_violation():
    def work():
        signal.signal(signal.SIGINT, lambda number, frame: ctypes.string_at(0))
        time.sleep(60)

    result = gilcheck.interrupt(work, repeats=1, over=0.05)
    result.assert_violated()
    assert result.outcome == "crashed"


def test_a_process_that_ends_by_itself_decides_nothing():
    result = gilcheck.interrupt(lambda: (time.sleep(0.02), os._exit(3)))
    assert result.verdict == "inconclusive"
    assert "status 3" in result.reason


def test_os_exit_in_a_handler_is_a_proper_end():
    def work():
        signal.signal(signal.SIGINT, lambda number, frame: os._exit(0))
        time.sleep(60)

    gilcheck.interrupt(work, repeats=2, over=0.05).assert_holds()


def test_a_workload_that_is_over_before_any_signal_is_too_short():
    result = gilcheck.interrupt(lambda: None)
    assert result.verdict == "inconclusive"
    assert "too short" in result.reason


def test_a_workload_that_forks_is_interrupted_with_its_children():
    def work():
        signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})  # the fork hook of logging swallows one that lands in it
        child = os.fork()
        try:
            signal.pthread_sigmask(signal.SIG_UNBLOCK, {signal.SIGINT})
            time.sleep(60)
        finally:
            if child == 0:
                os._exit(0)
            os.kill(child, signal.SIGKILL)  # it may have been born right after the signal
            os.waitpid(child, 0)

    gilcheck.interrupt(work, repeats=2, over=0.1).assert_holds()


def test_what_the_workload_raises_by_itself_is_raised_with_the_childs_traceback():
    def work():
        raise LookupError("its own")

    with pytest.raises(LookupError, match="its own") as caught:
        gilcheck.interrupt(work)
    assert "in work" in caught.value.__notes__[0]


def test_the_signal_state_of_this_process_is_unchanged():
    def remembered(number, frame):
        raise AssertionError("never sent")

    before = signal.signal(signal.SIGALRM, remembered)
    signal.setitimer(signal.ITIMER_REAL, 600)
    handlers = [signal.getsignal(number) for number in (signal.SIGINT, signal.SIGTERM, signal.SIGUSR2)]
    dumping = faulthandler.is_enabled()
    try:
        gilcheck.interrupt(asleep, repeats=1, over=0.05)
        assert signal.getsignal(signal.SIGALRM) is remembered
        assert signal.getitimer(signal.ITIMER_REAL)[0] > 0
        assert [signal.getsignal(number) for number in (signal.SIGINT, signal.SIGTERM, signal.SIGUSR2)] == handlers
        assert faulthandler.is_enabled() == dumping
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"within": -1}, "within=-1"),
        ({"exits_within": "soon"}, "exits_within='soon'"),
        ({"signals": "SIGNOTHING"}, "signals='SIGNOTHING'"),
        ({"signals": "SIGKILL"}, "other than SIGKILL"),
        ({"signals": b"SIGINT"}, "signals=b'SIGINT'"),
        ({"signals": []}, "signals=\\[\\]"),
        ({"repeats": 0}, "repeats=0"),
        ({"over": 0}, "over=0"),
        ({"seed": -1}, "seed=-1"),
        ({"within": 0.1, "inject": "every-step"}, "unknown argument 'within'"),
        ({"inject": "often"}, "inject='often'"),
        ({"invariant": asleep}, "expected inject=... beside it"),
        ({"inject": "every-step", "invariant": 3}, "invariant=3"),
        ({"inject": "every-step", "exception": 3}, "exception=3"),
        ({"inject": "every-step", "exception": UnicodeDecodeError}, "needs no arguments"),
        ({"inject": "sample", "sample": 0}, "sample=0"),
        ({"wihtin": 3}, "did you mean 'within'"),
    ],
)
def test_bad_arguments_are_refused_by_name(arguments, message):
    with pytest.raises(BadValue, match=message):
        gilcheck.interrupt(asleep, **arguments)


RUN = """
    import threading, time
    from pytest_gilcheck import gilcheck
    from tests.interrupt import importable
    threading.Thread(target=time.sleep, args=(600,), daemon=True).start()
    for work in (importable.sleeps, importable.sums, importable.swallows):
        result = gilcheck.interrupt(work, repeats=1, over=0.1, exits_within=0.5)
        print("VERDICT", work.__name__, result.verdict, result.outcome)
        print(result)
"""


@pytest.mark.slow
def test_with_threads_running_the_workload_gets_a_new_interpreter():
    done = subprocess.run([sys.executable, "-c", textwrap.dedent(RUN)], capture_output=True, text=True, timeout=120, check=False)
    found = {line.split()[1]: " ".join(line.split()[2:]) for line in done.stdout.splitlines() if line.startswith("VERDICT")}
    for name, expected in (("sleeps", "holds None"), ("sums", "violated deaf"), ("swallows", "violated swallowed")):
        assert hasattr(importable, name)
        if found.get(name, "").partition(" ")[0] != "inconclusive":
            assert found.get(name) == expected, done.stdout + done.stderr
    if any(verdict.startswith("inconclusive") for verdict in found.values()):
        undecided(str(found))


def test_a_workload_that_no_child_process_can_run_is_undecided():
    ended = threading.Event()
    thread = threading.Thread(target=ended.wait, name="in-the-way")
    thread.start()
    try:
        result = gilcheck.interrupt(lambda: None)
        assert result.verdict == "inconclusive"
        assert "a fork would lose: in-the-way, and the workload cannot be pickled for a new interpreter" in result.reason
    finally:
        ended.set()
        thread.join()


def fork_that_sleeps():  # in the setup, so that no interrupt comes in the middle of the fork
    if os.fork() == 0:
        try:
            time.sleep(60)
        finally:
            os._exit(0)


def test_a_process_that_the_setup_forks_handles_the_signal_as_it_would_outside_of_a_check():
    gilcheck.interrupt(asleep, setup=fork_that_sleeps, repeats=1, over=0.1).assert_holds()


@pytest.mark.slow
def test_a_process_that_the_setup_forks_and_that_ignores_the_signal_is_left_behind():
    def fork():
        if os.fork() == 0:
            signal.signal(signal.SIGINT, signal.SIG_IGN)
            time.sleep(60)
            os._exit(0)

    result = gilcheck.interrupt(asleep, setup=fork, repeats=1, over=0.1)
    result.assert_violated()
    assert result.outcome == "left behind"


def test_a_fork_of_the_workload_does_not_report_for_the_target():
    """The fork has the same handlers and the same pipe, and handles the signal in time; the target does not."""

    def fork_and_block():  # blocked before the workload begins: no load can let the signal in
        fork_that_sleeps()
        signal.pthread_sigmask(signal.SIG_BLOCK, [signal.SIGINT])

    result = gilcheck.interrupt(asleep, setup=fork_and_block, repeats=1, over=0.1)
    result.assert_violated()
    assert result.outcome == "blocked"


@pytest.mark.slow
def test_a_process_that_left_its_group_is_found_and_ended(tmp_path):
    mark = str(tmp_path)

    def start():
        child = subprocess.Popen([sys.executable, "-c", "import time; time.sleep(600)", mark], start_new_session=True)
        child.returncode = 0  # nobody waits for it, and its finalizer must not warn

    result = gilcheck.interrupt(asleep, setup=start, repeats=1, over=0.05)
    result.assert_violated()
    assert result.outcome == "left behind"
    assert not [p for p in psutil.process_iter(["cmdline"]) if mark in (p.info["cmdline"] or [])]


@pytest.mark.slow
def test_a_process_that_another_thread_starts_during_a_trial_is_not_killed(tmp_path, monkeypatch):
    """A background thread of the user starts a process while a target runs. When that thread ends, the main one inherits it."""
    mark, started = str(tmp_path), []
    code = [sys.executable, "-c", "import time; time.sleep(600)", mark]

    def start_soon():
        time.sleep(0.3)
        started.append(subprocess.Popen(code, start_new_session=True))

    monkeypatch.setattr(fork_safety, "_harmless", [lambda thread: thread.name == "users-own"])
    thread = threading.Thread(target=start_soon, name="users-own")
    thread.start()
    try:
        gilcheck.interrupt(asleep, repeats=4, over=0.5).assert_holds()
        thread.join()
        assert started[0].poll() is None, "it was killed"
    finally:
        thread.join()
        for process in started:
            process.kill()
            process.wait()


def test_a_crash_is_found_although_sigchld_is_ignored():
    before = signal.signal(signal.SIGCHLD, signal.SIG_IGN)
    try:
        result = gilcheck.interrupt(lambda: ctypes.string_at(0))
        assert (result.verdict, result.outcome) == ("violated", "crashed")
        assert signal.getsignal(signal.SIGCHLD) == signal.SIG_IGN
    finally:
        signal.signal(signal.SIGCHLD, before)


def test_a_workload_killed_by_a_real_time_signal_is_a_crash_with_its_name():
    result = gilcheck.interrupt(lambda: os.kill(os.getpid(), signal.SIGRTMIN + 3))
    assert (result.verdict, result.outcome) == ("violated", "crashed")
    assert "SIGRTMIN+3" in result.reason


def test_a_setup_that_does_not_end_decides_nothing():
    result = gilcheck.interrupt(asleep, setup=asleep, timeout=0.3)
    assert result.verdict == "inconclusive"
    assert "the setup did not end within 0.3 s" in result.reason


def test_a_workload_that_leaves_its_own_group_is_ended_too():
    def work():
        os.setpgid(0, os.getpgid(os.getppid()))
        time.sleep(600)

    gilcheck.interrupt(work, repeats=1, over=0.05).assert_holds()


def test_a_handler_set_by_a_name_bound_earlier_is_seen():
    stop = []

    def work():
        early(signal.SIGINT, lambda number, frame: stop.append(1))
        while not stop:
            time.sleep(0.01)

    result = gilcheck.interrupt(work, repeats=2, over=0.1)
    result.assert_holds()
    assert result.delivery.n >= 2


@pytest.mark.slow
def test_a_swallowed_signal_is_found_although_the_workload_ends_soon_by_itself():
    def swallows():
        for _ in range(20):  # a swallowed signal shortens it by one sleep at most
            try:
                time.sleep(0.05)
            except BaseException:
                pass

    def cleans_up():
        try:
            time.sleep(1.0)
        except BaseException:
            time.sleep(0.1)

    result = gilcheck.interrupt(swallows, repeats=2, over=0.4)
    result.assert_violated()
    assert "except BaseException" in result.culprit
    gilcheck.interrupt(cleans_up, repeats=2, over=0.4).assert_holds()


@pytest.mark.slow
def test_a_signal_that_sigwait_takes_does_not_count_as_blocked():
    def work():
        signal.pthread_sigmask(signal.SIG_BLOCK, [signal.SIGINT])
        signal.sigwait([signal.SIGINT])
        time.sleep(0.8)

    result = gilcheck.interrupt(work, repeats=1, over=0.1)
    assert result.outcome != "blocked"
    assert result.verdict != "violated"


@pytest.mark.slow
@pytest.mark.skipif(gilcheck.interpreter.build == "free-threaded", reason="there is no GIL to keep")
def test_a_thread_that_takes_the_gil_during_unwinding_is_the_culprit():
    def handler(number, frame):
        threading.Thread(target=lambda: sum(range(10**9)), daemon=True).start()
        raise KeyboardInterrupt

    def work():
        signal.signal(signal.SIGINT, handler)
        time.sleep(60)

    result = decided(gilcheck.interrupt(work, repeats=1, over=0.05, exits_within=1.0))
    assert result.verdict == "violated"
    assert "sum(range(10**9))" in result.culprit.replace(" ", ""), result
    assert "keeps the GIL" in result.culprit


@pytest.mark.slow
def test_a_signal_that_is_handled_late_and_then_swallowed_counts_as_late():
    def cpu_seconds():
        began = time.thread_time()
        sum(range(10**6))
        return time.thread_time() - began

    numbers = range(int(10**6 * 0.4 / min(cpu_seconds() for _ in range(5))))

    def work():
        try:
            sum(numbers)  # one C call of about 0.4 s of CPU time, which does not check for signals
        except KeyboardInterrupt:
            pass
        time.sleep(60)

    result = decided(gilcheck.interrupt(work, repeats=1, over=0.05, within=0.05, exits_within=0.5, judge=False))
    call = work.__code__.co_firstlineno + 2
    if not any(trial.place[1:2] == (call,) and trial.denied < 0.05 for trial in result.trials):
        undecided(f"no signal came during the call while the process had a core: {result.reason}")
    assert (result.verdict, result.outcome) == ("violated", "late"), result


@pytest.mark.slow
def test_the_real_end_of_an_interpreter_is_part_of_the_claim_where_the_workload_can_be_imported():
    result = decided(gilcheck.interrupt(importable.leaves_a_slow_finalizer, repeats=1, over=0.1, exits_within=1.0))
    assert (result.verdict, result.outcome) == ("violated", "lingers"), result
    assert "the finalizer at " in result.culprit
    assert "__del__" in result.culprit
    fine = gilcheck.interrupt(importable.sleeps, repeats=1, over=0.1)
    fine.assert_holds()
    assert "own end" not in fine.reason


def test_a_pass_says_that_the_end_of_the_interpreter_was_not_measured():
    result = gilcheck.interrupt(lambda: time.sleep(60), repeats=1, over=0.1)
    result.assert_holds()
    assert "without the interpreter's own end" in result.reason


def test_a_sigkill_that_somebody_else_sent_decides_nothing():
    def work():
        signal.signal(signal.SIGINT, lambda number, frame: subprocess.run(["kill", "-9", str(os.getpid())], check=False))
        time.sleep(60)

    result = gilcheck.interrupt(work, repeats=1, over=0.05)
    assert result.verdict == "inconclusive"
    assert "SIGKILL" in result.reason


@pytest.mark.slow
def test_modules_that_the_workload_imports_are_imported_before_any_signal(tmp_path, monkeypatch):
    (tmp_path / "slow_to_import.py").write_text("import time\ntime.sleep(0.3)\n")
    monkeypatch.syspath_prepend(tmp_path)

    def work():
        import slow_to_import

        time.sleep(60 if slow_to_import else 0)

    result = gilcheck.interrupt(work, repeats=3, over=0.2)
    result.assert_holds()
    assert {trial.place[0] for trial in result.trials} == {__file__}


@pytest.mark.slow
def test_a_trial_in_which_no_handler_ran_is_not_judged_as_leaving(monkeypatch):
    """A busy machine: no core for the target between the signal and the end of all patience."""
    from pytest_gilcheck.interrupt import delivery

    monkeypatch.setattr(delivery, "_starved", lambda before, now, seconds: True)
    result = gilcheck.interrupt(lambda: sum(range(10**9)), repeats=1, over=0.05)
    assert (result.verdict, result.outcome) == ("inconclusive", "busy"), result
    assert {str(trial.outcome) for trial in result.trials} == {"busy"}


@pytest.mark.slow
@pytest.mark.parametrize("most_delay", [0.0, 3.0])
@pytest.mark.skipif(not hasattr(os, "sched_setaffinity"), reason="no CPU affinity here")
def test_signals_that_found_a_process_without_a_core_are_no_pass(monkeypatch, most_delay):
    """Beside four others on one core, the workload has not come to the loop that swallows when the last signal comes.

    That comes after 0.2 to 0.3 s. It decides nothing unless the workload had half of that, which is more than the loop needs to
    begin. Without a delay it has a fifth: the signal ends the workload, and all three would look good.
    """
    from pytest_gilcheck.interrupt import delivery

    monkeypatch.setattr(delivery, "_MOST_DELAY", most_delay)
    core = min(os.sched_getaffinity(0))

    def work():
        until = time.process_time() + 0.08  # clearly less than half of 0.2
        while time.process_time() < until:
            pass
        while True:
            try:
                time.sleep(60)
            except KeyboardInterrupt:
                pass

    spin = f"import os; os.sched_setaffinity(0, [{core}])\nwhile True: pass"
    neighbours = [subprocess.Popen([sys.executable, "-c", spin]) for _ in range(4)]
    try:
        result = gilcheck.interrupt(
            work, setup=lambda: os.sched_setaffinity(0, [core]), repeats=3, over=0.3, exits_within=0.5, seed=1
        )
    finally:
        for neighbour in neighbours:
            neighbour.kill()
            neighbour.wait()
    assert result.verdict != "holds", str(result)


@pytest.mark.slow
@pytest.mark.skipif(not hasattr(os, "sched_setaffinity"), reason="no CPU affinity here")
def test_a_signal_waits_until_the_process_has_had_a_core_for_as_long_as_its_moment(monkeypatch):
    """Beside a busy process on the same core; the workload ends in time only if it had half of the time before the signal."""
    from pytest_gilcheck.interrupt import delivery
    from pytest_gilcheck.interrupt.delivery import deliver
    from pytest_gilcheck.interrupt.starting import Starter

    monkeypatch.setattr(delivery, "_MOST_DELAY", 30.0)  # on a machine with twenty others it may take so long
    core, moment = min(os.sched_getaffinity(0)), 0.15

    def work():
        began = time.thread_time()
        try:
            while True:
                pass
        except KeyboardInterrupt:
            if time.thread_time() - began < moment / 2:
                time.sleep(60)

    spin = f"import os; os.sched_setaffinity(0, [{core}])\nwhile True: pass"
    neighbours = [subprocess.Popen([sys.executable, "-c", spin]) for _ in range(3)]
    try:
        starter = Starter(work, lambda: os.sched_setaffinity(0, [core]), (signal.SIGINT,))
        trial = deliver(starter, signal.SIGINT, moment, InterruptClaim(2.0, 1.0, (signal.SIGINT,)), 30.0)
    finally:
        for neighbour in neighbours:
            neighbour.kill()
            neighbour.wait()
    assert trial.outcome in (None, "busy"), trial


def test_a_signal_that_only_another_thread_gets_is_blocked_and_not_called_handled():
    def work():
        threading.Thread(target=time.sleep, args=(60,), daemon=True).start()
        signal.pthread_sigmask(signal.SIG_BLOCK, [signal.SIGINT])
        time.sleep(60)

    result = gilcheck.interrupt(work, repeats=1, over=0.1, exits_within=0.5, seed=1)
    result.assert_violated()
    assert result.outcome == "blocked"
    assert "another thread" in result.culprit


@pytest.mark.slow
@pytest.mark.skipif(not hasattr(asyncio.AbstractEventLoop, "add_signal_handler"), reason="no signal handlers of event loops here")
def test_a_handler_of_the_event_loop_that_ends_nothing_is_named_where_it_was_set():
    async def work():
        asyncio.get_running_loop().add_signal_handler(signal.SIGINT, len, "nothing")
        await asyncio.sleep(60)

    result = gilcheck.interrupt(work, repeats=1, over=0.1, exits_within=0.5)
    result.assert_violated()
    assert (result.outcome, f"the handler set at {__file__}:{work.__code__.co_firstlineno + 1}" in result.culprit) == (
        "swallowed",
        True,
    )


@pytest.mark.slow
def test_a_debugger_that_swallows_is_found_although_nothing_can_be_traced_in_it():
    reading, _writing = os.pipe()

    def work():
        with open(reading) as commands, open(os.devnull, "w") as nowhere:
            pdb.Pdb(stdin=commands, stdout=nowhere, nosigint=True).set_trace()
            time.sleep(60)

    result = gilcheck.interrupt(work, repeats=1, over=0.1, exits_within=0.5)
    result.assert_violated()
    assert result.outcome == "swallowed"
    assert "`except KeyboardInterrupt:` at " in result.culprit


@pytest.mark.slow
@pytest.mark.skipif(sys.platform != "linux", reason="orphans are adopted on Linux only")
def test_an_orphan_that_a_thread_of_the_user_starts_meanwhile_is_left_alone_and_that_of_the_workload_is_ended(tmp_path):
    """Both leave their group, and lose their parent; a process that runs a check adopts orphans."""
    over, pids = threading.Event(), tmp_path / "pids"

    def orphan(kind):
        start = f"import subprocess as s; print(s.Popen(['sleep', '30'], start_new_session=True, stdout=s.DEVNULL).pid, {kind!r})"
        with pids.open("a") as file:
            subprocess.run([sys.executable, "-c", start], stdout=file, check=True)

    def starts():
        while not over.wait(0.1):
            orphan("users")

    def workload():
        orphan("workloads")
        threading.Event().wait(60)

    thread = threading.Thread(target=starts, name="starts orphans")
    fork_safety.declare_harmless(lambda each: each.name == "starts orphans")
    thread.start()
    try:
        result = gilcheck.interrupt(workload, repeats=2, over=0.5, within=10, exits_within=10, judge=False)
    finally:
        over.set()
        thread.join()
    found = {"users": [], "workloads": []}
    for line in pids.read_text().splitlines():
        pid, kind = line.split()
        found[kind].append(psutil.pid_exists(int(pid)) and psutil.Process(int(pid)).status() != psutil.STATUS_ZOMBIE)
        if found[kind][-1]:
            os.kill(int(pid), signal.SIGKILL)
    if len(found["workloads"]) < 2:
        undecided("the workload had not started its process in each trial when the signal came")
    assert len(found["users"]) > 1
    assert all(found["users"]), result
    assert not any(found["workloads"]), result
