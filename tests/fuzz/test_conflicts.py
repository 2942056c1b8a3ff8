"""Conflicts decide: which schedules are tried first, what is left out, and when that is a proof."""

import base64
import copy
import itertools
import json
import math
import os
import posixpath
import queue
import random
import re
import sys
import threading
import time
import unicodedata
from types import SimpleNamespace

import pytest

from pytest_gilcheck.engine.bytecode import stack
from pytest_gilcheck.search.bound import Bound

from ..slow import one_in
from .ladder import RACY, Rung, State
from .programs import SETTLED, Counter, add, add_locked, counted, is_two, no_time_for_records, reduced


class Own:
    def __init__(self):
        self.values = [[0] for _ in range(4)]


def in_its_own(which):
    def thread(own):
        mine = own.values[which]
        for number in range(10):
            mine[0] += number

    return thread


def runs(result):
    """The number of schedules after which no conflict was left."""
    assert result.bound in SETTLED, str(result)
    return int(re.search(r": ([\d,]+) schedule", result.coverage)[1].replace(",", ""))


def test_threads_that_share_nothing_are_settled_by_one_run():
    result = counted(*map(in_its_own, range(4)), setup=Own, schedules=100)
    result.assert_holds()
    assert runs(result) == 1


@pytest.mark.slow
def test_eight_threads_of_ten_steps_under_one_lock_are_settled():
    def ten_steps(counter):
        with counter.lock:
            for _ in range(5):
                counter.value += 1

    result = counted(*[ten_steps] * 8, setup=Counter, invariant=lambda counter: counter.value == 40, schedules=100)
    result.assert_holds()
    assert runs(result) <= 5


@pytest.mark.slow
def test_threads_that_differ_under_a_lock_are_settled_in_every_order_of_the_lock():
    def appends(which):
        def thread(kept):
            with kept.lock:
                kept.items.append(which)

        return thread

    class Kept:
        def __init__(self):
            self.lock, self.items = threading.Lock(), []

    seen = set()
    result = counted(*map(appends, range(3)), setup=Kept, invariant=lambda kept: seen.add(tuple(kept.items)), schedules=300)
    result.assert_holds()
    assert result.bound in SETTLED
    assert len(seen) == 6
    broken = counted(*map(appends, range(3)), setup=Kept, invariant=lambda kept: kept.items != [2, 0, 1], schedules=300)
    broken.assert_violated()


def with_clock(counter):
    with counter.lock:
        counter.value += time.monotonic() > 0


def with_unknown_code(counter):
    with counter.lock:
        counter.value += len(copy.copy([1]))


def with_unknown_function(counter):
    with counter.lock:
        counter.value += int(next(itertools.compress("1", "1")))


def with_random_number(counter):
    with counter.lock:
        counter.value += 1 + int(random.random())


def with_sleep(counter):
    time.sleep(0.1)
    add_locked(counter)


@pytest.mark.parametrize("thread", one_in(2, [with_clock, with_random_number, with_sleep]))
def test_what_no_schedule_decides_is_never_settled(thread):
    result = counted(thread, thread, setup=Counter, invariant=is_two, schedules=40)
    result.assert_holds()
    assert result.bound not in SETTLED


@pytest.mark.parametrize("thread", [with_unknown_code, with_unknown_function])
def test_a_locked_program_with_a_call_of_which_it_is_a_guess_what_it_touches_is_not_called_independent(thread):
    result = counted(thread, thread, setup=Counter, invariant=is_two, schedules=300)
    result.assert_holds()
    assert result.bound is not Bound.INDEPENDENT


@pytest.mark.slow
def test_what_one_run_leaves_to_the_next_one_is_never_settled_and_its_twin_that_is_made_anew_is():
    stays = []

    def thread(counter):
        with counter.lock:
            stays.append(1)
            counter.value += 1

    def anew(counter):
        with counter.lock:
            counter.items.append(1)
            counter.value += 1

    def with_items():
        counter = Counter()
        counter.items = []
        return counter

    result = counted(thread, thread, setup=Counter, invariant=is_two, schedules=40)
    result.assert_holds()
    assert result.bound not in SETTLED
    assert counted(anew, anew, setup=with_items, invariant=is_two, schedules=40).bound in SETTLED


@pytest.mark.slow
@pytest.mark.parametrize("racy", RACY)
@pytest.mark.parametrize("place", ["early", "middle", "late"])
def test_one_racy_pair_among_two_hundred_steps_is_found_within_twenty_schedules_and_reported_with_one_preemption(racy, place):
    rung = Rung(racy, 200, place)
    result = counted(*rung.threads, setup=State, invariant=rung.invariant, schedules=20)
    result.assert_violated()
    assert result.preemptions == 1, str(result)
    assert result.steps > 150


@pytest.mark.slow
def test_sixteen_threads_that_lose_one_update_have_one_preemption_in_the_report():
    result = counted(*[add] * 16, setup=Counter, invariant=lambda counter: counter.value == 16, schedules=40)
    result.assert_violated()
    assert result.preemptions == 1


@pytest.mark.skipif(
    not stack.OFFSET or sys.version_info < (3, 13), reason="its stack is not shown, or not while the instruction calls something"
)
def test_the_operands_of_an_instruction_are_what_its_code_has_loaded():
    seen = []

    def look(*arguments):
        caller = sys._getframe(1)
        seen.append((stack.operands_of(caller, 4), arguments))

    one, other = object(), object()
    local = one
    kept = [0, look(local, other)]
    [(operands, arguments)] = seen
    assert kept == [0, None]
    assert operands is not None
    assert operands[-2:] == arguments == (one, other)
    assert look in operands


class Waiting:
    def __init__(self):
        self.event, self.condition, self.few = threading.Event(), threading.Condition(), threading.Semaphore(1)
        self.queue, self.value, self.seen = queue.Queue(), 0, []


def sets(waiting):
    waiting.value = 1
    waiting.event.set()


def sets_too_early(waiting):
    waiting.event.set()
    waiting.value = 1


def awaits(waiting):
    waiting.event.wait()
    waiting.seen.append(waiting.value)


def notifies(waiting):
    with waiting.condition:
        waiting.value = 1
        waiting.condition.notify()


def awaits_notice(waiting):
    with waiting.condition:
        while not waiting.value:
            waiting.condition.wait()
        waiting.seen.append(waiting.value)


def awaits_no_notice(waiting):
    with waiting.condition:
        waiting.seen.append(waiting.value)


def adds_alone(waiting):
    with waiting.few:
        waiting.value += 1


def adds_beside_others(waiting):
    with waiting.few:
        pass
    waiting.value += 1


def puts(waiting):
    waiting.queue.put(1)


def gets(waiting):
    waiting.seen.append(waiting.queue.get())


def gets_or_not(waiting):
    waiting.seen.append(waiting.queue.qsize())


def saw_one(waiting):
    return waiting.seen == [1]


def is_two_(waiting):
    return waiting.value == 2


@pytest.mark.slow
@pytest.mark.parametrize(
    ("threads", "broken", "invariant"),
    one_in(
        2,
        [
            pytest.param((notifies, awaits_notice), (notifies, awaits_no_notice), saw_one),
            pytest.param((sets, awaits), (sets_too_early, awaits), saw_one),
            pytest.param((puts, gets), (puts, gets_or_not), saw_one),
            pytest.param((adds_alone, adds_alone), (adds_beside_others, adds_beside_others), is_two_),
        ],
    ),
)
def test_who_waits_for_an_event_a_notice_a_place_or_an_item_is_settled_and_who_does_not_wait_is_found(threads, broken, invariant):
    result = counted(*threads, setup=Waiting, invariant=invariant, schedules=200)
    result.assert_holds()
    assert result.bound in SETTLED, str(result)
    counted(*broken, setup=Waiting, invariant=invariant, schedules=200).assert_violated()


class Conditioned:
    def __init__(self):
        self.lock, self.value = Plain(), 0
        self.condition = threading.Condition(self.lock)


class Plain:
    """A lock that is code under test, so a condition on it does what nobody knows."""

    def __init__(self):
        self.real = threading.Lock()

    def acquire(self, *how):
        return self.real.acquire(*how)

    def release(self):
        self.real.release()

    def locked(self):  # a condition asks for it from 3.14 on
        return self.real.locked()

    def __enter__(self):
        return self.acquire()

    def __exit__(self, *error):
        self.release()


def adds_with_condition(state):
    with state.condition:
        state.value += 1
        state.condition.notify()


class Louder(threading.Event):
    def set(self):
        self.called = getattr(self, "called", 0) + 1
        super().set()


def sets_louder(state):
    state.event.set()


class Loud:
    def __init__(self):
        self.event = Louder()


class Replaced:
    def __init__(self):
        self.queue = queue.Queue()
        plain = self.queue._put
        self.queue._put = lambda item: plain(item)


def puts_by_another_method(state):
    state.queue.put(1)


@pytest.mark.slow
def test_a_condition_on_a_lock_of_ones_own_a_derived_class_and_a_replaced_method_hold():
    counted(adds_with_condition, adds_with_condition, setup=Conditioned, invariant=is_two, schedules=60).assert_holds()
    counted(sets_louder, sets_louder, setup=Loud, schedules=60).assert_holds()
    counted(puts_by_another_method, puts_by_another_method, setup=Replaced, schedules=60).assert_holds()


def draws(counter):
    counter.value = os.urandom(2)


def draws_another(counter):
    counter.drawn = os.urandom(2)


def test_who_draws_first_is_never_left_out_of_a_proof():
    assert counted(draws, draws_another, setup=Counter, schedules=60).bound not in SETTLED


class Words:
    def __init__(self):
        self.lock = threading.Lock()
        self.lines, self.raw, self.counts, self.asked = ["the  Cat", "a dog"], bytearray(b"abc"), {}, False
        self.found = re.match(b"a", self.raw)

        class Level:
            def __add__(self, other):
                return 1

        self.kind, self.level = Level, Level()


def in_pure_functions(words):
    """What these return depends on their arguments alone."""
    for line in words.lines:
        plain = re.sub(r"\s+", " ", line).lower()
        found = re.search(r"[a-z]+$", plain)
        assert found.group() in ("cat", "dog")
        assert base64.b64decode(base64.b64encode(plain.encode())) == plain.encode()
        assert json.loads(json.dumps(plain)) == plain
        assert math.sqrt(4) == 2
        assert posixpath.join("a", unicodedata.normalize("NFC", plain)) == f"a/{plain}"


@pytest.mark.slow
def test_threads_that_call_functions_of_values_alone_are_settled():
    result = counted(in_pure_functions, in_pure_functions, setup=Words, schedules=100)
    result.assert_holds()
    assert runs(result) <= 2


def counts_matches(words):
    def count(match):
        words.counts["n"] = words.counts.get("n", 0) + 1
        return ""

    re.sub("b", count, "abba")


def counts_matches_under_a_lock(words):
    with words.lock:
        counts_matches(words)


def four(words):
    return words.counts == {"n": 4}


@pytest.mark.slow
def test_a_function_that_such_a_call_calls_makes_steps_of_its_own():
    counted(counts_matches, counts_matches, setup=Words, invariant=four, schedules=200).assert_violated()
    result = counted(counts_matches_under_a_lock, counts_matches_under_a_lock, setup=Words, invariant=four, schedules=200)
    result.assert_holds()
    assert result.bound in SETTLED


def collects(words):
    before = len(words.lines)
    re.sub("b", words.lines.append, "abba")
    assert len(words.lines) == before + 2


def test_a_function_in_c_that_such_a_call_calls_is_not_known():
    counted(collects, collects, setup=Words, schedules=200).assert_violated()


def reads_what_it_matched(words):
    assert words.found.group() == b"a"


def changes_it(words):
    words.raw[0] = ord("b")
    words.raw[0] = ord("a")


@pytest.mark.slow
def test_what_looks_into_an_argument_that_others_change_is_no_such_call():
    counted(reads_what_it_matched, changes_it, setup=Words, schedules=200).assert_violated()


def escapes(words):
    words.asked = True
    assert base64.b64encode(b"a") == b"YQ=="


def replaces_what_that_calls(words):  # in one of the two orders, so no state is seen to outlive its run
    if words.asked:
        real = base64.binascii
        base64.binascii = Fake
        base64.binascii = real


def loads(words):
    words.asked = True
    assert json.loads("1") == 1


def replaces_a_method(words):
    if words.asked:
        real = json.JSONDecoder.decode
        json.JSONDecoder.decode = lambda self, text: 2
        json.JSONDecoder.decode = real


def replaces_an_attribute(words):
    if words.asked:
        decoder = json._default_decoder
        decoder.decode = lambda text: 2
        del decoder.decode


class Fake:
    b2a_base64 = staticmethod(lambda text, newline=False: b"")


@pytest.mark.parametrize(
    ("uses", "changes"), [(escapes, replaces_what_that_calls), (loads, replaces_a_method), (loads, replaces_an_attribute)]
)
@pytest.mark.slow
def test_whoever_changes_a_module_or_class_or_object_of_the_standard_library_is_met_by_who_uses_it(uses, changes):
    counted(uses, changes, setup=Words, schedules=200).assert_violated()


def adds(words):
    words.counts["sum"] = words.level + 1


def changes_the_operator(words):
    words.kind.__add__ = lambda self, other: 2
    words.kind.__add__ = lambda self, other: 1


def test_an_operator_that_is_changed_on_its_class_is_met_by_who_uses_it():
    found = counted(adds, changes_the_operator, setup=Words, invariant=lambda words: words.counts["sum"] == 1, schedules=200)
    found.assert_violated()


@pytest.mark.slow
def test_schedules_that_passed_without_a_record_are_recorded_later_and_prove_as_much():
    def appends(which):
        def thread(kept):
            with kept.lock:
                kept.value += which
            kept.value  # noqa: B018 - a race

        return thread

    found = []
    for fits in (no_time_for_records, lambda runs, seconds: True):
        with reduced(*map(appends, range(3)), invariant=None, most=1000, fits=fits) as reduction:
            found.append((reduction.finished, reduction.doubt, reduction.failure))
            assert reduction.records > 1
    assert found == [(True, "", None)] * 2


@pytest.mark.slow
def test_the_attributes_of_a_simple_namespace_are_known():
    def locked(state):
        with state.lock:
            state.value += 1

    def setup():
        return SimpleNamespace(value=0, lock=threading.Lock())

    result = counted(locked, locked, setup=setup, invariant=is_two, schedules=50)
    result.assert_holds()
    assert result.bound in SETTLED, result.reason
    assert counted(add, add, setup=setup, invariant=is_two, schedules=50).preemptions == 1


@pytest.mark.parametrize("text", one_in(4, ["ab", "a\u0101", b"ab", range(2)]))
def test_a_loop_over_what_never_changes_is_known(text):
    def count_locked(counter):
        for _ in text:
            with counter.lock:
                counter.value += 1

    def count(counter):
        for _ in text:
            counter.value += 1

    result = counted(count_locked, count_locked, setup=Counter, invariant=lambda counter: counter.value == 4, schedules=200)
    assert result.bound in SETTLED, result.reason
    assert counted(count, count, setup=Counter, invariant=lambda counter: counter.value == 4, schedules=200).verdict == "violated"
