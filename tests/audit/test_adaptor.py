"""``pytest --gilcheck-audit``: checks as items."""

from .made import BETA, binary, wheel

FILE = "demo/{}.cpython-314t-x86_64-linux-gnu.so"
SETTINGS = "[tool.gilcheck.audit]\nignore = ['GA4', 'GA5', 'GA209']\n"


def test_findings_are_items_beside_the_tests(pytester):
    pytester.makepyprojecttoml(SETTINGS)
    pytester.makepyfile("def test_it(): pass")
    dist = pytester.mkdir("dist")
    wheel(
        dist, files={FILE.format(name): binary() for name in ("multi_free", "multi_silent", "single_sometimes")}, classifiers=[BETA]
    )
    result = pytester.runpytest("--gilcheck-audit=dist", "-rs", "-p", "no:cacheprovider")
    outcomes = result.parseoutcomes()
    assert (outcomes["failed"], outcomes["skipped"]) == (1, 1)
    result.stdout.fnmatch_lines(["*GA201*multi_silent*", "*importing it switches the GIL on*", "mend: *", "SKIPPED*not told: *"])


def test_a_release_that_is_well_passes(pytester):
    pytester.makepyprojecttoml(SETTINGS)
    wheel(pytester.mkdir("dist"), files={FILE.format("multi_free"): binary()}, classifiers=[BETA])
    result = pytester.runpytest("--gilcheck-audit=dist", "-p", "no:cacheprovider")
    assert result.ret == 0
    assert set(result.parseoutcomes()) == {"passed"}


def test_a_target_that_is_not_there_is_a_usage_error(pytester):
    result = pytester.runpytest("--gilcheck-audit=absent.whl")
    assert result.ret == 4
    result.stderr.fnmatch_lines(["ERROR: gilcheck: audit='absent.whl'*"])


def test_it_is_not_for_workers(pytester):
    result = pytester.runpytest("--gilcheck-audit=.", "-n", "2")
    assert result.ret == 4
    result.stderr.fnmatch_lines(["ERROR: gilcheck: --gilcheck-audit cannot be used with pytest-xdist*"])
