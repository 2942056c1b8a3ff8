"""Reference kernels known to scale, one for each build: their speedup is the ceiling, what the machine can give right now.

On a GIL build it is ``hashlib``, which releases the GIL; a loop in Python has a ceiling of 1 there. On a free-threaded build it
is a loop in Python, which uses no shared object, and hashing for the same time. Two hyperthreads of one core speed up hashing far
less than the interpreter, and with a ceiling from the loop alone, hashing workloads were wrongly violated.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable

from ..core.interpreter import FREE_THREADED

_BUFFER = bytes(1 << 18)  # fits the second-level cache: the ceiling measures cores, not memory


def reference_kernel(build: str) -> Callable[[], None]:
    """The reference kernel for this build; one call takes far less than a millisecond."""
    return count_and_hash if build == FREE_THREADED else hash_buffer


def hash_buffer() -> None:
    hashlib.sha256(_BUFFER).digest()


def count_and_hash() -> None:
    n = 3_000
    while n:
        n -= 1
    hash_buffer()
