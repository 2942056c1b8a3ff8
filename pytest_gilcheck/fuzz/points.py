"""Switch points inside what would be one C call: whoever stands in for it says where, and the engine decides.

A simulation of `sum(x)` without a lock calls `point` before each element that it reads. These are no places where a build *with*
a GIL can switch threads: to such a build the C call is one step.
"""

from __future__ import annotations

from collections.abc import Callable

hook: Callable[[str, str], None] | None = None  # the engine's, while it runs a check


def point(kind: str, name: str) -> None:
    """Another thread may go on here.

    Args:
        kind: what is about to happen: ``"iterate"``.
        name: what to: ``"list"``, ``"dict.values"``.
    """
    if hook is not None:
        hook(kind, name)
