"""A marker that is applied at run time, in a run without another checked test: it is honoured, or the test fails and says why."""

import pytest

from tests.slow import one_in

TWINS = """
    import threading, pytest
    from late import FUZZ

    @pytest.fixture
    def hits(): return [0]

    LOCK = threading.Lock()

    class TestTwins:
        def test_broken(self, hits):
            before = hits[0]
            hits[0] = before + 1
            assert hits[0] == before + 1
        def test_fixed(self, hits):
            with LOCK:
                before = hits[0]
                hits[0] = before + 1
                assert hits[0] == before + 1
"""
LATE = """
    import pytest

    FUZZ = pytest.mark.gil_fuzz(schedules=20)
"""
FIXTURE = """
    import pytest
    from late import FUZZ

    @pytest.fixture(scope="{scope}", autouse=True)
    def mark(request): {apply}(FUZZ)
"""
WAYS = {
    "class": FIXTURE.format(scope="class", apply="request.applymarker"),
    "function to class": FIXTURE.format(scope="function", apply="request.node.parent.add_marker"),
    "module": FIXTURE.format(scope="module", apply="request.node.add_marker"),
    "package": FIXTURE.format(scope="package", apply="request.applymarker"),
    "session": FIXTURE.format(scope="session", apply="request.applymarker"),
    "late set-up": """
        import pytest
        from late import FUZZ

        @pytest.hookimpl(trylast=True)
        def pytest_runtest_setup(item): item.getparent(pytest.Module).add_marker(FUZZ)
    """,
    "after all set-up": """
        import pytest
        from late import FUZZ

        @pytest.hookimpl(wrapper=True, tryfirst=True)
        def pytest_runtest_setup(item):
            yield
            item.session.add_marker(FUZZ)
    """,
}


@pytest.mark.slow
@pytest.mark.parametrize("way", one_in(len(WAYS), WAYS))
def test_a_marker_that_a_class_or_something_wider_gets_at_run_time_is_honoured(run, pytester, way):
    pytester.makepyfile(late=LATE)
    pytester.makeconftest(WAYS[way])
    result = run(TWINS)
    result.assert_outcomes(failed=1, passed=1)
    result.stdout.fnmatch_lines(["test_broken: violated*AssertionError*", "*= gilcheck: 1 violated, 1 holds*=*"])


TOO_LATE = """
    import pytest, unittest

    FUZZ = pytest.mark.gil_fuzz(schedules=20)

    class TestOwn:
        def test_in_its_body(self, request): request.node.add_marker(FUZZ)

    class TestClass:
        def test_in_a_body(self, request): request.node.parent.add_marker(FUZZ)

    class TestAfterOthers:
        @pytest.fixture(scope="class")
        def mark(self, request): request.applymarker(FUZZ)
        def test_before(self): pass
        def test_marks(self, mark): pass

    @pytest.mark.usefixtures("gilcheck")
    def test_that_asks_for_the_calls(request): request.node.add_marker(FUZZ)

    class TestOld(unittest.TestCase):
        @pytest.fixture(scope="class", autouse=True)
        def mark(self, request): request.applymarker(FUZZ)
        def test_old(self): pass

    class TestUnmarked:
        def test_it(self, request): request.node.add_marker(pytest.mark.other)
"""


def test_a_marker_that_comes_too_late_fails_its_test_with_what_to_do(run):
    result = run(TOO_LATE, "-Wignore", "-k", "not Old")
    result.assert_outcomes(failed=4, passed=2)
    late = "*gil_fuzz was applied while the test ran, so its check did not run: apply it as a decorator, *"
    before = "*gil_fuzz was applied to <Class TestAfterOthers> when *::test_before had run in it, without its check: apply it as *"
    result.stdout.fnmatch_lines_random(
        ["*_ TestOwn.test_in_its_body _*", late, "*_ TestClass.test_in_a_body _*", "*_ TestAfterOthers.test_marks _*", before]
    )
    assert sum("was applied while the test ran" in line for line in result.outlines if line.startswith("gilcheck:")) == 3
    old = run(None, "-Wignore", "-k", "Old")
    old.assert_outcomes(failed=1)
    old.stdout.fnmatch_lines(["gilcheck: gil_fuzz marks a unittest.TestCase method*"])
