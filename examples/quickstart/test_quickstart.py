"""Six workloads, and what is true of each: with the GIL and without it.

    pytest examples/quickstart -v

Run it on a GIL build and on a free-threaded one: the same file passes on both, because each test says what holds where.
"""

import hashlib
import json
import threading
import time

import pytest

MEGABYTES = bytes(4 << 20)
DATA = threading.local()
ONE_AT_A_TIME = threading.Lock()


def count(n=1_000_000):
    while n > 0:
        n -= 1


# David Beazley's count: threads gain nothing under the GIL, and everything without it.
@pytest.mark.gil_scaling(threads=2, min_speedup={"gil": 0.8, "free-threaded": 1.5})
def test_count():
    count()


# hashlib lets go of the GIL while it works: it scales on every build.
@pytest.mark.gil_scaling(threads=2, min_speedup=1.5)
def test_hash_megabytes():
    hashlib.sha256(MEGABYTES).digest()


# Waiting needs no core at all: ten waits take as long as one.
@pytest.mark.gil_scaling(threads=10, min_speedup=5)
def test_blocking_wait():
    time.sleep(0.02)


# json.dumps is C code that never lets go of the GIL. Each thread has data of its own.
@pytest.mark.gil_scaling(threads=2, min_speedup={"gil": 0.8, "free-threaded": 1.4})
def test_json_dumps():
    if not hasattr(DATA, "rows"):
        DATA.rows = [{"id": i, "name": f"row {i}", "price": i * 0.99} for i in range(5_000)]
    json.dumps(DATA.rows)


def hash_one_at_a_time():
    with ONE_AT_A_TIME:
        hashlib.sha256(MEGABYTES).digest()


# A lock around everything: no build can help, and the report names its line.
def test_serialised_by_its_own_lock(gilcheck):
    result = gilcheck.scaling(hash_one_at_a_time, threads=2, min_speedup=1.5)
    result.assert_violated()
    assert result.cause == "lock", result


# The same claim on both builds: it holds only where there is no GIL, and there the cause is gone too.
def test_scales_only_without_the_gil(gilcheck):
    result = gilcheck.scaling(count, threads=2, min_speedup=1.5)
    if gilcheck.interpreter.build == "free-threaded":
        result.assert_holds()
        assert result.cause == "scales", result
    else:
        result.assert_violated()
        assert result.cause == "gil", result
