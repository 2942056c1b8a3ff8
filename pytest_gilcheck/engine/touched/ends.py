"""Whether an object may end in an instruction that does nothing else which other threads could see.

Nothing ends if all that is dropped is a plain value, or is referred to by something else as well. Whoever drops the last reference
is asked in turn. A run in which the ends of objects matter proves nothing in any case (`summarised.doubt_of`), so this says only
where turning two steps round is worth a schedule. Without it, each end of a ``with`` statement was such a place in every file that
imports ``weakref`` or opens a file: 25 schedules for a drawn program in place of 6, and as many samples.
"""

from __future__ import annotations

from sys import getrefcount
from types import FrameType
from typing import Any

from ...core.build_flags import FREE_THREADED_BUILD
from ...core.lookup import looked_up
from ..bytecode.instructions import INSTRUCTIONS
from ..bytecode.stack import NOTHING, OFFSET, local_of, operands_of
from ..bytecode.touch import SCALARS

_STORES = frozenset({"STORE_FAST", "DELETE_FAST"})
_RETURNS = frozenset({"RETURN_VALUE", "RETURN_CONST"})


def may_end(frame: FrameType, name: str, argument: int) -> bool:
    """Whether an object may end in the instruction at which a frame of the calling thread is; also where that cannot be told.

    Args:
        name, argument: of the instruction.
    """
    row = looked_up(INSTRUCTIONS, name)
    if row is None or not OFFSET:
        return True
    code = frame.f_code
    if name in _STORES:
        dropped: Any = (local_of(frame, argument),)
    elif name in _RETURNS:
        if code.co_cellvars:
            return True
        dropped = [local_of(frame, index) for index in range(code.co_nlocals)]
    else:
        takes = row.takes if isinstance(row.takes, int) else row.takes(argument)
        dropped = operands_of(frame, takes) if takes and row.leaves == 0 else None
    if dropped is None:
        return True
    return any(type(each) not in SCALARS and each is not NOTHING and _is_last(each, dropped) for each in dropped)


def _is_last(thing: Any, dropped: Any) -> bool:
    """Whether nothing else refers to an object than what is dropped."""
    if FREE_THREADED_BUILD:  # where not each reference is counted
        return True
    times = sum([each is thing for each in dropped])
    return _others(thing, dropped) - times <= _OURS


def _others(thing: Any, dropped: Any) -> int:
    """The references to an object, but for those in this collection."""
    return getrefcount(thing) - sum([each is thing for each in dropped])


def _measured(dropped: Any) -> int:
    """What `_others` says of an object to which nothing else refers, when it is asked as `may_end` asks."""
    return next(_asked(each, dropped) for each in dropped)


def _asked(thing: Any, dropped: Any) -> int:
    return _others(thing, dropped)


_OURS = _measured((object(),))
