"""Where the coroutines of this process wait: a stack ends at the event loop, which waits for all of them.

Every suspended coroutine is found by the garbage collector, so it makes no difference which library runs them. No other object is
asked for its class: a lazy one would make itself here, or raise.
"""

from __future__ import annotations

import gc
import sys
from types import AsyncGeneratorType, CoroutineType, FrameType, GeneratorType
from typing import Any

from ..core.classes import is_a
from ..core.origin import foreign, ours

_MOST = 20
_AWAITED = {CoroutineType: "cr_await", GeneratorType: "gi_yieldfrom", AsyncGeneratorType: "ag_await"}
_FRAMES = {CoroutineType: "cr_frame", GeneratorType: "gi_frame", AsyncGeneratorType: "ag_frame"}


def waiting_coroutines() -> list[list[Any]]:
    """[file, line, function] of the innermost line of the user's in each suspended coroutine that nothing else awaits.

    Those that only wait for a task of `asyncio` are left out, if there are others: what that waits for is among them.
    """
    suspended = [found for found in gc.get_objects() if is_a(found, CoroutineType) and found.cr_suspended]
    awaited = {id(coroutine.cr_await) for coroutine in suspended}
    roots = [_chain(coroutine) for coroutine in suspended if id(coroutine) not in awaited]
    task: Any = getattr(sys.modules.get("asyncio"), "Task", ())
    ends = [chain for chain in roots if not any(is_a(found, task) for found in gc.get_referents(chain[-1]))]
    places = []
    for chain in ends or roots:
        frames = [frame for frame in map(_frame, reversed(chain)) if frame is not None and not ours(frame.f_code.co_filename)]
        own = next((frame for frame in frames if not foreign(frame.f_code.co_filename)), None)
        if own is not None:
            places.append([own.f_code.co_filename, own.f_lineno, own.f_code.co_qualname])
    return places[:_MOST]


def _chain(coroutine: Any) -> list[Any]:
    """A coroutine, what it awaits, what that awaits and so on; the last one may be no coroutine."""
    found = []
    while coroutine is not None:
        found.append(coroutine)
        if name := _AWAITED.get(type(coroutine)):
            coroutine = getattr(coroutine, name)
        else:  # the step of an asynchronous generator refers to that
            inner = [each for each in gc.get_referents(coroutine) if type(each) is AsyncGeneratorType]
            coroutine = inner[0] if inner and not any(each is inner[0] for each in found) else None
    return found


def _frame(coroutine: Any) -> FrameType | None:
    name = _FRAMES.get(type(coroutine))
    return None if name is None else getattr(coroutine, name)
