import pytest

WAITS = """
    import time, pytest
    @pytest.mark.gil_scaling(min_speedup=1.5, threads=2)
    def test_waits(): time.sleep(0.01)
"""


@pytest.mark.parametrize(
    ("name", "value", "expected"),
    [
        ("budget", "fast", "seconds above 0"),
        ("budget", "-1", "seconds above 0"),
        ("timeout", "inf", "seconds above 0"),
        ("threads", "1", "a whole number, at least 2"),
        ("threads", "2.5", "a whole number, at least 2"),
        ("isolate", "maybe", "auto, fork or none"),
        ("json", "/no/such/folder/x.json", "a file in a folder that exists"),
    ],
)
@pytest.mark.parametrize("layer", ["option", "environment", "ini"])
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


@pytest.mark.exclusive
def test_the_command_line_beats_the_environment_beats_the_marker_beats_ini(run, pytester, monkeypatch):
    def threads(*options):
        result = run(WAITS.replace("threads=2", marker), "--gilcheck-budget=10", *options)
        result.assert_outcomes(passed=1)
        return next(line for line in result.outlines if "threads; asked" in line)

    source = "min_speedup=1.2"
    marker = "threads=3"
    pytester.makeini("[pytest]\ngilcheck_threads = 2")
    assert "with 3 threads" in threads("-rA"), source
    monkeypatch.setenv("GILCHECK_THREADS", "4")
    assert "with 4 threads" in threads("-rA")
    assert "with 5 threads" in threads("-rA", "--gilcheck-threads=5")
    monkeypatch.delenv("GILCHECK_THREADS")
    marker = "warmup=1"
    assert "with 2 threads" in threads("-rA")


def test_a_bad_value_is_refused_even_where_a_better_source_hides_it(run, monkeypatch):
    monkeypatch.setenv("GILCHECK_BUDGET", "soon")
    result = run("def test_it(): pass", "--gilcheck-budget=1")
    assert result.ret == pytest.ExitCode.USAGE_ERROR


def test_the_help_names_every_option_with_its_environment_and_ini(run):
    result = run("", "--help")
    text = " ".join(" ".join(result.outlines).split())
    for name in ("budget", "timeout", "threads", "json", "strict", "isolate"):
        assert f"--gilcheck-{name}" in text
        assert f"GILCHECK_{name.upper()}" in text.replace("- ", "-")
        assert f"gilcheck_{name}" in text


@pytest.mark.exclusive
def test_the_marker_is_listed_and_strict_markers_know_it(run):
    run("", "--markers").stdout.fnmatch_lines(["@pytest.mark.gil_scaling(min_speedup=*"])
    run(WAITS, "--strict-markers", "--gilcheck-budget=10").assert_outcomes(passed=1)
