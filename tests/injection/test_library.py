"""Library code that a workload enters is stepped through, and a defect of a library is told apart from one of the user's code."""

import asyncio
import concurrent.futures
import contextlib
import threading

import pytest

from pytest_gilcheck import BadValue, gilcheck
from tests.injection.twins import PROGRAMS, UNSAFE
from tests.slow import only

CORE = ("condition_in_with", "generator_with_a_with")


@pytest.mark.parametrize("name", only(CORE, PROGRAMS))
def test_every_program_gets_the_verdict_that_real_signals_gave_it(name):
    work, intact = PROGRAMS[name]()
    result = gilcheck.interrupt(work, inject="every-step", invariant=intact, budget=120)
    assert str(result.verdict) == ("violated" if name in UNSAFE else "holds"), str(result)


@pytest.mark.slow
def test_a_defect_of_the_standard_library_is_said_to_be_one_and_names_the_users_line():
    work, intact = PROGRAMS["condition_in_with"]()
    result = gilcheck.interrupt(work, inject="every-step", invariant=intact)
    result.assert_violated()
    assert "threading.py" in result.reason
    assert "called from `with condition:` at " in result.reason
    assert "no step of your own code breaks anything, so this is a defect of the standard library" in result.reason


@pytest.mark.parametrize("seed", [1, 3])
def test_a_sample_that_has_not_tried_each_step_of_the_users_does_not_blame_the_library(seed):
    def work():
        event = threading.Event()
        with concurrent.futures.ThreadPoolExecutor(1) as pool:
            pool.submit(event.wait)  # which ends only after the next line
            event.set()

    result = gilcheck.interrupt(work, inject="sample", sample=4, seed=seed, budget=20, timeout=3)
    assert result.verdict != "inconclusive"
    assert "defect of" not in result.reason
    assert result.code != "GC302"
    assert result.reached >= 2, "half of a sample is of the user's own steps"


@pytest.mark.slow
def test_a_defect_of_the_users_is_not_blamed_on_the_library():
    lock = threading.Lock()

    def work():
        with contextlib.ExitStack():
            lock.acquire()
            lock.release()

    result = gilcheck.interrupt(work, inject="every-step")
    result.assert_violated()
    assert "defect of" not in result.reason
    assert "`lock.acquire()`" in result.reason


@pytest.mark.slow
def test_include_chooses_what_is_stepped_through_and_a_pass_says_what_was():
    work, intact = PROGRAMS["lock_on_an_exit_stack"]()
    without = gilcheck.interrupt(work, inject="every-step", invariant=intact, include=())
    without.assert_holds()
    assert "not stepped through: contextlib" in without.reason
    assert without.library_steps == 0
    only = gilcheck.interrupt(work, inject="every-step", invariant=intact, include="contextlib")
    only.assert_violated()
    assert only.stepped == ("contextlib",)
    with pytest.raises(BadValue, match="include='math'"):
        gilcheck.interrupt(work, inject="every-step", include="math")
    with pytest.raises(BadValue, match="include='no_such_module'"):
        gilcheck.interrupt(work, inject="every-step", include="no_such_module")


def test_a_pass_names_the_modules_that_were_stepped_through():
    work, intact = PROGRAMS["generator_with_a_with"]()
    result = gilcheck.interrupt(work, inject="every-step", invariant=intact)
    result.assert_holds()
    assert f"and {result.library_tried} steps of contextlib" in result.reason
    assert result.library_tried == result.library_steps > 0
    assert result.figures()["library_tried"] == result.library_tried


@pytest.mark.slow
def test_asyncio_cancels_its_task_in_place_of_an_exception_in_the_middle_of_it():
    state = {"users": 0}

    async def work():
        state["users"] += 1
        await asyncio.sleep(0)
        state["users"] = len([]) + state["users"] - 1  # no await: cancelling does not come between these

    async def guarded():
        state["users"] += 1
        try:
            await asyncio.sleep(0)
        finally:
            len("")
            state["users"] -= 1

    gilcheck.interrupt(work, inject="every-step", invariant=lambda: state["users"] == 0, include=()).assert_violated()
    gilcheck.interrupt(guarded, inject="every-step", invariant=lambda: state["users"] == 0, include=()).assert_holds()


@pytest.mark.slow
def test_a_handler_of_the_workloads_own_runs_in_place_of_an_exception():
    import signal

    state = {"whole": True, "stop": False}

    def work():
        signal.signal(signal.SIGINT, lambda number, frame: state.update(stop=True))
        state["whole"] = False
        sorted([2, 1])
        state["whole"] = True
        signal.signal(signal.SIGINT, signal.default_int_handler)

    gilcheck.interrupt(work, inject="every-step", invariant=lambda: state["whole"]).assert_holds()


@pytest.mark.slow
def test_a_thread_whose_start_was_interrupted_does_not_end_the_check():
    def work():
        thread = threading.Thread(target=int, name="begun")
        thread.start()
        thread.join()

    result = gilcheck.interrupt(work, inject="every-step")
    assert "exited with status" not in str(result)
    if result.verdict == "violated":
        assert "defect of the standard library" in result.reason


def test_a_workload_that_enters_no_library_is_said_to_enter_none():
    numbers = []

    def work():
        numbers.append(1)

    result = gilcheck.interrupt(work, inject="every-step", judge=False)
    assert (result.stepped, result.not_stepped) == ((), ())
    assert result.coverage() == "stepped through: the code under test"
