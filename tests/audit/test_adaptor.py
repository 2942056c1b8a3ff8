"""``pytest --gilcheck-audit``: checks as items."""

import pytest

from ..slow import one_in
from .made import BETA, binary, wheel

FILE = "demo/{}.cpython-314t-x86_64-linux-gnu.so"
PLAIN = ("-p", "no:cacheprovider", "-p", "no:asyncio")  # which warns of a setting that the run in this process does not have
SETTINGS = "[tool.gilcheck.audit]\nignore = ['GA4', 'GA5', 'GA209']\n"


def test_findings_are_items_beside_the_tests(pytester):
    pytester.makepyprojecttoml(SETTINGS)
    pytester.makepyfile("def test_it(): pass")
    dist = pytester.mkdir("dist")
    wheel(
        dist, files={FILE.format(name): binary() for name in ("multi_free", "multi_silent", "single_sometimes")}, classifiers=[BETA]
    )
    result = pytester.runpytest("--gilcheck-audit=dist", "-rs", *PLAIN)
    outcomes = result.parseoutcomes()
    assert (outcomes["failed"], outcomes["skipped"]) == (1, 1)
    result.stdout.fnmatch_lines(["*GA201*multi_silent*", "*it switches the GIL on*", "mend: *", "SKIPPED*inconclusive: *"])


@pytest.mark.slow
def test_an_empty_target_does_not_mean_the_current_folder(pytester):
    pytester.makepyprojecttoml(SETTINGS)
    pytester.makepyfile("def test_it(): pass")
    result = run(pytester, "--gilcheck-audit=")
    assert result.ret == pytest.ExitCode.USAGE_ERROR
    result.stderr.fnmatch_lines(["ERROR: gilcheck: audit='' (from command line --gilcheck-audit): expected a file, a folder, or *"])


def run(pytester, *options):
    """In a process of its own: strict loads the checks, of which a process can have one copy."""
    return pytester.runpytest_subprocess("-p", "no:cacheprovider", *options)


def undecided(pytester, *options, ini=""):
    pytester.makepyprojecttoml(SETTINGS + ini)
    pytester.makepyfile("def test_it(): pass")
    wheel(pytester.mkdir("dist"), files={FILE.format("single_sometimes"): binary()}, classifiers=[BETA])
    return run(pytester, "--gilcheck-audit=dist", *options)


STRICT = [(["--gilcheck-strict"], ""), ([], "[tool.pytest.ini_options]\ngilcheck_strict = 'true'\n")]


@pytest.mark.parametrize(("options", "ini"), one_in(2, [pytest.param(*each) for each in STRICT]))
def test_what_is_undecided_fails_if_strict(pytester, options, ini):
    result = undecided(pytester, *options, ini=ini)
    outcomes = result.parseoutcomes()
    assert (result.ret, outcomes["failed"], "skipped" in outcomes) == (1, 1, False)
    result.stdout.fnmatch_lines(["inconclusive, and strict: *", "mend: *", "FAILED *GA203*"])


@pytest.mark.parametrize("quiet", one_in(2, [[], ["-q"]]))
def test_what_is_undecided_is_said_to_be_so_at_the_end(pytester, quiet):
    result = undecided(pytester, *quiet)
    assert (result.ret, result.parseoutcomes()["skipped"]) == (0, 1)
    result.stdout.fnmatch_lines([
        "*gilcheck: undecided checks of the audit*", "inconclusive GA203?*single_sometimes*: *",
        "gilcheck: 1 undecided; an undecided check is no pass: --gilcheck-strict fails it",
    ])  # fmt: skip


@pytest.mark.slow
def test_what_is_undecided_and_allowed_passes_if_strict(pytester):
    result = undecided(pytester, "--gilcheck-strict", ini="allow-inconclusive = ['GA203']\n")
    assert result.ret == 0
    result.stdout.no_fnmatch_line("*undecided checks*")


@pytest.mark.slow
def test_a_target_without_code_fails_if_strict(pytester):
    pytester.makepyprojecttoml("[project]\nname = 'demo'\n")
    assert run(pytester, "--gilcheck-audit=.").parseoutcomes() == {"skipped": 1}
    result = run(pytester, "--gilcheck-audit=.", "--gilcheck-strict")
    result.stdout.fnmatch_lines(["inconclusive, and strict: no Python source and no extension module*"])
    assert result.ret == 1


def test_a_release_that_is_well_passes(pytester):
    pytester.makepyprojecttoml(SETTINGS)
    wheel(pytester.mkdir("dist"), files={FILE.format("multi_free"): binary()}, classifiers=[BETA])
    result = pytester.runpytest("--gilcheck-audit=dist", *PLAIN)
    assert result.ret == 0
    assert set(result.parseoutcomes()) == {"passed"}


def test_a_target_that_is_not_there_is_a_usage_error(pytester):
    result = pytester.runpytest("--gilcheck-audit=absent.whl", *PLAIN)
    assert result.ret == 4
    result.stderr.fnmatch_lines(["ERROR: gilcheck: audit='absent.whl'*"])


def test_it_is_not_for_workers(pytester):
    result = pytester.runpytest("--gilcheck-audit=.", "-n", "2", *PLAIN)
    assert result.ret == 4
    result.stderr.fnmatch_lines(["ERROR: gilcheck: --gilcheck-audit cannot be used with pytest-xdist*"])
