"""Kernels known to scale, one for each build: what they reach is what the machine can give right now, the ceiling.

On a GIL build it is ``hashlib``, which lets go of the GIL; counting in Python has a ceiling of 1 there. On a free-threaded one
it is a pure-Python count, which touches nothing that threads share, and as much hashing: two hyperthreads of one core give
hashing far less than they give the interpreter, and a ceiling by the interpreter alone condemned hashing workloads.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable

from ..core.interpreter import FREE_THREADED

_BUFFER = bytes(1 << 18)  # in the second-level cache: the ceiling is to be of cores, not of memory


def reference_kernel(build: str) -> Callable[[], None]:
    """The kernel for this build; one call takes well below a millisecond."""
    return count_and_hash if build == FREE_THREADED else hash_buffer


def hash_buffer() -> None:
    hashlib.sha256(_BUFFER).digest()


def count_and_hash() -> None:
    n = 3_000
    while n:
        n -= 1
    hash_buffer()
