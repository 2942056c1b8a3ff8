"""Iterators, unpacking and generators."""

from __future__ import annotations

from inspect import CO_GENERATOR
from types import GeneratorType

from .. import contexts, in_c, values
from ..elements import advanced, asked, begun, makes_a_generator, whole
from ..operators import all_methods_make_steps
from ..stack import NOTHING
from ..touch import SCALARS, UNKNOWN, Touches, both
from .at import At


def iterate(at: At) -> Touches:
    """The making of an iterator, or unpacking."""
    found = at.top(1)
    if found is None:
        return UNKNOWN
    thing = found[0]
    if at.name in ("GET_ITER", "GET_YIELD_FROM_ITER"):
        if type(thing) in SCALARS:  # a text, bytes or a range, and never changes
            return []
        if in_c.is_enumeration(thing) or all_methods_make_steps(type(thing), at.under_test):
            return []
        return begun(thing, at.under_test)
    if at.name != "GET_LEN" and (type(thing) is GeneratorType or makes_a_generator(thing, at.under_test)):
        return advanced(thing, at.under_test) if type(thing) is GeneratorType else []
    if at.name in ("LIST_EXTEND", "SET_UPDATE"):  # into what only this stack refers to
        return whole(thing) if at.name == "LIST_EXTEND" else both(whole(thing), asked(thing, at.under_test))
    return whole(thing)


def advance(at: At) -> Touches:
    found = at.top(1)
    if found is not None and found[0] is NOTHING:  # from 3.15 on, an index or a null is above what is iterated
        found = at.top(2)
        if found is not None and (type(found[0]) is list or type(found[0]) is tuple):
            return whole(found[0])
    if found is None or found[0] is NOTHING:
        return UNKNOWN
    return advanced(found[0], at.under_test)


def sent(at: At) -> Touches:
    """A generator goes on with what it delegates to (``yield from``)."""
    found = at.top(2)
    if found is None or found[0] is NOTHING:
        return UNKNOWN
    if type(found[0]) is not GeneratorType and found[1] is not None:  # it asks for a method `send`
        return UNKNOWN
    return advanced(found[0], at.under_test)


def yielded(at: At) -> Touches:
    """A generator gives something to C, or ends there: a call that goes on with another thing than this value is unknown itself."""
    if not at.frame.f_code.co_flags & CO_GENERATOR:
        return UNKNOWN
    if not at.name.startswith("YIELD"):
        return []
    found = at.top(1)
    by_with = at.frame.f_back is not None and contexts.is_of_a_context(at.frame.f_back.f_code)
    return [] if by_with or (found is not None and values.is_constant(found[0])) else UNKNOWN


def nothing(at: At) -> Touches:
    return []
