"""The rules by which this suite runs (`tests/suite.py`), in pytest runs of their own."""

import itertools
import re
from pathlib import Path

import pytest

from .slow import one_in

ROOT = Path(__file__).parents[1]
UNDECIDED = """
    import pytest
    from tests.undecided import undecided

    @pytest.mark.parametrize("n", range({tests}))
    def test_it(n):
        if n == 0:
            pytest.skip("inconclusive: as assert_holds says it")
        if n < {undecided}:
            undecided("too busy")
        if n < {undecided} + 3:
            pytest.skip("for another reason")
"""


@pytest.fixture
def run(pytester, monkeypatch):
    """``run(source, *options)``: a pytest run under the rules of this suite."""
    monkeypatch.setenv("PYTHONPATH", str(ROOT))
    monkeypatch.setenv("PYTEST_DISABLE_PLUGIN_AUTOLOAD", "1")
    monkeypatch.setenv("GILCHECK_LOCK", str(pytester.path / "the machine's"))
    pytester.makeini("[pytest]\nmarkers =\n  slow:\n  exclusive:")

    def run(source, *options):
        pytester.makepyfile(source)
        return pytester.runpytest_subprocess("-p", "xdist", "-p", "tests.suite", "-p", "no:cacheprovider", *options)

    return run


@pytest.mark.parametrize("workers", ["0", "2"])
@pytest.mark.parametrize(
    ("tests", "undecided", "status"),
    [
        (8, 4, 0),  # 50%, but few
        (8, 5, 1),
        (120, 6, 0),  # 5%
        (120, 7, 1),
    ],
)
@pytest.mark.slow
def test_a_session_fails_above_five_percent_of_undecided_tests(run, workers, tests, undecided, status):
    result = run(UNDECIDED.format(tests=tests, undecided=undecided), f"-n{workers}")
    assert result.ret == status
    result.assert_outcomes(passed=tests - undecided - 3, skipped=undecided + 3)
    [line] = [line for line in result.outlines if line.startswith("undecided: ")]
    assert line.startswith(f"undecided: {undecided} of {tests} tests")


def test_a_session_without_undecided_tests_says_nothing_of_them(run):
    assert "undecided:" not in run("def test_it(): pass").stdout.str()


@pytest.mark.parametrize("workers", ["0", "2"])
def test_the_summary_says_how_many_slow_tests_were_deselected(run, workers):
    result = run(
        """
        import pytest
        @pytest.mark.slow
        @pytest.mark.parametrize("n", range(3))
        def test_slow(n): pass
        def test_quick(): pass
        """,
        "-mnot slow",
        f"-n{workers}",
    )
    assert result.parseoutcomes()["passed"] == 1
    result.stdout.fnmatch_lines(["3 slow tests were deselected: *"])


@pytest.mark.slow
def test_an_exclusive_test_runs_while_no_other_does_and_after_them(run, pytester):
    run(
        """
        import os, pathlib, time, pytest

        @pytest.fixture(autouse=True)
        def span(request):
            begun = time.monotonic()
            time.sleep(0.05)
            yield
            kind = "exclusive" if "exclusive" in request.node.name else "other"
            lock = os.environ["GILCHECK_LOCK"].replace(" ", "-")
            pathlib.Path(f"span-{request.node.name}").write_text(f"{begun} {time.monotonic()} {kind} {os.getpid()} {lock}")

        @pytest.mark.exclusive
        @pytest.mark.parametrize("n", range(3))
        def test_exclusive(n): pass

        @pytest.mark.parametrize("n", range(12))
        def test_other(n): pass
        """,
        "-n3",
    ).assert_outcomes(passed=15)
    spans = sorted(
        (*map(float, words[:2]), *words[2:]) for path in pytester.path.glob("span-*") for words in [path.read_text().split()]
    )
    assert [kind for _, _, kind, _, _ in spans] == ["other"] * 12 + ["exclusive"] * 3
    others, exclusive = spans[:12], spans[12:]
    assert max(end for _, end, *_ in others) <= exclusive[0][0]
    assert all(one[1] <= two[0] for one, two in itertools.pairwise(exclusive))
    assert len({process for *_, process, _ in exclusive}) == 1
    assert len({process for *_, process, _ in others}) > 1
    assert {lock for *_, lock in exclusive} == {f"{pytester.path}/the-machine's".replace(" ", "-")}
    assert len({lock for *_, lock in others}) == len({process for *_, process, _ in others})  # one of its own for each worker


@pytest.mark.slow
def test_what_workers_share_is_made_once_and_removed_at_the_end(run, pytester):
    result = run(
        """
        import pathlib, pytest, time
        from tests.suite import made_once

        def make(folder):
            time.sleep(0.2)
            with open("made", "a") as file:
                file.write("made ")
            (folder / "it").touch()

        @pytest.mark.parametrize("n", range(4))
        def test_it(n):
            folder = made_once("things", make)
            assert (folder / "it").exists()
            pathlib.Path("where").write_text(str(folder))
        """,
        "-n2",
    )
    result.assert_outcomes(passed=4)
    assert (pytester.path / "made").read_text() == "made "
    assert not Path((pytester.path / "where").read_text()).exists()


@pytest.mark.slow
def test_a_run_of_everything_has_workers_and_a_run_of_one_file_has_none(run, pytester):
    source = "def test_it(worker_id): print('worker', worker_id)"
    (pytester.path / "conftest.py").write_text("pytest_plugins = ['tests.suite']\n")
    pytester.makeini("[pytest]\ntestpaths = .")
    assert re.search(r"worker gw\d", run(source, "-rP").stdout.str())
    assert "worker master" in run(source, "-rP", "-n0").stdout.str()
    [file] = pytester.path.glob("test_*.py")
    assert "worker master" in run(source, "-rP", file.name).stdout.str()


@pytest.mark.slow
@pytest.mark.parametrize("workers", one_in(2, ["2", "0"]))
def test_each_test_is_in_one_share(run, pytester, workers):
    source = """
        import pathlib, pytest

        @pytest.mark.parametrize("n", range(20))
        def test_it(n):
            with open("ran", "a") as file:
                file.write(f"{n} ")
        """
    ran = []
    for share in ("1/3", "2/3", "3/3"):
        (pytester.path / "ran").write_text("")
        run(source, f"-n{workers}", "--share", share)
        ran.append({int(word) for word in (pytester.path / "ran").read_text().split()})
    assert all(ran)
    assert sum(map(len, ran)) == 20
    assert set.union(*ran) == set(range(20))


@pytest.mark.parametrize("share", one_in(3, ["0/2", "3/2", "half", "1/2/3", "1"]))
def test_a_share_that_there_is_not_is_refused(run, share):
    result = run("def test_it(): pass", "--share", share)
    assert result.ret == pytest.ExitCode.USAGE_ERROR
    result.stderr.fnmatch_lines([f"ERROR: --share={share!r}: expected K/N, from 1/N to N/N"])
