"""What only the first run of a process makes is raced for in the schedules of that run, each in a process of its own."""

import bisect
import functools
import re
import sys
import threading
import weakref
from functools import partial

import pytest

from pytest_gilcheck import ReplayDiverged, gilcheck
from pytest_gilcheck.calls import Gilcheck
from pytest_gilcheck.core.build_flags import FREE_THREADED_BUILD
from pytest_gilcheck.core.clocks import monotonic
from pytest_gilcheck.fuzz import isolated
from pytest_gilcheck.fuzz.crashing import first_run
from pytest_gilcheck.search.forks import Forks
from pytest_gilcheck.search.ledger import Ledger
from tests.slow import one_in, only

pytestmark = [
    pytest.mark.skipif(sys.platform == "win32", reason="there is no fork on Windows"),
    pytest.mark.filterwarnings("ignore:gilcheck. the program changed:RuntimeWarning"),
]

LOCK = threading.Lock()


class Client:
    made = 0

    def __init__(self):
        Client.made += 1
        self.ready = False
        self.ready = True


_client = None
_published_early = None
_guarded = None
_table = None
_names = {}


def client():
    global _client
    if _client is None:
        _client = Client()
    return _client


def published_early():
    """A double-checked lock around an object that others see before it is ready."""
    global _published_early
    if _published_early is None:
        with LOCK:
            if _published_early is None:
                _published_early = object.__new__(Client)
                _published_early.__init__()
    return _published_early


def client_guarded():
    global _guarded
    if _guarded is None:
        with LOCK:
            if _guarded is None:
                _guarded = Client()
    return _guarded


@functools.lru_cache
def settings():
    return Client()


def looked_up():
    global _table
    if _table is None:
        _table = {}
        _table["a"] = 1
    return _table["a"]


def numbered():
    _names[len(_names)] = threading.get_ident()


def numbered_under_a_lock():
    with LOCK:
        numbered()


def two_have_numbers():
    """False after each further run, whatever the schedule."""
    return len(_names) == 2


_config = {}
_sorted = [10]


def swap(key):
    global _config
    config = dict(_config)
    config[key] = 1
    _config = config  # anew in each run, and only the first one adds a key


def insert(value):
    place = bisect.bisect(_sorted, value)
    _sorted.insert(place, value)  # it grows with each run, and later ones find equal values on both sides


def insert_guarded(value):
    with LOCK:
        insert(value)


def is_sorted():
    return _sorted == sorted(_sorted)


class Owner:
    name = "it"


_owner = Owner()
_reference = weakref.ref(_owner)


def drop():
    global _owner
    _owner = None


def name_of_owner():
    if _reference() is not None:
        assert _reference().name == "it"


def ready(get):
    def work():
        assert get().ready

    return work


def one_is_made():
    return Client.made == 1


BROKEN = {
    "a global": {"threads": [client, client], "invariant": one_is_made},
    "a cache": {"threads": [ready(settings)] * 2, "invariant": one_is_made},
    "a cache alone": {"threads": [settings, settings], "invariant": one_is_made},
    "published early": {"threads": [ready(published_early)] * 2},
    "filled afterwards": {"threads": [looked_up, looked_up]},
    "copied and swapped": {"threads": [partial(swap, "a"), partial(swap, "b")], "invariant": lambda: len(_config) == 2},
    "a list that grows": {"threads": [partial(insert, 3), partial(insert, 2)], "invariant": is_sorted},
    "an object from before the check": {"threads": [name_of_owner, drop]},
    "a number": {"threads": [numbered, numbered], "invariant": two_have_numbers},
}

DECIDED = {  # what is done first, and what should have been
    "a global": ("reads _client = None", "writes _client = <Client>"),
    "published early": ("reads get().ready", "writes self.ready = False"),
    "filled afterwards": ("reads _table['a']", "writes _table['a'] = 1"),
    "a list that grows": ("calls bisect.bisect(_sorted, value)", "calls _sorted.insert(place, value)"),
    "a number": ("calls len(_names)", "writes _names[len(_names)] = "),
}


@pytest.mark.parametrize("program", only({"a number"}, BROKEN))
def test_a_race_for_what_is_made_once_is_found_with_one_preemption_and_replays(program):
    if program == "an object from before the check" and FREE_THREADED_BUILD:
        pytest.skip("an object that the waiting main thread has made ends only when that goes on, without a check as well")
    name, program = program, BROKEN[program]
    result = gilcheck.fuzz(**program, budget=60, seed=1)
    result.assert_violated()
    if name in DECIDED:
        first, second = DECIDED[name]
        assert re.search(rf"decided by  T\d {re.escape(first)}.*\n +before T\d {re.escape(second)}", result.story), result.story
        assert {file for file, _ in result.places} == {__file__}
    assert "only the first run of a process can fail so" in result.reason
    assert result.preemptions == 1
    assert result.replays == (3, 3)
    assert result.rows
    again = gilcheck.fuzz(**program, replay=result.token, budget=60)
    assert (again.verdict, again.symptom, again.replays) == ("violated", result.symptom, (3, 3)), str(again)
    assert Client.made == 0, "nothing has run in the process of the caller"


@pytest.mark.parametrize(
    ("orders", "schedules_fit"), one_in(3, [pytest.param(0, False), pytest.param(2, False), pytest.param(4, True)])
)
def test_the_first_run_gets_no_more_processes_once_there_is_no_time_for_a_schedule(orders, schedules_fit, monkeypatch):
    """Each process takes a second of a clock that nothing else moves. Two orders run twice before any schedule."""
    begun = monotonic()
    runs, real = [], Forks.answer

    def answer(self, job):
        runs.append(job)
        return real(self, job)

    monkeypatch.setattr(Forks, "answer", answer)
    monkeypatch.setattr(first_run, "monotonic", lambda: begun + len(runs))
    monkeypatch.setattr(Ledger, "is_past", lambda self, time: begun + len(runs) > time)
    monkeypatch.setattr(isolated, "Ledger", lambda *of, **named: Ledger(orders + 0.5 if orders else -1.0, begun=begun))
    result = gilcheck.fuzz(threads=[ready(published_early)] * 2, budget=0.001, seed=1, judge=False)
    assert (len(runs) > orders) is schedules_fit, len(runs)
    assert len(runs) >= orders
    if not schedules_fit:
        assert result.verdict == "inconclusive"
        assert "cut short by budget" in result.reason  # the first cause, or what would be the next one
        assert result.late


@pytest.mark.slow
def test_what_is_made_under_a_lock_holds_after_a_hundred_schedules_of_the_first_run():
    result = gilcheck.fuzz(threads=[ready(client_guarded)] * 2, invariant=one_is_made, budget=20)
    result.assert_holds()
    assert "of the first run, which changed " in result.reason
    assert re.search(
        r"1\d\d schedules, each in a process of its own, all with at most one preemption among them: no", result.reason
    )
    assert Client.made == 0


def in_the_middle_of_much_else(get):
    def thread():
        for _ in range(2):
            own = {}
            for number in range(800):
                own[number] = number
            get()

    return thread


@pytest.mark.slow
def test_a_first_run_too_long_for_every_preemption_holds_when_its_likely_conflicts_were_turned_round():
    result = gilcheck.fuzz(threads=[in_the_middle_of_much_else(client_guarded)] * 2, invariant=one_is_made, budget=15)
    result.assert_holds()
    settled = re.search(r"(\d+) schedules leave no conflict untried that was seen, and 60 samples: no", result.reason)  # in time
    likely = "schedules, each in a process of its own, all that turn a likely conflict round among them: no"
    found = settled or re.search(rf"(\d+) {likely}", result.reason)
    assert found, result.reason
    assert int(found[1]) >= (1 if settled else 100)


@pytest.mark.slow
def test_a_race_in_the_middle_of_such_a_first_run_is_found():
    result = gilcheck.fuzz(threads=[in_the_middle_of_much_else(client)] * 2, invariant=one_is_made, budget=15, seed=1)
    result.assert_violated()
    assert result.preemptions == 1


@pytest.mark.slow
def test_a_list_that_each_run_makes_longer_is_a_pass_as_before_and_says_what_was_tried():
    result = gilcheck.fuzz(threads=[partial(insert_guarded, 3), partial(insert_guarded, 2)], invariant=is_sorted, schedules=200)
    result.assert_holds()
    assert "60 schedules of the first run were tried, each in a process of its own, and none failed" in result.reason


def kept_in_a_file():
    """As the global is: but no fork makes the file anew."""
    if not KEPT.exists():
        KEPT.write_text(str(client_guarded().made))
    return KEPT.read_text()


@pytest.mark.slow
def test_what_a_fork_does_not_make_anew_is_no_pass(tmp_path):
    global KEPT
    KEPT = tmp_path / "kept"
    result = gilcheck.fuzz(threads=[kept_in_a_file] * 2, budget=20, judge=False)
    assert result.verdict == "inconclusive"
    assert result.why == "not repeatable"
    assert re.search(r"\d schedules of the first run were tried, each in a process of its own, and none failed", result.reason)


@pytest.mark.slow
def test_fewer_schedules_of_a_first_run_are_no_pass():
    result = gilcheck.fuzz(threads=[ready(client_guarded)] * 2, invariant=one_is_made, schedules=40, judge=False)
    assert result.verdict == "inconclusive"
    assert result.why == "not repeatable"
    assert result.told.startswith("the first run changed")
    assert not result.late, "it is a number that ends it"
    assert "40 schedules of the first run were tried, each in a process of its own, and none failed" in result.reason


@pytest.mark.slow
def test_a_program_that_fails_whenever_it_runs_again_is_searched_in_its_first_run():
    with pytest.raises(AssertionError, match="fails when it runs again, without any concurrency") as caught:
        gilcheck.fuzz(threads=[numbered_under_a_lock] * 2, invariant=two_have_numbers, schedules=20, judge=False)
    assert "20 schedules of the first run were tried, each in a process of its own, and none failed" in caught.value.__notes__


@pytest.mark.slow
def test_a_token_of_a_first_run_says_if_the_program_is_another_one():
    result = gilcheck.fuzz(**BROKEN["a global"], budget=30, seed=1)
    result.assert_violated()
    with pytest.raises(ReplayDiverged, match="another program"):
        gilcheck.fuzz(threads=[looked_up, looked_up], replay=result.token)


@pytest.mark.slow
def test_a_token_of_a_first_run_cannot_be_replayed_where_nothing_may_be_forked(monkeypatch):
    result = gilcheck.fuzz(**BROKEN["a global"], budget=30, seed=1)
    result.assert_violated()
    monkeypatch.setenv("GILCHECK_ISOLATE", "none")
    again = Gilcheck().fuzz(**BROKEN["a global"], replay=result.token, judge=False)
    assert again.verdict == "inconclusive"
    assert "its replay needs a process of its own" in again.reason


TEST = """
import threading
import pytest

LOCK = threading.Lock()
made = []

class Pool:
    instance = None
    guarded = None

    @classmethod
    def get(cls):
        if cls.instance is None:
            made.append(1)
            cls.instance = cls()
        return cls.instance

    @classmethod
    def get_guarded(cls):
        with LOCK:
            if cls.guarded is None:
                made.append(1)
                cls.guarded = cls()
        return cls.guarded

@pytest.mark.gil_fuzz(invariant=lambda: len(made) == 1, budget=30)
def test_made_once():
    Pool.get()

@pytest.mark.gil_fuzz(invariant=lambda: len(made) == 1, schedules=30)
def test_made_once_under_a_lock():
    Pool.get_guarded()

def test_after():
    assert made == []
"""


@pytest.mark.slow
def test_as_a_marker_it_is_found_too_and_its_twin_with_a_lock_is_undecided(pytester):
    pytester.makepyfile(TEST)
    result = pytester.runpytest_subprocess("-p", "no:cacheprovider", "-rs")
    result.assert_outcomes(passed=1, failed=1, skipped=1)
    result.stdout.fnmatch_lines(
        ["test_made_once: violated *; only the first run of a process can fail so*", "*replayed    3 of 3*"]
    )
    result.stdout.fnmatch_lines(
        ["SKIPPED *30 schedules of the first run were tried, each in a process of its own, and none failed"]
    )
