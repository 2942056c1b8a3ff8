"""``pytest --gilcheck-sweep`` on suites that know nothing of it."""

import re
import signal
import subprocess
import sys

import pytest

from pytest_gilcheck.core.evidence_files import read

from ..plugin.test_messages import in_a_terminal

SHOP = """
import threading

TOTAL = {"n": 0}
LOCK = threading.Lock()

def sell():
    with LOCK:
        before = TOTAL["n"]
        TOTAL["n"] = before + 1
        return TOTAL["n"] - before

class Lazy:
    one = None
    lock = threading.Lock()

    @classmethod
    def get(cls):
        with cls.lock:
            if cls.one is None:
                cls.one = cls()
            return cls.one
"""
SUITE = """
import os, threading, unittest
import pytest, shop

@pytest.mark.parametrize("number", range(3))
def test_trivial(number):
    assert number + 1 > number

def test_own(tmp_path):
    rows = []
    rows.append(1)
    assert sorted(rows) == [1]

def test_chdir(monkeypatch, tmp_path):
    monkeypatch.chdir(tmp_path)

def test_sell():
    assert shop.sell() == 1

def test_sell_again():
    assert shop.sell() == 1

def test_lazy():
    assert shop.Lazy.get() is shop.Lazy.get()

class TestCase(unittest.TestCase):
    def test_case(self):
        self.assertEqual(shop.sell(), 1)

def in_threads(work):
    threads = [threading.Thread(target=work) for _ in range(2)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()

def test_threads():
    before = shop.TOTAL["n"]
    in_threads(lambda: shop.sell())
    assert shop.TOTAL["n"] == before + 2

def test_capsys(capsys):
    print(1)

def test_fails():
    assert shop.sell() == 5

@pytest.mark.skip(reason="not now")
def test_skipped():
    pass

@pytest.mark.thread_unsafe
def test_unsafe():
    pass

def test_in_the_list():
    pass
"""
INI = """
[pytest]
markers = thread_unsafe
gilcheck_sweep_leave_out = test_suite.py::test_in_the_*
"""
# Where only a first run can fail, no second one says which pair of lines decides.
OF_SHOP = r"cause (in your package: |of which no place is known: a thread was preempted first at )shop\.py:"
PLAIN = {"passed": 13, "failed": 1, "skipped": 1}


def unlocked(shop):
    return re.sub(r"with (LOCK|cls\.lock):", "if True:", shop)


@pytest.fixture
def sweep(run, pytester):
    """Sweep a suite beside a package: ``sweep(shop, suite, *options)``; returns the run, and the lines of its account."""

    def sweep(shop, suite, *options):
        pytester.makepyfile(shop=shop)
        pytester.makeini(INI)
        given = ["--gilcheck-sweep", "--gilcheck-sweep-budget=40", *options]
        result = run(suite, *given, name="test_suite", timeout=300)
        lines = result.outlines
        begins = [index for index, line in enumerate(lines) if "= gilcheck sweep =" in line]
        return result, [line.strip() for line in lines[begins[0] + 1 :]] if begins else []

    return sweep


def counted(lines):
    """What the account says of each outcome, by its first words."""
    return {match[2]: int(match[1]) for line in lines if (match := re.match(r"(\d+) ([a-z ]+)(?:, by .*)?$", line))}


@pytest.mark.slow
def test_a_sound_suite_keeps_its_outcomes_and_every_test_is_accounted_for(sweep):
    result, lines = sweep(SHOP, SUITE)
    result.assert_outcomes(**PLAIN)
    assert re.match(r"\d+ of 15 tests swept, 1 of them with threads of their own", lines[0])
    found = counted(lines)  # a busy machine cuts searches short
    assert sum(found.values()) == 15
    assert found["shares nothing that was seen"] >= 3
    assert (found["left out"], found["not passed plainly"]) == (2, 2)
    assert "broken by a schedule" not in found
    for words in (
        "its fixture 'capsys' captures",
        "it changes the working directory",
        "its plain run does not pass",
        "it has the mark thread_unsafe",
        "gilcheck_sweep_leave_out has 'test_suite.py::test_in_the_*'",
    ):
        assert any(words in line for line in lines), words
    assert not any(line.startswith("cause") for line in lines)


def test_a_race_of_the_package_is_found_once_by_its_cause_and_fails_the_run(sweep, pytester):
    suite = SUITE.replace("== 5", "== 1")
    result, lines = sweep(unlocked(SHOP), suite, "--gilcheck-json=sweep.json", "--gilcheck-github", "--gilcheck-sweep-min=99")
    result.assert_outcomes(passed=14, skipped=1)
    assert result.ret == pytest.ExitCode.TESTS_FAILED
    causes = [line for line in lines if line.startswith("cause")]
    assert all(re.match(OF_SHOP, line) for line in causes)
    assert any(line.startswith("cause in your package: shop.py:") for line in causes)
    met = [line for line in lines if line.startswith("met by")]
    assert len(met) <= 4
    assert any(re.match("met by [2-9] tests", line) for line in met)
    assert any(line.startswith("to run it again: @pytest.mark.gil_fuzz(fixtures='own', replay='gil1_") for line in lines)
    assert any("tests that passed were swept, and at least 99% have to be" in line for line in lines)
    *found, whole = read(pytester.path / "sweep.json")
    assert [record["verdict"] for record in found] == ["violated"] * len(causes)
    assert whole["figures"]["tests"] == 15
    assert sum("::error file=shop.py,line=" in line for line in result.outlines) == len(causes)


MEETS = "meets only what another test met"
SAME = """
import pytest, shop

@pytest.mark.parametrize("number", range(5))
def test_sell(number):
    assert shop.sell() == 1
"""


def test_a_test_that_meets_only_what_breaks_another_one_is_not_searched_again(sweep):
    result, lines = sweep(unlocked(SHOP), SAME, "-v")
    found = counted(lines)
    assert (found["broken by a schedule"], found[MEETS]) == (1, 4)
    assert any(line.startswith("met by 5 tests (4 not searched themselves): test_suite.py::test_sell[") for line in lines)
    result.stdout.re_match_lines(
        [rf"gilcheck sweep: {share}% of 5 tests, 1 cause so far, about \d+ s left" for share in (20, 40, 100)]
    )


@pytest.mark.slow
def test_how_far_a_sweep_is_is_shown_behind_the_dots_in_a_terminal_alone(sweep, pytester):
    result, _ = sweep(unlocked(SHOP), SAME)
    result.stdout.no_fnmatch_line("*so far, about*")
    pytester.makeconftest("import time\ndef pytest_runtest_logfinish():\n    time.sleep(0.7)")  # it is shown once in a while
    shown = in_a_terminal(pytester.path, "--gilcheck-sweep")
    assert re.search(r"\x1b7 \d+ s: gilcheck sweep: \d+% of 5 tests, 1 cause so far, about \d+ s left\x1b\[K\x1b8", shown)
    assert shown.rindex("\x1b[K") > shown.rindex("\x1b8")


@pytest.mark.slow
def test_a_test_that_meets_what_breaks_none_is_searched_until_several_have_held(sweep):
    _, lines = sweep(SHOP, SAME, "--gilcheck-sweep-budget=1000")
    found = counted(lines)
    if "cut short" not in found:  # on a busy machine
        assert (found["no schedule breaks it"], found[MEETS]) == (3, 2)
        assert any(
            "meet only what those of test_suite.py::test_sell[0] meet, at the same lines, and no schedule" in line for line in lines
        )


@pytest.mark.slow
def test_the_schedule_that_broke_a_test_last_time_is_tried_first_and_a_mended_race_is_told_as_gone(sweep):
    suite = "import shop\ndef test_sell():\n    assert shop.sell() == 1\n"
    options = ["-p", "cacheprovider", "--gilcheck-sweep-budget=1000"]
    _, lines = sweep(unlocked(SHOP), suite, *options)
    assert any(line.startswith("GIL-MASKED: exception: ") for line in lines)
    assert not any(line.endswith("; replayed") for line in lines)
    result, lines = sweep(unlocked(SHOP), suite, *options)
    assert result.ret == pytest.ExitCode.TESTS_FAILED
    assert any(line.endswith("; replayed") for line in lines)
    result, lines = sweep(f"import time\n{unlocked(SHOP)}", suite + "    time = shop.time.time()\n", *options)
    assert result.ret == pytest.ExitCode.TESTS_FAILED  # what its token says is no longer there
    result, lines = sweep(SHOP, suite, *options)
    assert result.ret == pytest.ExitCode.OK
    assert any(
        line.startswith("gone since the last sweep: no schedule breaks test_suite.py::test_sell at shop.py: ") for line in lines
    )
    _, lines = sweep(SHOP, suite, *options)
    assert not any(line.startswith("gone") for line in lines)


@pytest.mark.slow
def test_a_known_cause_passes_until_it_is_gone_and_a_new_one_fails(sweep, pytester):
    suite = "import shop\ndef test_sell():\n    assert shop.sell() == 1\n"
    (pytester.path / "known.toml").write_text("")
    result, lines = sweep(unlocked(SHOP), suite, "--gilcheck-sweep-baseline=known.toml")
    assert result.ret == pytest.ExitCode.TESTS_FAILED
    begin = lines.index("[[known]]")
    entry = "\n".join(lines[begin : begin + 4]).replace('reason = ""', 'reason = "one process sells"')
    (pytester.path / "known.toml").write_text(entry)
    result, lines = sweep(unlocked(SHOP), suite, "--gilcheck-sweep-baseline=known.toml")
    assert result.ret == pytest.ExitCode.OK
    assert any("known.toml:1: one process sells" in line for line in lines)
    result, lines = sweep(SHOP, suite, "--gilcheck-sweep-baseline=known.toml", "--gilcheck-sweep-budget=1000")
    assert result.ret == pytest.ExitCode.OK
    assert any(line.startswith("gone: known.toml:1: ") for line in lines)


@pytest.mark.slow
def test_workers_of_xdist_sweep_and_one_account_is_shown(sweep):
    result, lines = sweep(SHOP, SUITE, "-n2")
    result.assert_outcomes(**PLAIN)
    assert re.match(r"\d+ of 15 tests swept, 1 of them with threads of their own", lines[0])
    assert sum(counted(lines).values()) == 15


LAZY = """
import shop

def test_lazy():
    assert shop.Lazy.get() is shop.Lazy.get()
"""


@pytest.mark.slow
def test_the_race_of_what_only_the_first_run_makes_is_found(sweep):
    _, lines = sweep(unlocked(SHOP), LAZY, "--gilcheck-sweep-budget=1000")
    assert any(re.match(OF_SHOP, line) for line in lines)
    _, lines = sweep(SHOP, LAZY, "--gilcheck-sweep-budget=1000")
    assert not any(line.startswith("cause") for line in lines)


OF_ITS_OWN = """
import json, os

class Key:
    def __hash__(self):
        return len("key")

    def __eq__(self, other):
        return isinstance(other, Key)

def remembered(table):
    table[Key()] = 1  # asks the key, in the middle of what C does to the table
    return table[Key()]

def saved(path):
    with open(path, "w") as file:
        json.dump([1], file)
        file.flush()
        os.fsync(file.fileno())
    with open(path) as file:
        return json.load(file)
"""
USES_ITS_OWN = """
import shop

def test_table():
    assert shop.remembered({}) == 1

def test_file(tmp_path):
    assert shop.saved(tmp_path / "file") == [1]
"""
USES_ONE = """
import shop

TABLE = {}

def test_table():
    assert shop.remembered(TABLE) == 1

def test_file(tmp_path_factory):
    assert shop.saved(tmp_path_factory.getbasetemp() / "file") == [1]
"""


def test_files_and_tables_of_each_client_are_not_shared_and_those_of_both_are(sweep):
    _, lines = sweep(OF_ITS_OWN, USES_ITS_OWN)
    assert "2 shares nothing that was seen" in lines
    _, lines = sweep(OF_ITS_OWN, USES_ONE, "--gilcheck-sweep-budget=3")
    assert not any("shares nothing" in line for line in lines)


LONG = """
def test_long():
    rows = []
    for number in range(3_000_000):
        rows.append(number)

def test_short():
    pass
"""


@pytest.mark.slow
def test_a_run_that_is_too_long_for_a_record_is_cut_short_and_the_next_test_is_swept(sweep):
    _, lines = sweep(SHOP, LONG)
    assert {"1 cut short", "1 shares nothing that was seen"} <= set(lines)


RACY_TESTS = """
COUNTS = {"n": 0}

def test_own_table():
    before = COUNTS["n"]
    COUNTS["n"] = before + 1
    assert COUNTS["n"] == before + 1
"""


@pytest.mark.slow
def test_a_race_of_the_tests_alone_is_told_and_fails_nothing(sweep):
    result, lines = sweep(SHOP, RACY_TESTS)
    assert result.ret == 0
    assert any(line.startswith("cause in the tests: ") and "test_suite.py:" in line for line in lines)


HOSTILE = """
import os, threading, time
import pytest

CALLS = []

def test_that_dies_the_second_time():
    if os.path.exists("once"):
        os._exit(7)
    open("once", "w").close()

def test_that_waits_for_ever():
    lock = threading.Lock()
    lock.acquire()
    if os.path.exists("twice"):
        lock.acquire()
    open("twice", "w").close()

def test_after_them():
    pass
"""


@pytest.mark.slow
def test_a_client_that_dies_or_hangs_ends_neither_the_run_nor_the_sweep(sweep):
    result, lines = sweep(SHOP, HOSTILE)
    result.assert_outcomes(passed=3)
    assert re.match(r"[1-3] of 3 tests swept", lines[0])
    assert "1 shares nothing that was seen" in lines


OPTED_OUT = """
import pytest, shop

@pytest.fixture
def table():
    return []

@pytest.mark.thread_unsafe
def test_marked():
    assert 2 + 2 == 4

def test_by_fixture(table):
    table.append(1)
    assert table == [1]

def test_by_function():
    before = shop.sell()
    assert before == 1
"""
LISTS = """
[pytest]
markers = thread_unsafe
thread_unsafe_fixtures = table
thread_unsafe_functions = shop.*
"""


def test_opt_outs_of_pytest_run_parallel_are_read_and_those_no_longer_needed_are_listed(run, pytester):
    pytester.makepyfile(shop=unlocked(SHOP))
    pytester.makeini(LISTS)
    result = run(OPTED_OUT, "--gilcheck-sweep", "--gilcheck-sweep-budget=40", "-W", "ignore::pytest.PytestConfigWarning")
    assert result.ret == pytest.ExitCode.OK
    lines = [line.strip() for line in result.outlines]
    for words in ("it has the mark thread_unsafe", "thread_unsafe_fixtures has 'table'", "thread_unsafe_functions has 'shop.*'"):
        assert any(line.startswith(f"1 {words} (") for line in lines), words
    needless = lines[next(index for index, line in enumerate(lines) if line.startswith("opt-outs without which")) + 1 :]
    assert [line.split(" (")[0] for line in needless if line.startswith("1 ")] == [
        "1 it has the mark thread_unsafe",
        "1 thread_unsafe_fixtures has 'table'",
    ]
    assert not any("thread_unsafe_functions" in line for line in needless)


@pytest.mark.slow
def test_a_spent_budget_is_told(sweep):
    result, lines = sweep(SHOP, SUITE, "--gilcheck-sweep-budget=0.001")
    result.assert_outcomes(**PLAIN)
    assert any(re.match(r"\d+ --gilcheck-sweep-budget was spent before", line) for line in lines)


@pytest.mark.parametrize(
    ("options", "words"),
    [
        (["--gilcheck-replay=gil1_PJ6t5aADAjYBCgLwlgHjngM"], "--gilcheck-sweep and --gilcheck-replay do not go together"),
        (["--gilcheck-sweep-min=0"], "sweep_min='0' (from command line --gilcheck-sweep-min): expected a percentage above 0"),
        (["--gilcheck-sweep-baseline=bad.toml"], "gilcheck: --gilcheck-sweep-baseline: bad.toml:2: reason is missing"),
        (["--gilcheck-sweep-baseline=none.toml"], "gilcheck: --gilcheck-sweep-baseline: none.toml:1: it cannot be read"),
        (["--gilcheck-sweep-baseline=unknown.toml"], "unknown.toml:3: there is no test 'test_suite.py::test_gone'"),
        (["--gilcheck-sweep-baseline=unknown.toml", "-n1"], "unknown.toml:4: there is no test 'test_other.py::test_gone'"),
        (["--gilcheck-sweep-budget=0"], "sweep_budget='0' (from command line --gilcheck-sweep-budget): expected seconds above 0"),
    ],
)
def test_options_that_do_not_go_with_a_sweep_are_usage_errors(sweep, pytester, options, words):
    (pytester.path / "bad.toml").write_text("\n[[known]]\nlines = ['a: b']\ntests = ['test_suite.py::test_own']\n")
    gone = "tests = ['test_suite.py::test_gone',\n'test_other.py::test_gone']"
    (pytester.path / "unknown.toml").write_text(f"[[known]]\nlines = ['a: b']\n{gone}\nreason = 'none'\n")
    result, _ = sweep(SHOP, SUITE, *options)
    assert result.ret == pytest.ExitCode.USAGE_ERROR
    assert words in result.stderr.str()


@pytest.mark.skipif(sys.version_info < (3, 12), reason="up to 3.11, a tracer is the only such tool")
def test_nothing_is_claimed_where_a_planted_fault_is_not_found(sweep, pytester):
    pytester.makeconftest("import sys\nfor tool in range(6):\n    sys.monitoring.use_tool_id(tool, 'taken')\n")
    result, lines = sweep(unlocked(SHOP), SUITE)
    result.assert_outcomes(**PLAIN)
    assert lines[0] == "0 of 15 tests swept, 0 of them with threads of their own"
    assert any("a planted lost update was not found here" in line for line in lines)


def test_a_run_without_the_option_shows_and_loads_nothing(run, pytester):
    pytester.makepyfile(shop=SHOP)
    result = run(f"{SUITE}\ndef test_loaded():\n    import sys\n    assert not [n for n in sys.modules if 'sweep' in n]\n")
    result.assert_outcomes(passed=14, failed=1, skipped=1)
    assert "gilcheck sweep" not in result.stdout.str()


@pytest.mark.slow
def test_an_interrupt_in_the_middle_ends_the_sweep_and_leaves_no_process(pytester):
    pytester.makepyfile(shop=SHOP, test_suite=SUITE.replace("range(3)", "range(3000)"))
    options = ["-p", "no:cacheprovider", "-p", "gilcheck", "--gilcheck-sweep", "-v"]
    command = [sys.executable, "-u", "-m", "pytest", *options]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True) as process:
        for line in process.stdout:
            if "[5]" in line:
                process.send_signal(signal.SIGINT)
                break
        rest = process.stdout.read()  # until the last process that has the pipe is gone
    assert "KeyboardInterrupt" in rest
    assert "gilcheck sweep" in rest
