"""A plugin for the runs of the examples: it tries every expectation turned round as well.

Where an example asserts that a claim holds, `assert_violated` must fail on the same result, and the other way round: else the
example's tests could not fail. The outcome of each attempt is a line of JSON in the file that ``EXPECTATIONS`` names.
"""

import functools
import json
import os

from pytest_gilcheck.core.verdict import ClaimViolated, Inconclusive, Judged

FILE = "EXPECTATIONS"  # environment


def with_opposite(expected, opposite):
    @functools.wraps(expected)
    def checked(result):
        try:
            opposite(result)
            came = "passed"
        except ClaimViolated:
            came = "failed"
        except Inconclusive:
            came = "undecided"
        test = os.environ["PYTEST_CURRENT_TEST"].rpartition("::")[2].split()[0]
        with open(os.environ[FILE], "a") as file:  # in a child process too
            file.write(json.dumps([test, came]) + "\n")
        return expected(result)

    return checked


def pytest_configure():  # and not on import: the tests of this package import the module too
    Judged.assert_holds, Judged.assert_violated = (  # type: ignore[method-assign]
        with_opposite(Judged.assert_holds, Judged.assert_violated),
        with_opposite(Judged.assert_violated, Judged.assert_holds),
    )
