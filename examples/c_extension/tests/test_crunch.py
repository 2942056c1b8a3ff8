"""What a C function does with the GIL, and what the checks say of it.

In 2012, on four cores: one call of such a function took 2.7 s; four threads took 10.9 s holding the GIL, 3.4 s with it released.
"""

import pytest

right = pytest.importorskip("crunch.right", reason="the extension is not built: pip install examples/c_extension")

ROUNDS = 1_000_000  # some milliseconds


# Released, it scales on every build.
@pytest.mark.gil_scaling(threads=2, min_speedup=1.5)
def test_release_scales():
    right.release(ROUNDS)


# Holding the GIL, threads gain nothing; without a GIL they do.
@pytest.mark.gil_scaling(threads=2, min_speedup={"gil": 0.8, "free-threaded": 1.5})
def test_hold_scales_without_a_gil_alone():
    right.hold(ROUNDS)


def test_hold_does_not_scale_under_the_gil(gilcheck):
    if gilcheck.interpreter.build == "free-threaded":
        pytest.skip("there is no GIL to hold")
    gilcheck.scaling(lambda: right.hold(ROUNDS), threads=2, min_speedup=1.5).assert_violated()


# Others get to run beside it ...
@pytest.mark.gil_latency(p99=0.05)
def test_release_keeps_others_responsive():
    right.release(100_000_000)


# ... and not beside a call that holds the GIL for a tenth of a second and more.
def test_hold_keeps_others_waiting(gilcheck):
    if gilcheck.interpreter.build == "free-threaded":
        pytest.skip("there is no GIL to hold")
    gilcheck.latency(lambda: right.hold(300_000_000), p99=0.02).assert_violated()


# PyErr_CheckSignals: Ctrl-C works in the middle of the call.
@pytest.mark.gil_interrupt(within=0.5)
def test_attentive_can_be_interrupted():
    right.attentive(5.0)


# Without it Ctrl-C waits for the end of the call.
def test_deaf_cannot_be_interrupted(gilcheck):
    gilcheck.interrupt(lambda: right.deaf(5.0), within=0.5, repeats=2).assert_violated()
