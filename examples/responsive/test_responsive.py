"""What else wants to run while a workload is busy in a thread: does it get to run in time?

pytest examples/responsive -v
"""

import hashlib

import pytest

MEGABYTES = bytes(4 << 20)


# hashlib lets go of the GIL: a heartbeat and an echo beside it are as prompt as without it.
@pytest.mark.gil_latency(p99=0.05)
def test_hashing_lets_others_run():
    hashlib.sha256(MEGABYTES).digest()


# Python code gives way when it is asked to, every 5 ms: late, but not very.
@pytest.mark.gil_latency(p99=0.2)
def test_python_code_gives_way():
    n = 100_000
    while n:
        n -= 1


# One C call that keeps the GIL for a tenth of a second keeps everybody waiting, and the report names it.
def test_a_c_call_that_keeps_the_gil(gilcheck):
    result = gilcheck.latency(lambda: sum(range(10_000_000)), p99=0.05, budget=6)
    if gilcheck.interpreter.build == "free-threaded":
        result.assert_holds()
    else:
        result.assert_violated()
        assert "sum(range(10_000_000))" in result.reason, result
