"""The four kinds of requests of "Concurrency up by 200%" (2025). Each call is one request."""

import threading

import numpy

LOCAL = threading.local()


def is_prime():
    """Computes with small integers, and allocates next to nothing.

    The number is made in each call. As a constant or a default argument it is one object, whose reference count all threads change
    without a GIL: two threads were then slower than one (0.8x and 0.9x, 3.13.5t).
    """
    number, divisor = int("536870909"), 3
    while divisor * divisor <= number:
        if number % divisor == 0:
            return False
        divisor += 2
    return True


def fibonacci(places=2_000):
    """Allocates a large integer in each step, and keeps all of them for a while."""
    numbers = [0, 1]
    for _ in range(places):
        numbers.append(numbers[-1] + numbers[-2])
    return numbers[-1]


def matrix_multiply(size=320):
    """Computes in a library that releases the GIL. Each thread has matrices of its own."""
    if not hasattr(LOCAL, "matrix"):
        LOCAL.matrix = numpy.random.default_rng(1).random((size, size))
    return LOCAL.matrix @ LOCAL.matrix


def redis_set(port):
    """A function that sends one SET over a connection of the thread's own: Python code around a short wait."""
    import redis

    def request():
        if not hasattr(LOCAL, "client"):
            LOCAL.client = redis.Redis(host="127.0.0.1", port=port)
        LOCAL.client.set("key", "value")

    return request
