"""Reads the operands of the instruction that a frame is about to run.

The interpreter keeps the stack of a frame behind its locals, in memory, and shows it to nobody. How deep it is before each
instruction follows from the code. Where a frame keeps its locals depends on the version: it is found out once, by looking for two
objects that are known to be there. Only words of the frame itself are read, and a version in which the two are not found, or code
whose depths do not agree along all of its paths, has no operands: then nothing is known.

What does not work: ``gc.get_referents`` of a frame that runs (it says nothing of it); looking names up in the source (another
thread may have changed what they stand for since they were loaded).
"""

from __future__ import annotations

import ctypes
import dis
import sys
from collections.abc import Mapping
from inspect import CO_OPTIMIZED
from types import CellType, CodeType, FrameType
from typing import Any

from ...core.lookup import looked_up
from ...core.own_builtins import PutBack
from .code_facts import OfCode, instructions_of
from .instructions import INSTRUCTIONS, JUMPS, effect
from .starred import Behind, gone_of

_WORD = ctypes.sizeof(ctypes.c_void_p)
_FRAME = object.__basicsize__ + _WORD  # in a frame object, after the reference to the frame before: the interpreter's own frame
_FIRST, _LAST = 7, 16  # words of the interpreter's frame among which its locals begin
_TAGS = 3  # the low bits of a reference, from 3.14 on
_TAGGED = sys.version_info >= (3, 14)
_REFERENCE, _SIZE = ctypes.py_object, ctypes.c_size_t
_reference_at, _size_at = _REFERENCE.from_address, _SIZE.from_address
_increase, _decrease = ctypes.pythonapi.Py_IncRef, ctypes.pythonapi.Py_DecRef
_increase.argtypes = _decrease.argtypes = (_REFERENCE,)
_increase.restype = _decrease.restype = None


class NoValue:
    """In the place of an operand: the stack has a null, or a number that is no object."""


NOTHING = NoValue()


def operands_of(frame: FrameType, count: int) -> tuple[Any, ...] | None:
    """The topmost ``count`` operands of the instruction at which a frame is, the topmost last; None if they are not known.

    The frame must be one of the calling thread.
    """
    code = frame.f_code
    depths, locals_, gone = _depths(code)
    at = frame.f_lasti
    depth = looked_up(depths, at)
    if depth is None or depth < count:
        return None
    first = _locals_at(frame) + (locals_ + depth - count) * _WORD
    if gone and (behind := looked_up(gone, at)) is not None:
        read = [NOTHING if index == count - behind.place else _object_at(first + index * _WORD) for index in range(count)]
        if behind.local and count >= behind.place:
            value = _object_at(_locals_at(frame) + code.co_varnames.index(behind.local) * _WORD)
            read[-behind.place] = value if type(value) in (tuple, list) else NOTHING
        return tuple(read)
    if count == 1:
        return (_object_at(first),)
    return tuple([_object_at(first + index * _WORD) for index in range(count)])


def replace_operand(frame: FrameType, place: int, other: object) -> bool:
    """Put another object in the place of an operand of the instruction at which a frame is, counted from the top; or return False.

    The frame must be one of the calling thread. Up to 3.13 the stack owns a reference to each operand; later versions borrow some,
    and keep others in registers when a call is reported, so nothing is replaced there.
    """
    depths, locals_, gone = _depths(frame.f_code)
    depth = looked_up(depths, frame.f_lasti)
    if _TAGGED or depth is None or not 0 < place <= depth or looked_up(gone, frame.f_lasti) is not None:
        return False
    word = _size_at(_locals_at(frame) + (locals_ + depth - place) * _WORD)
    if not word.value:
        return False
    before = _REFERENCE.from_buffer(word).value
    _increase(_REFERENCE(other))
    word.value = id(other)
    _decrease(_REFERENCE(before))
    return True


def behind_the_star(frame: FrameType, place: int) -> Any:
    """What is behind the star of a call, at this place from the top, before the interpreter makes a tuple of it (`starred`)."""
    depths, locals_, _ = _depths(frame.f_code)
    depth = looked_up(depths, frame.f_lasti)
    return NOTHING if depth is None or depth < place else _object_at(_locals_at(frame) + (locals_ + depth - place) * _WORD)


def beside_callee(name: str, argument: int) -> int | None:
    """How many operands a call has above the two places for its callee and what that is bound to; None if it is no call.

    Args:
        name, argument: of the instruction.
    """
    if name == "CALL_FUNCTION_EX":
        return 2 if sys.version_info >= (3, 14) else 1 + (argument & 1)
    return argument + (name == "CALL_KW") if name in ("CALL", "PRECALL", "CALL_KW") else None


def refers_to(frame: FrameType, place: int, thing: object) -> bool:
    """Whether this object is the operand at a place from the top; an operand that may be gone is not looked at.

    The object must be kept alive by the caller.
    """
    depths, locals_, _ = _depths(frame.f_code)
    depth = looked_up(depths, frame.f_lasti)
    if depth is None or depth < place:
        return False
    word: int = _size_at(_locals_at(frame) + (locals_ + depth - place) * _WORD).value
    return (word & ~_TAGS if _TAGGED else word) == id(thing)


def topmost(frame: FrameType, most: int) -> tuple[Any, ...]:
    """Up to ``most`` operands on top of the stack of a frame, of the calling thread; nothing if they are not known."""
    depth = looked_up(_depths(frame.f_code)[0], frame.f_lasti) or 0
    return operands_of(frame, min(depth, most)) or ()


def local_of(frame: FrameType, index: int) -> Any:
    """What is in a slot of the locals, such as a closure cell; `NOTHING` if that is not known."""
    _, locals_, _ = _depths(frame.f_code)
    return _object_at(_locals_at(frame) + index * _WORD) if OFFSET and index < locals_ else NOTHING


def locals_of(frame: FrameType) -> Mapping[str, Any]:
    """The variables of a frame, of the calling thread or one that waits for its turn, without ``f_locals``.

    Up to 3.12 that is a copy which stays, and keeps alive what a variable has been. Up to 3.11 it is also written back after a
    trace function, cells included.
    """
    code = frame.f_code
    if sys.version_info >= (3, 13) or not OFFSET or not code.co_flags & CO_OPTIMIZED:
        return frame.f_locals
    cells = [name for name in code.co_cellvars if name not in code.co_varnames]
    first, found = _locals_at(frame), {}
    for index, name in enumerate((*code.co_varnames, *cells, *code.co_freevars)):
        value = _object_at(first + index * _WORD)
        if type(value) is CellType:
            try:
                value = value.cell_contents
            except ValueError:  # it is empty
                continue
        if value is not NOTHING:
            found[name] = value
    return found


@OfCode
def _depths(code: CodeType) -> tuple[dict[int, int], int, dict[int, Behind]]:
    locals_ = len(code.co_varnames) + len(set(code.co_cellvars) - set(code.co_varnames)) + len(code.co_freevars)
    known = depths(code) if OFFSET else {}
    return known, locals_, gone_of(code, known)


def depths(code: CodeType) -> dict[int, int]:
    """The depth of the stack before each instruction, by offset; nothing if the paths through the code do not agree."""
    instructions = instructions_of(code)
    index_of = {instruction.offset: index for index, instruction in enumerate(instructions)}
    with PutBack():
        entries = dis.Bytecode(code).exception_entries  # type: ignore[attr-defined,unused-ignore]
    found: dict[int, int] = {}
    waiting = [(0, 0)] + [(index_of[entry.target], entry.depth + entry.lasti + 1) for entry in entries if entry.target in index_of]
    while waiting:
        index, depth = waiting.pop()
        while index < len(instructions):
            instruction = instructions[index]
            known = found.get(instruction.offset)
            if known is not None or not 0 <= depth <= code.co_stacksize:
                if known != depth:
                    return {}
                break
            found[instruction.offset] = depth
            name, argument = instruction.opname, instruction.arg
            if name in JUMPS:
                landing = index_of.get(instruction.argval)
                if landing is None:
                    return {}
                waiting.append((landing, depth + effect(name, argument, jump=True)))
            if INSTRUCTIONS[name].ends:
                break
            depth += effect(name, argument, jump=False)
            index += 1
    return found


def _object_at(address: int) -> Any:
    """The object whose reference is there. (`ctypes.cast` is Python code, which needs room on the stack of the program.)"""
    if not _TAGGED:
        try:
            return _reference_at(address).value
        except ValueError:  # a null
            return NOTHING
    word = _size_at(address).value
    if not word:
        return NOTHING
    if not word & _TAGS:
        return _reference_at(address).value
    return NOTHING if word & _TAGS == _TAGS or not word & ~_TAGS else _REFERENCE.from_buffer(_SIZE(word & ~_TAGS)).value


def _locals_at(frame: FrameType) -> int:
    inner: int = _size_at(id(frame) + _FRAME).value
    return inner + OFFSET * _WORD


def _calibrated() -> int:
    """The word of the interpreter's frame at which its locals begin; 0 if that is not found."""
    if sys.implementation.name != "cpython" or not hasattr(dis.Bytecode(depths), "exception_entries"):
        return 0
    one, other = object(), object()

    def asked(first: object, second: object) -> tuple[object, list[int]]:
        return (first, _words(sys._getframe()))  # during the call, ``first`` is on the stack as well

    _, words = asked(one, other)
    wanted = [id(one), id(other)]
    found = [index for index in range(_FIRST, _LAST) if [word & ~_TAGS for word in words[index : index + 2]] == wanted]
    if len(found) != 1:
        return 0
    on_stack = words[found[0] + 2] & ~_TAGS
    return found[0] if on_stack == id(one) else 0


def _words(frame: FrameType) -> list[int]:
    inner = _size_at(id(frame) + _FRAME).value
    return [_size_at(inner + index * _WORD).value for index in range(_LAST + 3)]


OFFSET = 0
OFFSET = _calibrated()
