"""Records come first: the searches of a sweep are put off, and made in an order of their own."""

import re

import pytest

from .test_servers import sweep as sweep  # the fixture
from .test_sweep import SHOP, counted, unlocked

RACY = unlocked(SHOP)


def causes(lines):
    return [line for line in lines if line.startswith("cause")]


DEAR_FIRST = """
def costs(rounds):
    rows = []
    for number in range(rounds):
        rows.append(number)
    assert shop.sell() == 1

@pytest.mark.parametrize("number", range(3))
def test_dear(number):
    costs(300)

def test_cheap():
    costs(1)
"""


def test_of_the_tests_that_meet_a_thing_the_cheapest_is_searched_although_it_comes_last(sweep):
    _, lines = sweep(DEAR_FIRST, shop=RACY)
    assert counted(lines) | {"shares nothing that was seen": 1} == {
        "shares nothing that was seen": 1,
        "broken by a schedule": 1,
        "meets only what another test met": 3,
    }
    assert any(re.match(r"met by 4 tests \(3 not searched themselves\): test_suite.py::test_cheap, ", line) for line in lines)


STOPPED = """
def test_sell():
    assert shop.sell() == 1

def test_fails():
    assert False

def test_not_run():
    pass
"""


def test_a_run_that_is_stopped_before_its_searches_says_so_and_claims_nothing(sweep):
    result, lines = sweep(STOPPED, "-x", shop=RACY)
    result.assert_outcomes(passed=2, failed=1)
    assert counted(lines) == {"shares nothing that was seen": 1, "cut short": 1, "not passed plainly": 1}
    assert any("and the run ended before (test_suite.py::test_sell)" in line for line in lines)
    assert not causes(lines)


SCOPES = """
@pytest.fixture(scope="{scope}"{parameters})
def file(tmp_path_factory):
    path = tmp_path_factory.mktemp("wide") / "file"
    path.write_text("x")
    yield path
    path.unlink()

class TestFirst:
    def test_sell(self, file):
        assert file.read_text() == "x"
        assert shop.sell() == 1

def test_between():
    assert True

def test_after():
    assert True
"""


@pytest.mark.parametrize(
    ("scope", "parameters"),
    [
        pytest.param("class", "", id="class"),
        pytest.param("module", "", id="module"),
        pytest.param("session", ", params=[1, 2]", marks=pytest.mark.slow, id="parameters"),
    ],
)
def test_a_search_that_is_put_off_still_has_the_wider_fixtures_of_its_test(sweep, scope, parameters):
    suite = SCOPES.replace("{scope}", scope).replace("{parameters}", parameters)
    result, lines = sweep(suite, shop=RACY)
    assert result.ret == pytest.ExitCode.TESTS_FAILED, "the sweep fails the run"
    assert all(line.startswith("cause in your package: shop.py:") for line in causes(lines))
    found = counted(lines)
    assert found["broken by a schedule"] >= 1
    assert found["shares nothing that was seen"] == 3
    assert "not repeatable" not in found


CASES = """

class TestOne(unittest.TestCase):
    def test_one(self):
        self.assertEqual(len([1]), 1)

class TestTwo(unittest.TestCase):
    def test_two(self):
        self.assertEqual(len([1]), 1)

class TestThree(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.rows = [1]

    def test_three(self):
        self.assertEqual(len(self.rows), 1)

    def test_four(self):
        self.assertEqual(len(self.rows), 1)
"""


def test_classes_of_unittest_with_and_without_a_set_up_are_decided(sweep):
    result, lines = sweep(CASES)
    result.assert_outcomes(passed=5)
    assert counted(lines) == {"shares nothing that was seen": 5}


NOT_PASSED = """

class TestOne(unittest.TestCase):
    def test_fails(self):
        self.fail("no")

    def test_skips(self):
        self.skipTest("not here")

    @unittest.expectedFailure
    def test_is_expected_to_fail(self):
        self.fail("no")

    def test_passes(self):
        self.assertEqual(len([1]), 1)
"""


def test_a_method_of_unittest_that_does_not_pass_is_not_swept(sweep):
    _, lines = sweep(NOT_PASSED)
    found = counted(lines)
    assert found["not passed plainly"] == 3
    assert found["shares nothing that was seen"] == 2
    assert "not repeatable" not in found
