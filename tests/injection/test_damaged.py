"""A body that damages the process it runs in is judged as any other, or not at all."""

import builtins
import linecache
import os
import signal
import sys

import pytest

from pytest_gilcheck import gilcheck
from pytest_gilcheck.core.fork_safety import can_fork

from ..slow import only

pytestmark = pytest.mark.skipif(can_fork() is not None, reason=f"{can_fork()}")


class Account:
    def __init__(self):
        self.left, self.right = 100, 0

    def transfer(self):
        self.left -= 10
        abs(-1)
        self.right += 10

    def swap(self):
        amounts = self.left - 10, self.right + 10
        abs(-1)
        self.left, self.right = amounts

    def intact(self):
        return self.left + self.right == 100


def without(name):
    return lambda: setattr(builtins, name, None)


def no_mask():
    signal.pthread_sigmask = None


NAMES = ["isinstance", "id", "len", "hasattr", "sorted", "list", "str", "Exception", "BaseException", "__import__"]
DAMAGES = {name: without(name) for name in NAMES} | {"pthread_sigmask": no_mask, "sys.modules": sys.modules.clear}
SAMPLE = {"isinstance", "len"}


def checked(work, damage, account):
    def body():
        damage()
        work()

    return gilcheck.interrupt(body, inject="every-step", invariant=account.intact)


@pytest.mark.parametrize("damage", only(SAMPLE, DAMAGES))
def test_a_safe_body_holds_after_it_has_damaged_its_process(damage):
    account = Account()
    checked(account.swap, DAMAGES[damage], account).assert_holds()


@pytest.mark.parametrize("damage", only(SAMPLE, DAMAGES))
def test_an_unsafe_body_is_violated_after_it_has_damaged_its_process(damage):
    account = Account()
    result = checked(account.transfer, DAMAGES[damage], account)
    result.assert_violated()
    assert "`abs(-1)`" in result.reason


def no_sources():
    linecache.updatecache = linecache.checkcache = None
    linecache.cache.clear()


def all_closed():
    os.closerange(3, 5000)


@pytest.mark.parametrize("damage", [no_sources, all_closed])
def test_where_our_code_in_the_process_fails_or_cannot_report_nothing_is_decided(damage):
    account = Account()
    result = checked(account.transfer, damage, account)
    assert result.verdict == "inconclusive"
    assert "the process could not report: it " in result.reason
    assert "os._exit" not in result.reason
