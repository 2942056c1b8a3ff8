"""What is blamed in a line with several calls, operators or statements: the one that ran, or the line."""

import importlib.util

import pytest

from pytest_gilcheck import gilcheck
from pytest_gilcheck.core.fork_safety import can_fork
from pytest_gilcheck.core.interpreter import GIL, build
from pytest_gilcheck.core.source import Position
from pytest_gilcheck.interrupt.ccalls import CCall
from pytest_gilcheck.interrupt.explain import culprit_of
from pytest_gilcheck.interrupt.trial import SignalOutcome, Trial
from tests.undecided import decided

LINES = {
    "calls": ("value = [sum([1]), sum(numbers), sum([2])]", "sum(numbers) at "),
    "statements": ("sum([1]); sum(numbers); sum([2])", "sum(numbers) at "),
    "methods": ("'a'.count('b'); value = len([]) + numbers.count(-1)", "numbers.count(-1) at "),
    "operators": ("same(1) + 2; value = -1 in numbers; same(2) - 1", "`same(1) + 2; value = -1 in numbers; same(2) - 1` at "),
    "operator and call": ("value = same(1) + len(str(-1 in numbers))", "`value = same(1) + len(str(-1 in numbers))` at "),
}
SOURCE = """\
numbers = list(range(4 * 10**7))

def same(value):
    return value

def work():
    while True:
        {line}
"""


@pytest.mark.skipif(can_fork() is not None, reason=f"{can_fork()}")
@pytest.mark.slow
@pytest.mark.parametrize("kind", LINES)
def test_a_line_with_several_parts_is_blamed_for_the_part_that_did_not_look_and_for_no_other(tmp_path, kind):
    line, culprit = LINES[kind]
    file = tmp_path / "several.py"
    file.write_text(SOURCE.format(line=line))
    spec = importlib.util.spec_from_file_location("several", file)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    result = decided(gilcheck.interrupt(module.work, signals="SIGINT", repeats=1, over=0.1, within=0.05, exits_within=5.0, seed=1))
    result.assert_violated()
    assert result.culprit.startswith(f"{culprit}{file}:8 "), result


STACKS = """\
Thread 0x00007f6c3d49f6c0 (most recent call first):
  File "{file}", line 2 in waits

Thread 0x00007f6c3d49f6c1 (most recent call first):
  File "{file}", line 5 in counts

Current thread 0x00007f6c3eff5c40 (most recent call first):
  File "{file}", line 8 in work
"""
THREADS = """\
def waits():
    lock.acquire()

def counts():
    sum(numbers)

def work():
    step()
"""


@pytest.mark.skipif(build() != GIL, reason="no other thread can keep a GIL")
@pytest.mark.parametrize("sorts", [False, True])
def test_a_thread_that_waits_keeps_no_gil_and_of_two_that_may_neither_is_blamed(tmp_path, sorts):
    file = tmp_path / "several.py"
    file.write_text(THREADS.replace("lock.acquire()", "sorted(rows)") if sorts else THREADS)
    first = CCall(2, 10, "sorted" if sorts else "lock.acquire", str(file), Position(2, 2, 4, 16 if sorts else 18))
    calls = [first, CCall(3, 20, "sum", str(file), Position(5, 5, 4, 16))]
    main_first = "\n\n".join(reversed(STACKS.format(file=file).strip().split("\n\n")))
    trial = Trial(2, 0.1, outcome=SignalOutcome.DEAF, dozed=True, others_busy=True, stacks=main_first)
    culprit = culprit_of(trial, calls, 1)
    if sorts:
        assert culprit.startswith("one of these C calls in other threads, which keeps the GIL: sorted(rows) at ")
        assert " and sum(numbers) at " in culprit
    else:
        assert culprit.startswith("sum(numbers) at ")


@pytest.mark.skipif(build() != GIL, reason="no other thread can keep a GIL")
@pytest.mark.parametrize("others", [False, True])
def test_a_line_is_blamed_alone_only_if_no_other_thread_may_have_slept_with_the_gil(tmp_path, others):
    file = tmp_path / "several.py"
    file.write_text(THREADS)
    *other, main = STACKS.format(file=file).strip().split("\n\n")
    trial = Trial(2, 0.1, outcome=SignalOutcome.DEAF, dozed=True, stacks="\n\n".join([main, *other] if others else [main]))
    assert ("another thread, which kept the GIL" in culprit_of(trial)) is others
    assert culprit_of(trial).startswith("`step()` at ")
