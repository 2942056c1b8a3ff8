"""The marker ``gil_fuzz`` in real pytest runs."""

import json
import re

import pytest

COUNTER = """
import threading
import pytest

class Counter:
    def __init__(self):
        self.value = 0

    def add(self):
        self.value += 1

@pytest.fixture
def lock():
    return threading.Lock()

made = []

@pytest.fixture
def counter():
    counter = Counter()
    made.append(counter)
    yield counter
    assert counter.value == 2, f"it is {counter.value}"
"""


def test_a_race_fails_with_its_steps_and_the_same_with_a_lock_passes(run):
    result = run(
        COUNTER
        + """
@pytest.mark.gil_fuzz(schedules=100)
def test_racy(counter):
    counter.add()

@pytest.mark.gil_fuzz(schedules=100)
def test_locked(counter, lock):
    with lock:
        counter.add()
"""
    )
    result.assert_outcomes(failed=1, passed=1)
    result.stdout.fnmatch_lines(
        [
            "*test_racy: violated GIL-MASKED: invariant: the teardown raised AssertionError: it is 1; with 1 preemption",
            "*replay: gilcheck replay gil1_*",
            "*T0 is preempted: T1 runs*",
            "*decided by*",
            "*replayed    10 of 10*",
        ]
    )


def test_a_lock_of_the_module_of_a_fixture_is_under_control(run, pytester):
    pytester.makeconftest(
        """
import helper, pytest

@pytest.fixture
def counter():
    counter = helper.Counter()
    yield counter
    assert counter.value == 2
"""
    )
    pytester.makepyfile(
        helper="""
import threading

LOCK = threading.Lock()

class Counter:
    def __init__(self):
        self.value, self.add = 0, lambda: add(self)

def add(counter):
    with LOCK:
        before = counter.value
        counter.value = before + 1
"""
    )
    result = run(
        """
import pytest

@pytest.mark.gil_fuzz(schedules=100)
def test_locked(counter):
    counter.add()
"""
    )
    result.assert_outcomes(passed=1)


def test_function_scoped_fixtures_are_new_for_every_schedule_and_wider_ones_are_not(run):
    result = run(
        COUNTER
        + """
@pytest.fixture(scope="module")
def shared():
    return []

@pytest.mark.gil_fuzz(schedules=100)
def test_it(counter, shared, lock):
    with lock:
        counter.add()
    shared.append(counter)

def test_it_was_shared(shared):
    pass
"""
        + """
def test_there_were_many():
    assert len(made) > 20
""",
        "--gilcheck-isolate=none",
    )
    result.assert_outcomes(passed=3)


@pytest.mark.slow
def test_parameters_methods_and_temporary_folders_work(run):
    run(
        COUNTER
        + """
class TestThings:
    def setup_method(self):
        self.kept = []

    @pytest.mark.gil_fuzz(schedules=50)
    @pytest.mark.parametrize("size", [1, 2])
    def test_it(self, size, lock, tmp_path):
        with lock:
            self.kept.append(size)
            (tmp_path / str(len(self.kept))).touch()
        assert len(self.kept) <= 2
"""
    ).assert_outcomes(passed=2)


@pytest.mark.slow
def test_a_fixture_is_set_up_again_for_each_schedule_and_so_is_a_container_but_no_other_value_of_a_parameter(run, pytester):
    pytester.makeconftest(
        """
import pytest

@pytest.hookimpl(tryfirst=True)
def pytest_fixture_setup(fixturedef):
    with open("set-ups", "a") as file:
        print(fixturedef.argname, file=file)
"""
    )
    run(
        """
import pytest

@pytest.fixture
def made():
    return []

@pytest.mark.gil_fuzz(schedules=20)
@pytest.mark.parametrize("size", [1, 2])
def test_with_a_fixture(size, made):
    made.append(size)
    assert made[-1] == size

@pytest.mark.gil_fuzz(schedules=20)
@pytest.mark.parametrize("width", [[3]])
def test_without(width):
    width.append(3)
    assert width[-1] == 3
"""
    ).assert_outcomes(passed=3)
    made = (pytester.path / "set-ups").read_text().split()
    assert made.count("made") > 3 * made.count("size")
    assert made.count("width") > 3
    assert made.count("size") == 2


@pytest.mark.slow
def test_a_test_that_fails_without_concurrency_shows_its_own_failure_and_a_skip_is_a_skip(run):
    result = run(
        """
import pytest

@pytest.mark.gil_fuzz
def test_fails():
    assert 1 == 2

@pytest.mark.gil_fuzz
def test_skips():
    pytest.skip("not today")
"""
    )
    result.assert_outcomes(failed=1, skipped=1)
    result.stdout.fnmatch_lines(["*assert 1 == 2*"])


@pytest.mark.slow
def test_with_hypothesis_each_example_is_drawn_before_its_schedules_are_searched(run):
    result = run(
        """
import pytest
from hypothesis import given, settings, strategies as st

total = {"n": 0}

@pytest.mark.gil_fuzz(schedules=50)
@settings(max_examples=5, database=None)
@given(size=st.integers(1, 3))
def test_racy(size):
    before = total["n"]
    total["n"] = before + size
    assert total["n"] == before + size

@pytest.mark.gil_fuzz(schedules=50)
@settings(max_examples=5, database=None)
@given(size=st.integers(1, 3))
def test_harmless(size):
    assert total.get("other", size) == size
""",
        plugins=["hypothesispytest"],
    )
    result.stdout.fnmatch_lines(["*: test_racy(", "*size=1*"])
    result.assert_outcomes(failed=1, passed=1)


@pytest.mark.slow
def test_a_coroutine_is_refused(run):
    result = run("import pytest\n@pytest.mark.gil_fuzz\nasync def test_it():\n    pass\n")
    assert "their event loop schedules them" in result.stdout.str()
    result.assert_outcomes(errors=1)


def test_an_invariant_that_does_nothing_when_it_is_called_is_refused(run):
    result = run("""
import pytest

async def coroutine(tmp_path):
    assert not tmp_path

def generator():
    yield

class Asynchronous:
    async def __call__(self):
        pass

@pytest.mark.gil_fuzz(invariant=coroutine)
def test_coroutine(tmp_path):
    pass

@pytest.mark.gil_fuzz(invariant=generator)
def test_generator():
    pass

@pytest.mark.gil_fuzz(invariant=Asynchronous())
def test_called():
    pass
""")
    result.stdout.fnmatch_lines(
        [f"*invariant=*{name}*expected a plain function: *" for name in ("coroutine", "generator", "Asynchronous")]
    )
    result.assert_outcomes(failed=3)


@pytest.mark.slow
def test_a_token_is_replayed_from_the_command_line_and_diverges_for_other_code(run):
    program = """
import pytest

class Counter:
    value = 0

@pytest.fixture
def counter():
    return Counter()

def check(counter):
    return counter.value == 2

@pytest.mark.gil_fuzz(schedules=100, invariant=check)
def test_racy(counter):
    counter.value += 1
"""
    token = re.search(r"gilcheck replay (\S+)", run(program).stdout.str())[1]
    again = run(program, f"--gilcheck-replay={token}")
    again.assert_outcomes(failed=1)
    again.stdout.fnmatch_lines(["*; replayed*"])
    other = run(
        program.replace("counter.value += 1", "value = counter.value\n    other = [value]\n    counter.value = len(other)"),
        f"--gilcheck-replay={token}",
    )
    other.assert_outcomes(failed=1)
    other.stdout.fnmatch_lines(["*gilcheck: *"])
    other.stdout.no_fnmatch_line("*nothing was replayed*")
    several = run(
        program.replace(
            "    counter.value += 1",
            """
    runs = pathlib.Path("runs")
    number = len(runs.read_text()) if runs.exists() else 0
    runs.write_text("x" * (number + 1))
    counter.value += 1
    for _ in range(number % 5):
        counter.last = number
""",
        ).replace("import pytest", "import pathlib, pytest"),
        f"--gilcheck-replay={token}",
    )
    several.assert_outcomes(skipped=1)
    assert several.ret == pytest.ExitCode.TESTS_FAILED, "it does not say that the test no longer fails"
    several.stdout.fnmatch_lines(["gilcheck: the replay of * was not decided: not deterministic: *; so no replay is possible*"])
    renamed = run(program.replace("test_racy", "test_other").replace("value += 1", "value = 2"), f"--gilcheck-replay={token}")
    renamed.assert_outcomes(passed=1)
    assert renamed.ret == pytest.ExitCode.USAGE_ERROR
    renamed.stdout.fnmatch_lines(["*so nothing was replayed"])


@pytest.mark.slow
def test_with_dist_each_the_workers_share_the_schedules(run):
    result = run(
        COUNTER
        + """
@pytest.mark.gil_fuzz(schedules=100)
def test_locked(counter, lock):
    with lock:
        counter.add()
""",
        "--dist=each",
        "--tx=2*popen",
        "-rA",
    )
    result.assert_outcomes(passed=2)
    assert "(share 1 of 2)" in result.stdout.str()
    assert "(share 2 of 2)" in result.stdout.str()


@pytest.mark.slow
def test_an_inconclusive_search_skips_the_test_and_fails_it_if_strict(run):
    program = """
import pytest

@pytest.fixture
def kept():
    return {}

@pytest.mark.gil_fuzz(budget=0.01)
def test_it(kept):
    for key in range(500):
        kept[key] = kept.get(key, 0) + 1
"""
    run(program).assert_outcomes(skipped=1)
    run(program, "--gilcheck-strict").assert_outcomes(failed=1)


@pytest.mark.slow
def test_state_that_outlives_a_schedule_fails_the_test_by_its_own_error_and_is_no_violation(run, pytester):
    result = run(
        """
import threading

import pytest

@pytest.fixture(scope="module")
def cache():
    return {}

@pytest.fixture(scope="session")
def seen():
    return []

kept, torn = [], []

@pytest.fixture
def closing():
    yield
    assert len(torn) < 3, "torn down too often"

@pytest.mark.gil_fuzz(schedules=50)
def test_first_run_again(cache):
    assert "key" not in cache, "not empty"
    cache["key"] = 1

@pytest.mark.gil_fuzz(schedules=50)
def test_much_later(seen):
    seen.append(1)
    assert len(seen) < 30

@pytest.mark.gil_fuzz(schedules=50)
def test_module():
    kept.append(1)
    assert len(kept) <= 2

@pytest.mark.gil_fuzz(schedules=50)
def test_teardown(closing):
    torn.append(1)

@pytest.fixture
def filled():
    return []

lock = threading.Lock()  # pytest makes a fixture without one, and two threads that ask at once break an assertion of its own

@pytest.mark.gil_fuzz(schedules=50)
def test_asks(request):
    with lock:
        filled = request.getfixturevalue("filled")
        filled.append(1)
    assert len(filled) < 4
""",
        "--gilcheck-json=e.json",
    )
    result.assert_outcomes(failed=5)
    again = "fails when it runs again, without any concurrency"
    anew = "and only function-scoped fixtures are made anew for each schedule"
    in_module = "the test keeps state outside its fixtures, such as in its module"
    asked = "the test can ask 'request' for fixtures"
    for shared in ("'cache' is module-scoped", "'seen' is session-scoped", in_module, asked):
        result.stdout.fnmatch_lines([f"E *{again}: {shared}, {anew}"])
    for own in ("*AssertionError: not empty*", "*assert ?? < 30*", "*assert ? <= 2*", "*torn down too often*"):
        result.stdout.fnmatch_lines([own])
    records = json.loads((pytester.path / "e.json").read_text())["records"]
    assert [record["verdict"] for record in records] == ["inconclusive"] * 5
    assert all(record["reason"].startswith(f"not repeatable: it {again}") for record in records)


@pytest.mark.slow
def test_a_race_on_state_that_outlives_a_schedule_is_violated_and_with_a_lock_it_holds(run):
    result = run(
        """
import threading, pytest

@pytest.fixture(scope="module")
def counts():
    return {"n": 0}

lock = threading.Lock()

def add(counts):
    before = counts["n"]
    counts["n"] = before + 1
    assert counts["n"] == before + 1

@pytest.mark.gil_fuzz(schedules=50)
def test_racy(counts):
    add(counts)

@pytest.mark.gil_fuzz(schedules=50)
def test_locked(counts):
    with lock:
        add(counts)

@pytest.mark.gil_fuzz(schedules=50)
def test_fails_alone(counts):
    assert counts is None
"""
    )
    result.assert_outcomes(failed=2, passed=1)
    result.stdout.fnmatch_lines(["*test_racy: violated*with 1 preemption", "*assert {'n': * is None"])
    assert "runs again" not in result.stdout.str()


RERUNS = """
import pytest
from _pytest.runner import runtestprotocol

@pytest.hookimpl(tryfirst=True)
def pytest_runtest_protocol(item, nextitem):  # as pytest-rerunfailures does
    for again in range(2):
        item._initrequest()
        reports = runtestprotocol(item, nextitem=nextitem if again else None, log=False)  # the wider fixtures, too, are new
        failed = any(report.failed for report in reports)
        for report in reports:
            if failed and again == 0 and report.failed: report.outcome = "rerun"
            item.ihook.pytest_runtest_logreport(report=report)
        if not failed: break
    return True
"""


@pytest.mark.slow
def test_a_schedule_that_broke_a_test_once_is_a_proof_that_no_rerun_takes_back(run, pytester):
    pytester.makeconftest(RERUNS)
    result = run(
        """
import pathlib, pytest

class Counter:
    value = 0

@pytest.fixture
def counter():
    return Counter()

def is_first_run(name):
    path = pathlib.Path(name)
    exists = path.exists()
    path.touch()
    return not exists

@pytest.fixture(scope="module")
def first_run():
    return is_first_run("racy")

@pytest.mark.gil_fuzz(schedules=100, invariant=lambda counter, first_run: counter.value == 2 or not first_run)
def test_racy(counter, first_run):  # in the second run, nothing is wrong
    counter.value += 1

def test_flaky(gilcheck):
    assert not is_first_run("flaky")
""",
        "--gilcheck-json=e.json",
    )
    assert result.parseoutcomes()["passed"] == 1
    result.stdout.fnmatch_lines(["*found a schedule that breaks it, which no rerun can take back: invariant: *"])
    records = json.loads((pytester.path / "e.json").read_text())["records"]
    assert {record["verdict"] for record in records if "racy" in record["subject"]} == {"violated"}


@pytest.mark.slow
@pytest.mark.parametrize("hidden", ["", pytest.param("fork", marks=pytest.mark.slow)])
def test_an_inconclusive_rerun_takes_no_failure_back(run, pytester, monkeypatch, hidden):
    monkeypatch.setenv("GILCHECK_HIDE", hidden)
    pytester.makeconftest(RERUNS)
    result = run(
        """
import pathlib
values = []
WORKS = dict(threads=[lambda: values.append(1)] * 2)

def is_first_run(name):
    path = pathlib.Path(name)
    exists = path.exists()
    path.touch()
    return not exists

def test_asserted(gilcheck):
    assert not is_first_run("asserted")
    gilcheck.fuzz(**WORKS, schedules=10_000, budget=1e-6).assert_holds()

def test_unjudged(gilcheck):
    assert not is_first_run("unjudged")
    gilcheck.fuzz(**WORKS, schedules=10_000, budget=1e-6)

def test_holds(gilcheck):
    assert not is_first_run("holds")
    gilcheck.fuzz(**WORKS, schedules=5).assert_holds()
""",
    )
    outcomes = result.parseoutcomes()
    assert (outcomes["failed"], outcomes["passed"], outcomes.get("skipped", 0)) == (2, 1, 0)
    result.stdout.fnmatch_lines(["*an earlier run of this test failed, and this one is inconclusive, which takes nothing back*"])


WORKER = """
import queue, threading
import pytest

class Worker:
    def __init__(self, daemon=False):
        self.jobs, self.done, self.total = queue.Queue(), 0, 0
        self.thread = threading.Thread(target=self.run, daemon=daemon)
        self.thread.start()

    def run(self):
        while self.jobs.get() is not None:
            self.done += 1

    def stop(self):
        self.jobs.put(None)
        self.thread.join()

class Heartbeat:
    def __init__(self):
        self.stopping = threading.Event()
        self.thread = threading.Thread(target=self.run)
        self.thread.start()

    def run(self):
        while not self.stopping.wait(0.1):
            pass

    def stop(self):
        self.stopping.set()
        self.thread.join()

@pytest.fixture(params=[False, True])
def worker(request):
    worker = Worker(daemon=request.param)
    yield worker
    worker.stop()
    assert worker.done == 2

@pytest.fixture
def heartbeat():
    heartbeat = Heartbeat()
    yield heartbeat
    heartbeat.stop()
"""


@pytest.mark.slow
def test_threads_that_a_fixture_starts_may_go_on_until_its_teardown_stops_them(run):
    result = run(
        WORKER
        + """
@pytest.mark.gil_fuzz(schedules=15)
def test_good(worker, heartbeat):
    worker.jobs.put(1)

@pytest.mark.gil_fuzz(schedules=60, invariant=lambda worker: worker.total == 2)
def test_racy(worker):
    worker.jobs.put(1)
    worker.total += 1

class Endless:
    def __init__(self):
        self.never = threading.Event()
        threading.Thread(target=self.never.wait).start()

@pytest.mark.gil_fuzz(schedules=60)
def test_left(endless):
    endless.never.is_set()

@pytest.fixture
def endless():
    return Endless()
"""
    )
    result.assert_outcomes(passed=2, failed=3)
    result.stdout.fnmatch_lines(["*test_left: violated: it fails without any concurrency: *never ends: T2*"])


@pytest.mark.slow
def test_each_example_and_each_schedule_has_fixtures_and_drawn_values_of_its_own(run):
    result = run(
        """
import pytest
from hypothesis import HealthCheck, given, settings, strategies as st

class Stock:
    def __init__(self):
        self.left = 5

    def buy(self, count):
        if self.left >= count:
            self.left -= count

@pytest.fixture
def stock():
    return Stock()

few = settings(max_examples=3, suppress_health_check=[HealthCheck.function_scoped_fixture])

@pytest.mark.gil_fuzz(schedules=60, invariant=lambda stock: stock.left >= 0)
@few
@given(count=st.just(3))
def test_racy(stock, count):
    stock.buy(count)

@pytest.mark.gil_fuzz(schedules=60, invariant=lambda stock: stock.left >= 0)
@few
@given(count=st.just(3), rows=st.just([1, 2]))
def test_alone(stock, count, rows):
    rows[0] += len(rows)
    assert stock.left == 5

class TestMethods:
    @pytest.mark.gil_fuzz(schedules=60, invariant=lambda stock: stock.left >= 0)
    @few
    @given(count=st.just(3))
    def test_racy(self, stock, count):
        self.count = count
        stock.buy(self.count)
""",
        plugins=["hypothesispytest"],
    )
    result.assert_outcomes(passed=1, failed=2)
    result.stdout.fnmatch_lines(["*violated * invariant: stock.left >= 0 is False*"])


@pytest.mark.slow
def test_a_teardown_that_a_schedule_leaves_stuck_is_a_violation(run):
    result = run(
        """
import threading
import pytest

class Box:
    def __init__(self):
        self.lock, self.count, self.first = threading.Lock(), 0, True

    def use(self, keeps):
        self.count += 1
        if not self.first:
            return
        self.first = False
        self.lock.acquire()
        if not keeps or self.count == 1:
            self.lock.release()

@pytest.fixture
def box():
    box = Box()
    yield box
    with box.lock:
        pass

@pytest.mark.gil_fuzz(schedules=100)
def test_kept(box):
    box.use(keeps=True)

@pytest.mark.gil_fuzz(schedules=100)
def test_given_back(box):
    box.use(keeps=False)
"""
    )
    result.assert_outcomes(passed=1, failed=1)
    result.stdout.fnmatch_lines(["*test_kept*violated*the teardown is stuck*"])


@pytest.mark.slow
def test_what_a_teardown_says_of_fixtures_that_no_thread_has_used_is_ignored(run):
    result = run(
        """
import pytest

class Notes:
    def __init__(self):
        self.last = None

@pytest.fixture
def notes():
    notes = {}
    yield notes
    assert notes["last"] == "x"

@pytest.fixture
def checked():
    notes = {}
    yield notes
    if notes.get("count", 0) != 2:
        pytest.fail("not both")

@pytest.fixture
def file(tmp_path):
    path = tmp_path / "notes.txt"
    path.write_text("")
    yield path
    assert path.read_text() == "x"

@pytest.mark.gil_fuzz(schedules=20)
def test_error(notes):
    notes["last"] = "x"

@pytest.mark.gil_fuzz(schedules=60)
def test_fails(checked):
    checked["count"] = checked.get("count", 0) + 1

@pytest.mark.gil_fuzz(schedules=20)
def test_in_a_folder_of_its_own(file):
    file.write_text("x")
"""
    )
    result.assert_outcomes(passed=2, failed=1)
    result.stdout.fnmatch_lines(["*test_fails*violated*"])


WIDE = """
import threading
import pytest

class Db:
    def __init__(self):
        self.lock, self.n = threading.Lock(), 0

    def inc(self):
        with self.lock:
            self.n += 1

@pytest.fixture(scope="module")
def db():
    return Db()

@pytest.fixture
def clean(db):
    db.n = 0
    return db

@pytest.mark.gil_fuzz(schedules=100, budget=20, invariant=lambda clean: clean.n == 2)
def test_object(clean):
    clean.inc()

@pytest.fixture(scope="session", params=[threading.Lock, threading.RLock, threading.Condition])
def mutex(request):
    return request.param()

@pytest.mark.gil_fuzz(schedules=100, budget=20, invariant=lambda clean: clean.n == 2)
def test_lock(clean, mutex):
    with mutex:
        clean.n += 1

@pytest.mark.parametrize("lock", [threading.Lock(), Db().lock])
@pytest.mark.gil_fuzz(schedules=100, budget=20, invariant=lambda clean: clean.n == 2)
def test_parameter(clean, lock):
    with lock:
        clean.n += 1

@pytest.fixture(params=[1, 2])
def step(request):
    return [request.param]

@pytest.mark.gil_fuzz(schedules=100, budget=20, invariant=lambda clean, step: clean.n == 2 * step[0])
def test_of_a_fixture_with_parameters(clean, step):
    with clean.lock:
        clean.n += step[0]

@pytest.mark.gil_fuzz(schedules=100, budget=20, invariant=lambda clean: clean.n == 2)
def test_racy(clean):
    clean.n += 1
"""


@pytest.mark.slow
def test_locks_of_wider_fixtures_and_of_parameters_are_under_control(run):
    result = run(WIDE)
    result.assert_outcomes(passed=8, failed=1)
    assert "partly uncontrolled" not in result.stdout.str()


@pytest.mark.slow
def test_a_deadlock_of_every_order_is_shown_with_its_steps_and_each_line_of_its_table(pytester):
    pytester.makepyfile("""
        import pytest, threading

        @pytest.fixture
        def event():
            return threading.Event()

        @pytest.mark.gil_fuzz
        def test_it(event):
            event.wait()
    """)
    result = pytester.runpytest_subprocess("-p", "no:cacheprovider")
    result.stdout.fnmatch_lines(
        [
            "test_it: violated: it fails without any concurrency: *",
            "  T0 waits for *",
            "      at *",
            "      T0      T1",
            "*event.wait()*",
        ]
    )


@pytest.mark.slow
def test_a_finalizer_that_waits_for_a_lock_is_ended_without_a_word_of_ours(pytester):
    pytester.makepyfile("""
        import pytest, threading

        LOCK = threading.Lock()

        class Handle:
            def __del__(self):
                with LOCK:
                    pass

        @pytest.mark.gil_fuzz
        def test_it():
            with LOCK:
                Handle()
    """)
    result = pytester.runpytest_subprocess("-p", "no:cacheprovider", "-W", "error::pytest.PytestUnraisableExceptionWarning")
    result.assert_outcomes(failed=1)
    result.stdout.fnmatch_lines(["test_it: violated: *deadlock*"])
    result.stdout.no_fnmatch_line("*Abort*")


@pytest.mark.slow
def test_what_a_program_leaves_in_memory_is_there_after_a_check_whose_first_run_was_searched(pytester):
    pytester.makepyfile("""
        import threading

        made, errors, lock = [], [], threading.Lock()

        def once():
            with lock:
                if not made:
                    made.append(1)

        def grows():
            with lock:
                errors.append("one of each run")

        def test_made_once(gilcheck):
            gilcheck.fuzz(threads=[once, once], schedules=20, judge=False)
            assert made == [1]

        def test_grows(gilcheck):
            result = gilcheck.fuzz(threads=[grows, grows], schedules=100)
            result.assert_holds()
            assert "60 schedules of the first run were tried" in result.reason
            assert len(errors) > 200, "an assertion that there are none would pass"
    """)
    pytester.runpytest_subprocess("-p", "no:cacheprovider").assert_outcomes(passed=2)


@pytest.mark.slow
def test_the_story_says_nothing_of_what_pytest_reads_to_explain_an_assertion(run):
    source = """
        import pytest
        class Box: n = 0
        @pytest.fixture
        def box(): return Box()
        @pytest.mark.gil_fuzz(budget=1)
        def test_it(box):
            before = box.n
            box.n = before + 1
            assert (
                box.n == before + 1
            ), "lost"
            assert box.n, "lost"
    """
    text = run(source).stdout.str()
    assert "writes box.n = 1" in text
    assert "@py" not in text
    assert "_saferepr" not in text


def test_each_schedule_has_log_records_and_properties_of_its_own(run, pytester):
    result = run(
        """
import logging, threading

import pytest

lock = threading.Lock()

class Stock:
    left = 2

    def take(self):
        left = self.left
        if left == 1:
            logging.getLogger("shop").warning("sold out")
        self.left = left - 1

@pytest.fixture
def stock(caplog):
    logging.getLogger("shop").warning("opened")
    yield Stock()
    assert [record.message for record in caplog.get_records("setup")] == ["opened"]
    assert [record.message for record in caplog.get_records("call")] == ["sold out"]

@pytest.mark.gil_fuzz(schedules=20)
def test_unsaid(stock):
    stock.take()

@pytest.mark.gil_fuzz(schedules=20)
def test_said_once(stock, caplog, record_property):
    with lock:
        stock.take()
        record_property("left", stock.left)
        assert len(caplog.records) == (0 if stock.left else 1)
""",
        "--junitxml=junit.xml",
    )
    result.assert_outcomes(failed=1, passed=1)
    result.stdout.fnmatch_lines(["*violated*teardown raised AssertionError*'sold out'*with 1 preemption*"])
    assert result.stdout.str().count("shop:test_each_schedule") <= 4
    assert (pytester.path / "junit.xml").read_text().count('name="left"') <= 2
