"""What is blamed for a late signal, where the line at which it was handled is all that is known."""

import pytest

from pytest_gilcheck.core.interpreter import GIL, build
from pytest_gilcheck.interrupt.explain import culprit_of
from pytest_gilcheck.interrupt.trial import SignalOutcome, Trial


@pytest.mark.skipif(build() != GIL, reason="no other thread can keep a GIL")
@pytest.mark.parametrize(("line", "innocent"), [("time.sleep(0.01)", True), ("lock.acquire()", True), ("sorted(numbers)", False)])
def test_a_call_that_waits_and_checks_for_signals_is_not_blamed_for_a_late_one(tmp_path, line, innocent):
    file = tmp_path / "work.py"
    file.write_text(f"def work():\n    {line}\n")
    trial = Trial(2, 0.1, outcome=SignalOutcome.LATE, place=(str(file), 2, "work", 2, 4, 4 + len(line)))
    assert culprit_of(trial).startswith("another thread, which kept the GIL") is innocent
    assert f"`{line}` at " in culprit_of(trial)


@pytest.mark.parametrize(("lines", "said"), [([], ""), ([3], ":3 (work)"), ([3, 9], ":3 (work) and at "), ([1, 2, 3, 4], "")])
def test_processes_that_are_left_are_followed_by_where_the_workload_starts_some_unless_these_are_many(lines, said):
    born = tuple(("born", "work.py", line, "work") for line in lines)
    culprit = culprit_of(Trial(2, 0.1, outcome=SignalOutcome.LEFT_BEHIND, detail="sleep (pid 7)", notes=born))
    assert culprit.startswith("sleep (pid 7)")
    assert ("the workload starts processes at " in culprit) is bool(said)
    assert said in culprit


LINGERING = """\
Thread 0x00000000000000aa (most recent call first):
  File "/code/innocent.py", line 5 in daemon

Thread 0x00000000000000bb [worker] (most recent call first):
  File "/code/guilty.py", line 7 in stays

Current thread 0x00000000000000cc (most recent call first):
  File "/code/work.py", line 9 in work
"""


@pytest.mark.parametrize(("lingering", "place"), [((0xBB,), ", at /code/guilty.py:7 (stays)"), ((0xDD,), ""), ((), "")])
def test_only_a_thread_that_the_process_waits_for_is_said_to_be_where_it_lingers(lingering, place):
    trial = Trial(2, 0.1, outcome=SignalOutcome.LINGERS, detail="'Thread-1', ...", lingering=lingering, stacks=LINGERING)
    assert culprit_of(trial) == "'Thread-1', ..." + place
