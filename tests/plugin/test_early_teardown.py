"""A teardown may begin while threads that the program has started can still run, as it does without a check."""

import re

import pytest

TESTS = """
import pytest, queue, threading
from concurrent.futures import ThreadPoolExecutor

class Writer:
    def __init__(self, drains):
        self.queue, self.drains, self.stopped = queue.Queue(), drains, False
        self.rows, self.sent, self.lock = [], 0, threading.Lock()
        self.thread = threading.Thread(target=self.run)
        self.thread.start()

    def run(self):
        while (item := self.queue.get()) is not None and (self.drains or not self.stopped):
            self.rows.append(item)

    def send(self, item):
        with self.lock:
            self.sent += 1
        self.queue.put(item)

    def close(self):
        self.stopped = True
        self.queue.put(None)
        self.thread.join()

@pytest.fixture(params=[False, True], ids=["drops", "drains"])
def writer(request):
    made = Writer(request.param)
    yield made
    made.close()
    assert len(made.rows) == made.sent

@pytest.fixture(params=[True, False], ids=["cancels", "waits"])
def pool(request):
    pool, done = ThreadPoolExecutor(1), []
    yield pool, done
    pool.shutdown(wait=True, cancel_futures=request.param)
    assert len(done) == 2

@pytest.mark.gil_fuzz(schedules=120, budget=60)
def test_writer(writer):
    writer.send(1)

@pytest.mark.gil_fuzz(schedules=120, budget=60, invariant=lambda pool: len(pool[1]) == 2)
def test_pool(pool):
    pool[0].submit(pool[1].append, 1)
"""


@pytest.mark.slow
@pytest.mark.parametrize(("name", "broken", "fixed"), [("writer", "drops", "drains"), ("pool", "cancels", "waits")])
def test_work_that_a_teardown_drops_is_found_and_its_twin_holds(pytester, name, broken, fixed):
    pytester.makepyfile(TESTS)
    result = pytester.runpytest_subprocess("-p", "no:cacheprovider", "-k", f"test_{name}")
    result.assert_outcomes(failed=1, passed=1, deselected=2)
    result.stdout.fnmatch_lines([f"test_{name}[[]{broken}]: violated BREAKS-TODAY: invariant: the teardown raised *"])
    result.stdout.fnmatch_lines(["*with 0 preemptions, and a teardown that begins while threads * can still run"])
    [token, *_] = re.findall(r"gilcheck replay (\S+)", result.stdout.str())
    again = pytester.runpytest_subprocess("-p", "no:cacheprovider", "-k", f"test_{name} and {broken}", f"--gilcheck-replay={token}")
    again.stdout.fnmatch_lines(["*violated*the teardown raised*replayed*"])
    other = pytester.runpytest_subprocess("-p", "no:cacheprovider", "-k", f"test_{name} and {fixed}", f"--gilcheck-replay={token}")
    other.assert_outcomes(passed=1, deselected=3)
