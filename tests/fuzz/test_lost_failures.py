"""A failing run that shows more visible steps is void, and may be the last one that fails: another process looks into it then."""

import copy
import threading

import pytest

from pytest_gilcheck import gilcheck

pytestmark = [
    pytest.mark.skipif("sys.platform == 'win32'", reason="there is no fork on Windows"),
    pytest.mark.filterwarnings("ignore:gilcheck. the program changed:RuntimeWarning"),
]
LOCK = threading.Lock()


class Kept:
    busy = False


def fails_once():
    if Kept.busy and not hasattr(copy, "failed_here"):
        copy.failed_here = True  # where no check looks whether it has changed
        copy.copy(Kept())  # code of the library that stores any attribute, and had not started before
        raise AssertionError("two at once")
    Kept.busy = True
    Kept.busy = False


def locked():
    with LOCK:
        fails_once()


def test_it_is_found_and_its_twin_with_a_lock_holds():
    result = gilcheck.fuzz(threads=[fails_once, fails_once], schedules=60, judge=False)
    assert (result.verdict, result.symptom) == ("violated", "exception"), str(result)
    assert not hasattr(copy, "failed_here"), "the process of the caller is as it was"
    again = gilcheck.fuzz(threads=[fails_once, fails_once], replay=result.token, judge=False)
    assert again.verdict == "violated", str(again)
    assert gilcheck.fuzz(threads=[locked, locked], schedules=60, judge=False).verdict == "holds"
