import asyncio
import gc
import itertools
import os
import sys
import threading
import time
from dataclasses import replace

import pytest

from pytest_gilcheck import BadValue, Kind, ReplayDiverged, gilcheck
from pytest_gilcheck.engine.running import fairness
from pytest_gilcheck.engine.running.existing_locks import ExistingLocks
from pytest_gilcheck.engine.running.handoff import HandoffSemaphore
from pytest_gilcheck.fuzz import check
from pytest_gilcheck.search.harness import explorer_for

from ..slow import one_in
from .programs import (
    SETTLED,
    Counter,
    Mailbox,
    Pair,
    add,
    add_locked,
    counted,
    fill,
    first_second,
    is_two,
    plan,
    second_first,
    wait,
    wait_carelessly,
)


def fuzz(*threads, **arguments):
    return counted(*threads, **{"schedules": 120} | arguments)


def test_a_lost_update_is_found_with_one_preemption_and_is_masked_by_the_gil():
    result = fuzz(add, add, setup=Counter, invariant=is_two)
    result.assert_violated()
    assert (result.kind, result.symptom, result.preemptions) == (Kind.GIL_MASKED, "invariant", 1)
    assert result.replays == (10, 10)


def test_the_same_with_a_lock_holds_for_every_interleaving():
    result = fuzz(add_locked, add_locked, setup=Counter, invariant=is_two)
    result.assert_holds()
    assert result.bound in SETTLED


def test_an_update_that_calls_into_c_in_between_breaks_today():
    def update(counter):
        counter.value = counter.value + int("1")

    result = fuzz(update, update, setup=Counter, invariant=is_two)
    result.assert_violated()
    assert result.kind is Kind.BREAKS_TODAY


def test_only_points_where_the_gil_can_go_are_tried_in_that_mode():
    fuzz(add, add, setup=Counter, invariant=is_two, mode="gil").assert_holds()


def test_two_locks_taken_in_two_orders_are_a_deadlock_with_a_table_of_who_holds_what():
    result = fuzz(first_second, second_first, setup=Pair)
    result.assert_violated()
    assert (result.kind, result.symptom) == (Kind.BREAKS_TODAY, "deadlock")
    report = str(result)
    assert "T0 waits for a lock, held by T1" in report
    assert "T1 waits for a lock, held by T0" in report
    for word in ("taken", "made"):
        assert report.count(f"{word:5} {Pair.__init__.__code__.co_filename}:") >= 2
    fuzz(first_second, first_second, setup=Pair).assert_holds()


@pytest.mark.slow
def test_a_lost_wake_up_never_ends_and_its_fixed_twin_holds():
    result = fuzz(wait_carelessly, fill, setup=Mailbox)
    result.assert_violated()
    assert result.symptom == "never ends"
    assert "T0 waits for a notification" in result.reason
    fuzz(wait, fill, setup=Mailbox).assert_holds()


def test_the_report_names_the_pair_that_decides_and_what_was_read_and_written():
    report = str(fuzz(add, add, setup=Counter, invariant=is_two))
    assert "reads counter.value = 0" in report
    assert "writes counter.value = 1" in report
    assert "decided by  T0 reads counter.value = 0" in report
    assert "before T1 writes counter.value = 1" in report
    assert "T0 is preempted: T1 runs" in report
    assert "replay: gilcheck replay gil1_" in report


@pytest.mark.slow
def test_a_replay_fails_again_and_one_of_other_code_diverges():
    found = fuzz(add, add, setup=Counter, invariant=is_two)
    again = fuzz(add, add, setup=Counter, invariant=is_two, replay=found.token)
    again.assert_violated()
    assert again.symptom == found.symptom
    with pytest.raises(ReplayDiverged, match="another program"):
        fuzz(add_locked, add, setup=Counter, invariant=is_two, replay=found.token)


@pytest.mark.slow
def test_a_replay_of_what_has_been_mended_holds_and_says_so_or_diverges():
    def make(broken):
        def thread(counter):
            if broken:
                counter.value += 1
            else:
                with counter.lock:
                    counter.value += 1

        return thread

    broken, fixed = make(True), make(False)
    token = fuzz(broken, broken, setup=Counter, invariant=is_two).token
    with pytest.raises(ReplayDiverged):
        fuzz(fixed, fixed, setup=Counter, invariant=is_two, replay=token)


def test_an_exception_that_only_some_schedules_raise_is_a_failure():
    def take(things):
        if things:
            things.pop()

    result = fuzz(take, take, setup=lambda: [1])
    result.assert_violated()
    assert result.symptom == "exception"
    assert "IndexError" in result.reason


def test_an_exception_that_every_order_raises_is_none_unless_there_are_more_of_it():
    def pop(things):
        things.pop()

    result = fuzz(pop, pop, setup=lambda: [1])
    result.assert_holds()
    assert "IndexError" in result.expected


def test_what_every_thread_raises_in_every_order_is_raised_plainly():
    def fails():
        raise LookupError("its own")

    with pytest.raises(LookupError, match="its own"):
        fuzz(fails, fails)


@pytest.mark.skipif(not hasattr(os, "fork"), reason="no fork here")
def test_what_needs_no_concurrency_needs_no_stress_either():
    result = fuzz(add, add, setup=Counter, invariant=lambda counter: counter.value == 3, mode="stress", schedules=None)
    result.assert_violated()
    assert "without any concurrency" in result.reason


def test_an_invariant_that_no_order_meets_needs_no_concurrency():
    result = fuzz(add, add, setup=Counter, invariant=lambda counter: counter.value == 3)
    result.assert_violated()
    assert "without any concurrency" in result.reason
    assert result.kind is None


class Falsehood:
    """What comparisons of arrays answer: no bool, and not true."""

    def __bool__(self):
        return False


@pytest.mark.slow
def test_an_invariant_that_answers_something_false_that_is_not_false_itself_is_broken():
    def twice(counter):
        return counter.value == 2 or Falsehood()

    fuzz(add, add, setup=Counter, invariant=twice).assert_violated()
    fuzz(add_locked, add_locked, setup=Counter, invariant=twice).assert_holds()


@pytest.mark.slow
def test_threads_that_the_program_starts_are_scheduled_too():
    def start_two(counter):
        threads = [threading.Thread(target=add, args=(counter,)) for _ in range(2)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()

    def nothing(counter):
        return counter.value

    result = counted(start_two, nothing, setup=Counter, invariant=is_two, schedules=120)
    result.assert_violated()
    assert result.symptom == "invariant"


@pytest.mark.slow
def test_a_thread_that_is_left_waiting_for_ever_is_found_and_a_daemon_is_not():
    def racing(daemon):
        def thread(kept):
            seen = kept["n"]
            kept["n"] = seen + 1
            if kept["n"] != seen + 1:
                threading.Thread(target=threading.Event().wait, daemon=daemon).start()

        return thread

    result = fuzz(racing(False), racing(False), setup=lambda: {"n": 0})
    result.assert_violated()
    assert result.symptom == "never ends"
    fuzz(racing(True), racing(True), setup=lambda: {"n": 0}).assert_holds()


@pytest.mark.slow
def test_a_thread_that_polls_gets_what_it_waits_for_and_one_that_polls_for_ever_is_a_livelock(monkeypatch):
    monkeypatch.setattr(fairness, "FAIR_STEPS", 2_000)  # a tenth: a livelock takes that many steps to be one
    monkeypatch.setattr(fairness, "MOST_POINTS", 10_000)

    def spin(kept):
        while not kept["ready"]:
            pass

    def ready(kept):
        kept["ready"] = True

    fuzz(spin, ready, setup=lambda: {"ready": False}).assert_holds()
    result = fuzz(spin, lambda kept: None, setup=lambda: {"ready": False})
    result.assert_violated()
    assert "livelock" in result.reason


def test_sleeping_orders_nothing():
    def late(kept):
        time.sleep(10)
        kept.append("late")

    def early(kept):
        kept.append("early")

    began = time.monotonic()
    result = fuzz(late, early, setup=list, invariant=lambda kept: kept == ["early", "late"])
    result.assert_violated()
    assert time.monotonic() - began < 60, "nobody really sleeps"


@pytest.mark.slow
def test_a_timeout_beyond_the_bound_on_delays_comes_only_when_nobody_else_can_go_on():
    def waits(event):
        assert event.wait(timeout=1)

    fuzz(waits, threading.Event.set, setup=threading.Event).assert_holds()


class Named(threading.local):
    name = None


class Begun(threading.local):
    def __init__(self):
        self.begun = True


@pytest.mark.parametrize("kind", one_in(3, [Begun, threading.local, Named]))
def test_what_threads_keep_for_themselves_is_gone_in_the_next_run(kind):
    local = kind()

    def thread():
        assert kind is not Begun or local.begun
        assert not hasattr(local, "value")
        local.value = 1
        assert local.value == 1

    fuzz(thread, thread).assert_holds()


def test_a_lock_that_was_made_at_import_is_under_control():
    def thread(counter):
        with MADE_AT_IMPORT:
            counter.value += 1

    fuzz(thread, thread, setup=Counter, invariant=is_two).assert_holds()
    assert type(MADE_AT_IMPORT) is type(__import__("_thread").allocate_lock()), "and is itself again"


MADE_AT_IMPORT = threading.Lock()


def test_a_lock_that_cannot_be_seen_is_a_partly_uncontrolled_wait_and_claims_nothing():
    hidden = (MADE_AT_IMPORT,)

    def thread(counter):
        with next(iter(hidden_in[0])):
            counter.value += 1

    hidden_in = [frozenset(hidden)]
    result = fuzz(thread, thread, setup=Counter, invariant=is_two, schedules=10)
    assert result.verdict == "inconclusive"
    assert result.why == "partly uncontrolled"


def is_two_and_counts(counter):  # so each run has threads of its own, which end with it
    return is_two(counter) and threading.active_count() > 0


@pytest.mark.slow
@pytest.mark.parametrize("invariant", [is_two, is_two_and_counts])
def test_a_hand_off_that_takes_long_is_not_taken_for_a_blocked_thread(invariant, monkeypatch):
    sleep = time.sleep  # what a machine does that takes the core away between the two halves of a hand-off; it makes no step
    made = HandoffSemaphore.__init__

    def slowly(self):
        made(self)
        post = self.post
        self.post = eval(compile("lambda: (sleep(0.05), post())", "<frozen slow>", "eval"), {"sleep": sleep, "post": post})

    monkeypatch.setattr(HandoffSemaphore, "__init__", slowly)
    result = counted(add_locked, add_locked, setup=Counter, invariant=invariant, schedules=4)
    assert result.verdict == "holds", result.reason


@pytest.mark.slow
def test_without_each_lock_in_turn_a_sensitive_program_fails_and_an_insensitive_one_is_told():
    sensitive = fuzz(add_locked, add_locked, setup=Counter, invariant=is_two, sensitivity=True)
    sensitive.assert_holds()
    assert [lock.noticed for lock in sensitive.locks] == [True]

    def reads(counter):
        with counter.lock:
            return counter.value

    blind = fuzz(reads, reads, setup=Counter, sensitivity=True)
    assert blind.verdict == "inconclusive"
    assert [lock.noticed for lock in blind.locks] == [False]


@pytest.mark.slow
def test_one_lock_that_is_not_needed_is_named_beside_one_that_is():
    def thread(counter):
        with counter.lock:
            counter.value += 1
        with counter.spare:
            pass

    def setup():
        counter = Counter()
        counter.spare = threading.Lock()
        return counter

    result = fuzz(thread, thread, setup=setup, invariant=is_two, sensitivity=True, schedules=60)
    assert result.verdict == "inconclusive"
    assert sorted(lock.noticed for lock in result.locks) == [False, True]


class Buffer:
    """One lock of the program's, which two conditions share, and those that they wait on."""

    def __init__(self):
        self.lock = threading.Lock()
        self.not_empty, self.not_full = threading.Condition(self.lock), threading.Condition(self.lock)
        self.items, self.taken = [], []

    def put_two(self):
        for number in range(2):
            with self.not_full:
                while self.items:
                    self.not_full.wait()
                self.items.append(number)
                self.not_empty.notify()

    def take_two(self):
        for _ in range(2):
            with self.not_empty:
                while not self.items:
                    self.not_empty.wait()
                self.taken.append(self.items.pop())
                self.not_full.notify()


@pytest.mark.slow
def test_the_locks_that_a_wait_makes_are_none_of_the_program():
    def in_order(buffer):
        return buffer.taken == [0, 1]

    result = fuzz(Buffer.put_two, Buffer.take_two, setup=Buffer, invariant=in_order, sensitivity=True)
    result.assert_holds()
    assert len(result.locks) == 1


def test_a_thread_without_code_under_test_waits_at_a_place_that_is_not_ours():
    def leaves_a_thread():
        threading.Thread(target=threading.Event().wait).start()

    result = gilcheck.fuzz(threads=[leaves_a_thread] * 2, schedules=20, judge=False)
    assert "waits for a notification at " in result.reason
    assert f"{threading.__file__}:" in result.reason
    assert "primitives.py" not in result.reason


@pytest.mark.slow
def test_a_semaphore_has_no_lock_that_could_be_taken_away():
    def setup():
        counter = Counter()
        counter.lock = threading.Semaphore(1)
        return counter

    result = fuzz(add_locked, add_locked, setup=setup, invariant=is_two, sensitivity=True)
    assert result.verdict == "inconclusive"
    assert "no lock of its own" in result.reason
    fuzz(add_locked, add_locked, setup=setup, invariant=is_two).assert_holds()


def test_a_program_that_takes_another_path_of_the_same_length_claims_nothing():
    runs = itertools.count()

    def setup():
        counter = Counter()
        counter.run, counter.other = next(runs), 0
        return counter

    def thread(counter):
        if counter.run % 2:
            counter.value = 1
        else:
            counter.other = 1

    result = fuzz(thread, thread, setup=setup)
    assert result.verdict == "inconclusive"
    assert result.why == "not deterministic"


def test_an_assertion_in_the_teardown_is_a_failure():
    kept = []

    def setup():
        kept[:] = [Counter()]
        return kept[0]

    def teardown():
        assert kept[0].value == 2

    program = check.program((add, add), setup, None, None, teardown=teardown)
    result = check.fuzz(program, plan(seed=7, schedules=60))
    result.assert_violated()
    assert "the teardown raised AssertionError" in result.reason


def test_a_program_that_does_something_else_each_time_claims_nothing():
    numbers = itertools.count()

    def thread(counter):
        for _ in range(next(numbers) % 3):
            counter.value += 1

    result = fuzz(thread, thread, setup=Counter)
    assert result.verdict == "inconclusive"
    assert result.why == "not deterministic"


def test_only_a_check_that_claims_nothing_says_why_it_does_not():
    undecided = fuzz(lambda: None, lambda: None)
    broken, sound = (fuzz(each, each, setup=Counter, invariant=is_two) for each in (add, add_locked))
    assert (undecided.verdict, undecided.why) == ("inconclusive", "not explorable")
    assert (broken.verdict, broken.why, broken.told) == ("violated", None, "")
    assert (sound.verdict, sound.why, sound.told) == ("holds", None, "")
    assert replace(sound, conclusion=undecided.conclusion).why == "not explorable", "a template without a reason is never green"


def test_code_without_visible_steps_is_never_green():
    result = fuzz(lambda: None, lambda: None)
    assert result.verdict == "inconclusive"
    assert "no visible step" in result.reason


@pytest.mark.slow
def test_a_search_that_is_cut_short_does_not_hold():
    def many(kept):
        for key in range(400):
            kept[key] = kept.get(key, 0) + 1

    result = gilcheck.fuzz(threads=[many, many], setup=dict, budget=0.05)
    assert result.verdict == "inconclusive"
    assert result.why == "cut short" or "has not ended" in result.reason  # a busy machine may not end one run


@pytest.mark.slow
def test_where_all_schedules_are_too_many_a_sample_is_told_with_its_bound():
    def many(counter):
        for _ in range(25):
            with counter.lock:
                counter.value += 1

    result = counted(many, many, setup=Counter, schedules=120)
    result.assert_holds()
    assert "sampled" in result.reason
    assert "with probability" in result.reason


@pytest.mark.slow
def test_a_sampled_failure_is_made_small():
    def many(counter):
        for _ in range(12):
            with counter.lock:
                counter.other = 1
        counter.value += 1

    result = counted(many, many, setup=Counter, invariant=is_two, schedules=60, seed=1)
    result.assert_violated()
    assert " until one failed" in result.coverage
    assert result.preemptions <= 2


@pytest.mark.skipif(not hasattr(os, "fork"), reason="no fork here")
def test_a_fork_is_refused_and_so_is_an_event_loop():
    def forks(counter):
        counter.value += 1
        if os.fork() == 0:
            os._exit(0)

    result = fuzz(forks, forks, setup=Counter)
    assert result.verdict == "inconclusive"
    assert "it forks (os.fork) at" in result.reason

    def loops(counter):
        counter.value += 1
        loop = asyncio.new_event_loop()
        try:
            loop.run_forever()
        finally:
            loop.close()

    result = fuzz(loops, loops, setup=Counter)
    assert result.verdict == "inconclusive"
    assert "event loop" in result.reason


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        ({"threads": [add, 3]}, "something to call"),
        ({"threads": add}, "a list of callables, one for each thread"),
        ({"setup": 3}, "something to call"),
        ({"invariant": 3}, "something to call"),
        ({"mode": "fast"}, "'search'"),
        ({"replay": "gil1_"}, "a token"),
        ({"replay": "nonsense"}, "a token"),
        ({"replay": 3}, "a token"),
        ({"preemptions": -1}, "at least 0"),
        ({"budget": 0}, "seconds above 0"),
        ({"sensitivity": 1}, "True or False"),
        ({"include": "no_such_module"}, "can be imported"),
        ({"include": "_thread"}, "written in Python"),
        ({"include": 3}, "modules"),
        ({"threads": [add, add, add], "mode": "exhaustive"}, "at most two threads"),
        ({"mode": "stress", "sensitivity": True}, "takes no lock away"),
        ({"mode": "stress", "replay": "gil1_BlsrjvsCAg4BBQLqqQI"}, "follows no schedule"),
    ],
)
def test_a_bad_value_is_refused_with_its_name(arguments, words):
    given = {"threads": [add, add], "setup": Counter} | arguments
    with pytest.raises(BadValue, match=words):
        gilcheck.fuzz(**given)


async def coroutine(state):
    pass


def test_a_coroutine_function_is_refused():
    with pytest.raises(BadValue, match="event loop"):
        gilcheck.fuzz(threads=[coroutine, add], setup=Counter)


def test_a_primitive_in_a_tuple_or_in_defaults_of_a_function_that_takes_part_is_left_alone():
    def thread(counter, pause=time.sleep, _kept=(time.monotonic, threading.Lock)):
        counter.value += 1

    fuzz(thread, thread, setup=Counter, invariant=is_two).assert_violated()


def test_nothing_is_changed_afterwards():
    names = [
        (threading, "Lock"),
        (threading, "RLock"),
        (time, "sleep"),
        (time, "monotonic"),
        (os, "getpid"),
        (threading.Thread, "join"),
    ]
    before = [getattr(*name) for name in names]
    hooks = threading.excepthook, sys.gettrace(), gc.isenabled()
    fuzz(add, add, setup=Counter, invariant=is_two)
    assert [getattr(*name) for name in names] == before
    assert (threading.excepthook, sys.gettrace(), gc.isenabled()) == hooks
    if sys.version_info >= (3, 12):
        assert [sys.monitoring.get_tool(tool) for tool in (3, 4)] == [None, None]


def test_nothing_stays_replaced_if_not_all_could_be(monkeypatch):
    before = threading.Lock
    monkeypatch.setattr(ExistingLocks, "wrap", staticmethod(divmod))  # not code that is under test
    with pytest.raises(TypeError, match="divmod"):
        fuzz(add, add, setup=Counter, invariant=is_two)
    assert threading.Lock is before


@pytest.mark.slow
def test_no_thread_is_left_behind():
    before = set(threading.enumerate())
    fuzz(first_second, second_first, setup=Pair)
    fuzz(wait_carelessly, fill, setup=Mailbox)
    assert set(threading.enumerate()) == before


@pytest.mark.skipif(sys.version_info < (3, 12), reason="sys.monitoring is new in 3.12")
def test_another_tool_that_takes_our_events_is_named():
    monitoring = sys.monitoring
    monitoring.use_tool_id(5, "the other one")
    try:
        monitoring.register_callback(5, monitoring.events.INSTRUCTION, lambda code, offset: None)
        monitoring.set_events(5, monitoring.events.INSTRUCTION)
        result = fuzz(add, add, setup=Counter, invariant=is_two)
        if result.verdict != "violated":
            assert result.verdict == "inconclusive"
            assert "the other one" in result.reason
    finally:
        monitoring.set_events(5, 0)
        monitoring.register_callback(5, monitoring.events.INSTRUCTION, None)
        monitoring.free_tool_id(5)


def test_a_setup_that_fails_at_once_leaves_no_thread_behind():
    class Refused(Exception):
        pass

    def setup():
        raise Refused

    with explorer_for(check.program([add, add], setup, None, None), plan(), lambda label: None) as explorer:
        with pytest.raises(Refused):
            explorer.in_order()
        assert explorer.engine.leaked == 0
