"""Switch points inside what is otherwise one step. Code that simulates a C operation reports them; the engine may switch there.

`shared` is that code: `sum(x)` reads a list element by element, and without a GIL other threads can change the list in between.
"""

from __future__ import annotations

from collections.abc import Callable

ITERATE = "iterate"  # inside a C call: a build with a GIL cannot switch here
CALL = "call"  # at a method in Python that simulates a C call: a build with a GIL can switch here
IN_PARTS = "in parts"  # inside a call in C that is taken apart (`apart`)
LOOP = "loop"  # in a loop of Python code that is not under test, such as the standard library's: a build with a GIL can switch

hook: Callable[[str, object], None] | None = None  # set by the engine during a check
parallel = False  # whether threads run at the same time, as in stress mode; then nothing is simulated


def reach(kind: str, name: object) -> None:
    """Report that another thread may run here.

    Args:
        kind: `ITERATE`, `CALL`, `LOOP` or `IN_PARTS`.
        name: what is read next, such as ``"list"`` or ``"dict.values"``; or the call that is taken apart.
    """
    if hook is not None:
        hook(kind, name)
