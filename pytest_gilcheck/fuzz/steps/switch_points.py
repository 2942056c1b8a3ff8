"""Switch points inside what would be one step: whoever stands in for it says where, and the engine decides who goes on.

The stand-ins are those of `shared`: `sum(x)` reads a list element by element, and where there is no GIL other threads change it in
between.
"""

from __future__ import annotations

from collections.abc import Callable

ITERATE = "iterate"  # inside a C call: with a GIL, that call is one step, and no thread can switch here
CALL = "call"  # where a C call would be a step, and a Python function stands in for it: here a build with a GIL can switch
LOOP = "loop"  # in a loop of Python code that is not under test, the standard library's say: with a GIL too, threads switch here

hook: Callable[[str, str], None] | None = None  # the engine's, while it runs a check
parallel = False  # whether threads run for real, as in stress: then nothing is to be simulated


def reach(kind: str, name: str) -> None:
    """Another thread may go on here.

    Args:
        kind: `ITERATE`, `CALL` or `LOOP`.
        name: what is about to be read: ``"list"``, ``"dict.values"``.
    """
    if hook is not None:
        hook(kind, name)
