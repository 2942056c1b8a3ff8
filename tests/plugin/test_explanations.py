"""What pytest does to explain a failing assertion is no part of a schedule, and a plain failure is explained all the same."""

import re

import pytest

from tests.slow import one_in

CAUGHT = """
import pytest

class Box:
    n = 0

@pytest.fixture
def box():
    return Box()

@pytest.mark.gil_fuzz(invariant=lambda box: box.n == 2)
def test_it(box):
    with pytest.raises(AssertionError):
        assert box.n == 7
    box.n += 1
"""


@pytest.mark.slow
def test_a_token_of_a_test_with_a_failing_assertion_replays_at_any_verbosity(pytester):
    pytester.makepyfile(CAUGHT)
    result = pytester.runpytest_subprocess("-p", "no:cacheprovider")
    [token] = re.findall(r"gilcheck replay (\S+)", result.stdout.str())
    assert "_collections_abc" not in result.stdout.str()
    for options in ("-q", "-vv"):
        again = pytester.runpytest_subprocess("-p", "no:cacheprovider", options, f"--gilcheck-replay={token}")
        again.stdout.fnmatch_lines(["*violated*replayed*"])


@pytest.mark.slow
@pytest.mark.parametrize("body", one_in(2, ["assert [1, 2] == [1, 3]", "assert {'a': 1} == {'a': 2}"]))
def test_a_test_that_fails_without_any_concurrency_fails_with_the_whole_explanation(pytester, body):
    pytester.makepyfile(f"""
        import pytest

        @pytest.mark.gil_fuzz
        def test_it():
            {body}
    """)
    plain = pytester.runpytest_subprocess("-p", "no:cacheprovider", "-p", "no:gilcheck", "-W", "ignore")
    checked = pytester.runpytest_subprocess("-p", "no:cacheprovider")
    explained = [line for line in plain.outlines if line.startswith("E ")]
    assert len(explained) > 2
    *same, note = [line for line in checked.outlines if line.startswith("E ")]
    assert same == explained
    assert note.split(maxsplit=1)[1].startswith("fails without any concurrency")
