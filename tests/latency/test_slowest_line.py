"""The slowest line of a workload is named, where the release of the GIL does not tell it."""

import pickle

from pytest_gilcheck.core.gil_holders import HolderPlace, Holding
from pytest_gilcheck.latency.culprit import culprits
from pytest_gilcheck.latency.slowest_line import slowest_line

DATA = pickle.dumps(list(range(300_000)))
BUFFER = bytes(30_000_000)


def loads():
    small = len(DATA)
    pickle.loads(DATA)
    return small


def power():
    exponent = 200_000
    return 7**exponent


def copy():
    small = b"x"
    return BUFFER + small


def test_the_line_of_the_long_operation_is_found():
    assert slowest_line(loads).line == loads.__code__.co_firstlineno + 2
    assert slowest_line(power).line == power.__code__.co_firstlineno + 2
    assert slowest_line(copy).line == copy.__code__.co_firstlineno + 2


def test_what_runs_in_no_code_under_test_has_no_line():
    assert slowest_line(len.__self__.dir) is None


def test_the_last_operation_is_named_by_the_slowest_line():
    [culprit] = culprits([Holding(HolderPlace(None), 1.0, (0.1,))], 0.005, 1, power, slowest_line(power))
    assert culprit.expression == "return 7**exponent"
    assert f"test_slowest_line.py:{power.__code__.co_firstlineno + 2} (power)" in culprit.line
    [unknown] = culprits([Holding(HolderPlace(None), 1.0, (0.1,))], 0.005, 1, power)
    assert unknown.expression == "the last operation of the workload"
