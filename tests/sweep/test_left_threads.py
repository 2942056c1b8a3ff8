"""A thread that a test leaves running: no process is forked from then on, but those from before it are asked."""

import pytest

from .test_servers import LAZY
from .test_servers import sweep as sweep  # the fixture
from .test_sweep import counted

LEAKS = """
import threading
STATE = {}

def test_leaves_a_thread():
    STATE["rows"] = [1]
    threading.Thread(target=threading.Event().wait, name="left-behind", daemon=True).start()
"""
REFUSES = "threads are running that a fork would lose: left-behind"


def test_a_race_after_a_thread_was_left_is_found_and_what_shares_nothing_is_claimed(sweep):
    suite = f"""{LEAKS}
def test_lazy():
    assert shop.Lazy.get() is shop.Lazy.get()

def test_own(tmp_path):
    assert tmp_path and sorted([2, 1]) == [1, 2]
"""
    racy, lines = sweep(suite, shop=LAZY)
    racy.assert_outcomes(passed=4)
    assert counted(lines)["shares nothing that was seen"] == 2
    assert any(line.startswith("cause in your package: shop.py:") for line in lines)
    sound, lines = sweep(suite, shop=f"{LAZY}\nLazy.get()\n")
    sound.assert_outcomes(passed=4)
    assert sound.ret == 0
    assert counted(lines)["shares nothing that was seen"] == 3
    assert not any(REFUSES in line or line.startswith("cause") for line in lines)


@pytest.mark.parametrize(
    ("body", "why"),
    [
        pytest.param("assert STATE['rows'] == [1]", "a process from before cannot tell, as it may lack ", id="needs"),
        pytest.param("threading.Thread(target=int).start()", "a test with threads of its own needs a process ", id="threads"),
        pytest.param("assert late", "no process from before has what is set up around this test", id="wider"),
    ],
)
def test_what_only_a_new_process_could_tell_is_refused_and_the_reason_names_the_thread(sweep, body, why):
    late = "@pytest.fixture(scope='class')\ndef late():\n    return [1]\n"
    suite = f"{LEAKS}\n{late}\nclass TestOne:\n    def test_after(self{', late' * ('late' in body)}):\n        {body}\n"
    result, lines = sweep(f"{suite}\ndef test_last():\n    assert 2 + 2 == 4\n")
    result.assert_outcomes(passed=4)
    assert result.ret == 0
    [line] = [line for line in lines if REFUSES in line]
    assert line.startswith(f"1 {REFUSES}; {why}")
    assert "::test_after" in line
    assert counted(lines)["shares nothing that was seen"] == 2, "the first and the last"


def test_where_the_thread_is_there_from_the_first_test_on_all_are_refused_with_its_name(sweep):
    suite = LEAKS.replace("def test_leaves_a_thread():", "if True:")
    result, lines = sweep(suite)
    result.assert_outcomes(passed=1)
    assert counted(lines) == {"refused": 1}
    assert any(f"1 {REFUSES} (test_suite.py::test_trivial)" in line for line in lines)


def test_an_opt_out_after_a_thread_was_left_is_still_told_as_not_needed(sweep):
    suite = f"{LEAKS}\n@pytest.mark.parallel_threads(1)\ndef test_opted_out():\n    assert 2 + 2 == 4\n"
    _, lines = sweep(suite)
    assert counted(lines)["left out"] == 1
    assert any(line.startswith("opt-outs without which") for line in lines)


NO_MORE_FORKS = """
import pytest_gilcheck.adaptors.sweep_fork as forks
from pytest_gilcheck.core.fork_safety import NoFork

made, real = [], forks.forked

def forked(own_group):
    made.append(1)
    if len(made) > 1:
        raise NoFork(11, "too many")
    return real(own_group)

forks.forked = forked
"""
SHARES = """
STATE = {}

def test_lazy():
    STATE["rows"] = [1]
    assert shop.Lazy.get() is shop.Lazy.get()

def test_own():
    assert sorted([2, 1]) == [1, 2]

def test_needs():
    assert STATE["rows"] == [1]
"""


def test_where_the_system_refuses_a_fork_a_process_from_before_is_asked(sweep, pytester):
    pytester.makepyfile(no_more_forks=NO_MORE_FORKS)
    result, lines = sweep(SHARES, "-p", "no_more_forks", shop=LAZY)
    result.assert_outcomes(passed=4)
    assert any(line.startswith("cause in your package: shop.py:") for line in lines)
    found = counted(lines)
    assert (found["shares nothing that was seen"], found["refused"]) == (2, 1)
    assert any("1 the system refuses a fork ([Errno 11] too many); a process from before cannot tell" in line for line in lines)
