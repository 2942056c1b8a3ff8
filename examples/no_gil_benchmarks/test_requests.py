"""Requests in one thread and in 16: who gains from a free-threaded build? See README.md for the published figures."""

import hashlib
import os

import pytest

pytest.importorskip("numpy")

import throughput
import workloads
from servers import redis_server

WORKERS = 16
ONE_CORE = 1.2  # cores used, at most, by threads that take turns


def has_gil(gilcheck):
    return gilcheck.interpreter.build == "gil"


# Computing in Python: published 2,493 requests/s with a GIL and 9,768 without, in eight threads.
@pytest.mark.parametrize("request_", [workloads.is_prime, workloads.fibonacci], ids=lambda request: request.__name__)
def test_python_scales_without_a_gil_alone(gilcheck, request_):
    result = gilcheck.scaling(request_, threads=2, min_speedup={"gil": 1.4, "free-threaded": 1.1})
    if has_gil(gilcheck):
        result.assert_violated()
        assert str(result.cause) == "gil", result
    else:
        result.assert_holds()


# numpy releases the GIL, so no build is better than the other. Published: 108 and 103. (Two hyperthreads of one physical core share
# what multiplies: how much faster two threads are is a fact about the machine.)
def test_numpy_needs_no_other_build(gilcheck):
    result = gilcheck.scaling(workloads.matrix_multiply, threads=2, max_slowdown=1.5)
    if result.held is not None and not result.held.unusable:
        assert result.held.fraction < 0.5, result
    result.assert_holds()


@pytest.fixture(scope="module")
def redis(tmp_path_factory):
    pytest.importorskip("redis")
    try:
        with redis_server(tmp_path_factory.mktemp("redis")) as port:
            yield port
    except FileNotFoundError as error:
        pytest.skip(str(error))


def requests(redis):
    return {
        "is_prime": workloads.is_prime,
        "fibonacci": workloads.fibonacci,
        "matrix_multiply": workloads.matrix_multiply,
        "redis_set": workloads.redis_set(redis),
    }


# With a GIL one core is busy in Python, however many threads there are; published: one, and six without a GIL.
@pytest.mark.parametrize("name", ["is_prime", "fibonacci", "redis_set"])
def test_sixteen_workers(redis, gilcheck, name):
    one, many = (throughput.measure(requests(redis)[name], workers) for workers in (1, WORKERS))
    print(f"{name}\n  {one}\n  {many}")
    if has_gil(gilcheck):
        assert many.cores <= ONE_CORE
        return
    room = throughput.measure(lambda: hashlib.sha256(bytes(1 << 20)).digest(), WORKERS).cores  # what these cores can give
    if name == "redis_set" and len(os.sched_getaffinity(0)) < 4:
        pytest.skip("inconclusive: redis-server needs a core of its own, and half of the time of a thread is the kernel's")
    if room < 1.5:
        pytest.skip(f"inconclusive: this machine is too busy: hashing used {room:.2f} cores")
    assert many.cores > ONE_CORE
