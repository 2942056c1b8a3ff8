"""An exception at every step finds the unsafe line, and nothing in the fixed version of the program."""

import cProfile
import os
import sys
import threading
import time
from itertools import pairwise

import pytest

from pytest_gilcheck import BadValue, InjectionResult, gilcheck
from pytest_gilcheck.core.interpreter import Interpreter
from pytest_gilcheck.core.verdict import Verdict
from pytest_gilcheck.injection.check import Tally, _spread, _targets, judge
from pytest_gilcheck.injection.plan import InjectionPlan
from pytest_gilcheck.injection.run import InjectionRun

from ..slow import one_in
from ..undecided import undecided

UNSAFE_LINE = 'self.audit("taken")  # here the money is nowhere'


class Account:
    """`transfer` has a known unsafe window: a call between the two assignments."""

    def __init__(self):
        self.left, self.right = 100, 0
        self.lock = threading.Lock()
        self.log = []

    def audit(self, word):
        self.log.append(word)

    def transfer(self, amount):
        with self.lock:
            self.left -= amount
            self.audit("taken")  # here the money is nowhere
            self.right += amount

    def fixed_transfer(self, amount):
        with self.lock:
            after = self.left - amount, self.right + amount
            self.audit("computed")
            self.left, self.right = after

    def unlocked_too_late(self):
        self.lock.acquire()
        try:
            self.audit("locked")
        finally:
            self.lock.release()

    def locked_well(self):
        with self.lock:
            self.audit("locked")

    @property
    def whole(self):
        return self.left + self.right == 100


@pytest.mark.slow
def test_the_unsafe_line_is_found_and_only_that():
    account = Account()
    result = gilcheck.interrupt(lambda: account.transfer(10), inject="every-step", invariant=lambda: account.whole)
    result.assert_violated()
    assert isinstance(result, InjectionResult)
    reachable = [entry for entry in result.breaks if entry.reachable]
    assert reachable, str(result)
    after_a_return = {UNSAFE_LINE} if sys.version_info < (3, 12) else set()  # from 3.12 on it is known to be no place for signals
    assert {entry.source for entry in reachable if "audit" not in entry.place} == after_a_return
    assert "audit" in result.reason
    assert result.tried == result.steps > result.reachable > 0
    assert account.whole, "it ran in this very process"


@pytest.mark.slow
def test_the_fixed_version_is_safe_at_every_step():
    account = Account()
    result = gilcheck.interrupt(lambda: account.fixed_transfer(10), inject="every-step", invariant=lambda: account.whole)
    result.assert_holds()
    assert result.next_step is None


@pytest.mark.slow
def test_a_lock_left_held_is_found_with_its_name_and_a_with_statement_is_safe():
    account = Account()
    broken = gilcheck.interrupt(account.unlocked_too_late, inject="every-step")
    broken.assert_violated()
    assert "lock self.lock held" in broken.reason
    assert "self.lock.acquire()" in broken.reason
    gilcheck.interrupt(account.locked_well, inject="every-step").assert_holds()


@pytest.mark.slow
def test_a_file_left_open_is_found(tmp_path):
    kept = []

    def careless():
        kept.append(open(tmp_path / "left", "w"))  # noqa: SIM115
        kept.pop().close()

    def careful():
        with open(tmp_path / "closed", "w") as file:
            kept.append(file)

    broken = gilcheck.interrupt(careless, inject="every-step", include=())
    broken.assert_violated()
    assert f"file {tmp_path / 'left'}" in broken.reason
    gilcheck.interrupt(careful, inject="every-step", include=()).assert_holds()


@pytest.mark.slow
def test_a_thread_left_alive_is_found():
    def careless():
        thread = threading.Thread(target=time.sleep, args=(60,), name="forgotten", daemon=True)
        thread.start()
        Account().audit("")

    result = gilcheck.interrupt(careless, inject="every-step")
    assert result.verdict == "inconclusive", "the thread is alive after a run without an exception too"
    assert "'forgotten'" in result.reason


@pytest.mark.slow
def test_a_run_that_hangs_after_the_interrupt_is_a_break_with_its_step():
    account = Account()

    def work():
        account.unlocked_too_late()

    def invariant():
        with account.lock:
            return True

    result = gilcheck.interrupt(work, inject="every-step", invariant=invariant, timeout=0.3, budget=120)
    result.assert_violated()
    assert "did not end within its time limit" in result.reason


def test_any_exception_can_be_injected_and_one_that_is_handled_is_no_break():
    class Cancelled(Exception):
        pass

    account = Account()

    def work():
        try:
            account.audit("one")
        except Cancelled:
            account.left, account.right = 100, 0

    result = gilcheck.interrupt(work, inject="every-step", exception=Cancelled("now"), invariant=lambda: account.whole)
    result.assert_holds()
    assert result.swallowed > 0
    assert "Cancelled" in result.exception


@pytest.mark.slow
def test_a_memory_error_can_occur_at_any_step():
    account = Account()

    def work():
        account.left -= 1
        account.right += 1

    def check():
        return account.whole

    gilcheck.interrupt(work, inject="every-step", invariant=check).assert_holds()
    gilcheck.interrupt(work, inject="every-step", invariant=check, exception=MemoryError).assert_violated()


def test_a_budget_that_runs_out_is_no_pass_and_says_where_to_continue():
    account = Account()

    def work():
        for _ in range(50):
            account.locked_well()

    result = gilcheck.interrupt(work, inject="every-step", budget=0.5)
    assert result.verdict == "inconclusive"
    assert 0 <= result.next_step < result.steps
    assert f"first={result.next_step}" in result.reason
    assert f"{result.tried} of {result.steps} steps tried" in result.reason
    assert f'inject="sample", sample={result.reached or 1} ' in result.reason
    short = gilcheck.interrupt(account.locked_well, inject="every-step", first=1)
    assert (short.tried, short.reached, short.verdict) == (short.steps - 1, short.reachable - 1, "holds")
    with pytest.raises(BadValue, match=f"a number below {result.steps}"):
        gilcheck.interrupt(work, inject="every-step", first=result.steps)


class Ledger:
    """A long run: `unsafe_at_the_end` leaves its total wrong at steps of its last quarter alone."""

    def __init__(self):
        self.entries, self.total = [], 0

    def book(self, unsafe):
        time.sleep(0.02)  # of each run: 300 of them, which come before the unsafe steps in the order of the run, do not fit
        for number in range(80):
            if unsafe and number >= 60:
                self.total += 1
                self.entries.append(number)
            else:
                self.entries.append(number)
        self.total = len(self.entries)

    @property
    def whole(self):
        return self.total in (0, len(self.entries)) or self.total == 80


@pytest.mark.slow
@pytest.mark.parametrize("unsafe", [True, pytest.param(False, marks=pytest.mark.slow)])
def test_what_only_late_steps_break_is_found_within_a_budget_for_a_few_runs(unsafe):
    ledger = Ledger()
    result = gilcheck.interrupt(lambda: ledger.book(unsafe), inject="every-step", budget=2.0, invariant=lambda: ledger.whole)
    assert result.tried < result.steps / 2, "the budget has time for a part"
    if unsafe:
        if result.verdict == "inconclusive" and result.reached < 8:
            undecided(result.reason)
        assert result.verdict == "violated", str(result)
        assert min(entry.index for entry in result.breaks) > result.tried, "in the order of the run, it comes too late"
    else:
        assert result.verdict == "inconclusive", "a part is no pass"
        assert f"{result.tried} of {result.steps} steps tried" in result.reason
        assert "spread over the run" in result.reason


def test_steps_are_tried_in_the_same_order_each_time_those_that_a_signal_can_hit_first():
    reachable, library = [0, 3, 4, 8, 9, 11], ["a 0", "b 0", "b 1"]
    order = _targets(InjectionPlan("every-step"), InjectionRun(steps=12, reachable=reachable, library=library))
    assert sorted(order) == list(range(15)), "each once"
    assert set(order[:9]) == {*reachable, 12, 13, 14}
    assert order[:4] == [0, 12, 9, 14], "own code and libraries in turn, each from far apart"
    run = InjectionRun(steps=12, reachable=reachable)
    sample = [_targets(InjectionPlan("sample", sample=4, seed=seed), run) for seed in (1, 1, 2)]
    assert sample[0] == sample[1] != sample[2]
    assert set(sample[0]) < set(reachable)


def test_a_run_that_did_not_pass_its_step_is_no_pass_and_no_break():
    passed = InjectionRun(steps=12, raised_at=("work.py:3", "x = 1", "line", True, "", ""))
    tally = Tally()

    def judged():
        result = InjectionResult(
            workload="transfer",
            interpreter=Interpreter.current(),
            mode="every-step",
            exception="KeyboardInterrupt",
            steps=12,
            reachable=3,
            tried=tally.tried,
            reached=tally.reached,
            conclusion=Verdict.INCONCLUSIVE,
            reason="not judged",
        )
        return judge(result, 10.0, tally.diverged, tally.error)

    tally.add(0, passed, reachable=True)
    tally.add(1, passed, reachable=True)
    assert judged()[0] == "holds"
    tally.add(2, InjectionRun(steps=12), reachable=True)
    verdict, reason = judged()
    assert verdict == "inconclusive"
    assert "1 of 3 runs did not pass the step at which to raise" in reason


@pytest.mark.parametrize("count", [0, 1, 2, 7, 64, 438])
def test_any_first_part_of_the_order_lies_about_evenly(count):
    order = _spread(count)
    assert sorted(order) == list(range(count))
    for part in range(1, count + 1):
        tried = [-1, *sorted(order[:part]), count]
        assert max(after - before for before, after in pairwise(tried)) <= 4 * count / part + 1


def test_a_sample_is_drawn_by_its_seed():
    account = Account()

    def work():
        for _ in range(5):
            account.locked_well()

    result = gilcheck.interrupt(work, inject="sample", sample=7, seed=3)
    assert (result.tried, result.seed) == (7, 3)
    assert result.steps > 7
    assert result.reason.startswith("safe: KeyboardInterrupt at 7 of ")


def test_a_workload_that_is_not_the_same_twice_is_not_judged(tmp_path):
    def work():
        (tmp_path / f"{len(list(tmp_path.iterdir()))}").touch()
        for _ in tmp_path.iterdir():
            Account().audit("")

    result = gilcheck.interrupt(work, inject="every-step")
    assert result.verdict == "inconclusive"
    assert "not deterministic" in result.reason


def test_what_is_broken_without_an_exception_is_not_blamed_on_one():
    result = gilcheck.interrupt(lambda: Account().audit(""), inject="every-step", invariant=lambda: False)
    assert result.verdict == "inconclusive"
    assert "without any injected exception" in result.reason


def test_a_workload_without_visible_steps_is_not_judged():
    result = gilcheck.interrupt(time.tzset, inject="every-step")
    assert result.verdict == "inconclusive"
    assert "no visible steps" in result.reason


def test_what_the_workload_raises_by_itself_is_raised():
    def work():
        raise LookupError("its own")

    with pytest.raises(LookupError, match="its own"):
        gilcheck.interrupt(work, inject="every-step")


def test_crashes_and_exits_after_an_interrupt_are_breaks():
    import os

    account = Account()

    def work():
        try:
            account.audit("")
        except KeyboardInterrupt:
            os._exit(7)

    result = gilcheck.interrupt(work, inject="every-step")
    result.assert_violated()
    assert "status 7" in result.reason


@pytest.mark.parametrize("answer", one_in(3, [False, 0, "", pytest.param("async", id="async")]))
def test_an_invariant_is_broken_by_whatever_is_false_and_is_awaited_where_it_must(answer):
    calls = []

    def invariant():
        calls.append(1)
        return True if len(calls) == 1 and not interrupted else answer

    async def awaited():
        assert not interrupted, "interrupted"

    interrupted = []

    def work():
        try:
            Account().audit("")
        except KeyboardInterrupt:
            interrupted.append(1)

    check = awaited if answer == "async" else (lambda: invariant() if interrupted else True)
    result = gilcheck.interrupt(work, inject="every-step", invariant=check)
    result.assert_violated()


@pytest.mark.slow
def test_an_exception_given_ready_made_keeps_nothing_open(tmp_path):
    (tmp_path / "file").write_text("x")

    def work():
        file = open(tmp_path / "file")  # noqa: SIM115
        text = file.read()
        file.close()
        return text

    gilcheck.interrupt(work, inject="every-step", exception=KeyboardInterrupt("now")).assert_holds()


def test_a_workload_that_raises_keyboardinterrupt_by_itself_is_not_judged():
    def work():
        raise KeyboardInterrupt

    result = gilcheck.interrupt(work, inject="every-step")
    assert result.verdict == "inconclusive"
    assert "by itself" in result.reason


def test_every_loop_is_where_a_signal_can_land():
    class Busy:
        now = False

    def work():
        count = 3
        Busy.now = True
        while count:
            count -= 1
        Busy.now = False

    gilcheck.interrupt(work, inject="every-step", invariant=lambda: not Busy.now).assert_violated()


@pytest.mark.slow
def test_a_generator_begun_before_the_run_is_stepped_through():
    account = Account()

    def generator():
        yield
        account.left -= 1
        account.audit("")
        account.right += 1
        yield

    begun = generator()
    next(begun)
    gilcheck.interrupt(lambda: next(begun), inject="every-step", invariant=lambda: account.whole).assert_violated()


def test_a_sample_is_drawn_from_the_reachable_steps():
    account = Account()
    result = gilcheck.interrupt(lambda: account.transfer(1), inject="sample", sample=50, invariant=lambda: account.whole)
    result.assert_violated()
    assert result.tried == result.reached == result.reachable < result.steps


@pytest.mark.slow
def test_child_processes_and_semaphores_are_leaks_too():
    import subprocess

    semaphore = threading.Semaphore(2)

    def takes():
        semaphore.acquire()
        semaphore.release()

    def starts():
        child = subprocess.Popen(["sleep", "600"])
        try:
            len("")
        except KeyboardInterrupt:
            child.returncode = 0
            raise
        child.kill()
        child.wait()

    result = gilcheck.interrupt(takes, inject="every-step", include=(), judge=False)  # from 3.12 on, no step can be interrupted
    assert "semaphore semaphore not released" in str(result)
    result = gilcheck.interrupt(starts, inject="every-step", include=())
    result.assert_violated()
    assert "child process" in str(result)


@pytest.mark.slow
def test_a_workload_that_takes_another_path_only_later_is_not_judged(tmp_path):
    def work():
        (tmp_path / f"{len(list(tmp_path.iterdir()))}").touch()
        if len(list(tmp_path.iterdir())) <= 2:  # the two runs without an exception are the same
            for _ in range(3):
                Account().audit("")

    result = gilcheck.interrupt(work, inject="every-step", first=10, include=())
    assert result.verdict == "inconclusive"
    assert "runs did not pass the step at which to raise" in result.reason


@pytest.mark.slow
def test_a_generator_begun_before_the_run_is_stepped_through_where_an_exception_is_thrown_into_it():
    account = Account()

    def generator():
        while True:
            try:
                yield
            except LookupError:
                account.left -= 1
                account.audit("")
                account.right += 1

    begun = generator()
    next(begun)
    result = gilcheck.interrupt(lambda: begun.throw(LookupError()), inject="every-step", invariant=lambda: account.whole)
    result.assert_violated()
    assert "audit" in result.reason


def _tracing(account):
    sys.settrace(lambda *_: None)
    account.transfer(10)
    sys.settrace(None)


def _profiling(account):
    with cProfile.Profile():
        account.transfer(10)


def _with_a_thread(account):
    thread = threading.Thread(target=int)
    thread.start()
    thread.join()
    account.left -= 10  # in the function that is on the stack when the thread begins: only its events were taken
    len("a call, after which a signal is handled")
    account.right += 10


@pytest.mark.parametrize(
    "body",
    [
        _tracing,
        pytest.param(_profiling, marks=pytest.mark.skipif(sys.version_info < (3, 12), reason="a profiler takes no trace function")),
    ],
)
def test_lines_whose_events_other_code_takes_are_no_pass(body):
    account = Account()
    result = gilcheck.interrupt(lambda: body(account), inject="every-step", invariant=lambda: account.whole, judge=False)
    assert str(result.verdict) == "inconclusive", str(result)
    assert "so its later lines cannot be examined" in result.reason


def test_a_trace_function_for_threads_takes_nothing():
    account = Account()
    threading.settrace(lambda *_: None)  # as a tool of coverage has set it before the check
    try:
        result = gilcheck.interrupt(
            lambda: _with_a_thread(account), inject="every-step", invariant=lambda: account.whole, include=(), judge=False
        )
    finally:
        threading.settrace(None)
    assert str(result.verdict) == "violated", str(result)


def test_a_run_that_ends_before_a_step_of_a_library_is_no_pass(tmp_path):
    count = tmp_path / "runs"
    path = str(count)  # of which nothing is entered here that is written in Python

    def setup():
        with count.open("a") as runs:
            runs.write(".")

    def work(ended):
        if os.stat(path).st_size in ended:
            os._exit(0)
        threading.current_thread()

    def check(ended):
        count.write_text("")
        return gilcheck.interrupt(lambda: work(ended), inject="every-step", include=(threading,), setup=setup, judge=False)

    whole = check(())
    assert str(whole.verdict) == "holds", str(whole)
    assert whole.library_tried, str(whole)
    without_an_exception, of_own_code, tries = 2, 1, 3  # then comes the first step of the library
    before = without_an_exception + of_own_code
    cut = check(range(before + 1, before + 1 + tries))
    assert str(cut.verdict) == "inconclusive", str(cut)
    assert "exited with status 0" in cut.reason


@pytest.mark.slow
@pytest.mark.parametrize(
    ("module", "name"),
    one_in(3, [pytest.param(threading, "get_ident"), pytest.param(os, "getpid"), pytest.param(sys, "_getframe")]),
)
def test_what_the_body_replaces_does_not_hide_its_steps(module, name):
    safe, unsafe, real = Account(), Account(), getattr(module, name)

    def replaced(transfer):
        try:
            setattr(module, name, lambda *_: 1)
            transfer(10)
        finally:
            setattr(module, name, real)

    for account, transfer, verdict in (
        (unsafe, unsafe.transfer, "violated"),
        (safe, safe.fixed_transfer, "holds"),
    ):
        result = gilcheck.interrupt(
            lambda transfer=transfer: replaced(transfer),
            inject="every-step",
            invariant=lambda account=account: account.whole,
            include=(),
            judge=False,
        )
        assert str(result.verdict) == verdict, str(result)
