"""Where SIGINT is blocked or ignored, none is handled: a transfer in two halves is safe there, and only there."""

import signal
import sys

import pytest

from pytest_gilcheck import gilcheck
from tests.slow import one_in

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="there is no mask of signals on Windows")


class Account:
    def __init__(self):
        self.left, self.right = 100, 0

    def transfer(self):
        self.left -= 10
        len("a call, after which a signal is handled")
        self.right += 10

    def intact(self):
        return self.left + self.right == 100


def blocked(work):
    before = signal.pthread_sigmask(signal.SIG_BLOCK, [signal.SIGINT])
    try:
        work()
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)


def ignored(work):
    before = signal.signal(signal.SIGINT, signal.SIG_IGN)
    try:
        work()
    finally:
        signal.signal(signal.SIGINT, before)


@pytest.mark.slow
@pytest.mark.parametrize("exception", one_in(2, [KeyboardInterrupt, KeyboardInterrupt("stop")]), ids=["class", "instance"])
@pytest.mark.parametrize("guarded", one_in(2, [blocked, ignored]))
def test_no_exception_is_raised_where_no_signal_is_handled(guarded, exception):
    account = Account()
    safe = gilcheck.interrupt(lambda: guarded(account.transfer), inject="every-step", invariant=account.intact, exception=exception)
    safe.assert_holds()


@pytest.mark.slow
def test_without_the_mask_the_same_is_violated_and_what_comes_after_the_mask_is_tried():
    account = Account()
    gilcheck.interrupt(account.transfer, inject="every-step", invariant=account.intact).assert_violated()
    late = Account()

    def masked_too_early():
        blocked(lambda: None)
        late.transfer()

    gilcheck.interrupt(masked_too_early, inject="every-step", invariant=late.intact).assert_violated()


@pytest.mark.parametrize("start", one_in(2, [ignored, blocked]))
def test_where_no_signal_is_handled_from_the_beginning_as_in_a_background_job_each_step_is_tried(start):
    account, results = Account(), []
    start(lambda: results.append(gilcheck.interrupt(account.transfer, inject="every-step", invariant=account.intact)))
    results[0].assert_violated()
