"""What a target is to do."""

from __future__ import annotations

import secrets
from collections.abc import Callable
from dataclasses import dataclass, field

from ..core.workloads import Workload


@dataclass(frozen=True)
class Job:
    """One workload to be interrupted.

    Attributes:
        work: the workload; a coroutine function is run by ``asyncio.run``.
        setup: called in the child process before it.
        signals: numbers of the signals that will be sent.
        imports: names of the modules to import after the setup.
        spawn: whether to run in a new interpreter, also where this process can be forked. It ends as interpreters do; a fork only
            imitates that.
        token: what the names of that carry which its targets make and would remove (`leftovers`).
    """

    work: Workload
    setup: Callable[[], object] | None
    signals: tuple[int, ...]
    imports: tuple[str, ...] = ()
    spawn: bool = False
    token: str = field(default_factory=lambda: secrets.token_hex(4))
