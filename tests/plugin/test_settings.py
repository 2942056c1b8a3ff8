"""The settings of a run: their sources and priority, and bad values."""

import sys

import pytest

from pytest_gilcheck.core.errors import BadValue
from pytest_gilcheck.settings import SETTINGS, Settings, option, variable
from tests.slow import one_in

WAITS = """
    import time, pytest
    @pytest.mark.gil_scaling(min_speedup=1.5, threads=2)
    def test_waits(): time.sleep(0.01)
"""


BAD = [
    ("budget", "fast", "seconds above 0, at most 100,000,000"),
    ("budget", "-1", "seconds above 0, at most 100,000,000"),
    ("timeout", "inf", "seconds above 0, at most 100,000,000"),
    ("threads", "1", "a whole number, at least 2, at most 10,000"),
    ("threads", "2.5", "a whole number, at least 2, at most 10,000"),
    ("threads", "99999999999", "a whole number, at least 2, at most 10,000"),
    ("schedules", "1" + "0" * 30, "a whole number, at least 1, at most 1,000,000,000"),
    ("schedules", "\u0663", "a whole number, at least 1, at most 1,000,000,000"),
    ("budget", "\uff13", "seconds above 0, at most 100,000,000"),
    ("replay", "gil1_x", "a token from a report, but it has characters that no token has"),
    ("replay", "nonsense", "a token from a report, but it does not begin with 'gil1_'"),
    ("seed", "-1", "a whole number, at least 0, at most 18,446,744,073,709,551,615"),
    ("isolate", "maybe", "'auto', 'fork' or 'none'"),
    ("json", "/no/such/folder/x.json", "a file in a folder that exists"),
]
LAYERS = ["option", "environment", "ini"]


@pytest.mark.parametrize(("name", "value", "expected"), BAD[:-1])
def test_a_bad_value_is_refused_with_what_is_accepted(name, value, expected):
    with pytest.raises(BadValue) as refused:
        Settings(environment={name: value}).value(name)
    assert str(refused.value) == f"{name}='{value}' (from environment GILCHECK_{name.upper()}): expected {expected}"


BY_DEFAULT = {("option", "fast"), ("environment", "nonsense"), ("ini", "1"), ("option", "/no/such/folder/x.json")}


@pytest.mark.parametrize(
    ("layer", "name", "value", "expected"),
    [pytest.param(layer, *bad, marks=() if (layer, bad[1]) in BY_DEFAULT else pytest.mark.slow) for bad in BAD for layer in LAYERS],
)
def test_a_bad_setting_is_a_usage_error_that_names_its_source(run, pytester, monkeypatch, layer, name, value, expected):
    options, source = [], f"ini gilcheck_{name}"
    if layer == "option":
        options, source = [f"--gilcheck-{name}={value}"], f"command line --gilcheck-{name}"
    elif layer == "environment":
        monkeypatch.setenv(f"GILCHECK_{name.upper()}", value)
        source = f"environment GILCHECK_{name.upper()}"
    else:
        pytester.makeini(f"[pytest]\ngilcheck_{name} = {value}")
    result = run("def test_unmarked(): pass", *options)
    assert result.ret == pytest.ExitCode.USAGE_ERROR
    result.stderr.fnmatch_lines([f"ERROR: gilcheck: {name}='{value}' (from {source}): expected {expected}"])


def test_an_unknown_part_of_the_system_cannot_be_hidden(run, monkeypatch):
    monkeypatch.setenv("GILCHECK_HIDE", "prok")
    result = run("def test_unmarked(): pass")
    assert result.ret == pytest.ExitCode.USAGE_ERROR
    expected = "some of proc, fork, pidfd, eventfd, affinity"
    result.stderr.fnmatch_lines([f"ERROR: gilcheck: hide='prok' (from environment GILCHECK_HIDE): expected {expected}"])


REPORTS_ITS_SEED = """
    import pytest
    values = []
    def add(): values.append(1)
    @pytest.mark.gil_fuzz(ARGUMENTS)
    def test_of_a_marker(): add()
    def test_of_a_call(gilcheck): gilcheck.fuzz(threads=[add, add], ARGUMENTS)
"""


@pytest.mark.slow
def test_the_priority_is_marker_command_line_environment_ini(run, pytester, monkeypatch):
    def seed(marker, *options):
        result = run(REPORTS_ITS_SEED.replace("ARGUMENTS", marker), "-rA", *options)
        result.assert_outcomes(passed=2)
        found = [line.rpartition("seed ")[2] for line in result.outlines if "seed " in line and "explored" in line]
        assert len(found) == 2
        assert len(set(found)) == 1, "a call's argument counts as a marker's"
        return int(found[0])

    pytester.makeini("[pytest]\ngilcheck_seed = 4")
    assert seed("") == 4
    monkeypatch.setenv("GILCHECK_SEED", "3")
    assert seed("") == 3
    assert seed("", "--gilcheck-seed=2") == 2
    assert seed("seed=1", "--gilcheck-seed=2") == 1


@pytest.mark.slow
def test_budget_scale_multiplies_budgets_and_timeouts_but_no_claim(run, pytester):
    shown = "print('RECORD', record['check'], record['parameters'], record['claim'])"
    pytester.makeconftest(f"def pytest_gilcheck_record(record): {shown}")
    source = """
        import pytest
        @pytest.mark.gil_fuzz(budget=0.1)
        def test_budget(): pass
        @pytest.mark.gil_latency(p99=5, timeout=7, budget=0.5)
        def test_claim(): pass
    """
    result = run(source, "-s", "--gilcheck-budget-scale=3")
    fuzz, latency = (next(line for line in result.outlines if f"RECORD {name}" in line) for name in ("fuzz", "latency"))
    assert "'budget': 0.30" in fuzz
    assert "'timeout': 60.0" in fuzz, "the default of 20 s"
    assert "'timeout': 21" in latency
    assert "'budget': 1.5" in latency
    assert "'p99': 5.0" in latency


@pytest.mark.parametrize("factor", one_in(3, ["0", "-1", "nan", "big", "1e300"]))
def test_a_budget_scale_that_is_not_above_0_is_refused(run, factor):
    result = run("def test_it(): pass", f"--gilcheck-budget-scale={factor}")
    assert result.ret == pytest.ExitCode.USAGE_ERROR
    result.stderr.fnmatch_lines(["ERROR: gilcheck: budget_scale=*expected a number above 0, at most 1,000,000"])


@pytest.mark.exclusive
@pytest.mark.slow
def test_times_that_no_clock_of_the_system_has_are_waited_for_as_long_as_it_can(run):
    source = """
        import time, pytest
        @pytest.mark.gil_interrupt(repeats=1, over=1e8, within=1e8, exits_within=1e8, timeout=1e8)
        def test_interrupt(): time.sleep(0.05)
        @pytest.mark.gil_scaling(min_speedup=1.5, threads=2, timeout=1e8, budget=1e-6)
        def test_scaling(): time.sleep(0.01)
    """
    result = run(source, "--gilcheck-budget-scale=1e6")
    assert "Error" not in result.stdout.str()
    assert result.parseoutcomes().get("failed", 0) == 0


@pytest.mark.skipif(sys.platform != "linux", reason="the limit of address space is Linux's")
def test_threads_that_the_system_does_not_start_are_a_line_and_no_traceback(run):
    source = """
        import resource, pytest
        resource.setrlimit(resource.RLIMIT_AS, (3 << 30, 3 << 30))  # too little for their stacks
        shared = [0]
        @pytest.mark.gil_fuzz(threads=9000, schedules=3)
        def test_searched(): shared[0] += 1
        @pytest.mark.gil_fuzz(threads=9000, mode="stress", budget=1)
        def test_stressed(): shared[0] += 1
        @pytest.mark.gil_latency(workers=9000)
        def test_beside(): shared[0] += 1
        @pytest.mark.gil_fuzz(threads=5, schedules=3)
        def test_few(): len(shared)
    """
    result = run(source)
    result.assert_outcomes(failed=3, passed=1)
    refused = [line for line in result.outlines if "=9000 (from marker gil_" in line and line.startswith("gilcheck: ")]
    assert [line.split("=")[0] for line in refused] == ["gilcheck: threads", "gilcheck: threads", "gilcheck: workers"]
    assert all("expected at most" in line and "the system" in line for line in refused)
    assert "Traceback" not in result.stdout.str()


def test_a_bad_value_is_refused_although_a_source_of_higher_priority_has_a_good_one(run, monkeypatch):
    monkeypatch.setenv("GILCHECK_BUDGET", "soon")
    result = run("def test_it(): pass", "--gilcheck-budget=1")
    assert result.ret == pytest.ExitCode.USAGE_ERROR


def test_a_variable_that_is_no_setting_is_a_warning_with_the_name_that_was_meant(run, monkeypatch):
    monkeypatch.setenv("GILCHECK_BUGDET", "1")
    monkeypatch.setenv("GILCHECK_ZZZ", "1")
    monkeypatch.setenv("GILCHECK_", "1")
    monkeypatch.setenv("GILCHECK_LOKC", "")  # empty is not given, as for a setting
    result = run("def test_it(): pass", "-n1")
    result.assert_outcomes(passed=1, warnings=3)
    text = "the environment variable {} is no setting, and has no effect: {}"
    result.stdout.fnmatch_lines_random(
        [
            f"*Warning: gilcheck: {text.format('GILCHECK_BUGDET', 'did you mean GILCHECK_BUDGET[?]')}",
            f"*Warning: gilcheck: {text.format('GILCHECK_ZZZ', 'expected one of GILCHECK_BUDGET, GILCHECK_TIMEOUT, *')}",
        ]
    )
    strict = run(None, "-W", "error::pytest.PytestConfigWarning")
    assert strict.ret == pytest.ExitCode.USAGE_ERROR
    strict.stderr.fnmatch_lines(["ERROR: gilcheck: the environment variable GILCHECK_BUGDET is no setting, *"])


SPAWNS = """
    import threading, pytest
    over = threading.Event()
    threading.Thread(target=over.wait, daemon=True).start()  # so each test gets a pytest of its own
    teardown_module = over.set  # this process goes on
    shared = threading.Lock()
    @pytest.mark.gil_fuzz(schedules=3)
    def test_it():
        with shared: pass
"""


def test_every_variable_that_has_a_meaning_is_no_warning_nor_are_those_of_our_children(run, monkeypatch, pytester):
    good = {
        "strict": "1",
        "isolate": "auto",
        "gil_reenabled": "warn",
        "replay": "",
        "json": "e.json",
        "html": "",
        "markdown": "t.md",
    }
    for name in SETTINGS:
        monkeypatch.setenv(variable(name), good.get(name, "0" if SETTINGS[name].metavar is None else "2"))
    monkeypatch.setenv("GILCHECK_LOCK", str(pytester.path / "lock"))
    result = run(SPAWNS)
    result.assert_outcomes(passed=1, warnings=0)
    result.stdout.fnmatch_lines(["*1 test ran in a pytest of its own*"])


def test_the_help_names_every_option_with_its_environment_and_ini(run):
    result = run("", "--help")
    text = " ".join(" ".join(result.outlines).split())
    for name in SETTINGS:
        assert option(name) in text
        assert variable(name) in text.replace("- ", "-")
        assert f"gilcheck_{name}" in text


def test_the_marker_is_listed_and_strict_markers_know_it(run):
    run("", "--markers").stdout.fnmatch_lines(["@pytest.mark.gil_scaling(min_speedup=*"])
    run(WAITS, "--strict-markers", "--gilcheck-disable").assert_outcomes(passed=1)
    run(WAITS.replace("gil_scaling", "gil_scalin"), "--strict-markers", "--gilcheck-disable").assert_outcomes(errors=1)


@pytest.mark.parametrize(("word", "on"), [("on", True), ("1", True), ("YES", True), ("off", False), ("0", False), ("No", False)])
def test_a_switch_is_on_or_off_as_its_word_says(word, on):
    settings = Settings(environment={"strict": word, "json": None})
    assert settings.value("strict") == (on, "environment GILCHECK_STRICT")
